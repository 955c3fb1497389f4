"""Figures of chapter 15: from the first kernel to the shipped ones, step by step."""

from matplotlib.patches import Rectangle

from . import ch14_model
from .ch15 import _arrow, _box, _text
from .ch15_lines import EQUATIONS, FORWARD
from .ch15_source import line_with
from .equation_lines import lengths
from .style import COLOUR, bare, figure, styled

FIRST = (  # words by which a line of first.py is found, the colour role of its equation
    ("after = tl.where(", "decay"),
    ("to_end = tl.exp(", "decay"),
    ("gamma, gamma_C = ", "decay"),
    ("Gamma = tl.where(", "decay"),
    ("A = tl.where(r > i, beta", "key"),
    ("T_inv = tl.where(", "first"),
    ("A21 = tl.where(", "first"),
    ("T_inv -= dot(", "first"),
    ("delta = dot(", "error"),
    ("o = gamma * dot(", "query"),
    ("S = gamma_C * S", "state"),
)
LADDER = "B1 T8192 H16/32 D128"


def rungs(shape=LADDER):
    """The ladder on one shape: `(name, microseconds, error of the states)`, and the floor."""
    rows = ch14_model.record("ladder_h100")["rows"]
    row = next(row for row in rows if row["shape"] == shape)
    steps = [(name, x["us"], x["error_state"]) for name, x in row["steps"].items()]
    return steps, row["floor_us"]


def lit(file):
    """Line number, from 0, -> colour role, of the lines of a kernel that carry an equation."""
    if file == "first.py":
        return {line_with(file, words): role for words, role in FIRST}
    lines = [entry for entry in FORWARD.lit_lines() if entry["file"] == file]
    return {entry["line"] - 1: EQUATIONS[entry["eq"]][1] for entry in lines}


@styled
def where_the_lines_are():
    """The source of the first kernel and of the two fast ones from afar, equations in colour."""
    fig, axes = figure(6.8, 3.0, ncols=3)
    files = ("first.py", *FORWARD.files)
    tallest = max(len(lengths(file)) for file in files)
    steps, _ = rungs()
    for ax, file in zip(axes, files, strict=True):
        roles = lit(file)
        for n, (indent, length) in enumerate(lengths(file)):
            role = roles.get(n, "quiet")
            style = {"alpha": 0.3} if n not in roles else {}
            height = 1.0 if n not in roles else 1.7
            ax.add_patch(Rectangle((indent, n), length, height, color=COLOUR[role], lw=0, **style))
        ax.set(xlim=(0, 104), ylim=(tallest + 22, -2))
        ax.axis("off")
        ax.set_title(f"{file}: {len(lengths(file))} lines", fontsize=9)
    (_, first, _), *_, (_, last, _) = steps
    below = {"y": tallest + 12, "size": 9, "in_layout": False}
    _text(axes[0], 52, text=f"one kernel: {first:,.0f} µs", **below)
    _text(axes[1], 116, text=f"two kernels, and on Hopper a third file: {last:,.0f} µs", **below)
    return fig


@styled
def ladder(shape=LADDER):
    """What each step leaves of the time before it: one linear axis, from nothing to all."""
    steps, floor = rungs(shape)
    fig, ax = figure(6.8, 2.7)
    for n, ((_, before, _), (_, us, _)) in enumerate(zip(steps, steps[1:], strict=False)):
        ax.barh(n, 1, 0.62, color=COLOUR["quiet"], alpha=0.18)
        ax.barh(n, us / before, 0.62, color=COLOUR["time"])
        factor = before / us
        text = f"{before:,.0f} → {us:,.0f} µs,  ÷ {factor:.{0 if factor > 10 else 2}f}"
        ax.text(1.02, n, text, va="center", fontsize=8.5, color=COLOUR["ink"])
    ax.set_yticks(range(len(steps) - 1), [f"{n}. {x[0]}" for n, x in enumerate(steps) if n])
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.62), xticks=(0, 0.5, 1), xticklabels=("0", "half", "all"))
    ax.set_xlabel(f"what is left of the time before the step (floor: {floor:.0f} µs)", fontsize=9)
    ax.xaxis.set_label_coords(0.31, -0.16)
    ax.spines["bottom"].set_bounds(0, 1)
    ax.tick_params(length=0, labelsize=9)
    return fig


FORMATS = {  # name -> (bits of the exponent, bits of the fraction), beside one for the sign
    "float32": (8, 23),
    "tf32": (8, 10),
    "float16": (5, 10),
    "bfloat16": (8, 7),
}


@styled
def bits_of_a_factor():
    """Sign, exponent and fraction of the formats in which a product takes its factors."""
    fig, ax = figure(6.6, 2.3)
    bare(ax, 45, 12)
    where = {
        "float32": "ordinary units: the first kernel",
        "tf32": "tensor cores: step 1",
        "float16": "tensor cores: step 2, residual and UT transform",
        "bfloat16": "tensor cores: step 2, the others",
    }
    for row, (name, (exponent, fraction)) in enumerate(FORMATS.items()):
        y = 9 - 2.7 * row
        _text(ax, 5.6, y + 0.9, name, 9, ha="right")
        parts = ["quiet"] + exponent * ["second"] + fraction * ["first"]
        for n, role in enumerate(parts):
            _box(ax, 6 + n, y, 1, 1.8, role, fc=COLOUR[role], alpha=0.35, lw=0.5)
        x = 6.5 + len(parts)
        _text(ax, x if name != "float32" else 6.5, y + (0.9 if name != "float32" else 2.5),
              where[name], 8, "quiet", ha="left")  # fmt: skip
    _text(ax, 39, 10.9, "exponent", 8, "second", ha="left")
    _text(ax, 39, 9.6, "fraction", 8, "first", ha="left")
    return fig


