"""Chapter 14: the four limits of a forward pass in numbers, and the recorded times beside them.

The formulas are those of `gdn_ref.proofs.ch14_*`, which count them; times are in microseconds.
"""

import json
import math
import re
from dataclasses import dataclass

from .places import RECORDS

PEAK = 989.4e12  # H100: dense bfloat16 FLOPs a second
BANDWIDTH = 3.35e12  # the same card, bytes a second, by its data sheet
RIDGE = PEAK / BANDWIDTH  # FLOPs in the time of a byte
PROCESSORS = 132
SLICE = 64  # value dimensions of one program of the scan
SILENT = 0.6  # the time of a chunk without outputs, in chunks with outputs
MAPS = 0.7  # and of one of the maps of segments
MOST = 4  # programs that share a sequence


@dataclass(frozen=True)
class Shape:
    """Sequences of `lengths` tokens, `H_k` key heads, `H_v` value heads, head dimensions."""

    lengths: tuple
    H_k: int
    H_v: int
    d_k: int
    d_v: int

    @property
    def tokens(self):
        return sum(self.lengths)

    @property
    def programs(self):
        """Chains of states that run side by side."""
        return len(self.lengths) * self.H_v * math.ceil(self.d_v / SLICE)


def shape(name):
    """The shape that a record calls `name`, such as "B4 T2048 H8 D64" or "packed 8x512 H4 D64"."""
    H_k, H_v = (int(n) for n in re.search(r"H(\d+)(?:/(\d+))?", name).groups(default=0))
    d = int(re.search(r" D(\d+)", name)[1])
    if padded := re.match(r"B(\d+) T(\d+)", name):
        lengths = int(padded[1]) * (int(padded[2]),)
    else:
        what = re.match(r"packed (.*?) H", name)[1]
        if kinds := re.fullmatch(r"(\d+) of ([\d/]+)", what):  # in turn
            parts = tuple(int(n) for n in kinds[2].split("/"))
            lengths = int(kinds[1]) // len(parts) * parts
        elif same := re.fullmatch(r"(\d+)x(\d+)", what):
            lengths = int(same[1]) * (int(same[2]),)
        else:
            lengths = tuple(int(n) for n in what.split("+"))
    return Shape(lengths, H_k, H_v or H_k, d, d)


def floor_bytes(x, b=2):
    """Inputs once, outputs once (eq-floor-bytes)."""
    states = 8 * len(x.lengths) * x.H_v * x.d_k * x.d_v
    return 2 * b * x.tokens * (x.H_k * x.d_k + x.H_v * x.d_v) + 8 * x.tokens * x.H_v + states


def two_kernel_bytes(x, C=64, b=2):
    """The design of this book (eq-bytes-two-kernels)."""
    return floor_bytes(x, b) + b * x.tokens * (x.H_k * x.d_k + 2 * x.H_v * C) + 8 * x.tokens * x.H_v


def transform_bytes(x, C=64, b=2):
    """Those of kernel 1: keys, decays and strengths; cumulative decays and the UT transform."""
    return x.tokens * (b * x.H_k * x.d_k + x.H_v * (12 + b * C))


def three_kernel_bytes(x, C=64, b=2):
    """W, U, corrections and states through memory (eq-bytes-three-kernels)."""
    wide = x.H_k * x.d_k + x.H_v * (x.d_k + 2 * x.d_v + x.d_k * x.d_v / C)
    return floor_bytes(x, b) + 2 * b * x.tokens * wide + 12 * x.tokens * x.H_v


def scan_flops(x, C=64):
    """Kernel 2, slices of 64 value dimensions (eq-flops-scan)."""
    slices = math.ceil(x.d_v / SLICE)
    head = 6 * x.d_k * x.d_v + 4 * C * x.d_v + 2 * slices * C * x.d_k
    return x.tokens * x.H_v * head


def overlap_flops(x, C=64, block=16):
    """K K^T of kernel 1 (eq-shared-keys)."""
    return x.tokens * x.H_k * x.d_k * (C + block)


def segment_flops(x, segments, C=64):
    """The maps of all segments but the last (eq-segment-flops)."""
    share = (segments - 1) / segments
    return share * x.tokens * x.H_v * (4 * x.d_k + 2 * C) * (x.d_v + x.d_k)


def segment_bytes(x, segments, C=64, b=2):
    """What segments move more (eq-segment-bytes)."""
    again = silent_bytes(x, x.tokens * (segments - 1) / segments, C, b)
    maps = 2 * ((2 * segments - 1) * x.d_v + (segments - 2) * x.d_k) + x.d_v
    return again + 4 * len(x.lengths) * x.H_v * x.d_k * maps


