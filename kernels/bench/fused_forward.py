"""Check and time the forward pass in one kernel (`forward.hopper.fused`), beside the two kernels.

    python kernels/bench/fused_forward.py --json _build/bench/fused.json

Needs a Hopper GPU. Small batches are compared with the float64 reference, with short chunks and 128
and 256 value dimensions. The others are timed as `compare.device_us` does it, rested and after a
second, also where the rule (`fills`) does not take the kernel: it can be read off. The two
kernels are what a call with `batch_invariant` takes; where there are so many programs, it cuts no
segments anyway.
"""

import argparse
from functools import partial
from pathlib import Path

from compare import HELD_S, device_us, relative, write_record
from shapes import Shape, inputs

import gdn_ref
from gdn_ref.kernels.forward.hopper.fused.launches import Fused

CHECKED = [
    Shape(300, 2, 4, 128, 128, 3),
    Shape(1000, 2, 4, 128, 256, 3),
    Shape(2048, 8, 8, 64, 128, 2),
]
TIMED = [
    Shape(8192, 16, 32, 128, 128, 4),
    Shape(4096, 16, 32, 128, 128, 4),
    Shape(1024, 16, 32, 128, 128, 8),
    Shape(2048, 8, 8, 128, 128, 16),
    Shape(2048, 16, 64, 128, 128, 2),
    Shape(8192, 16, 32, 64, 128, 4),
    Shape(8192, 16, 48, 128, 128, 4),
    Shape(4096, 16, 32, 128, 128, 3),
    Shape(4096, 4, 8, 128, 128, 9),
    *(Shape(T, 16, 32, 128, 128, B) for B in (4, 8) for T in (64, 128, 256, 512)),
]


def call(q, k, v, g, beta, S, **options):
    return gdn_ref.chunk_gated_delta_rule(
        q, k, v, g, beta, initial_state=S, output_final_state=True, **options
    )


def checked(shape, ways):
    """Errors of outputs and states against float64, by way."""
    *exact, S, _ = inputs(shape)
    given = [x.bfloat16() for x in exact[:3]] + exact[3:] + [S]
    right = call(*(x.double() for x in exact), S.double(), backend="reference")
    pairs = {name: zip(way(*given), right, strict=True) for name, way in ways.items()}
    return {name: [relative(*pair) for pair in found] for name, found in pairs.items()}


def timed(shape, ways):
    """Microseconds by way, rested and held, and how far apart their results are."""
    *exact, S, _ = inputs(shape)
    given = [x.bfloat16() for x in exact[:3]] + exact[3:] + [S]
    results = [way(*given) for way in ways.values()]
    row = {"apart": max(relative(*pair) for pair in zip(*results, strict=True))}
    for name, way in ways.items():
        row[name] = device_us(partial(way, *given))
        row[f"{name}_held"] = device_us(partial(way, *given), warm_s=HELD_S, rounds=1)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the record to this file")
    path = parser.parse_args().json
    ways = {"fused": partial(call, backend="triton"), "two": partial(call, batch_invariant=True)}
    chosen, rule = [], Fused.pays
    Fused.pays = lambda self, sizes: chosen.append(rule(self, sizes)) or True
    found = {"errors": [], "rows": []}
    for shape in CHECKED:
        found["errors"].append({"shape": str(shape), **checked(shape, ways)})
        print(found["errors"][-1], flush=True)
    for shape in TIMED:
        row = {"shape": str(shape), **timed(shape, ways), "taken": chosen[-1]}
        found["rows"].append(row)
        print(row, flush=True)
    write_record(path, "the forward pass in one kernel and in two, device times in us", found)


if __name__ == "__main__":
    main()
