"""The theme's share of a page, without what no page of this book uses.

The theme brings the whole of Bootstrap and Font Awesome. Once the pages are written, its style
sheets keep only the rules for classes that some page or script names, of their variables those
that something takes, and its icon fonts only the icons that these rules draw. The script of
Bootstrap names all of its parts, of which the theme uses menus, hints and what collapses. The
book's own style sheets stay as they are. In code, what has the colour of the rest needs no element.
"""

import logging
import re
from pathlib import Path

import tinycss2

OWN = ("gdn.css", "print.css")  # the second is for the book on paper too, which is no page
PUT_TOGETHER = re.compile("bs-")  # classes whose names scripts make from parts
VARIABLE = re.compile(
    r"""(?<![\w-])(--[\w-]+)\s*:(?:"[^"]*"|'[^']*'|url\([^)]*\)|[^;{}"'])*(?:;|(?=\}))"""
)
TAKEN = re.compile(r"var\(\s*(--[\w-]+)")
BOOTSTRAP = "active collapse collapsed collapsing disabled dropup fade show tooltip tooltip-arrow"
BOOTSTRAP = {*BOOTSTRAP.split(), "tooltip-inner"}
UNCOLOURED = {"n", "nn", "nx", "p", "pm", "w"}  # of code: names, signs and white space
PLAIN = re.compile(rf'<span class="(?:{"|".join(sorted(UNCOLOURED))})">([^<]*)</span>')
ICON = re.compile("[\ue000-\uf8ff]")
WOFF2 = re.compile(r'url\([^)]*/fontawesome/[^)]*\.woff2\)\s*format\("woff2"\),')


def connect(app):
    app.connect("build-finished", slim, priority=900)  # after those that write pages


def slim(app, exception):
    if exception or app.builder.format != "html":
        return
    site = Path(app.outdir)
    script = site / "_static" / "scripts" / "fontawesome.js"
    if script.is_file():  # 1.5 MB, and it names every icon
        script.write_text("// The icons come from the web font in the style sheet.\n")
    for path in pages(site):
        html = path.read_text(encoding="utf-8")
        path.write_text(PLAIN.sub(r"\1", html), encoding="utf-8")
    used = words(site)
    sheets = {p: p.read_text(encoding="utf-8") for p in (site / "_static").rglob("*.css")}
    theirs = [path for path in sheets if path.name not in OWN]
    sheets |= {path: WOFF2.sub("", live(sheets[path], used)) for path in theirs}
    kept = without_variables([sheets[path] for path in theirs], used, sheets.values())
    for path, css in zip(theirs, kept, strict=True):
        path.write_text(css, encoding="utf-8")
    icons = set(ICON.findall("".join(kept)))
    for font in (site / "_static").rglob("fontawesome/webfonts/*.ttf"):
        font.with_suffix(".woff2").unlink(missing_ok=True)
        keep_icons(font, icons)


def words(site):
    """Every word of the pages and their scripts: a class that is not among them is not used."""
    scripts = (path for path in site.rglob("*.js") if path.name != "bootstrap.js")
    found = set(BOOTSTRAP)
    for path in (*pages(site), *scripts):
        if path.relative_to(site).parts[0] not in ("lite", "searchindex.js"):
            found.update(re.findall(r"[\w-]+", path.read_text(encoding="utf-8")))
    return found


def pages(site):
    return [path for path in site.rglob("*.html") if path.relative_to(site).parts[0] != "lite"]


def live(css, used):
    """The style sheet without the rules for classes that are not among the words `used`."""
    rules = tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True)
    return "".join(_live_rule(rule, used) for rule in rules)


def without_variables(sheets, used, every):
    """The style sheets without the variables that none of `every` takes and that `used` lacks."""
    taken = used.union(*(TAKEN.findall(css) for css in every))
    return [VARIABLE.sub(lambda one: one[0] if one[1] in taken else "", css) for css in sheets]


def _live_rule(rule, used):
    if rule.type == "qualified-rule":
        selectors = [part for part in _between_commas(rule.prelude) if _classes(part) <= used]
        before, inside = ",".join(map(_text, selectors)), _text(rule.content)
    elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports"):
        inside = live(_text(rule.content), used)
        before = inside and f"@{rule.at_keyword} {_text(rule.prelude)}"
    else:
        return rule.serialize()
    return before and f"{before}{{{inside}}}"


def _text(tokens):
    return tinycss2.serialize(tokens).strip()


def _between_commas(tokens):
    parts = [[]]
    for token in tokens:
        if token == ",":
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _classes(selector):
    """The classes that an element must have; what stands in `:not(...)` and its like is no part."""
    return {
        name.value
        for dot, name in zip(selector, selector[1:], strict=False)
        if dot == "." and not PUT_TOGETHER.match(name.value)
    }


def keep_icons(path, icons):
    """The font with these icons alone, and without the name, which its licence reserves."""
    from fontTools import subset

    logging.getLogger("fontTools").setLevel(logging.WARNING)  # it tells of each table

    options = subset.Options(name_IDs=[0, 13, 14], layout_features=[])
    font = subset.load_font(path, options)
    subsetter = subset.Subsetter(options)
    subsetter.populate(text="".join(icons))
    subsetter.subset(font)
    subset.save_font(font, path, options)
