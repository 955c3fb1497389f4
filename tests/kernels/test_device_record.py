"""What the README says of GPUs: which tests passed there, of these kernels; where segments are."""

import json
import re
from pathlib import Path

import pytest

from gdn_ref.kernels.bench import device_tests
from gdn_ref.kernels.bench.device_tests import added, digest

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / "book" / "_data" / "bench" / "tests_gpu.json").read_text())


EMPTY = {"parts": [], "failures": [], "kernels": digest()}
EMPTY |= dict.fromkeys(("tests", "passed", "failed", "skipped", "run again", "seconds"), 0)


def test_no_test_of_the_record_failed():
    assert RECORD["failed"] == 0 and not RECORD["failures"]
    assert RECORD["passed"] + RECORD["skipped"] == RECORD["tests"] > 900


def test_the_record_has_both_parts():
    """A call that ends before the tests that need most of the memory leaves the others alone."""
    assert RECORD["parts"] == ["others", "large"]


def test_a_record_grows_by_each_part():
    first = added(EMPTY, "others", {"a": "passed", "b": "failed", "c": "skipped"}, 9.6)
    both = added(first, "large", {"d": "passed", "e": "failed"}, 1.2)
    assert first["parts"] == ["others"] and both["parts"] == ["others", "large"]
    assert (both["tests"], both["passed"], both["skipped"], both["seconds"]) == (5, 2, 1, 11)
    assert both["failed"] == 2 and both["failures"] == ["b", "e"] and both["run again"] == 0
    mended = added(both, "again", {"b": "passed", "e": "failed"}, 3.0)
    assert mended["parts"] == both["parts"] and mended["tests"] == 5 and mended["passed"] == 3
    assert mended["failed"] == 1 and mended["failures"] == ["e"] and mended["run again"] == 2


def test_the_record_is_of_these_kernels():
    """`test_aot.py` holds `compiled.json` to them; after a change: `device_tests.py` on a GPU."""
    assert RECORD["kernels"] == digest()


def test_a_call_that_is_cut_short_leaves_what_it_has(monkeypatch, tmp_path):
    file, asked = tmp_path / "record.json", []

    def run(tests, processes=0, choice=""):
        asked.append(choice.startswith("not"))
        if not asked[-1] and len(asked) == 2:
            raise KeyboardInterrupt  # the time is up
        return {"a": "passed"} if asked[-1] else {"b": "passed"}

    def call(*options):
        monkeypatch.setattr("sys.argv", ["device_tests.py", "--json", str(file), *options])
        return device_tests.main()

    monkeypatch.setattr(device_tests, "run", run)
    monkeypatch.setattr(device_tests, "fresh_record", lambda processes: EMPTY)
    with pytest.raises(KeyboardInterrupt):
        call()
    assert json.loads(file.read_text())["parts"] == ["others"]
    assert call("--large") == 0 and asked == [True, False, False]
    record = json.loads(file.read_text())
    assert (record["parts"], record["passed"]) == (["others", "large"], 2)
    with pytest.raises(SystemExit):
        call("--again")  # nothing has failed
    file.write_text(json.dumps(record | {"kernels": "others"}))
    with pytest.raises(SystemExit):
        call("--large")


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
