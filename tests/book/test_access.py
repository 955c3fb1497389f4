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

from gdn_ref.figures.style import COLOUR

ROOT = Path(__file__).parents[2]
ROLES = ("key", "value", "query", "state", "decay", "error")
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


@pytest.mark.parametrize("mode", ["light", "dark"])
class TestColours:
    def test_can_be_read_as_text(self, mode):
        found = colours(mode)
        low = {role for role in (*ROLES, "ink") if contrast(found[role], PAPER[mode]) < 4.5}
        assert low == set()

    @pytest.mark.parametrize("eye", SEEN_BY)
    def test_can_be_told_apart(self, mode, eye):
        found = colours(mode)
        seen = {role: lab(SEEN_BY[eye] @ linear(found[role])) for role in ROLES}
        close = [
            (one, other)
            for one, other in itertools.combinations(ROLES, 2)
            if np.linalg.norm(seen[one] - seen[other]) < 14
        ]
        assert close == []


def test_figures_that_stand_still_have_the_same_colours():
    assert {role: COLOUR[role] for role in ROLES} == {
        role: colour for role, colour in colours("light").items() if role in ROLES
    }


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
