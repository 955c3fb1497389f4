"""Checks of chapter 15: addresses, slots, decays in base 2, and which thread holds what."""

import numpy as np
from sympy import Rational, ceiling, floor, symbols

from .page import on_page
from .registry import definition, verifies

definition("eq-chunk-slot", "the slot of a chunk: which program works on it")

start, h, r, d, H, K, T = symbols("start h r d H K T", integer=True, nonnegative=True)


@verifies(
    "eq-tile-address",
    method="polynomial",
    covers="every token, head, dimension and size",
    mutants={
        "heads before tokens": {"base": (h * T + start) * K},
        "a row is one head further": {"row": K},
        "the head forgotten": {"base": start * H * K},
    },
)
def base_and_row_reach_the_element(base=(start * H + h) * K, row=H * K):
    """The tile's address, plus r rows, is where memory keeps k[start + r, h, d]."""
    stored = ((start + r) * H + h) * K + d
    letters = {str(x): str(x) for x in (H, K, h, r, d)} | {start: "s"}
    on_page("eq-tile-address", stored, stored, base + r * row + d, letters=letters)
    return (base + r * row + d - stored).expand()


def _spare(C, s, l, p, m, offset):
    """Slots that a sequence owns beyond its chunks: begin p C + s, length m C + l."""
    own = floor(p + m + Rational(s + l, C)) - floor(p + Rational(s, C)) + offset
    return own - m - ceiling(Rational(l, C))


@verifies(
    "eq-slot-room",
    method="enumeration",
    covers="every begin and every length, for C = 1, 2, 3 and 16",
    mutants={
        "without the n": {"offset": 0},
        "two slots more a sequence": {"offset": 2},
        "never one to spare": {"at_most": 0},
    },
)
def room_enough_and_at_most_one_to_spare(offset=1, at_most=1):
    """How many remainders of begin and length break the bounds; their multiples are symbols."""
    p, m = symbols("p m", integer=True, nonnegative=True)
    wrong = 0
    for C in (1, 2, 3, 16):
        for s in range(C):
            for l in range(C):
                spare = _spare(C, s, l, p, m, offset)
                wrong += not (spare.is_Integer and 0 <= spare <= at_most)
    room = r"\lfloor b_{n+1}/C\rfloor - \lfloor b_n/C\rfloor"
    most = lambda at: at(r"\lceil L_n/C\rceil") + at_most
    on_page("eq-slot-room", None, lambda at: at(room) + offset, most)
    return wrong


@verifies(
    "eq-decay-base-two",
    method="enumeration",
    covers="400 random chunks of 12 whole decays, 0 to -400 in base 2, exactly",
    mutants={
        "the sum clamped, not each decay": {"clamp_sum": True},
        "clamped at 2^-140, which float32 keeps": {"floor_at": -140},
        "not clamped upwards but downwards": {"clamp": min},
    },
)
def clamped_stretches_are_right_to_the_last_bit(floor_at=-160, clamp=max, clamp_sum=False):
    """Stretches whose error is negative, or not below the least number that float32 has."""
    rng = np.random.default_rng(0)
    weak, strong = rng.integers(-3, 1, (400, 12)), rng.integers(-400, 1, (400, 12))
    wrong = 0
    for g in np.where(rng.random((400, 12)) < 0.2, strong, weak).tolist():
        if clamp_sum:
            c = [max(x, floor_at) for x in np.cumsum(g).tolist()]
        else:
            c = np.cumsum([clamp(x, floor_at) for x in g]).tolist()
        for late in range(12):
            for early in range(late + 1):
                error = _power(c[late] - c[early]) - _power(sum(g[early + 1 : late + 1]))
                wrong += not 0 <= error <= _power(-160)

    def printed(at):
        return sum(clamp(at(rf"g_{{{i}}}\log_2 e"), floor_at) for i in range(1, at.scope["r"] + 1))

    def error(at):
        log2 = [at(rf"g_{{{i}}}\log_2 e") for i in range(at.scope["i"] + 1, at.scope["r"] + 1)]
        return 2.0 ** sum(clamp(x, floor_at) for x in log2) - 2.0 ** sum(log2)

    on_page("eq-decay-base-two", printed)
    on_page("eq-decay-base-two", None, error, lambda at: 2.0**floor_at, of=1)
    return wrong


def _power(n):
    """2^n times a power of 2 that makes it whole for each sum of the decays."""
    return 1 << (n + 12 * 400)


# As in kernels/forward/transform_mma.py: what each bit of a register's and of a lane's number
# adds to (block, column) of a row; tests/test_figures_ch15.py compares the two.
REGISTER_BASES = ((0, 1),)
LANE_BASES = ((0, 2), (0, 4), (0, 8), (1, 0), (2, 0))


def held(register, lane, registers=REGISTER_BASES, lanes=LANE_BASES):
    """(block, column) of the element in a register of a lane, in whatever row."""
    place = np.zeros(2, dtype=int)
    for number, bases in ((register, registers), (lane, lanes)):
        for bit, base in enumerate(bases):
            place += np.array(base) * (number >> bit & 1)
    return tuple(place.tolist())


@verifies(
    "eq-thread-layout",
    method="enumeration",
    covers="both registers of all 32 lanes",
    mutants={
        "two blocks in one lane": {
            "registers": ((1, 0),),
            "lanes": ((0, 2), (0, 4), (0, 8), (0, 1), (2, 0)),
        },
        "two lanes hold the same": {"lanes": ((0, 2), (0, 2), *LANE_BASES[2:])},
        "columns 8 apart": {"formula": lambda n, l: (l // 8, 8 * n + l % 8)},
    },
)
def two_columns_of_one_block_in_one_thread(
    registers=REGISTER_BASES,
    lanes=LANE_BASES,
    formula=lambda n, l: (l // 8, n + 2 * (l % 8)),
):
    """Elements off the formula, elements of a row that nobody holds, lanes with two blocks."""
    places = [[held(n, l, registers, lanes) for n in range(2)] for l in range(32)]
    off = sum(places[l][n] != formula(n, l) for l in range(32) for n in range(2))
    missing = 4 * 16 - len({place for lane in places for place in lane})
    torn = sum(len({block for block, _ in lane}) > 1 for lane in places)
    for number in range(2):
        side = lambda at, number=number: formula(at.scope.get("m", 0), at.scope["l"])[number]
        on_page("eq-thread-layout", side, of=number)
    return off + missing + torn
