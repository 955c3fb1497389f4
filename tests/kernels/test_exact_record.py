"""The record of the exact tests on a GPU: all passed, and the README says how many."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / "book" / "_data" / "bench" / "exact_h100.json").read_text())


def test_every_test_of_the_record_passed():
    assert RECORD["passed"] == RECORD["tests"] and "failed" not in RECORD


def test_the_readme_has_the_number():
    rows = (ROOT / "README.md").read_text().splitlines()
    row = next(x for x in rows if "the kernels, to the last bit" in x)
    assert f"{RECORD['passed']} on an H100" in row
