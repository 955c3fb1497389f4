"""Tests of one page, and of one dear fixture, are told to share a process."""

from pathlib import Path

import pytest
from processes import LONGEST, TOGETHER, share

ROOT = Path(__file__).parents[1]
PAGES = "tests/book/test_every_page.py::"


@pytest.mark.parametrize(
    "test, shares",
    [
        (PAGES + "test_one[book/intro.html]", "book/intro.html"),
        (PAGES + "test_one[py-modindex.html]", "py-modindex.html"),
        (PAGES + "TestA::test_two[desk-chapters/05_a-b.html]", "chapters/05_a-b.html"),
        (PAGES + "TestA::test_three[files-py-modindex.html]", "py-modindex.html"),
        ("tests/book/test_zip.py::TestA::test_four[x]", "tests/book/test_zip.py"),
        ("tests/book/test_trust.py::TestFilter::test_five", "tests/book/test_trust.py::TestFilter"),
        ("tests/book/test_trust.py::test_six", "tests/book/test_trust.py::test_six"),
    ],
)
def test_a_share_is_read_from_the_name(test, shares):
    assert share(test) == shares


@pytest.mark.parametrize("name", [*TOGETHER, *LONGEST, PAGES])
def test_what_is_named_is_there(name):
    module, _, cls = name.partition("::")
    text = (ROOT / module).read_text(encoding="utf-8")
    assert f"\nclass {cls}:" in text if cls else text
