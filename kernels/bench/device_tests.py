"""Run the tests marked `gpu`, and record how many passed on what.

    python kernels/bench/device_tests.py --json tests.json
    python kernels/bench/device_tests.py --json tests.json --large
    python kernels/bench/device_tests.py --json tests.json --again

`-n` is pytest-xdist's number of processes; most of the time goes to compiling, and neighbours in a
file share what is compiled. Tests that need most of the device's memory are run after the others,
alone. The record is written before them, too, and `--large` adds them to it, where the first call
had no time left. `--again` runs those that the record has as failed, after they were mended: the
record then says how many they were. It says of which kernels it is: a digest of what
`compiled.json` has of them for the device's capability, which
`tests/kernels/test_device_record.py` compares with the kernels at hand.
"""

import argparse
import datetime
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
COMPILED = ROOT / "book" / "_data" / "bench" / "compiled.json"
LARGE = "test_more_sequences_than_a_short_axis or test_offsets_beyond_31_bits"


def digest(capability=90):
    """Of the keys of all kernels that are compiled for this capability."""
    kernels = json.loads(COMPILED.read_text())["kernels"]
    keys = sorted(f"{n} {x['key']}" for n, x in kernels.items() if n.startswith(f"sm_{capability}"))
    return hashlib.sha256("\n".join(keys).encode()).hexdigest()[:16]


def files():
    """Where such tests are; other files may need what a machine with a GPU does not have."""
    found = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(file.relative_to(ROOT)) for file in found if "mark.gpu" in file.read_text()]


def run(tests, processes=0, choice=""):
    """Test -> "passed", "failed" or "skipped" of these, those that `choice` says."""
    with tempfile.NamedTemporaryFile(suffix=".xml") as file:
        command = [sys.executable, "-m", "pytest", "-q", "-m", "gpu", "-k", choice, *tests]
        command += ["--tb=short", f"--junitxml={file.name}"]
        command += ["-n", str(processes), "--dist", "worksteal"] if processes else []
        subprocess.run(command, cwd=ROOT, check=False)
        found = {}
        for case in ElementTree.parse(file.name).iter("testcase"):
            bad = case.find("failure") is not None or case.find("error") is not None
            skipped = case.find("skipped") is not None
            name = f"{case.get('classname').replace('.', '/')}.py::{case.get('name')}"
            found[name] = "failed" if bad else "skipped" if skipped else "passed"
    return found


def added(record, part, found, seconds):
    """The record with what these tests found: those of a part, or those that had failed."""
    results = list(found.values())
    again = part == "again"
    failures = {name for name, how in found.items() if how == "failed"}
    failures |= set() if again else set(record["failures"])
    return record | {
        "parts": record["parts"] + [part] * (not again),
        "tests": record["tests"] + len(found) * (not again),
        "passed": record["passed"] + results.count("passed"),
        "failed": len(failures),
        "skipped": record["skipped"] + results.count("skipped"),
        "failures": sorted(failures),
        "run again": record["run again"] + len(found) * again,
        "seconds": record["seconds"] + round(seconds),
    }


def fresh_record(processes):
    """A record without a test."""
    import torch
    import triton

    versions = {"python": platform.python_version()}
    versions |= {"torch": torch.__version__, "triton": triton.__version__}
    return {
        "what": "the tests marked gpu",
        "date": str(datetime.date.today()),
        "gpu": torch.cuda.get_device_name(),
        "versions": versions,
        "kernels": digest(),
        "parts": [],
        **dict.fromkeys(("tests", "passed", "failed", "skipped"), 0),
        "failures": [],
        "run again": 0,
        "processes": processes,
        "seconds": 0,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("-n", type=int, default=min(16, os.cpu_count()), help="processes")
    more = parser.add_mutually_exclusive_group()
    more.add_argument("--large", action="store_true", help="those that need most of the memory")
    more.add_argument("--again", action="store_true", help="those that failed, alone")
    given = parser.parse_args()
    if given.large or given.again:
        record = json.loads(given.json.read_text())
        if record["kernels"] != digest():
            parser.error(f"--json: expected a record of these kernels, got {record['kernels']}")
        if given.again and not record["failures"]:  # pytest would take all tests for none
            parser.error("--again: expected a record with failures, got one without")
    else:
        record = fresh_record(given.n)
    if given.again:
        parts = {"again": (record["failures"],)}
    else:
        parts = {"others": (files(), given.n, f"not ({LARGE})"), "large": (files(), 0, LARGE)}
    for part, tests in parts.items():
        if part in record["parts"]:
            continue
        start = time.perf_counter()
        record = added(record, part, run(*tests), time.perf_counter() - start)
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))
    return 1 if record["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
