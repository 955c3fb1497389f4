"""The tables of chapter 15, each made from a record."""

import numpy as np

from . import ch14_model, ch15_steps
from .ch15_measure import Peer, numbers_ahead, scan_attempts, shared_sequences, steps
from .table import Table


def ladder_table():
    """Microseconds of each step of the ladder, shape by shape, and the floor."""
    rows = ch14_model.record("ladder_h100")["rows"]
    cells = [[f"{step['us']:,.0f}" for step in row["steps"].values()] for row in rows]
    lines = [(r["shape"], *us, f"{r['floor_us']:.0f}") for r, us in zip(rows, cells, strict=True)]
    head = ("µs", *rows[0]["steps"], "floor")
    return Table(head, lines, ch14_model.machine("ladder_h100"))


def gains_table(step):
    """How many times faster one step of the ladder made each shape."""
    shapes = [row["shape"] for row in ch14_model.record("ladder_h100")["rows"]]
    rows = [(shape, f"{ch15_steps.gains(shape)[step]:.2f}") for shape in shapes]
    return Table((step, "times faster"), rows)


def log_table():
    """The earliest call and the last, and how much of the earliest was not its scan."""
    shapes = {
        "32 value heads": "B1 T32768 H16/32 D128",
        "8 value heads": "B1 T32768 H2/8 D128",
        "63 tokens, 1 head": "B1 T63 H1 D64",
    }
    rows = []
    for name, shape in shapes.items():
        call = dict(steps("call", shape))
        first, now = call["first forward"], call["numbers ahead of their chunk"]
        rows.append((name, f"{first:,}", f"{now:,}", f"{first / now:.1f}"))
    call, scan = (dict(steps(part, shapes["32 value heads"])) for part in ("call", "scan"))
    rest = call["first forward"] - scan["first forward"]
    taken = ch14_model.machine("forward_steps_h100")
    note = f"Of the earliest call with 32 value heads, {rest:,} µs are not the scan. {taken}"
    return Table(("µs", "at first", "now", "times faster"), rows, note)


def kernels_table():
    """What the compiler gave the kernels for heads of 128, and how many programs fit on a core."""
    kernels, rows = ch14_model.record("compiled")["kernels"], []
    for name, warps in (("first", 4), ("transform", 1), ("transform 16 bits", 1), ("scan", 4)):
        used = kernels[f"sm_90 {name} K=128 V=128 bfloat16"]
        registers, shared = used["registers"], used["shared_bytes"]
        fit = min(65536 // (32 * warps * registers), 232448 // shared)
        rows.append((name, registers, used["spilled_bytes"], shared, fit))
    head = ("kernel", "registers", "spilled bytes", "shared bytes", "programs at a time")
    return Table(head, rows)


def ahead_table():
    """The variants of numbers ahead of their chunk, their time over that before."""
    before = numbers_ahead()["before"]["1x32768"]
    rows = [(what, f"{us['1x32768'] / before:.2f}") for what, us in numbers_ahead().items()]
    return Table(("variant", "time over that before"), rows)


def shared_table():
    """Sequences shared by programs: one program, segments, the rule, and what it gains."""
    rows = []
    for shape, us in shared_sequences().items():
        one, now = us["one program"], us["rule"]
        rows.append((shape, one, us.get("segments"), now, f"{one / now:.2f}"))
    return Table(("µs by", "one program", "segments", "the rule", "gain"), rows)


def hopper_table():
    """What the compiler gave the scan for Hopper, by width of the keys."""
    kernels, rows = ch14_model.record("compiled")["kernels"], []
    for K in (64, 128, 256):
        used = kernels[f"sm_90 hopper scan K={K} V=128 bf16"]
        found = (used[x] for x in ("products", "waits", "registers", "spilled_bytes"))
        rows.append((f"K = {K}", *found))
    return Table(("scan", "products", "waits", "registers", "spilled bytes"), rows)


def peers_table():
    """The other packages on the listed shapes, on shapes of published models, and on both."""
    rows, notes = [], [ch14_model.machine("forward_listed_h100")]
    for name in ("fla", "flash-qla"):
        for lists in (["listed"], ["models"], ["listed", "models"]):
            peer = Peer(name, *lists)
            us, python = (peer.ratios(what) for what in ("device_us", "eager_us"))
            means = [f"{np.exp(np.log(x).mean()):.2f}" for x in (us, python)]
            errors = [f"{peer.ratios(what).min():.2f}" for what in ("error_o", "error_state")]
            shapes = f"{' and '.join(lists)}, {len(us)}"
            rows.append((name, shapes, means[0], f"{us.min():.2f}", means[1], *errors))
        shape, us, share = peer.closest()
        notes.append(f"{name} comes closest on {shape}, where the floor is {share:.0%} of our time")
    head = ("times ours", "shapes", "time", "least time", "time from Python")
    return Table((*head, "least error, outputs", "least error, states"), rows, "; ".join(notes))


def long_sequence_table(shape="B1 T32768 H16/32 D128"):
    """The packages on one long sequence, and the seconds of their first calls."""
    row = next(row for row in Peer("flash-qla", "listed", "models").rows if row["shape"] == shape)
    calls = ch14_model.record("first_calls_h100")["rows"]
    rows = []
    for name, run in row["runs"].items():
        found = [call["seconds"] for call in calls if call["package"] == name]
        seconds = f"{min(found):.1f} to {max(found):.1f}" if found else None
        floor = f"{row['floor_us'] / run['device_us']:.0%}"
        rows.append((name, f"{run['device_us']:.0f}", floor, seconds))
    return Table((shape, "µs", "floor, of it", "first calls, seconds"), rows)


def one_run_table():
    """All packages on one model's shapes, in one run: times, memory and errors over ours."""
    rows, peers = [], ("flashinfer", "flash-qla", "fla")
    for row in ch14_model.record("forward_peers_h100")["rows"]:
        us, runs = row["runs"]["gdn_ref"], [row["runs"][name] for name in peers]
        both = ("device_us", "held_us")
        times = [",\N{NO-BREAK SPACE}".join(f"{run[x] / us[x]:.2f}" for x in both) for run in runs]
        least = (min(run[x] for run in runs) / us[x] for x in ("memory_bytes", "error_o"))
        shape = row["shape"].removesuffix(" D128")
        rows.append((shape, f"{us['device_us']:.0f}", *times, *(f"{x:.2f}" for x in least)))
    names = ("FlashInfer", *peers[1:])
    head = ("times ours", "this book, µs", *names, "least memory", "least error")
    return Table(head, rows, ch14_model.machine("forward_peers_h100"))


def attempts_table():
    """What was tried on the scan and not kept: time over that of what ships."""
    rows = []
    for attempt, us in scan_attempts().items():
        long = us["1x32768"] / us["shipped"]
        short = us["1x8192"] / us["shipped, 1x8192"]
        rows.append((attempt, f"{long:.2f}", f"{short:.2f}"))
    return Table(("time over that of what ships", "32,768 tokens", "8,192 tokens"), rows)
