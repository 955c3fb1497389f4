"""Figures of chapter 15: tiles, slots, operands, layouts, and the times of each step."""

import numpy as np
from matplotlib.patches import FancyArrowPatch, Rectangle

from ..proofs.ch15_layout import held
from .ch15_measure import Peer, operand_errors, steps, variants_of_the_inverse
from .style import COLOUR, FORMAT, SERIES, bare, figure, styled


def _box(ax, x, y, width, height, role, **style):
    ax.add_patch(Rectangle((x, y), width, height, ec=COLOUR[role], **{"fc": "none", **style}))


def _text(ax, x, y, text, size=9, role="ink", **style):
    style = {"ha": "center", "va": "center", "color": COLOUR[role], **style}
    ax.text(x, y, text, fontsize=size, **style)


def _arrow(ax, start, end, role, **style):
    style = {"arrowstyle": "-|>", "mutation_scale": 10, "color": COLOUR[role], **style}
    ax.add_patch(FancyArrowPatch(start, end, shrinkA=0, shrinkB=0, **style))


@styled
def programs_and_tiles(T=10, C=4, H=2, head=1):
    """Above: three programs and their tiles. Below: the rows that a tile of one head is."""
    fig, ax = figure(6.6, 3.0)
    programs = -(-T // C)
    bare(ax, 21, 8.6)
    for n in range(programs * C):
        inside, x = n < T, 1.5 * n + 1.5
        style = {"fc": COLOUR["key"], "alpha": 0.25} if inside else {"ls": ":", "lw": 1.2}
        _box(ax, x, 5.2, 1.5, 1.2, "key" if inside else "quiet", **style)
        if inside:
            _text(ax, x + 0.75, 5.8, str(n))
    _text(ax, 1.5 + 0.75 * (T + programs * C), 4.5, "masked", 8, "quiet")
    for p in range(programs):
        x = 1.5 + 6 * p
        ax.plot([x + 0.1, x + 5.9], [6.75, 6.75], color=COLOUR["ink"], lw=1.4)
        _text(ax, x + 3, 7.4, f"program {p}")
    _text(ax, 10.5, 4.5, f"a row of T = {T} tokens in tiles of C = {C}", 8, "quiet")
    width = 18 / (6 * H)
    for t in range(6):
        for h in range(H):
            mine = h == head and 1 <= t <= 4
            x = 1.5 + (t * H + h) * width
            _box(ax, x, 1.3, width, 1.2, "key", fc=COLOUR["key"], alpha=0.6 if mine else 0.08)
            _box(ax, x, 1.3, width, 1.2, "key", lw=0.8)
            _text(ax, x + width / 2, 1.9, f"{t},{h}", 7.5)
    _text(ax, 10.5, 0.6, f"memory: k[t, h], {H} heads; filled: tokens 1 to 4 of head {head}",
          8, "quiet")  # fmt: skip
    return fig


@styled
def two_launches(lengths=(20, 12, 26), C=16):
    """A packed row of sequences, the slots of kernel 1, and the walks of kernel 2."""
    begins = np.concatenate([[0], np.cumsum(lengths)])
    total, unit = begins[-1], 18 / begins[-1]
    slots = int(total // C + len(lengths))
    fig, ax = figure(6.8, 3.7)
    bare(ax, 20.6, 11)
    _text(ax, 0.1, 10.3, "tokens", 8, "quiet", ha="left")
    _text(ax, 0.1, 3.7, "kernel 1: one program a slot and key head, all at once", 8, "quiet",
          ha="left")  # fmt: skip
    _text(ax, 0.1, 2.35, "kernel 2: one program per sequence, value head and slice, chunk by chunk",
          8, "quiet", ha="left")  # fmt: skip
    wide, used = 18 / slots, set()
    for n, (length, role) in enumerate(zip(lengths, SERIES, strict=False)):
        begin = begins[n]
        x = 1 + begin * unit
        _box(ax, x, 8.5, length * unit, 1, role, fc=COLOUR[role], alpha=0.4)
        _text(ax, x + length * unit / 2, 9, f"sequence {n}: {length}" if length > 9 else length, 8)
        y = 1.7 - 0.7 * n
        for j, start in enumerate(range(0, length, C)):
            slot = begin // C + n + j
            used.add(int(slot))
            count = min(C, length - start)
            left = 1 + slot * wide
            _box(ax, left + 0.1, 4.9, wide - 0.2, 1.2, role, fc=COLOUR[role], alpha=0.4)
            _text(ax, left + wide / 2, 5.5, f"{count} tokens", 8)
            middle = x + (start + count / 2) * unit
            _arrow(ax, (middle, 8.45), (left + wide / 2, 6.15), "quiet", lw=0.8)
            here = 1 + (begin + start) * unit
            _arrow(ax, (here, y), (here + count * unit, y), role, lw=2)
    for slot in range(slots):
        _text(ax, 1 + (slot + 0.5) * wide, 4.4, f"slot {slot}", 7.5, "quiet")
        if slot not in used:
            _box(ax, 1.1 + slot * wide, 4.9, wide - 0.2, 1.2, "quiet", ls=":")
            _text(ax, 1 + (slot + 0.5) * wide, 5.5, "returns", 8, "quiet")
    _text(ax, 10, 3.0, "memory: ĉ and T, 1 + C numbers per token and value head", 8.5)
    return fig


CHAINS = {  # orientation -> (result, left operand, right operand) of the chain of products
    "S is $d_k \\times d_v$, tokens are rows": (
        ("read", "K", "S"),
        ("delta", "T", "residual"),
        ("S′", "$K^\\top$", "delta"),
    ),
    "S is $d_v \\times d_k$, as in the kernel": (
        ("read", "S", "$K^\\top$"),
        ("delta", "residual", "$T^\\top$"),
        ("S′", "delta", "K"),
    ),
}
FRESH = {"S", "residual", "delta"}


@styled
def left_operands():
    """The three products that a state waits for, with the operands just computed filled."""
    fig, ax = figure(6.6, 2.9)
    bare(ax, 22, 9)
    for column, (title, chain) in enumerate(CHAINS.items()):
        x0 = 0.3 + 11 * column
        _text(ax, x0 + 5, 8.4, title, 9)
        for row, (result, left, right) in enumerate(chain):
            y = 5.6 - 2.3 * row
            _text(ax, x0 + 0.9, y + 0.7, result, 9, ha="center")
            _text(ax, x0 + 2.2, y + 0.7, "=", 10)
            for x, name, place in ((3, left, "registers"), (6.6, right, "shared memory")):
                fresh = name in FRESH
                role = "second" if fresh and place == "shared memory" else "first"
                style = {"fc": COLOUR[role], "alpha": 0.3} if fresh else {}
                _box(ax, x0 + x, y, 3.2, 1.4, role if fresh else "quiet", **style)
                _text(ax, x0 + x + 1.6, y + 0.7, name, 9)
        _text(ax, x0 + 4.6, 0.2, "left", 8, "quiet")
        _text(ax, x0 + 8.2, 0.2, "right", 8, "quiet")
    return fig


@styled
def precision_of_operands():
    """The error of the outputs when one operand alone has 16 bits, of either type."""
    errors = operand_errors()
    names = list(errors["bfloat16"])
    fig, ax = figure(6.4, 3.1)
    rows = np.arange(len(names))
    for shift, dtype in zip((-0.2, 0.2), ("bfloat16", "float16"), strict=True):
        values = [1000 * errors[dtype][name] for name in names]
        hatch = "" if dtype == "bfloat16" else "//"
        ax.barh(rows + shift, values, 0.36, color=COLOUR[FORMAT[dtype]], label=dtype,
                hatch=hatch, edgecolor="white")  # fmt: skip
    ax.set_yticks(rows, names)
    ax.invert_yaxis()
    ax.set(xlabel="relative error of the outputs, in thousandths", xlim=(0, 2.4))
    ax.legend(loc="right")
    return fig


@styled
def thread_layout(lane=13):
    """Which lane holds which column of the four diagonal blocks; one lane's own stand out."""
    fig, axes = figure(5.6, 2.0, ncols=4)
    for block, ax in enumerate(axes):
        bare(ax, 16, 16)
        ax.set_title(f"block {block}", fontsize=9)
    for other in range(32):
        for block, column in (held(register, other) for register in range(2)):
            mine = other == lane
            shade = 0.85 if mine else 0.12 + 0.16 * (column // 2 % 2)
            _box(axes[block], column, 0, 1, 16, "first", fc=COLOUR["first"], alpha=shade, lw=0.3)
            if column % 2 == 0:
                _text(axes[block], column + 1, 8, str(other), 7.5, rotation=90,
                      color="white" if mine else COLOUR["ink"])  # fmt: skip
    return fig


@styled
def waterfall():
    """Device time after each step, of the scan, of the transform, and of a call with few heads."""
    fig, axes = figure(6.8, 5.3, nrows=3, height_ratios=[6, 5, 6])
    panels = (
        ("scan", "B1 T32768 H16/32 D128", "the scan alone, 32 value heads"),
        ("transform", "B1 T32768 H16/32 D128", "the transform alone, 32 value heads"),
        ("call", "B1 T32768 H2/8 D128", "the whole call, 8 value heads"),
    )
    for ax, (part, shape, title) in zip(axes, panels, strict=True):
        found = steps(part, shape)
        rows = np.arange(len(found))
        times = [us for _, us in found]
        ax.barh(rows, times, 0.62, color=COLOUR["time"])
        for row, us in enumerate(times):
            gain = f",  ÷ {times[row - 1] / us:.2f}" if row else ""
            ax.text(us, row, f"  {us:,.0f} µs{gain}", va="center", fontsize=8, color=COLOUR["ink"])
        ax.set_yticks(rows, [name for name, _ in found], fontsize=8)
        ax.invert_yaxis()
        ax.set_title(title, fontsize=9, loc="left")
        ax.set(xlim=(0, 1.28 * max(times)), xticks=[])
        ax.spines["bottom"].set_visible(False)
        ax.tick_params(length=0)
    return fig


@styled
def phases(chunks=6, places=2):
    """Who waits for which barrier: one warp that loads, one group that computes, two places."""
    fig, ax = figure(6.8, 2.7)
    steps, loaded, computed = [], [], []
    for j in range(chunks):  # a place is free when the chunk that had it before has been read
        begin = max(loaded[-1] if loaded else 0, computed[j - places] if j >= places else 0)
        loaded.append(begin + 1.0)
        start = max(loaded[j], computed[-1] if computed else 0)
        computed.append(start + 1.6)
        steps.append((begin, start))
    bare(ax, 12.4, 4.2)
    for j, (begin, start) in enumerate(steps):
        for y, x, width, role in ((2.7, begin, 1.0, "bytes"), (1.2, start, 1.6, "flops")):
            _box(ax, 1.9 + x, y, width - 0.06, 0.75, role, fc=COLOUR[role], alpha=0.25)
            _text(ax, 1.9 + x + width / 2, y + 0.37, f"{j}: {'AB'[j % places]}", 8)
        full = 1.9 + loaded[j]
        _arrow(ax, (full, 2.68), (1.9 + start + 0.08, 1.97), "bytes", lw=1)
        if j + places < chunks:
            end = 1.9 + steps[j + places][0] + 0.08
            _arrow(ax, (1.9 + computed[j], 1.97), (end, 2.68), "flops", lw=1, ls="--")
        _text(ax, 1.9 + begin + 0.5, 3.7, f"{(j // places) & 1}", 8, "quiet")
    _text(ax, 0.9, 3.7, "phase", 8, "quiet")
    _text(ax, 0.9, 3.07, "loads", 9, "bytes")
    _text(ax, 0.9, 1.57, "computes", 9, "flops")
    _text(ax, 6.2, 0.5, "solid: full (the tiles have come)      dashed: free (they have been read)",
          8, "quiet")  # fmt: skip
    return fig


@styled
def beside_the_others():
    """Times of both peers over ours, on the GPU and from Python, against our time on the GPU."""
    fig, panels = figure(6.8, 3.2, ncols=2)
    peers = (Peer("fla", "listed", "models"), Peer("flash-qla", "listed", "models"))
    kinds = (("device_us", "on the GPU", (1, 2, 3, 5)), ("eager_us", "from Python", (1, 3, 10)))
    for ax, (what, title, ticks) in zip(panels, kinds, strict=True):
        for peer, role, mark, fill in zip(
            peers, ("quiet", "first"), "o^", ("none", None), strict=True
        ):
            ours = [row["runs"]["gdn_ref"]["device_us"] for row in peer.rows]
            ax.plot(ours, peer.ratios(what), mark, ms=5, color=COLOUR[role],
                    mfc=fill or COLOUR[role], label=peer.name)  # fmt: skip
        ax.axhline(1, lw=1, ls="--", color=COLOUR["ink"])
        ax.set(
            xscale="log", yscale="log", title=title, ylim=(0.85, 1.25 * peers[0].ratios(what).max())
        )
        ax.set_xticks((10, 100, 1000), ("10", "100", "1000"))
        ax.set_yticks(ticks, [f"{tick}" for tick in ticks])
        ax.minorticks_off()
        ax.set_xlabel("this book on the GPU, microseconds")
    panels[0].set_ylabel("its time over ours")
    panels[0].legend(loc="upper left", fontsize=9)
    return fig


@styled
def more_warps_and_fewer_registers():
    """Time of the variants of the inverse that were tried, by the number of warps a program."""
    variants = variants_of_the_inverse()
    fig, ax = figure(5.8, 3.3)
    marks = {"1 warp": ("first", "o"), "2 warps": ("second", "s"), "4 warps": ("third", "^")}
    for row, times in enumerate(variants.values()):
        for warps, us in times.items():
            role, mark = marks[warps]
            ax.plot(us, row, mark, color=COLOUR[role], ms=8)
            side = 0.34 if warps == "2 warps" else -0.3
            ax.text(us, row + side, f"{us:.0f}", ha="center", va="center", fontsize=7.5,
                    color=COLOUR["ink"])  # fmt: skip
    for warps, (role, mark) in marks.items():
        ax.plot([], [], mark, color=COLOUR[role], label=warps)
    ax.set_yticks(range(len(variants)), [name.replace(" (shipped: 1 warp)", "")
                                         for name in variants], fontsize=8)  # fmt: skip
    ax.set(xlabel="µs for all chunks and heads", xlim=(0, None), ylim=(-0.7, len(variants) - 0.5))
    ax.invert_yaxis()
    ax.grid(axis="y", lw=0.4, color=COLOUR["quiet"], alpha=0.4)
    ax.legend(fontsize=8, loc="lower right")
    return fig
