"""Check and time training with the forward pass in one kernel (`forward.hopper.fused`), or in two.

    python kernels/bench/fused_training.py --json _build/bench/fused_training.json

Needs a Hopper GPU. Outputs, states and all gradients of small batches are compared with float64,
those of the batches that are timed with each other; so is what the forward pass keeps. Then the
forward pass that keeps it, and both passes, as `compare.device_us` times them, rested, both ways by
turns, twice. Two kernels are what a call with `batch_invariant` takes.
"""

import argparse
from functools import partial
from pathlib import Path

import torch
from compare import device_us, relative, write_record
from compare_backward import both_passes, training_inputs
from shapes import Shape

import gdn_ref
from gdn_ref.kernels.forward.hopper.fused.launches import Fused

CHECKED = [
    Shape(300, 16, 32, 128, 128, 2),
    Shape(1024, 16, 32, 128, 128, 2),
    Shape(300, 16, 32, 64, 128, 2),
    Shape(1000, 8, 8, 128, 128, 3),
]
TIMED = [
    Shape(4096, 16, 32, 128, 128, 4),
    Shape(2048, 8, 8, 128, 128, 16),
    Shape(2000, 8, 8, 128, 128, 16),
    Shape(4096, 16, 32, 64, 128, 4),
]
NAMES = ("o", "S", "dq", "dk", "dv", "dg", "dbeta", "dS")


def rule(q, k, v, g, beta, S, cu_seqlens, **options):
    return gdn_ref.chunk_gated_delta_rule(
        q, k, v, g, beta, initial_state=S, output_final_state=True, **options
    )


WAYS = {"one": partial(rule, backend="triton"), "two": partial(rule, batch_invariant=True)}


def leaves(arguments):
    return [None if x is None else x.detach().requires_grad_() for x in arguments]


def results(way, arguments, do, dS):
    """Outputs, states and six gradients by name, and what was kept for them."""
    *given, _ = arguments = leaves(arguments)
    o, S = way(*arguments)
    kept = o.grad_fn.saved_tensors[-3:] if do.dtype.itemsize == 2 else ()
    found = torch.autograd.grad([o, S], given, [do.to(o.dtype), dS.to(S.dtype)])
    return dict(zip(NAMES, (o.detach(), S.detach(), *found), strict=True)), kept


def checked(shape):
    """Errors against float64 by way, and whether a second call has the same bits."""
    arguments, do, dS = training_inputs(shape)
    exact = [None if x is None else x.double() for x in arguments]
    right, _ = results(partial(rule, backend="reference"), exact, do.double(), dS.double())
    row = {"shape": str(shape)}
    for name, way in WAYS.items():
        found, again = (results(way, arguments, do, dS)[0] for _ in range(2))
        row[name] = {x: relative(found[x], right[x]) for x in NAMES}
        row[name]["repeats"] = all(torch.equal(found[x], again[x]) for x in NAMES)
    return row


def timed(shape, fills):
    """How far the two ways are apart, and microseconds by way."""
    arguments, do, dS = training_inputs(shape)
    (one, kept), (two, expected) = (results(way, arguments, do, dS) for way in WAYS.values())
    row = {"shape": str(shape), "taken": fills[-1]}
    row["apart"] = {x: relative(one[x], two[x]) for x in NAMES}
    rows = expected[0].shape[0]  # there is room after the matrices
    pairs = zip(("c", "T_inv"), kept[:2], expected[:2], strict=True)
    row["apart"] |= {name: relative(x[:rows], y[:rows].double()) for name, x, y in pairs}
    del one, two, kept, expected
    row |= {name: {"forward": [], "both": []} for name in WAYS}
    for _ in range(2):
        for name, way in WAYS.items():
            forward = partial(way, *leaves(arguments))
            row[name]["forward"].append(device_us(forward, rounds=1))
            both = both_passes(way, arguments, do, dS)
            row[name]["both"].append(device_us(both, rounds=1))
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the record to this file")
    path = parser.parse_args().json
    fills, pays = [], Fused.pays
    Fused.pays = lambda self, sizes: fills.append(pays(self, sizes)) or True
    found = {"errors": [], "rows": []}
    for shape in CHECKED:
        found["errors"].append(checked(shape))
        print(found["errors"][-1], flush=True)
    for shape in TIMED:
        found["rows"].append(timed(shape, fills))
        print(found["rows"][-1], flush=True)
        torch.cuda.empty_cache()
    write_record(path, "training, the forward pass in one kernel and in two, in us", found)


if __name__ == "__main__":
    main()
