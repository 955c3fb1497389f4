"""axe-core on an open page: what violates WCAG AA.

axe-core 4.12 (Deque Systems, MPL 2.0) comes in the wheel of axe-playwright-python (MIT).

Its contrast rule works out the background of every text: ten seconds on a long page. Thousands of
texts have a few dozen looks, so here it measures three of each. Every other rule sees all.
"""

import functools
from importlib.util import find_spec
from pathlib import Path

import pytest

PACKAGE = find_spec("axe_playwright_python")
needs_axe = pytest.mark.skipif(PACKAGE is None, reason="axe-playwright-python is not installed")

# A mode changes colours and nothing else, a phone all but them.
CONTRAST = {"runOnly": ["color-contrast"]}
COLOURS = {"runOnly": ["color-contrast", "link-in-text-block"]}
ALL_BUT_COLOURS = {"rules": {rule: {"enabled": False} for rule in COLOURS["runOnly"]}}

# A look is what the rule's answer depends on: the text's colour, size and weight, whether it is
# one character (the rule is then not sure), and whatever the text is painted on.
MARK_LOOKS = """() => {
    const grounds = new Map([[null, '']]);
    const ground = (e) => {
        if (!grounds.has(e)) {
            const css = getComputedStyle(e);
            const own = [css.backgroundColor, css.backgroundImage, css.opacity, css.filter,
                css.mixBlendMode, css.position.replace(/static|relative/, '')].join();
            const adds = own !== 'rgba(0, 0, 0, 0),none,1,none,normal,';
            grounds.set(e, ground(e.parentElement) + (adds ? '|' + own : ''));
        }
        return grounds.get(e);
    };
    const seen = new Map();
    for (const e of document.body.querySelectorAll('*')) {
        e.removeAttribute('data-look');
        const own = [...e.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
        const text = own.map((node) => node.data.trim()).join('');
        if (!text && !e.matches('input, select, textarea, button')) continue;
        if (!e.checkVisibility({visibilityProperty: true})) continue;
        const {color, fontSize, fontWeight, textShadow} = getComputedStyle(e);
        const look = [color, fontSize, fontWeight, textShadow, text.length === 1,
            e.namespaceURI, ground(e)].join();
        seen.set(look, (seen.get(look) ?? 0) + 1);
        if (seen.get(look) <= 3) e.setAttribute('data-look', '');
    }
    axe.configure({rules: [{id: 'color-contrast', selector: '[data-look]'}]});
}"""
# No rule that is on reads the style sheets, which axe would fetch again to have them ready.
RUN = """(rules) => axe.run(document,
    {...rules, resultTypes: ['violations'], preload: {assets: ['media']}})
    .then(({violations}) => violations.flatMap(({id, nodes}) =>
        nodes.map(({html}) => `${id}: ${html.slice(0, 160)}`)))"""


@functools.cache
def script():
    return Path(PACKAGE.submodule_search_locations[0], "axe.min.js").read_text(encoding="utf-8")


def violations(page, rules=None):
    """What axe-core objects to, one line a node; `rules` are its options, all rules if None."""
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(script())
    page.evaluate(MARK_LOOKS)
    return page.evaluate(RUN, rules or {})