def silent_flops(x, tokens, C=64):
    """The chain of states alone, over so many tokens: eq-segment-flops without the rows of F."""
    return tokens * x.H_v * (4 * x.d_k + 2 * C) * x.d_v


def silent_bytes(x, tokens, C=64, b=2):
    """Keys, values, decays and the UT transform of so many tokens, once more."""
    return tokens * (b * x.H_k * x.d_k + x.H_v * (b * x.d_v + b * C + 4))


def first_share(p, n):
    """Which part of the chunks the first `p` of `n` programs have (eq-share-of-chunks)."""
    return (1 - (1 - SILENT) ** p) / (1 - (1 - SILENT) ** n)


def walk(n):
    """The time of `n` programs that share a sequence, in that of one (eq-share-of-chunks)."""
    return SILENT / (1 - (1 - SILENT) ** n)


def rule(x, C=64):
    """How `cut` of the kernels cuts sequences: `n` programs share one, or segments; else ones."""
    chunks = math.ceil(int(x.tokens / len(x.lengths)) / C)
    n = max(min(PROCESSORS // x.programs, MOST, chunks), 1)
    segment = max(math.ceil(chunks / max(PROCESSORS // x.programs, 1)), 8)
    if x.d_k <= 128 and (1 + MAPS) * segment + 8 < walk(n) * chunks:
        return {"segments": math.ceil(chunks / segment), "n": 1}
    return {"segments": 1, "n": n}


def links(x, segments=1, C=64, n=1):
    """Chunks that one processor takes in a row, in chunks of the whole scan.

    With more chains than processors some wait for others. The chain of states alone takes 0.7 of a
    link, and the joining of segments 8 links in all; `n` programs that share a sequence end
    together.
    """
    rounds = math.ceil(x.programs * segments * n / PROCESSORS)
    longest = math.ceil(math.ceil(max(x.lengths) / C) / segments)
    if segments > 1:
        return rounds * (1 + MAPS) * longest + 8
    return rounds * longest * walk(n)


def limits(x, segments=1, C=64, link=None, bandwidth=BANDWIDTH, n=1):
    """Microseconds that bytes, FLOPs and the chain of states ask for, of the two-kernel design.

    Programs that are silent side by side read a chunk at the same time, so from memory once.
    """
    moved = two_kernel_bytes(x, C) + silent_bytes(x, x.tokens * first_share(n - 1, n), C)
    flops = scan_flops(x, C) + overlap_flops(x, C)
    flops += silent_flops(x, x.tokens * sum(first_share(p, n) for p in range(n)), C)
    if segments > 1:
        moved += segment_bytes(x, segments, C)
        flops += segment_flops(x, segments, C)
    link = one_link() if link is None else link
    return {
        "bytes": moved / bandwidth * 1e6,
        "FLOPs": flops / PEAK * 1e6,
        "chain": links(x, segments, C, n) * link,
    }


def record(name):
    return json.loads((RECORDS / f"{name}.json").read_text())


def machine(name):
    """On which card a record was taken, when, and with which versions, in one line."""
    found = record(name)
    versions = {x.removesuffix("-core"): version for x, version in found["versions"].items()}
    packages = ", ".join(f"{x} {versions[x]}" for x in versions if x != "python")
    return f"{found['gpu']}, {found['date']}, {packages}"


def steps(part="call", shape_name=None):
    """The recorded steps of the kernels' log: `(step, shape, microseconds)`."""
    rows = record("forward_steps_h100")["steps"]
    rows = [row for row in rows if row["part"] == part and shape_name in (None, row["shape"])]
    return [(row["step"], row["shape"], row["us"]) for row in rows]


def one_link():
    """The recorded time of one chunk of the scan, one program a sequence and slice."""
    name, us = next(row[1:] for row in steps("scan") if row[0] == "outputs in registers")
    return us / math.ceil(shape(name).tokens / 64)


def listed():
    """The listed shapes of the recorded run: name, shape, floor, times of ours and of fla."""
    result = record("forward_listed_h100")
    for row in result["rows"]:
        x = shape(row["shape"])
        ours, fla = row["runs"]["gdn_ref"], row["runs"]["fla"]
        yield row["shape"], x, row, ours, fla


def copy_bandwidth():
    """Bytes a second of a kernel that copies, in the run of the listed shapes."""
    return record("forward_listed_h100")["copy_bytes_per_s"]
