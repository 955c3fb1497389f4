"""What the README says of GPUs: which tests passed there, of these kernels; where segments are."""

import json
import re
from pathlib import Path

import pytest

from gdn_ref.kernels.bench.device_tests import digest

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / "book" / "_data" / "bench" / "tests_gpu.json").read_text())


def test_no_test_of_the_record_failed():
    assert RECORD["failed"] == 0 and not RECORD["failures"]
    assert RECORD["passed"] + RECORD["skipped"] == RECORD["tests"] > 900


def test_the_record_is_of_these_kernels():
    """`test_aot.py` holds `compiled.json` to them; after a change: `device_tests.py` on a GPU."""
    assert RECORD["kernels"] == digest()


def test_the_readme_has_the_numbers():
    row = next(x for x in (ROOT / "README.md").read_text().splitlines() if "tests on a GPU" in x)
    assert f"{RECORD['passed']} passed, {RECORD['skipped']} skipped" in row


def test_the_readme_says_where_there_are_segments():
    """Of its table: from how many tokens, for how many programs, on an H100."""
    pytest.importorskip("triton")
    from gdn_ref.kernels.forward.hopper.launches import cut

    text = (ROOT / "README.md").read_text()
    row = text[text.index("are cut into segments") :].splitlines()[0]
    rows = re.findall(r"(\d+)(?: to (\d+))?: ([\d,]+)", row)
    assert len(rows) == 3
    for least, most, tokens in rows:
        tokens = int(tokens.replace(",", ""))
        for programs in (int(least), int(most or least)):
            assert cut(tokens, programs, 128, 132)[1] and not cut(tokens - 1, programs, 128, 132)[1]
    assert not cut(10**6, int(rows[-1][1]) + 1, 128, 132)[1]
