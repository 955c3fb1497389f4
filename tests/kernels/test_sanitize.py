"""What `kernels/bench/sanitize.py` can show without a GPU: what it reads, and what it would run."""

import importlib
import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "kernels" / "bench"
RECORD = ROOT / "book" / "_data" / "bench" / "sanitizer_h100.json"
FRAME = "{}\n============ {} in 94.51s (0:01:34) ============\n========= {}\n"


@pytest.fixture(scope="module")
def sanitize():
    pytest.importorskip("triton")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(BENCH)
        patch.setenv("TRITON_CACHE_DIR", "unused")  # `compare` would take an empty one
        return importlib.import_module("sanitize")


@pytest.mark.parametrize("tests, summary, body, row", [
    ("24 passed, 73 deselected", "ERROR SUMMARY: 0 errors", "", {"tests": 24, "errors": 0}),
    ("1 passed", "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)", "",
     {"tests": 1, "errors": 0}),
    ("13 passed, 84 deselected, 2 warnings",
     "RACECHECK SUMMARY: 2 hazards displayed (1 error, 1 warning)",
     "========= Error: Race reported between Write access at scan_kernel+0x4d0\n"
     "=========     and Read access at void maps_kernel(float *)+0x20 [4 hazards]",
     {"tests": 13, "errors": 2, "note": "found in maps_kernel, scan_kernel"}),
    ("1 passed", "RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)",
     "========= Error: Race reported between Write access at scan_kernel+0xfe0 in hopper.py:149\n"
     "=========     and Read access at scan_kernel+0x2790 in hopper.py:158 [1024 hazards]\n"
     "=========     and Read access at scan_kernel+0x27a0 in hopper.py:158 [896 hazards]",
     {"tests": 1, "errors": 1, "note": "found in scan_kernel (hopper.py:149, hopper.py:158)"}),
    ("1 failed, 5 passed", "ERROR SUMMARY: 1 error",
     "========= Invalid __global__ read of size 4 bytes\n=========     at scan_kernel+0x90",
     {"tests": 6, "errors": 1, "note": "1 of the tests failed; found in scan_kernel"}),
    ("2 passed", "Error: process terminated", "", {"tests": 2, "errors": None}),
])  # fmt: skip
def test_counts_are_those_that_tool_and_tests_print(sanitize, tests, summary, body, row):
    assert sanitize.read(FRAME.format(body, tests, summary)) == row


def test_a_run_that_ends_early_counts_as_nothing(sanitize):
    assert sanitize.read("Killed\n") == {"tests": 0, "errors": None}


def test_every_selection_has_tests_and_none_wants_the_allocator(sanitize):
    files = [str(sanitize.TESTS / file) for file in sanitize.FILES.values()]
    collect = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", "-m", "gpu"]
    printed = subprocess.run([*collect, *files], capture_output=True, text=True, check=True).stdout
    for _, kernels, selection in sanitize.RUNS:
        inside = re.sub(r"\b(?!and\b|or\b)([\w-]+)", r"('\1' in name)", selection)
        names = [line for line in printed.splitlines() if f"/{sanitize.FILES[kernels]}::" in line]
        chosen = [name for name in names if eval(inside, {"name": name})]
        assert chosen, selection
        assert not [name for name in chosen if "graph" in name or "little_memory" in name]


def test_runs_are_of_one_tool_or_one_pass(sanitize):
    assert sanitize.chosen() == sanitize.RUNS
    assert {x[0] for x in sanitize.chosen("synccheck")} == {"synccheck"}
    both = sanitize.chosen("initcheck", "backward")
    assert both and {x[:2] for x in both} == {("initcheck", "backward")}


def test_the_record_has_the_form_that_is_written(sanitize):
    record = json.loads(RECORD.read_text())
    written = (BENCH / "sanitize.py").read_text()
    for name in [*record, *record["rows"][0]]:
        assert f'"{name}"' in written


def test_a_run_that_takes_too_long_is_stopped(sanitize, monkeypatch, tmp_path):
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho started; echo '==== 3 passed in 1.0s ===='; sleep $1\n")
    tool.chmod(0o755)
    monkeypatch.setattr(sanitize, "COMMAND", [str(tool)])
    log, begin = tmp_path / "log", time.monotonic()
    assert "note" not in sanitize.run("0", "forward", "x")
    found = sanitize.run("60", "forward", "x", begin + 5, log)
    assert found["note"] == "stopped before its end" and time.monotonic() - begin < 50
    assert log.read_text().startswith("started")


def test_without_the_tool_it_says_what_is_missing():
    found = subprocess.run(
        [sys.executable, BENCH / "sanitize.py"], env={"PATH": "", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert found.returncode == 2 and "needs compute-sanitizer" in found.stderr
