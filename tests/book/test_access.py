"""The colours of the book: read as text, told apart by every eye; and that a low contrast is seen.

What axe-core finds on the pages is in test_every_page.py.
"""

import itertools
import re
from pathlib import Path

import numpy as np
import pytest
from built_book import Visit, in_browser
from wcag import COLOURS, needs_axe, violations

from gdn_ref.figures.style import COLOUR, COSTS, FORMAT, ROLES, RULE, SERIES

ROOT = Path(__file__).parents[2]
FAMILIES = {"roles": ROLES, "costs": COSTS, "series": SERIES}
NAMED = (*ROLES, *COSTS, *SERIES)
PAPER = {"light": "#ffffff", "dark": "#121212"}
# What a dichromat sees, on linear RGB: Machado, Oliveira and Fernandes, A physiologically-based
# model for simulation of color vision deficiency, IEEE TVCG 15(6), 2009, severity 1.
SEEN_BY = {
    "everyone": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}
TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
)  # sRGB, IEC 61966-2-1
WHITE = TO_XYZ.sum(axis=1)


def colours(mode):
    """The colour roles of the style sheet."""
    css = (ROOT / "book" / "_static" / "gdn.css").read_text(encoding="utf-8")
    block = re.search(rf'html\[data-theme="{mode}"\] \{{(.*?)\}}', css, re.DOTALL)[1]
    return dict(re.findall(r"--gdn-(\w+): (#\w{6});", block))


def linear(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4)


def lab(rgb):
    """CIE L*a*b* of linear RGB: distances in it are about those that an eye sees."""
    x, y, z = np.cbrt(TO_XYZ @ np.clip(rgb, 0, 1) / WHITE)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(one, other):
    """WCAG's contrast of two colours."""
    dark, light = sorted(TO_XYZ[1] @ linear(colour) for colour in (one, other))
    return (light + 0.05) / (dark + 0.05)


# What dark mode makes of a figure that stands still: invert(1) hue-rotate(180deg), as the
# Filter Effects module gives the second, for `hueRotate` of 180 degrees.
TURNED = np.array([[-0.574, 1.43, 0.144], [0.426, 0.43, 0.144], [0.426, 1.43, -0.856]])


def inverted(colour):
    channels = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    turned = np.clip(TURNED @ (1 - channels), 0, 1)
    return "#" + "".join(f"{round(255 * x):02x}" for x in turned)


def palette(page):
    """The colours of figures: those that move by the style sheet, those that stand still."""
    if page == "still, dark":
        return {name: inverted(colour) for name, colour in COLOUR.items()}
    return colours(page)


def distances(found, names, eye="everyone"):
    """The CIE distance of each two of the colours, as this eye sees them."""
    seen = {name: lab(SEEN_BY[eye] @ linear(found[name])) for name in names}
    return {
        (one, other): np.linalg.norm(seen[one] - seen[other])
        for one, other in itertools.combinations(names, 2)
    }


def lightness(colour):
    return lab(linear(colour))[0]


@pytest.mark.parametrize("page", ["light", "dark", "still, dark"])
class TestColours:
    def test_can_be_read_as_text(self, page):
        found, paper = palette(page), PAPER["light" if page == "light" else "dark"]
        low = {name for name in (*NAMED, "ink") if contrast(found[name], paper) < 4.5}
        assert low == set()

    @pytest.mark.parametrize("eye", SEEN_BY)
    @pytest.mark.parametrize("family", FAMILIES)
    def test_can_be_told_apart_in_their_family(self, page, eye, family):
        least = 6 if (page, family) == ("still, dark", "roles") else 14
        apart = distances(palette(page), FAMILIES[family], eye)
        assert {pair: d for pair, d in apart.items() if d < least} == {}

    @pytest.mark.parametrize("eye", SEEN_BY)
    def test_can_be_told_from_those_of_another_family(self, page, eye):
        least = 6 if page == "still, dark" else 8.5
        own = [set(names) for names in FAMILIES.values()]
        apart = distances(palette(page), (*NAMED, "quiet", "ink"), eye)
        between = {
            pair: d for pair, d in apart.items()
            if not any(set(pair) <= names for names in own) and set(pair) & {*COSTS, *SERIES}
        }  # fmt: skip
        assert {pair: d for pair, d in between.items() if d < least} == {}

    @pytest.mark.parametrize("family", ["costs", "series"])
    def test_have_each_their_lightness_in_grey(self, page, family):
        found, least = palette(page), 3.5 if page == "still, dark" else 5
        greys = sorted(lightness(found[name]) for name in FAMILIES[family])
        assert min(np.diff(greys)) > least


