"""The built book for every reader: WCAG AA by axe-core, keyboard and motion, colours told apart.

axe-core 4.12 (Deque Systems, MPL 2.0) comes in the wheel of axe-playwright-python (MIT).
"""

import itertools
import re
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from built_book import PHONE, Visit, in_browser_of, pages, pages_with

from gdn_ref.figures.style import COLOUR

in_browser = in_browser_of("access")

ROOT = Path(__file__).parents[2]
AXE = find_spec("axe_playwright_python")
needs_axe = pytest.mark.skipif(AXE is None, reason="axe-playwright-python is not installed")
VIOLATIONS = """(which) => axe.run(document, {...which, resultTypes: ['violations']})
    .then(({violations}) => violations.flatMap(({id, nodes}) =>
        nodes.map(({html}) => `${id}: ${html.slice(0, 160)}`)))"""
# Contrast takes most of the time. A mode changes colours and nothing else, a phone all but them.
OF_COLOURS = ("color-contrast", "link-in-text-block")
SHOW_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


@needs_axe
@pytest.mark.parametrize("path", pages())
class TestEveryPage:
    pytestmark = in_browser

    def test_has_no_violation_of_wcag_aa(self, browser, server, path):
        self.check(browser, server, path, {}, color_scheme="light")

    def test_has_none_of_colours_in_the_dark(self, browser, server, path):
        self.check(browser, server, path, {"runOnly": list(OF_COLOURS)}, color_scheme="dark")

    def test_has_none_on_a_phone(self, browser, server, path):
        others = {"rules": {rule: {"enabled": False} for rule in OF_COLOURS}}
        self.check(browser, server, path, others, viewport=PHONE)

    def check(self, browser, server, path, rules, **context):
        script = Path(AXE.submodule_search_locations[0], "axe.min.js").read_text(encoding="utf-8")
        with Visit(browser, server, reduced_motion="reduce", **context) as visit:
            page = visit.open(path)
            page.evaluate(SHOW_ALL)
            page.wait_for_timeout(300)  # for what scrolls to be marked so
            page.evaluate(script)
            assert page.evaluate(VIOLATIONS, rules) == []


@pytest.mark.parametrize("path", pages_with('class="gdn-figure"'))
class TestMovingFigures:
    pytestmark = in_browser

    def test_show_where_the_keyboard_is(self, browser, server, path):
        with Visit(browser, server) as visit:
            page = visit.open(path)
            page.keyboard.press("Tab")
            for control in page.locator(".gdn-figure :is(.gdn-handle, input, button)").all():
                control.focus()
                ring = control.evaluate(
                    "e => [getComputedStyle(e).outlineStyle, parseFloat(getComputedStyle(e)"
                    ".outlineWidth), getComputedStyle(e).boxShadow]"
                )
                visible = (ring[0] != "none" and ring[1] >= 1) or ring[2] != "none"
                assert visible, control.evaluate("e => e.outerHTML.slice(0, 160)")

    def test_say_what_they_show(self, browser, server, path):
        with Visit(browser, server) as visit:
            for figure in visit.open(path).locator(".gdn-figure").all():
                assert figure.locator("[aria-live]").count(), figure.get_attribute("data-figure")
                for handle in figure.locator("[role=slider]").all():
                    assert handle.get_attribute("aria-label")
                    assert handle.get_attribute("aria-valuetext")

    @pytest.mark.parametrize("motion", ["reduce", "no-preference"])
    def test_do_not_move_on_their_own(self, browser, server, path, motion):
        drawn = "() => [...document.querySelectorAll('.gdn-figure')].map((f) => f.innerHTML)"
        with Visit(browser, server, reduced_motion=motion) as visit:
            page = visit.open(path)
            before = page.evaluate(drawn)
            page.wait_for_timeout(1500)
            assert page.evaluate(drawn) == before
            if motion == "reduce":
                assert page.evaluate("document.getAnimations().length") == 0


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
