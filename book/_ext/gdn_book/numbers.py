"""Chapter numbers come from file names, so they stay when chapters are added or missing.

`chapters/11_chunkwise.ipynb` is chapter 11: its sections, figures, theorems and equations are
numbered 11.1, 11.2, ... Other pages have no number. Sphinx would number pages by their place in
the table of contents; this runs after it has.
"""

import re

from docutils import nodes
from sphinx.environment.collectors.toctree import TocTreeCollector

CHAPTER = re.compile(r"(?:.*/)?(\d\d)_[^/]+")


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
    TocTreeCollector().assign_figure_numbers(env)
    return list(env.toc_secnumbers)


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
