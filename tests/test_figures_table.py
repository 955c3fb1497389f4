"""Tables of the chapters: what they show, as HTML and as text, and what they refuse."""

import pytest
from bs4 import BeautifulSoup

from gdn_ref.figures.table import Table

TABLE = Table(("shape", "us", "<n>"), [("a & b", 1234, "0.50"), ("c", None, "1e-3")], note="H100")


def test_html_has_a_head_for_each_column_and_row():
    soup = BeautifulSoup(TABLE._repr_html_(), "html.parser")
    assert [th.text for th in soup.select("th[scope=col]")] == ["shape", "us", "<n>"]
    assert [th.text for th in soup.select("th[scope=row]")] == ["a & b", "c"]
    assert [td.text for td in soup.select("td")] == ["1,234", "0.50", "", "1e-3"]
    assert soup.caption.text == "H100"
    assert "caption" not in Table(("a",), [])._repr_html_()


def test_text_stands_in_columns():
    assert repr(TABLE).splitlines() == [
        "shape     us   <n>",
        "a & b  1,234  0.50",
        "c             1e-3",
        "H100",
    ]


def test_a_row_of_another_length_is_refused():
    with pytest.raises(ValueError, match="rows: expected 2 cells, got 1"):
        Table(("a", "b"), [("c",)])
