"""What rests on what: the file against the chapters and their proofs, the map in a browser."""

import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from built_book import SITE, Visit, in_browser, needs_site
from tiny_book import EXTENSION, Book

sys.path.insert(0, str(EXTENSION))
from gdn_book import rests  # noqa: E402

sys.path.remove(str(EXTENSION))

ROOT = Path(__file__).parents[2]
BELOW = yaml.safe_load((ROOT / "book" / "rests.yml").read_text(encoding="utf-8"))
BLOCK = re.compile(r"^(`{3,})\{prf:(\w+)\}[^\n]*\n(.*?)^\1$", re.S | re.M)
CITED = re.compile(r"\{(eq|prf:ref)\}`([\w-]+)`")


def text(notebook):
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


CHAPTERS = {p.stem[:2]: text(p) for p in sorted((ROOT / "chapters").glob("*.ipynb"))}


def displayed(part):
    return re.findall(r"\$\$\s*\((eq-[\w-]+)\)", part)


def theorems():
    """`(name, its equations, what the theorem and its proofs cite)`; a proof without a theorem is
    that of the display before it."""
    found = {}
    for chapter in CHAPTERS.values():
        last, end = None, 0
        for block in BLOCK.finditer(chapter):
            _, kind, body = block.groups()
            if kind != "proof":
                last = re.search(r":label: (\S+)", body)[1]
                found[last] = displayed(body), []
            elif between := displayed(chapter[end : block.start()]):
                last = between[-1]
                found[last] = [last], []
            found[last][0].extend(displayed(body) if kind == "proof" else ())
            found[last][1].extend(CITED.findall(body))
            end = block.end()
    return found


THEOREMS = theorems()


def test_the_order_is_that_of_the_book():
    assert list(BELOW) == [label for chapter in CHAPTERS.values() for label in displayed(chapter)]


def test_no_circle_and_every_start_is_one():
    chain = rests.longest_chain(BELOW)  # raises for a circle
    assert len(chain) == len(set(chain)) and not BELOW[chain[0]]
    assert all(one in BELOW[label] for one, label in zip(chain, chain[1:], strict=False))


@pytest.mark.parametrize("name", [n for n, (equations, _) in THEOREMS.items() if equations])
def test_a_theorem_rests_on_what_its_proof_cites(name):
    """Of a theorem that is cited by its name, on one of its equations at least."""
    mine, cited = THEOREMS[name]
    reached = set(mine).union(*(rests.all_from(label, BELOW) for label in mine))
    for kind, target in cited:
        wanted = [target] if kind == "eq" else THEOREMS[target][0]
        assert not wanted or reached & set(wanted), f"{name} cites {target}"


def test_turned_and_reached():
    below = {"a": [], "b": ["a"], "c": ["b"], "d": ["a"]}
    assert rests.turned(below) == {"a": ["b", "d"], "b": ["c"], "c": [], "d": []}
    assert rests.all_from("c", below) == {"a", "b"}
    assert rests.longest_chain(below) == ["a", "b", "c"]


@pytest.mark.parametrize(
    "file, complaint",
    [
        ("eq-name: []\n", "book/rests.yml does not say what eq-sum rests on"),
        ("eq-name: []\neq-sum: [eq-gone]\n", "book/rests.yml: no chapter has eq-gone"),
        ("eq-name: [eq-sum]\neq-sum: [eq-name]\n", "book/rests.yml goes in a circle: eq-"),
    ],
)
def test_the_build_stops(tmp_path, file, complaint):
    book = Book(tmp_path)
    book.write("book/rests.yml", file)
    code, warnings = book.build()
    assert code == 1 and complaint in warnings


def test_a_badge_says_both(tmp_path):
    book = Book(tmp_path)
    book.write("book/rests.yml", "eq-name: []\neq-sum: [eq-name]\n")
    assert book.build() == (0, "")
    page = book.page("11_chunks")
    assert '<dt>Rests on</dt><dd><a href="#equation-eq-name">(11.1)</a></dd>' in page
    assert '<dt>Used by</dt><dd><a href="#equation-eq-sum">(11.2)</a></dd>' in page


@needs_site
def test_the_list_has_every_equation():
    page = (SITE / "book" / "rests.html").read_text(encoding="utf-8")
    assert page.count(" rests on ") >= len(BELOW)
    assert page.count("<path data-from") == sum(map(len, BELOW.values()))


class TestMap:
    pytestmark = in_browser

    @pytest.fixture(scope="class")
    def page(self, browser, server):
        with Visit(browser, server) as visit:
            visit.page.goto(f"{server}book/rests.html#eq-gdn-chunk-output")
            yield visit.page
            assert visit.trouble == []

    def lit(self, page, kind):
        return set(
            page.evaluate(
                f"[...document.querySelectorAll('[data-label].gdn-{kind}')]"
                ".map(box => box.dataset.label)"
            )
        )

    def test_an_address_chooses(self, page):
        assert self.lit(page, "this") == {"eq-gdn-chunk-output"}
        assert self.lit(page, "under") == rests.all_from("eq-gdn-chunk-output", BELOW)
        assert self.lit(page, "over") == rests.all_from("eq-gdn-chunk-output", rests.turned(BELOW))

    def test_the_list_of_names_chooses_from_the_keyboard(self, page):
        page.locator(".gdn-rests select").select_option("eq-delta-form")
        assert self.lit(page, "this") == {"eq-delta-form"}
        links = page.locator(".gdn-rests-says p").first.locator("a")
        assert links.first.get_attribute("href").endswith("#equation-eq-delta-form")
        assert links.count() == 1 + len(BELOW["eq-delta-form"])

    def test_a_click_chooses_and_a_second_one_lets_go(self, page):
        box = page.locator('[data-label="eq-gamma"]')
        box.click()
        assert self.lit(page, "this") == {"eq-gamma"}
        box.click()
        page.mouse.move(0, 0)
        assert self.lit(page, "this") == set()
        assert page.locator(".gdn-rests-says").inner_text() == ""
