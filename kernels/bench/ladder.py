"""From the first kernel to the shipped ones, one idea at a time: times and errors on one GPU.

    python kernels/bench/ladder.py --json _build/bench/ladder.json

Needs a Hopper GPU. Every step is code of this package: the first kernel as it stands, the same with
one word changed, then the shipped launches, from which the later ideas are taken away where the
package decides about them.
"""

import argparse
import importlib.util
import inspect
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from unittest.mock import patch

import torch
from compare import copy_bandwidth, device_us, relative, write_record
from shapes import Shape, inputs, padded

from gdn_ref import chunk_gated_delta_rule, prepared
from gdn_ref.kernels import first
from gdn_ref.kernels.forward import launches
from gdn_ref.kernels.forward.hopper import launches as hopper_launches
from gdn_ref.kernels.host import gpu

SHAPES = [padded(4, 2048, 8, 64), Shape(2048, 16, 32, 128, 128), Shape(8192, 16, 32, 128, 128)]
NO_SHARES = [(launches, "shares", lambda *sizes: 1)]
NO_SHARES += [(hopper_launches, "cut", lambda *sizes: (1, None))]
NO_HOPPER = [(gpu, "has_hopper_engines", lambda device: False)]
NO_WARP_PRODUCTS = [(gpu, "has_warp_products", lambda device: False)]


def with_products_in(precision):
    """`first.first`, whose products have this precision."""
    text = inspect.getsource(first)
    assert text.count('"ieee"') == 1
    path = Path(tempfile.mkdtemp()) / f"first_{precision}.py"  # Triton reads a kernel's file
    path.write_text(text.replace('"ieee"', f'"{precision}"'))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.first


def in_one_kernel(run):
    def call(q, k, v, g, beta, S):
        return run(q, k, v, g, beta, k.shape[3] ** -0.5, S)

    return call


def without(*later):
    """The shipped forward pass, while these stand in for what the package decides."""

    def call(q, k, v, g, beta, S):
        with ExitStack() as stack:
            for module, name, other in later:
                stack.enter_context(patch.object(module, name, other))
            stack.enter_context(patch.dict(prepared._remembered, clear=True))
            return chunk_gated_delta_rule(
                q, k, v, g, beta, initial_state=S, output_final_state=True, state_v_first=True
            )

    return call


STEPS = {
    "one kernel": in_one_kernel(first.first),
    "products on tensor cores": in_one_kernel(with_products_in("tf32")),
    "two kernels, 16-bit tiles": without(*NO_SHARES, *NO_HOPPER, *NO_WARP_PRODUCTS),
    "a transform laid out by hand": without(*NO_SHARES, *NO_HOPPER),
    "a scan for Hopper": without(*NO_SHARES),
    "shares and segments": without(),
}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the record to this file")
    args = parser.parse_args(argv)
    bandwidth, rows = copy_bandwidth(), []
    for shape in SHAPES:
        *given, S, _ = inputs(shape)
        S = S.mT.contiguous()
        exact = [x.double() for x in (*given, S)]
        expected = chunk_gated_delta_rule(
            *exact[:5], initial_state=exact[5], output_final_state=True, state_v_first=True
        )
        del exact
        call_with = [*[x.bfloat16() for x in given[:3]], *given[3:], S]
        moved = sum(x.nbytes for x in (*call_with, call_with[2], S))
        row = {"shape": str(shape), "floor_us": moved / bandwidth * 1e6, "steps": {}}
        for name, step in STEPS.items():
            o, last = step(*call_with)
            error = relative(o, expected[0]), relative(last, expected[1])
            us = device_us(partial(step, *call_with))
            row["steps"][name] = {"us": us, "error_o": error[0], "error_state": error[1]}
            print(f"{row['shape']:26} {name:30} {us:9.1f} us  {error[0]:.1e} {error[1]:.1e}")
        rows.append(row)
        torch.cuda.empty_cache()
    what = "forward of the gated delta rule, bfloat16, hard inputs, from one kernel to the shipped"
    write_record(args.json, what, {"copy_bytes_per_s": bandwidth, "rows": rows})


if __name__ == "__main__":
    main()
