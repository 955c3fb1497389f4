"""Chapter numbers come from file names, so they stay when chapters are added or missing.

The titles that stand elsewhere than on their page (sidebar, browser tab, next and previous) are
plain text: `$\\mathbf{I} - \\beta$` reads I \u2212 \u03b2 there, with no script to wait for.

`chapters/11_chunkwise.ipynb` is chapter 11: its sections, figures, theorems and equations are
numbered 11.1, 11.2, ... Other pages have no number. Sphinx would number pages by their place in
the table of contents; this runs after it has.
"""

import re

from docutils import nodes
from sphinx.environment.collectors.toctree import TocTreeCollector

CHAPTER = re.compile(r"(?:.*/)?(\d\d)_[^/]+")
SIGNS = {r"\alpha": "\u03b1", r"\beta": "\u03b2", r"\gamma": "\u03b3", r"\Gamma": "\u0393",
         r"\top": "\u1d40", r"\times": "\u00d7", "-": "\u2212"}  # fmt: skip


def connect(app):
    app.connect("env-get-updated", number_chapters, priority=900)  # after Sphinx's own at 500


def chapter_of(docname):
    """The chapter's number, or None for a page that is no chapter."""
    match = CHAPTER.fullmatch(docname)
    return int(match[1]) if match else None


def number_chapters(app, env):
    env.toc_secnumbers = {}
    for docname, toc in env.tocs.items():
        chapter = chapter_of(docname)
        if chapter is None:
            continue
        numbers = env.toc_secnumbers[docname] = {}
        _number(toc, [], chapter, numbers)
        env.titles[docname]["secnumber"] = (chapter,)
    for docname, title in env.titles.items():
        in_contents = next(iter(env.tocs[docname].findall(nodes.reference)), title)
        for formula in [*title.findall(nodes.math), *in_contents.findall(nodes.math)]:
            formula.replace_self(nodes.Text(in_words(formula.astext())))
    TocTreeCollector().assign_figure_numbers(env)
    return list(env.toc_secnumbers)


def in_words(tex):
    """A short formula as plain text: signs for the commands it uses, no fonts, no braces."""
    for command, sign in SIGNS.items():
        tex = re.sub(re.escape(command) + r"(?![A-Za-z])", sign, tex)
    tex = re.sub(r"\\(?:mathbf|boldsymbol|mathrm)\{([^}]*)\}|\\[,;! ]", r"\1", tex)
    return " ".join(re.sub(r"[\\{}^]", "", tex).split())


def _number(toc, above, first, numbers):
    """Number the entries of a bullet list `first`, `first + 1`, ...; below each, from 1."""
    for offset, item in enumerate(child for child in toc if isinstance(child, nodes.list_item)):
        number = (*above, first + offset)
        for child in item:
            if isinstance(child, nodes.bullet_list):
                _number(child, number, 1, numbers)
            else:
                for reference in child.findall(nodes.reference):
                    reference["secnumber"] = number
                    numbers[reference["anchorname"]] = number
