"""The kernels' tests without a tolerance on a GPU, several runs side by side, and their record.

    python kernels/bench/exact.py --json book/_data/bench/exact_h100.json

Every kernel that can be exact has to equal the integer token loop to the last bit, in both passes
(`tests/kernels/test_exact.py` says on which data). Exits with 1 if a test fails.
"""

import argparse
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compare import write_record

ROOT = Path(__file__).parents[2]
PYTEST = [sys.executable, "-m", "pytest", "-m", "gpu", "-q", "-p", "no:cacheprovider"]
OUTCOME = {"failure": "failed", "error": "failed", "skipped": "skipped"}
FILES = ["tests/kernels/test_exact.py", "tests/kernels/test_exact_conv.py"]


def collected():
    """The names of all tests that need a GPU."""
    done = subprocess.run(
        [*PYTEST, "--collect-only", *FILES], cwd=ROOT, capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return [line for line in done.stdout.splitlines() if "::" in line]


def run(names):
    """How many of these tests passed, failed or were skipped."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        subprocess.run([*PYTEST, "--junitxml", str(report), *names], cwd=ROOT, capture_output=True)
        cases = list(ElementTree.parse(report).iter("testcase"))
    return Counter(
        next((OUTCOME[x.tag] for x in case if x.tag in OUTCOME), "passed") for case in cases
    )


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the record to this file")
    parser.add_argument("--jobs", type=int, default=12, help="processes (default 12)")
    args = parser.parse_args(argv)
    names = collected()
    with ThreadPoolExecutor(args.jobs) as pool:
        found = sum(pool.map(run, [names[n :: args.jobs] for n in range(args.jobs)]), Counter())
    print(dict(found), f"of {len(names)} tests")
    what = "kernels against the integer token loop, to the last bit, both passes"
    write_record(args.json, what, {"tests": len(names)} | dict(found))
    return 0 if found["passed"] == len(names) else 1


if __name__ == "__main__":
    sys.exit(main())
