"""The articles of the built site as one HTML page, for print: see pdf.py."""

import posixpath
import re
from copy import copy
from html import escape
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import yaml
from bs4 import BeautifulSoup

from .maths import unseen
from .tables import without_tex

NOT_ON_PAPER = (
    ".headerlink, .gdn-filter, .gdn-report-line, .gdn-report, .gdn-imports, script, button, iframe"
)
NEEDED_SCRIPTS = re.compile(r"/figures/")
# Pages of no use on paper.
ON_SCREEN = {"book/run_a_proof", "book/rests", "book/execution", "book/api_reference"}
ELSEWHERE = """Not printed, because only a screen can use them: “Run a proof”, the map of what rests
on what, the state of the notebooks’ execution, the reference of single modules, the source of every
check, the formal proofs, and the index. They are pages of the site, where the figures move, too."""
RIGHT = re.compile(r"\s*Right\. \([\w-]+\)\s*")  # what a checker says to each solution
CAPTIONS = Path(__file__).parents[2] / "_data" / "paper_captions.yml"
WIDEST = 16.6  # centimetres of a page between its margins
DRAWN = 0.9  # of its size on the screen: 10 points in a drawing are as large as the text


def parts(toc):
    """`(caption, pages)` for each part of the table of contents; the first page has no part."""
    yield "", [toc["root"]]
    for part in toc.get("parts", [{"caption": "", "chapters": toc.get("chapters", [])}]):
        yield part["caption"], [chapter["file"] for chapter in part["chapters"]]


def anchor(page, identifier=""):
    """Where a page, or a place on it, is in the one page: `chapters-06_x--place`."""
    place = f"--{unquote(identifier)}" if identifier else ""
    return re.sub(r"[^\w.-]", "-", page) + re.sub(r"[^\w.-]", "-", place)


