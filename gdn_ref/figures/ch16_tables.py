"""The tables of chapter 16, each made from a record."""

from . import ch16_curves, ch16_model
from .ch14_model import BANDWIDTH, machine
from .table import Table

MEASURED = {
    "µs on the device": ("device_us", 1),
    "µs from Python": ("eager_us", 1),
    "MB": ("memory_bytes", 1e6),
}


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
    return Table(("shape", "package", *MEASURED), rows, machine("training_h100"))


def curves_end():
    """Where the training curves end, seed by seed, and the milliseconds of a step."""
    found = ch16_curves.ends()
    rows = [
        (on, *(f"{bits:.4f}" for bits in losses), f"{ms:.0f}") for on, (losses, ms) in found.items()
    ]
    seeds = [f"seed {n + 1}" for n in range(len(rows[0]) - 2)]
    head = ("bits per byte", *seeds, "ms per step")
    return Table(head, rows, machine("training_curves_h100"))
