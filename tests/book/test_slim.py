"""What is left of the theme's style sheets and icons, and what is gone."""

import re
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


def test_a_variable_stays_if_something_takes_it():
    css = '.a{--gone:url("data:;x");--here:1;color:red;--gone-too:var(--far)}.b{--word:2}'
    taken = [css, "p{top:var( --here)}", "q{top:var(--far)}"]
    kept = ".a{--here:1;color:red;}.b{--word:2}"
    assert slim.without_variables([css], {"--word"}, taken) == [kept]


@needs_site
def test_what_has_no_element_in_code_has_the_colour_of_the_rest():
    css = (SITE / "_static/book.css").read_text(encoding="utf-8")
    for mode in ("light", "dark"):
        colours = dict(
            re.findall(rf'data-theme="{mode}"\] \.highlight( \.\w+)?{{[^}}]*?color: (#\w+)', css)
        )
        for name in slim.UNCOLOURED:
            assert colours.get(f" .{name}", colours[""]) == colours[""], name


@needs_site
def test_icons_are_those_of_the_style_sheets():
    from fontTools.ttLib import TTFont

    css = (SITE / "_static/book.css").read_text(encoding="utf-8")
    fonts = list((SITE / "_static").rglob("fontawesome/webfonts/*"))
    drawn = set().union(*(TTFont(path).getBestCmap() for path in fonts))
    wanted = {ord(sign) for sign in slim.ICON.findall(css)}
    assert {0xF002, 0xF105} <= wanted <= drawn  # search, next
    assert sum(path.stat().st_size for path in fonts) < 20_000
