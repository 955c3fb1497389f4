"""What is left of the theme's style sheets and icons, and what is gone."""

import sys
from pathlib import Path

import pytest
from built_book import SITE, needs_site

EXTENSION = str(Path(__file__).parents[2] / "book" / "_ext")
sys.path.insert(0, EXTENSION)
from gdn_book import slim  # noqa: E402

sys.path.remove(EXTENSION)


@pytest.mark.parametrize(
    ("css", "kept"),
    [
        (".here{color:red}", ".here{color:red}"),
        (".gone{color:red}", ""),
        (".here.gone p{color:red}", ""),
        (".gone a,.here a, p{color:red}", ".here a,p{color:red}"),
        ("p:not(.gone){color:red}", "p:not(.gone){color:red}"),
        ("#gone,[data-x='a.gone']{color:red}", '#gone,[data-x="a.gone"]{color:red}'),
        (".bs-tooltip-top{color:red}", ".bs-tooltip-top{color:red}"),
        ("@media print{.gone{color:red}.here{top:0}}", "@media print{.here{top:0}}"),
        ("@media print{.gone{color:red}}", ""),
        ("@font-face{font-family:gone}", "@font-face{font-family:gone}"),
        ("/* .here */ .gone{}", ""),
    ],
)
def test_a_rule_stays_if_its_classes_are_used(css, kept):
    assert slim.live(css, {"here"}) == kept


@needs_site
def test_icons_are_those_of_the_style_sheets():
    from fontTools.ttLib import TTFont

    css = (SITE / "_static/book.css").read_text(encoding="utf-8")
    fonts = list((SITE / "_static").rglob("fontawesome/webfonts/*"))
    drawn = set().union(*(TTFont(path).getBestCmap() for path in fonts))
    wanted = {ord(sign) for sign in slim.ICON.findall(css)}
    assert {0xF002, 0xF105} <= wanted <= drawn  # search, next
    assert sum(path.stat().st_size for path in fonts) < 20_000
