"""The tables of chapter 16, made from records and counts."""

from ..kernels.backward.pieces import piece_length
from . import ch16_curves, ch16_model
from . import ch16_stages as stages
from .ch14_model import BANDWIDTH, machine, shape
from .table import Table

MEASURED = {
    "µs on the device": ("device_us", 1),
    "µs from Python": ("eager_us", 1),
    "MB": ("memory_bytes", 1e6),
}


def plans(x):
    """What each plan keeps between the passes, works in and moves, and its programs."""
    rows = []
    for name, keep, segment in (
        ("inputs only", False, None),
        ("states as well", True, None),
        ("segments of 8", False, 8),
    ):
        plan = ch16_model.plan(x, keep, segment)
        work = sum(plan["work"].values())
        sizes = (f"{plan['kept'] / 1e6:.0f}", f"{work / 1e6:.0f}", f"{plan['moved'] / 1e9:.2f}")
        rows.append((name, *sizes, plan["programs"]))
    return Table(("plan", "keeps, MB", "works in, MB", "moves, GB", "programs"), rows)


def peaks(name):
    """MB alive at the peak, all sequences at a time and in pieces: by formula, and counted."""
    x = shape(name)
    N, T, states = len(x.lengths), x.lengths[0], ch16_model.memory(x)["states"]
    few = piece_length(N, x.H_v * x.d_v // 64, size=2 * states // N, room=132)
    whole, cut = ch16_model.at_peak(x, N), ch16_model.at_peak(x, few)
    counted = [stages.peak(N, T, x.H_k, x.H_v, x.d_k, room) for room in (None, 132)]
    rows = [(part, size, cut[part]) for part, size in whole.items()]
    rows += [("together", sum(whole.values()), sum(cut.values())), ("counted", *counted)]
    head = (f"{name}, MB at the peak", f"{N} sequences at a time", f"{few} at a time")
    return Table(head, [(part, *(f"{size / 1e6:.1f}" for size in sizes)) for part, *sizes in rows])


def small_gradients():
    """The error of dv for entries of dO near 1 and near 1e-6, by the type of a product."""
    names = ("float16", "bfloat16")
    rows = [
        (f"{size:g}", *(f"{ch16_model.error_of_dv(size, name):.0e}" for name in names))
        for size in (1.0, 1e-6)
    ]
    return Table(("entries of dO near", *names), rows, "Relative error of dv.")


def digits_of_dg():
    """The error of dg where one token of a chunk decays by alpha, the others by 0.95."""
    found = {alpha: ch16_model.errors_of_dg(alpha) for alpha in (0.95, 1e-2, 1e-4)}
    names = list(found[0.95])
    rows = [(f"{alpha:g}", *(f"{x[name]:.0e}" for name in names)) for alpha, x in found.items()]
    note = "Relative error of dg; the other tokens of the chunk decay by 0.95."
    return Table(("alpha of one token", *names), rows, note)


def kernel_times(*names):
    """The recorded time of each kernel, and how many times that of its bytes it is."""
    rows = [
        (name, kernel, us, f"{us / by_bytes:.1f}")
        for name in names
        for kernel, (by_bytes, _, us) in ch16_model.limits(name).items()
    ]
    copied = BANDWIDTH / ch16_model.training_record()["copy_bytes_per_s"]
    note = f"{machine('backward_h100')}; a kernel that copies takes {copied:.1f} times its bytes"
    return Table(("shape", "kernel", "µs", "times its bytes"), rows, note)


def orders(*names):
    """Kernels 1 and 2 one after the other and side by side, as the log has them."""
    found = {name: dict(ch16_model.history("kernels 1 and 2", name)) for name in names}
    ways = dict.fromkeys(way for us in found.values() for way in us)
    rows = [(name, *(us.get(way) for way in ways)) for name, us in found.items()]
    return Table(("µs of kernels 1 and 2", *ways), rows)


def beside_peers():
    """Forward and backward, ours and the peers', shape by shape, with the memory of a step."""
    rows = [
        (row["shape"], name, *(f"{found[what] / unit:,.0f}" for what, unit in MEASURED.values()))
        for row in ch16_model.side_by_side()
        for name, found in row["runs"].items()
    ]
    notes = [machine("training_h100")]
    for peer in ("fla", "flash-qla"):
        mean, least = ch16_model.times_ours(peer)
        errors = ch16_model.errors_beside(peer).values()
        notes.append(
            f"{peer}: {mean:.2f} times our device time, at least {least:.2f}, "
            f"errors {min(errors):.1f} to {max(errors):.1f} times ours"
        )
    return Table(("shape", "package", *MEASURED), rows, "; ".join(notes))


def curves_end():
    """Where the training curves end, seed by seed, and the milliseconds of a step."""
    found = ch16_curves.ends()
    rows = [
        (on, *(f"{bits:.4f}" for bits in losses), f"{ms:.0f}") for on, (losses, ms) in found.items()
    ]
    seeds = [f"seed {n + 1}" for n in range(len(rows[0]) - 2)]
    head = ("bits per byte", *seeds, "ms per step")
    return Table(head, rows, machine("training_curves_h100"))
