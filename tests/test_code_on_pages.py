"""The Python blocks of the front page and of the API page run, print and refuse as they say."""

import contextlib
import io
import re
from pathlib import Path

import pytest

BOOK = Path(__file__).parents[1] / "book"


@pytest.mark.parametrize("page", ["intro", "api", "api_reference"])
def test_the_code_on_the_page_runs_and_prints_what_it_says(page):
    blocks = re.findall(r"^```python\n(.*?)^```", (BOOK / f"{page}.md").read_text(), re.M | re.S)
    names = {}
    for block in blocks:
        if "Error: " in block:
            refuses_as_written(block, names)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        for expected in re.findall(r"^print\(.*\)  # (.*)$", block, re.M):
            assert expected in printed.getvalue()


def refuses_as_written(block, names):
    """Pairs of lines: a call, and in a comment the error that it raises."""
    calls = re.findall(r"^(\w.*)\n# (\w+Error: .*)$", block, re.M)
    assert len(calls) == block.count("Error: ")
    for call, error in calls:
        kind, _, message = error.partition(": ")
        with pytest.raises({"TypeError": TypeError, "ValueError": ValueError}[kind]) as raised:
            exec(call, names)
        assert message.removeprefix("... ") in str(raised.value)