WORK = (  # of one chunk: name, colour role, length; not to scale
    ("tiles", "bytes", 1.0),
    ("scores", "fifth", 0.9),
    ("chain", "third", 1.5),
    ("outputs", "second", 0.8),
)


@styled
def who_waits(chunks=4):
    """The work of each chunk on a line of time: by one group in turn, and by three groups."""
    fig, ax = figure(6.8, 3.0)
    lanes = {"tiles": 3.4, "scores": 2.2, "chain": 1.0}
    total = sum(length for _, _, length in WORK)
    width = chunks * total
    ax.set(xlim=(-2.7, width + 0.1), ylim=(0.1, 7.4))
    ax.axis("off")

    def block(x, y, length, role, chunk):
        _box(ax, x, y, length - 0.05, 0.85, role, fc=COLOUR[role], alpha=0.45)
        _text(ax, x + length / 2, y + 0.42, str(chunk), 8)

    x = 0.0
    for chunk in range(chunks):
        for _, role, length in WORK:
            block(x, 5.6, length, role, chunk)
            x += length
    _text(ax, -0.15, 6.02, "one group", 9, ha="right")
    done, ready = dict.fromkeys(lanes, 0.0), 0.0
    for chunk in range(chunks):
        for name, role, length in WORK:
            lane = "chain" if name == "outputs" else name
            begin = done[lane] if name == "tiles" else max(done[lane], ready)
            ready = done[lane] = begin + length  # what this work needs is what it follows
            block(begin, lanes[lane], length, role, chunk)
    for name, y in lanes.items():
        _text(ax, -0.15, y + 0.42, {"chain": "chain, outputs"}.get(name, name), 9, ha="right")
    end = max(done.values())
    ax.plot([end, end], [0.9, 4.5], color=COLOUR["ink"], lw=1, ls="--")
    _text(ax, end + 0.15, 2.7, f"the {chunks} chunks are done", 8, "quiet", ha="left")
    for n, (name, role, _) in enumerate(WORK):
        _box(ax, 2.6 * n, 6.85, 0.4, 0.4, role, fc=COLOUR[role], alpha=0.45)
        _text(ax, 2.6 * n + 0.5, 7.05, name, 8, "quiet", ha="left")
    _arrow(ax, (0, 0.4), (2.2, 0.4), "quiet", lw=1)
    _text(ax, 2.4, 0.4, "time (not to scale)", 8, "quiet", ha="left")
    return fig


def walks(chunks=512, programs=3):
    """`(silent chunks, chunks with outputs)` of programs that share a sequence and end together."""
    end, at, found = ch14_model.walk(programs) * chunks, 0.0, []
    for _ in range(programs):
        own = end - ch14_model.SILENT * at
        found.append((at, own))
        at += own
    return found


@styled
def shared_and_segmented(chunks=512, programs=3, segments=4):
    """Who works when on a long sequence: one program, programs that share it, segments."""
    fig, ax = figure(6.8, 3.0)
    rows = [("one program", [(0, chunks, "first", 0.6)])]
    for p, (silent, own) in enumerate(walks(chunks, programs)):
        begin = ch14_model.SILENT * silent
        parts = [(0, begin, "quiet", 0.3), (begin, own, "first", 0.6)]
        rows.append((f"share {p + 1} of {programs}", parts))
    size = chunks / segments
    for p in range(segments):
        maps = ch14_model.MAPS * size
        join = maps + 8
        parts = [(0, maps, "second", 0.5), (maps, 8, "third", 0.8), (join, size, "first", 0.6)]
        rows.append((f"segment {p + 1} of {segments}", parts))
    for n, (_, parts) in enumerate(rows):
        y = n + 0.5 * (n > 0) + 0.5 * (n > programs)
        for begin, length, role, alpha in parts:
            ax.barh(y, length, 0.7, left=begin, color=COLOUR[role], alpha=alpha, lw=0)
        ax.text(-8, y, rows[n][0], ha="right", va="center", fontsize=8.5, color=COLOUR["ink"])
    names = (("with outputs", "first", 0.6), ("silent", "quiet", 0.3), ("maps", "second", 0.5),
             ("joined", "third", 0.8))  # fmt: skip
    for name, role, alpha in names:
        ax.barh(0, 0, color=COLOUR[role], alpha=alpha, label=name)
    ax.legend(loc="lower right", fontsize=8.5)
    ax.invert_yaxis()
    ax.set(yticks=[], xlim=(0, chunks + 8))
    ax.spines["left"].set_visible(False)
    ax.set_xlabel("time, in chunks with outputs", fontsize=9)
    ax.tick_params(labelsize=9)
    return fig


def gains(shape=LADDER):
    """The factor of each step of the ladder, by its name."""
    steps, _ = rungs(shape)
    return {x[0]: before[1] / x[1] for before, x in zip(steps, steps[1:], strict=False)}


def errors():
    """The error of the last states after each step of the ladder, by its name."""
    return {name: error for name, _, error in rungs()[0]}
