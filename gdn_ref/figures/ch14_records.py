"""Figures of chapter 14: the recorded times beside the limits."""

import numpy as np

from .ch14 import LIMITS
from .ch14_model import (
    MOST,
    PROCESSORS,
    Shape,
    copy_bandwidth,
    limits,
    listed,
    machine,
    rule,
    shape,
    steps,
)
from .places import LOG
from .style import COLOUR, figure, styled


def ways():
    """The log's table: shape -> microseconds of one program, of 2, 3, 4, of segments, by the rule.

    All in one run; a cell that the log leaves open is absent.
    """
    lines = LOG.read_text().splitlines()
    begin = next(n for n, line in enumerate(lines) if line.startswith("| shape | one program |"))
    names, found = [cell.strip() for cell in lines[begin].strip("|").split("|")], {}
    for line in lines[begin + 2 :]:
        if not line.startswith("|"):
            return found
        row, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        times = zip(names[1:], cells, strict=True)
        found[row.removesuffix(" (portable)")] = {name: float(us) for name, us in times if us}
    raise ValueError(f"{LOG}: the table of ways does not end")


@styled
def steps_of_a_call(name):
    """The recorded times of a whole call after each step of the log, over that by its FLOPs."""
    rows = steps("call", name)
    by_flops = limits(shape(name))["FLOPs"]
    fig, ax = figure(6.4, 0.36 * len(rows) + 0.9)
    bars = ax.barh(range(len(rows)), [us for *_, us in rows], color=COLOUR["time"], height=0.62)
    times = [f"{us:,.0f} µs, {us / by_flops:.1f} times" for *_, us in rows]
    ax.bar_label(bars, times, padding=4, fontsize=9)
    ax.axvline(by_flops, color=COLOUR["flops"], lw=2)
    ax.text(by_flops, -0.75, f" FLOPs alone: {by_flops:.0f} µs", color=COLOUR["flops"], fontsize=9)
    ax.set_yticks(range(len(rows)), [step for step, *_ in rows], color=COLOUR["ink"])
    ax.set(ylim=(len(rows) - 0.4, -1.2), xlim=(0, 1.45 * rows[0][2]))
    taken = machine("forward_steps_h100").replace(", torch", "\ntorch")
    ax.set_xlabel(f"microseconds on {taken}", fontsize=10)
    return fig


