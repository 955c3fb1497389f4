"""Run the tests marked `gpu`, and record how many passed on what.

    python kernels/bench/device_tests.py --json tests.json
    python kernels/bench/device_tests.py --json tests.json --again

`-n` is pytest-xdist's number of processes; most of the time goes to compiling, and neighbours in a
file share what is compiled. Tests that need most of the device's memory are run after the others,
alone. `--again` runs those that the record has as failed, after they were mended: the record then
says how many they were. It says of which kernels it is: a digest of what `compiled.json` has of
them for the device's capability, which `tests/kernels/test_device_record.py` compares with the
kernels at hand.
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


def main():
    import torch
    import triton

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, required=True)
    parser.add_argument("-n", type=int, default=min(16, os.cpu_count()), help="processes")
    parser.add_argument("--again", action="store_true", help="those that failed, alone")
    given = parser.parse_args()
    known = json.loads(given.json.read_text()) if given.again else {"kernels": digest()}
    if known["kernels"] != digest():
        parser.error(f"--again: expected a record of these kernels, got one of {known['kernels']}")
    start = time.perf_counter()
    if given.again:
        found = run(known["failures"])
    else:
        found = run(files(), given.n, f"not ({LARGE})") | run(files(), choice=LARGE)
    results = list(found.values())
    counts = {how: results.count(how) for how in ("passed", "failed", "skipped")}
    record = {
        "what": "the tests marked gpu",
        "date": str(datetime.date.today()),
        "gpu": torch.cuda.get_device_name(),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "triton": triton.__version__,
        },
        "kernels": digest(),
        "tests": known.get("tests", len(found)),
        "passed": known.get("passed", 0) + counts["passed"],
        "failed": counts["failed"],
        "skipped": known.get("skipped", 0) + counts["skipped"],
        "failures": sorted(name for name, how in found.items() if how == "failed"),
        "run again": known.get("run again", 0) + len(found) * given.again,
        "processes": given.n,
        "seconds": known.get("seconds", 0) + round(time.perf_counter() - start),
    }
    given.json.parent.mkdir(parents=True, exist_ok=True)
    given.json.write_text(json.dumps(record, indent=1) + "\n")
    print(json.dumps(record, indent=1))
    return 1 if record["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
