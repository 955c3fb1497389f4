"""Chapter 12: the backward pass, as it is printed, against dual numbers in the token loop."""

from ..ch12_cost import BACK_LINES, FORTH_LINES, flops, most_states
from .check import printed
from .gradients import gradients
from .values import Depends
from .world import World

DUAL = "dual numbers in the token loop"

printed("eq-grad-token eq-grad-token-inputs eq-grad-token-decay", gradients, against=DUAL)
printed(
    "eq-grad-matrix",
    gradients,
    against=DUAL,
    equal={r"d\mathbf{R} for \mathbf{Z}": "the two are equal by the first line"},
)
RIGHT = {r"d\mathbf{R} for \mathbf{Z}": "the gradient of the right-hand side is Z: eq-grad-matrix"}
SCORES = {r"\mathbf{P} for \boldsymbol{\Gamma} \odot \mathbf{Q}\mathbf{K}^{\top}": "chapter 16 "
          "calls these weights P"}  # fmt: skip
printed("eq-grad-solve", gradients, against=DUAL, equal=RIGHT | SCORES)
printed(
    "eq-grad-query eq-grad-key eq-grad-scores eq-grad-state", gradients, against=DUAL, equal=RIGHT
)
printed("eq-grad-inverse eq-grad-unrolled eq-grad-beta eq-grad-decay", gradients, against=DUAL)
printed("eq-grad-crossing-parts eq-grad-crossing", gradients, against=DUAL)


def work(draw):
    """What a chunk of these sizes multiplies, backwards and forwards, counted."""
    C, d_k, d_v = draw.sizes(3, 2, 7)
    return World(
        {
            "C": C, "d_k": d_k, "d_v": d_v,
            r"\mathrm{FLOPs}_{\text{back}}": flops(BACK_LINES, C, d_k, d_v),
            r"\mathrm{FLOPs}_{\text{forth}}": flops(FORTH_LINES, C, d_k, d_v),
        }
    )  # fmt: skip


printed("eq-grad-flops", work, against="counted products of the reference", arithmetic="counted")


def segments(draw):
    """States kept on a walk back, counted, for every m that divides N, above the best one and
    below: N is a square, whose root is the best m, or three times as much, which has none."""
    root = draw.seed + 2
    divisors = [m for m in range(1, root**2 + 1) if root**2 % m == 0]
    numbers = [root**2, 3 * root**2]
    kept = {(N, m): most_states(N, m) for N in numbers for m in divisors}
    letters = {r"n_\text{kept}": Depends(lambda at: kept[at["N"], at["m"]])}
    return World(letters, ranges={"N": numbers, "m": divisors})


printed("eq-grad-memory", segments, against="states counted on a walk back", arithmetic="counted")
