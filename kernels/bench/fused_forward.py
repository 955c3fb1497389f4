"""Check and time the forward pass in one kernel (`forward.hopper.fused`), beside the two kernels.

    python kernels/bench/fused_forward.py

Needs a Hopper GPU. Small batches are compared with the float64 reference, with short chunks and 128
and 256 value dimensions. The others are timed as `compare.device_us` does it, rested and after a
second, also where the rule (`fills`) does not take the kernel: it can be read off. The two
kernels are what a call with `batch_invariant` takes; where there are so many programs, it cuts no
segments anyway.
"""

from functools import partial

from compare import HELD_S, device_us, relative
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


def main():
    fused, two = partial(call, backend="triton"), partial(call, batch_invariant=True)
    chosen, rule = [], Fused.pays
    Fused.pays = lambda self, sizes: chosen.append(rule(self, sizes)) or True
    for shape in CHECKED:
        *exact, S, _ = inputs(shape)
        given = [x.bfloat16() for x in exact[:3]] + exact[3:] + [S]
        right = call(*(x.double() for x in exact), S.double(), backend="reference")
        for name, way in (("fused", fused), ("two", two)):
            errors = [relative(x, y) for x, y in zip(way(*given), right, strict=True)]
            print(
                f"{shape!s:24}{name:6} errors of outputs and states {errors[0]:.2e} {errors[1]:.2e}"
            )
    for shape in TIMED:
        *exact, S, _ = inputs(shape)
        given = [x.bfloat16() for x in exact[:3]] + exact[3:] + [S]
        apart = max(relative(*pair) for pair in zip(fused(*given), two(*given), strict=True))
        times = []
        for way in (fused, two):
            rested = device_us(partial(way, *given))
            held = device_us(partial(way, *given), warm_s=HELD_S, rounds=1)
            times.append((rested, held))
        (f, f_held), (t, t_held) = times
        print(
            f"{shape!s:24}fused {f:7.1f}, held {f_held:7.1f}; two {t:7.1f}, held {t_held:7.1f} us; "
            f"{t / f:.2f} {t_held / f_held:.2f}; taken {chosen[-1]}; apart {apart:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()
