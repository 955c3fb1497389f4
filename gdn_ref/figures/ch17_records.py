"""Chapter 17: the recorded times of decoding, where there are any."""

import json

from .places import RECORDS


def decode_record(file=RECORDS / "decode_h100.json"):
    """What `kernels/bench/compare_decode.py` wrote, or None."""
    return json.loads(file.read_text()) if file.exists() else None


def decode_table(pool="float32", record=None):
    """The rows of one kind of pool as text, one a line; a sentence if nothing was recorded."""
    record = record or decode_record()
    if record is None:
        return (
            "No run of the decode kernel is recorded here yet.\n"
            "On a CUDA machine, kernels/bench/compare_decode.py writes\n"
            "book/_data/bench/decode_h100.json, and this cell shows it."
        )
    names = list(record["rows"][0]["runs"])
    lines = [
        f"{pool} pool, copy at {record['copy_bytes_per_s'] / 1e12:.2f} TB/s; us",
        f"{'N':>4}{'n':>3}{'MB':>8}{'floor':>8}"
        + "".join(f"{name:>9}{'of floor':>10}{'eager':>7}" for name in names),
    ]
    for row in record["rows"]:
        if row["pool"] == pool:
            line = f"{row['sequences']:4}{row['tokens']:3}{row['bytes'] / 1e6:8.1f}"
            line += f"{row['floor_us']:8.1f}"
            for name in names:
                run = row["runs"][name]
                line += f"{run['device_us']:9.1f}{run['fraction']:10.0%}{run['eager_us']:7.0f}"
            lines.append(line)
    return "\n".join(lines)
