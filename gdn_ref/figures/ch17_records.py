"""Chapter 17: the recorded times of decoding, where there are any."""

import json

from .places import RECORDS
from .table import Table


def decode_record(file=RECORDS / "decode_h200.json"):
    """What `kernels/bench/compare_decode.py` wrote, or None."""
    return json.loads(file.read_text()) if file.exists() else None


def decode_table(pool="float32", record=None):
    """The rows of one kind of pool; a sentence in their place if nothing was recorded."""
    record = record or decode_record()
    if record is None:
        return (
            "No run of the decode kernel is recorded here yet.\n"
            "On a CUDA machine, kernels/bench/compare_decode.py writes\n"
            "book/_data/bench/decode_h200.json, and this cell shows it."
        )
    names = list(record["rows"][0]["runs"])
    head = [f"{name}{what}" for name in names for what in (", µs", ", of floor", ", from Python")]
    rows = []
    for row in record["rows"]:
        if row["pool"] == pool:
            cells = [row["sequences"], row["tokens"], f"{row['bytes'] / 1e6:.1f}"]
            cells.append(f"{row['floor_us']:.1f}")
            for run in (row["runs"][name] for name in names):
                if "refuses" in run:
                    cells += [None] * 3
                    continue
                cells += [f"{run['device_us']:.1f}", f"{run['fraction']:.0%}"]
                cells.append(f"{run['eager_us']:.0f}")
            rows.append(cells)
    taken = f"{record['gpu']}, {record['date']}; a kernel that copies reaches"
    note = f"{pool} pool. {taken} {record['copy_bytes_per_s'] / 1e12:.2f} TB/s."
    return Table(("sequences", "tokens", "MB", "floor, µs", *head), rows, note)
