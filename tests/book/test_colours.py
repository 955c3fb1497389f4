"""Letters in colour: which letters, on which pages, and the button that turns them on."""

import re
import sys
from collections import Counter
from types import SimpleNamespace

import pytest
from built_book import SITE, Visit, in_browser
from tiny_book import EXTENSION
from wcag import COLOURS, needs_axe, violations

sys.path.insert(0, str(EXTENSION))
from gdn_book import colours  # noqa: E402
from gdn_book.symbols import codes  # noqa: E402

sys.path.remove(str(EXTENSION))

CHAPTERS = ("chapters/05_the_delta_rule.html", "chapters/10_gated_delta_rule.html")
BUTTON = "button.gdn-colours"
# Each letter of a numbered equation: its sign, its colour and that of the ground it stands on.
LETTERS = """() => {
    const numbers = (colour) => colour.match(/[\\d.]+/g).map(Number)
        .map((x, i) => (colour.startsWith('color(') && i < 3 ? 255 * x : x));
    const ground = (node) => {
        const layers = [];
        for (let one = node; one; one = one.parentElement) {
            layers.unshift(numbers(getComputedStyle(one).backgroundColor));
        }
        return layers.reduce((below, [r, g, b, alpha = 1]) =>
            [r, g, b].map((x, i) => alpha * x + (1 - alpha) * below[i]), [255, 255, 255]);
    };
    return [...document.querySelectorAll('div.math[id^=equation-]')].map((equation) => [
        equation.dataset.tex, numbers(getComputedStyle(equation).color).slice(0, 3),
        [...equation.querySelectorAll('use')].map((use) => [
            use.getAttribute('href').replace(/^#\\w+-|[st]$/g, '').toLowerCase(),
            numbers(getComputedStyle(use).fill).slice(0, 3), ground(equation)])]);
}"""


def contrast(one, other):
    """WCAG's contrast of two colours, channels to 255."""

    def luminance(colour):
        scaled = [x / 255 for x in colour]
        parts = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in scaled]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_style_sheet_knows_the_letters():
    css = (EXTENSION.parent / "_static" / "gdn.css").read_text(encoding="utf-8")
    rules = re.findall(r"use:is\((.*?)\) \{ --letter: var\(--gdn-(\w+)\); \}", css)
    found = {role: {x.lower() for x in re.findall(r'"#\w+-(\w+)"', told)} for told, role in rules}
    assert found == {role: set(letters) for role, letters in colours.LETTERS.items()}


@pytest.mark.parametrize(
    ("tex", "label", "offered"),
    [
        (r"\mathbf{S}\boldsymbol{k} = 1", True, True),
        (r"\alpha &lt; 1", True, True),
        (r"\mathbf{S}\boldsymbol{k} = 1", False, False),
        (r"k + v = S", True, False),  # numbers, not vectors
    ],
)
def test_a_page_with_such_a_letter_in_a_numbered_equation_has_the_button(tex, label, offered):
    name = ' id="equation-eq-name"' if label else ""
    number = '<span class="eqno">(1.1)</span>' if label else ""
    body = f'<div class="math notranslate nohighlight"{name}>\n{number}\\[{tex}\\]</div>'
    app = SimpleNamespace(
        builder=SimpleNamespace(format="html"), add_js_file=lambda *args, **options: None
    )
    context = {"body": body}
    colours.offer_colours(app, "page", "page.html", context, None)
    assert ("gdn_colours" in context) == offered


class TestLetters:
    pytestmark = in_browser

    @pytest.fixture(scope="class", params=CHAPTERS)
    def visit(self, browser, server, request):
        with Visit(browser, server) as visit:
            visit.page.add_init_script("localStorage.gdnColours = 'on'")
            visit.open(request.param)
            visit.unfold()
            yield visit

    @pytest.mark.parametrize("mode", ["light", "dark"])
    def test_those_of_a_role_wear_its_colour_and_no_others(self, visit, mode):
        page = visit.page
        visit.mode(mode)
        roles = {}
        for tex, ink, letters in page.evaluate(LETTERS):
            coloured = [(code, colour) for code, colour, _ in letters if colour != ink]
            expected = Counter(code for code in codes(tex) if code in colours.ROLES)
            assert Counter(code for code, _ in coloured) == expected, tex
            for code, colour in coloured:
                roles.setdefault(colours.ROLES[code], set()).add(tuple(colour))
        assert len(roles) >= 5 and all(len(found) == 1 for found in roles.values())
        assert len(set.union(*roles.values())) == len(roles)

    @pytest.mark.parametrize("mode", ["light", "dark"])
    def test_can_be_read(self, visit, mode):
        page = visit.page
        visit.mode(mode)
        pairs = {(tuple(colour), tuple(ground)) for _, _, letters in page.evaluate(LETTERS)
                 for _, colour, ground in letters}  # fmt: skip
        assert len(pairs) > 6
        assert {pair: contrast(*pair) for pair in pairs if contrast(*pair) < 4.5} == {}

    def test_are_ink_on_paper(self, visit):
        with visit.on_paper() as page:
            for tex, ink, letters in page.evaluate(LETTERS):
                assert all(colour == ink for _, colour, _ in letters), tex

    @needs_axe
    def test_break_no_rule(self, visit):
        visit.mode("light")
        assert violations(visit.page) == []
        visit.mode("dark")
        assert violations(visit.page, COLOURS) == []


class TestButton:
    pytestmark = in_browser

    def test_is_pressed_from_the_keyboard_and_remembered(self, browser, root):
        with Visit(browser, root) as visit:
            page = visit.open(CHAPTERS[0])
            button = page.locator(BUTTON)

            def state():
                on = page.evaluate("document.documentElement.matches('[data-gdn-colours]')")
                assert button.get_attribute("aria-pressed") == ("true" if on else "false")
                return on

            assert not state()
            button.focus()
            page.keyboard.press("Enter")
            assert state()
            page.reload(wait_until="load")
            assert state()
            if root.startswith("http"):  # files may each have a memory of their own
                visit.open(CHAPTERS[1])
                assert state()
            button.focus()
            page.keyboard.press("Space")
            assert not state()
            page.reload(wait_until="load")
            assert not state()
            assert visit.trouble == []

    def test_says_what_the_colours_mean(self, browser, server):
        with Visit(browser, server) as visit:
            visit.open(CHAPTERS[0]).locator(BUTTON).hover()
            shown = visit.page.locator(".tooltip")
            shown.wait_for()
            assert "keys" in shown.inner_text() and "states" in shown.inner_text()

    def test_is_only_where_a_numbered_equation_has_such_a_letter(self):
        def html(path):
            return (SITE / path).read_text(encoding="utf-8")

        assert all(html(path).count('class="btn btn-sm nav-link pst-navbar-icon gdn-colours') == 1
                   for path in CHAPTERS)  # fmt: skip
        for path in ("book/glossary.html", "book/intro.html"):
            assert "gdn-colours pst-js-only" not in html(path)