def test_figures_that_stand_still_have_the_same_colours():
    assert {name: COLOUR[name] for name in NAMED} == {
        name: colour for name, colour in colours("light").items() if name in NAMED
    }
    assert (COLOUR["plus"], COLOUR["minus"]) == (COLOUR["state"], COLOUR["value"])


def test_what_is_compared_has_no_colour_of_a_role():
    assert {*RULE.values(), *FORMAT.values()} <= {*SERIES, "ink"}
    assert len({*RULE.values()}) == len(RULE) and len({*FORMAT.values()}) == len(FORMAT)


STYLE = ROOT / "gdn_ref" / "figures" / "style.py"
FIGURES = [
    *(p for p in sorted(STYLE.parent.glob("*.py")) if p != STYLE),
    *sorted((ROOT / "book" / "_static").rglob("*.js")),
]
LITERAL = re.compile(
    r"""["'`:]\s*\#[0-9a-fA-F]{3,8}\b | \b(?:rgba?|hsla?|oklch)\( | ["'](?:C\d["']|tab:)
    | ["']?\b(?:colou?rs?|fc|ec|facecolor|edgecolor|fill|stroke)["']?\s*[=:]\s*["']
      (?!none|white|transparent|currentColor|var|url|\$)""",
    re.VERBOSE,
)


def literals(text):
    """Colours that are written out; white letters on a dark ground are paper, and no colour."""
    return [m[0] for m in LITERAL.finditer(text)]


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.name)
def test_a_figure_takes_its_colours_by_their_names(path):
    text = path.read_text(encoding="utf-8")
    assert literals(text) == []
    known = {*colours("light"), "plus", "minus"}
    assert set(re.findall(r"var\(--gdn-(\w+)\)", text)) <= known
    assert set(re.findall(r'COLOUR\["(\w+)"\]', text)) <= {*COLOUR}


@pytest.mark.parametrize(
    "line",
    [
        'color="#123456"',
        "fc='#abc'",
        'stroke: "rgb(1, 2, 3)"',
        '{"ec": "red"}',
        '"C0"',
        'fill: "red"',
    ],
)
def test_a_colour_that_is_written_out_is_found(line):
    assert literals(line)


MANY_TEXTS = """<!doctype html><html lang="en"><title>Texts</title>
<style>body {{ color: #222; background: #fff }} .box {{ background: #333; color: #eee }}</style>
<main><h1>Texts</h1>{many}<div class="box">{many}</div>{one}</main>"""
PALE = [
    '<p style="color: #bbb">its own colour</p>',
    '<p style="color: #222; background: #333">on its own ground</p>',
    '<div class="box"><p style="color: #222">a colour that is well elsewhere</p></div>',
    '<p>in the middle of <b style="opacity: .3">a paragraph</b></p>',
    '<div style="background: #555"><p>on the ground <i>of what holds it</i></p></div>',
    '<p style="color: #888; font-size: 30px">large</p>' * 4 + '<p style="color: #888">small</p>',
    '<p style="color: #bbb">a</p>' * 4 + '<p style="color: #bbb">words</p>',
    '<label>a field <input style="color: #ccc; background: #fff" value="pale"></label>',
]


@needs_axe
class TestContrast:
    """One pale text among many is seen, though few of those that look alike are measured."""

    pytestmark = in_browser

    @pytest.mark.parametrize("one", PALE, ids=range(len(PALE)))
    def test_of_one_text_among_many(self, browser, one):
        with Visit(browser, "about:") as visit:
            many = "<p>words and <b>more</b> words</p>" * 50
            visit.page.set_content(MANY_TEXTS.format(many=many, one=""))
            assert violations(visit.page, COLOURS) == []
            visit.page.set_content(MANY_TEXTS.format(many=many, one=one))
            assert violations(visit.page, COLOURS) != []