@styled
def chain_of_states(T=32768, d=128):
    """The limits of one long sequence against its heads, and what was recorded."""
    fig, ax = figure(5.8, 3.7)
    heads = 2 ** np.arange(1, 8)
    shapes = [Shape((T,), max(h // 2, 1), int(h), d, d) for h in heads]
    kinds = (("bytes", "bytes", "--", (2.75, 21)), ("FLOPs", "flops", "-.", (3, 8.5)))
    for name, role, dashes, at in kinds:
        times = [limits(x)[name] for x in shapes]
        ax.loglog(heads, times, dashes, color=COLOUR[role], base=2)
        ax.text(*at, name, color=COLOUR[role], fontsize=9)
    few = [x for x in shapes if rule(x) != {"segments": 1, "n": 1}]
    most = [PROCESSORS // x.programs for x in few]
    kinds = (
        ([limits(x) for x in shapes], {"lw": 1.6}),
        ([limits(x, n=min(n, MOST)) for x, n in zip(few, most, strict=True)], {"ls": ":"}),
        ([limits(x, segments=n) for x, n in zip(few, most, strict=True)], {"lw": 1, "marker": "|"}),
    )
    for times, line in kinds:
        times = [time["chain"] for time in times]
        ax.loglog(heads[: len(times)], times, color=COLOUR["time"], base=2, **line)
    ax.text(2, 720, "chain", color=COLOUR["time"])
    ax.text(2, 300, "chain, shared", color=COLOUR["time"])
    ax.text(2.1, 60, "chain, in segments", color=COLOUR["time"], rotation=31)
    for name in ("B1 T32768 H2/8 D128", "B1 T32768 H16/32 D128"):
        x, us = shape(name), ways()[name]
        marks = (
            ("one program", "o", "none"),
            (f"{min(PROCESSORS // x.programs, MOST)}", "^", COLOUR["ink"]),
        )
        marks += (("segments", "s", COLOUR["ink"]),)
        for n, (way, mark, fill) in enumerate(marks):  # a little apart
            at = x.H_v * 1.09 ** (n - 1)
            label = ("one program", "shared", "segments")[n] if x.H_v == 8 else None
            ax.plot(at, us[way], mark, color=COLOUR["ink"], mfc=fill, ms=6, ls="", label=label)
    ax.legend(title="recorded", loc="lower right", fontsize=9, title_fontsize=9)
    ax.set_xticks(heads, heads)
    ax.set_yticks([10, 100, 1000], ["10", "100", "1000"])
    ax.minorticks_off()
    ax.set(xlabel=f"value heads ($T = {T:,}$, $d = {d}$)", ylabel="microseconds", ylim=(7, 3000))
    return fig


@styled
def listed_shapes():
    """The 27 listed shapes: the floor, the largest of three limits, and both recorded times."""
    rows = sorted(listed(), key=lambda row: row[2]["floor_us"])
    fig, ax = figure(5.2, 6.6)
    for y, (_, x, row, ours, fla) in enumerate(rows):
        times = limits(x, **rule(x), bandwidth=copy_bandwidth())
        binds = max(times, key=times.get)
        ax.plot([row["floor_us"], ours["device_us"]], [y, y], color=COLOUR["quiet"], lw=0.7)
        ax.plot(row["floor_us"], y, "|", ms=9, mew=2, color=COLOUR["ink"])
        ax.plot(times[binds], y, "D", ms=5, color=COLOUR[LIMITS[binds]])
        ax.plot(ours["device_us"], y, "o", ms=5, color=COLOUR["ink"])
        ax.plot(fla["device_us"], y, "o", ms=6, mfc="none", color=COLOUR["quiet"])
    ax.set_xscale("log")
    names = [
        name.replace("packed ", "").replace(", 50% zero gates", ", zeros") for name, *_ in rows
    ]
    ax.set_yticks(range(len(rows)), names, fontsize=8.5)
    ax.set(xlabel="microseconds", ylim=(-0.7, len(rows) - 0.3), xlim=(0.02, 500))
    keys = (("|", "ink", "floor"), ("D", "bytes", "limit: bytes"), ("D", "time", "limit: chain"))
    keys += (("o", "ink", "recorded"), ("o", "quiet", "recorded, fla"))
    for n, (mark, role, text) in enumerate(keys):
        fill = "none" if role == "quiet" else COLOUR[role]
        ax.plot([], [], mark, color=COLOUR[role], mfc=fill, mew=2 if n == 0 else 1, label=text)
    fig.legend(loc="outside upper center", ncols=3, fontsize=9)
    return fig


@styled
def host_and_device():
    """What a caller waits for, against what the GPU needs, over the listed shapes."""
    fig, ax = figure(5.4, 3.5)
    for which, role, fill, text in (
        (3, "first", COLOUR["first"], "this book"),
        (4, "quiet", "none", "fla"),
    ):
        device, eager = np.array([[row[which][f"{x}_us"] for x in ("device", "eager")]
                                  for row in listed()]).T  # fmt: skip
        ax.loglog(device, eager, "o", ms=6, color=COLOUR[role], mfc=fill)
        ax.text(10.5, np.median(eager) * 1.8, text, color=COLOUR[role], ha="left", va="bottom")
    ends = np.array([10, 600])
    ax.loglog(ends, ends, "--", lw=1, color=COLOUR["ink"])
    ax.text(62, 50, "no waiting for Python", rotation=33, fontsize=9, va="top")
    for axis, ticks in ((ax.xaxis, (10, 30, 100, 300)), (ax.yaxis, (10, 30, 100, 300, 1000))):
        axis.set_ticks(ticks, [f"{tick}" for tick in ticks])
    ax.minorticks_off()
    ax.set(xlabel="on the GPU, microseconds", ylabel="from Python, microseconds")
    ax.set(xlim=(9, 600), ylim=(9, 2000))
    return fig


def summary():
    """Of each listed shape, how many times longer: than the FLOPs, the floor, the three limits."""
    found = {}
    for name, x, row, ours, fla in listed():
        times = limits(x, **rule(x), bandwidth=copy_bandwidth())
        three = max(times.values())
        found[name] = {
            "FLOPs": ours["device_us"] / times["FLOPs"],
            "floor": ours["device_us"] / row["floor_us"],
            "three": ours["device_us"] / three,
            "fla": fla["device_us"] / ours["device_us"],
            "eager": ours["eager_us"] / ours["device_us"],
        }
    return found