class OnePage:
    """The articles of the site, under one roof: identifiers and addresses made to fit."""

    def __init__(self, site, toc):
        self.site = site
        self.parts = [
            (name, [p for p in pages if p not in ON_SCREEN]) for name, pages in parts(toc)
        ]
        self.pages = [page for _, pages in self.parts for page in pages]
        self.captions = yaml.safe_load(CAPTIONS.read_text("utf-8"))
        self.head, self.titles, self.solutions = {}, {}, {}
        self.signs = {}
        self.articles = {page: self._article(page) for page in self.pages}

    def _article(self, page):
        soup = BeautifulSoup((self.site / f"{page}.html").read_text("utf-8"), "html.parser")
        self._gather_head(page, soup.head)
        self.signs |= {path["id"]: str(path) for path in soup.select("#gdn-signs path")}
        article = soup.select_one("article.bd-article")
        for element in article.select(NOT_ON_PAPER):
            element.decompose()
        for figure in article.select(".gdn-figure"):
            self._say_what_stands(figure, article)
        for output in article.select(".tag_solution .cell_output"):
            if RIGHT.fullmatch(output.get_text()):
                output.decompose()
        for picture in article.select("img[width]"):
            size(picture)
        for element in article.find_all(id=True):
            if element.name != "svg" and not element.find_parent("svg"):  # their styles use them
                element["id"] = anchor(page, element["id"])
        for name in ("href", "src"):
            for element in article.find_all(**{name: True}):
                if element.name != "use":  # a sign of a formula
                    self._readdress(element, name, page)
        for level in (5, 4, 3, 2, 1):  # below the headings of the parts
            for heading in article.find_all(f"h{level}"):
                heading.name = f"h{level + 1}"
                self._write_out(heading)
        for fold in article.select("details:not(.gdn-badge, .gdn-proved)"):
            fold["open"] = ""
        article["id"] = anchor(page)
        self.titles[page] = article.find("h2")
        self.solutions[page] = self._take_solutions(article)
        return article

    def _say_what_stands(self, figure, article):
        """The caption of a figure that moves on the screen: nothing to drag, but what is drawn."""
        below = figure.find_next_sibling()
        framed = figure.parent.name == "figure"
        name = figure.parent["id"] if framed else figure["data-figure"]
        words = below and below.select_one(".caption-text, em")
        if words is None or name not in self.captions:
            return
        found = reversed(article.select("[data-tex]"))
        formulas = {formula["data-tex"].replace(" ", ""): formula for formula in found}
        pieces = self.captions[name].split("$")
        pieces[1::2] = [formula.replace(" ", "") for formula in pieces[1::2]]
        if missing := set(pieces[1::2]) - formulas.keys():
            raise ValueError(f"{name}: expected formulas of its chapter, got {sorted(missing)}")
        words.clear()
        for number, piece in enumerate(pieces):
            words.append(copy(formulas[piece]) if number % 2 else piece)

    @staticmethod
    def _write_out(heading):
        """A formula in a heading becomes text where it can: the outline holds nothing else."""
        for formula in heading.select(".math"):
            words = without_tex(formula["data-tex"])
            if "\\" not in words:
                formula.replace_with(words)

    def _gather_head(self, page, head):
        """The style sheets of all pages, and the scripts of the figures, once each."""
        for element in head.select('link[rel="stylesheet"], script'):
            is_style = element.name == "link"
            if is_style or NEEDED_SCRIPTS.search(element.get("src", "") + element.text):
                for name in {"href", "src"} & element.attrs.keys():
                    element[name] = self._file(page, element[name])
                self.head[str(element)] = is_style

    def _file(self, page, address):
        """A file of the site, as an address that any page on this machine can use."""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), urlsplit(address).path))
        return (self.site / unquote(path)).resolve().as_uri()

    def _readdress(self, element, name, page):
        """Addresses in the book lead to places on the one page; into the rest of the site, to
        nothing; out of it, where they led before."""
        address, fragment = urldefrag(element[name])
        if urlsplit(address).scheme:
            return
        if name == "src":
            element[name] = self._file(page, address)
            return
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), address or "."))
        target = page if not address else path.removesuffix(".html")
        if target in self.pages:
            element[name] = f"#{anchor(target, fragment)}"
        else:
            element.unwrap()

    def _take_solutions(self, article):
        """Take the solutions out of the chapter, and leave the page where each one is printed."""
        solutions = article.select(".solution")
        for solution in solutions:
            link = f'<p class="gdn-to-solution">{_link(solution["id"], "Solution")}</p>'
            solution.replace_with(BeautifulSoup(link, "html.parser"))
        return solutions

    def html(self, title, author, version, date):
        """The page: cover, contents, the articles by part, the solutions."""
        styles = [element for element, is_style in self.head.items() if is_style]
        scripts = [element for element, is_style in self.head.items() if not is_style]
        body = [self._cover(title, author, version, date), self._contents()]
        for number, (caption, pages) in enumerate(self.parts):
            if caption:
                part = f'<h1 class="gdn-part" id="part-{number}">{escape(caption)}</h1>'
                self.articles[pages[0]].insert(0, BeautifulSoup(part, "html.parser"))
            body += [str(self.articles[page]) for page in pages]
        body.append(self._solutions())
        return (
            '<!DOCTYPE html><html lang="en" data-theme="light" data-mode="light"><head>'
            f'<meta charset="utf-8"><title>{escape(title)}</title>{"".join(styles)}'
            f"<style>{self._running_heads()}</style>{''.join(scripts)}</head>"
            f'<body class="gdn-book">{unseen("".join(self.signs.values()))}{"".join(body)}'
            "</body></html>"
        )

    def _cover(self, title, author, version, date):
        found = (article.select_one(".gdn-totals strong") for article in self.articles.values())
        totals = next((words.get_text() for words in found if words), "")
        name, _, promise = title.partition(", ")
        return (
            f'<header class="gdn-cover"><p class="gdn-cover-title">{escape(name)}</p>'
            f'<p class="gdn-cover-promise">{escape(promise)}</p><p>{escape(totals)}</p>'
            f"<p>{escape(author)}<br>Version {escape(version)}, {escape(date)}</p></header>"
        )

    def _contents(self):
        lines = []
        for number, (caption, pages) in enumerate(self.parts):
            if caption:
                lines.append(f'<p class="gdn-toc-part">{_link(f"part-{number}", escape(caption))}')
            for page in pages:
                lines.append(self._entry(anchor(page), self.titles[page], "gdn-toc-chapter"))
                sections = self.articles[page].find_all("h3")
                lines += [self._entry(h.parent["id"], h, "gdn-toc-section") for h in sections]
        lines.append(f'<p class="gdn-toc-part">{_link("solutions", "Solutions to the exercises")}')
        lines.append(f'<p class="gdn-elsewhere">{ELSEWHERE}</p>')
        return f'<nav class="gdn-toc"><p class="gdn-toc-title">Contents</p>{"".join(lines)}</nav>'

    def _entry(self, identifier, heading, kind):
        return f'<p class="{kind}">{_link(identifier, heading.decode_contents())}</p>'

    def _solutions(self):
        chapters = [
            f"<h2>{self.titles[page].decode_contents()}</h2>{''.join(map(str, solutions))}"
            for page, solutions in self.solutions.items()
            if solutions
        ]
        return (
            '<article class="bd-article gdn-solutions" id="solutions">'
            f"<h1>Solutions to the exercises</h1>{''.join(chapters)}</article>"
        )

    def _running_heads(self):
        """Each article is printed on pages of its own kind, with its title above."""
        rules = []
        for page in self.pages:
            words = re.sub(r'["\\]', "", self.titles[page].get_text())
            name = f"page-{anchor(page).replace('.', '-')}"
            rules.append(f'@page {name} {{ @top-left {{ content: "{words}" }} }}')
            rules.append(f'[id="{anchor(page)}"] {{ page: {name} }}')
        return "\n".join(rules)


def size(picture):
    """A drawing's width in centimetres: as it was drawn, at most that of the page."""
    drawn = float(picture["width"]) / 96 * 2.54 * DRAWN
    picture["style"] = f"width: {min(drawn, WIDEST):.2f}cm"
    del picture["width"], picture["height"]


def _link(identifier, words):
    """A link with the number of the page that it leads to, filled in after the first printing."""
    number = f'<span class="gdn-page-number" data-page-of="{identifier}">000</span>'
    return f'<a href="#{identifier}"><span>{words}</span>{number}</a>'
