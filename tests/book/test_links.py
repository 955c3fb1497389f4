"""Every link of the built book: inside it they are followed, outside it they are listed."""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from built_book import SITE, needs_site, pages, served

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "book" / "site"))

import links  # noqa: E402

ADDRESSES = ("href", "src", "poster", "data", "action")
STYLE_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)")

pytestmark = needs_site


class Page(HTMLParser):
    """The anchors that a page has, and the addresses that it names."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.addresses, self.twice = set(), set(), set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if found.get("id"):
            self.twice |= {found["id"]} & self.anchors
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        self.addresses |= {found[name] for name in ADDRESSES if found.get(name)}
        self.addresses |= {
            part.split()[0] for part in (found.get("srcset") or "").split(",") if part
        }


@pytest.fixture(scope="module")
def read():
    return {(SITE / path).resolve(): Page(SITE / path) for path in pages()}


def inside(address):
    return not urlsplit(address).scheme and not address.startswith("//")


def target_of(page, address):
    path = unquote(urlsplit(address).path)
    return (page.parent / path).resolve() if path else page


def test_every_link_inside_the_book_leads_somewhere(read):
    broken = []
    for page, found in read.items():
        for address in filter(inside, found.addresses):
            target, anchor = target_of(page, address), unquote(urlsplit(address).fragment)
            lost = anchor and target in read and anchor not in read[target].anchors
            if lost or not target.exists():
                broken.append(f"{page.name} -> {address}")
    assert sorted(broken) == []


def test_no_page_has_an_anchor_twice(read):
    assert {f"{page.name}#{name}" for page, found in read.items() for name in found.twice} == set()


def test_what_the_style_sheets_name_is_there():
    missing = []
    for sheet in (SITE / "_static").rglob("*.css"):
        for address in STYLE_URL.findall(sheet.read_text(encoding="utf-8")):
            if inside(address) and not target_of(sheet, address).exists():
                missing.append(f"{sheet.name} -> {address}")
    assert missing == []


def test_the_search_index_names_pages_that_exist():
    index = (SITE / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(index[index.index("{") : index.rindex("}") + 1])
    assert len(index["docnames"]) > 10
    assert [name for name in index["docnames"] if not (SITE / f"{name}.html").is_file()] == []


def test_every_chapter_can_be_downloaded_as_a_notebook(read):
    chapters = [page for page in read if re.match(r"\d\d_", page.name)]
    assert chapters
    for page in chapters:
        found = [target_of(page, a) for a in filter(inside, read[page].addresses)]
        notebooks = [path for path in found if path.suffix == ".ipynb"]
        assert notebooks, f"{page.name} has no notebook to download"
        source = ROOT / "chapters" / f"{page.stem}.ipynb"
        assert all(path.read_bytes() == source.read_bytes() for path in notebooks)


def test_a_launch_button_opens_a_notebook_that_is_there(read):
    launched = 0
    for page, found in read.items():
        for address in filter(inside, found.addresses):
            for path in parse_qs(urlsplit(address).query).get("path", []):
                launched += 1
                assert path == page.relative_to(SITE).with_suffix(".ipynb").as_posix()
                assert (SITE / "lite" / "files" / path).is_file()
    assert launched


def test_every_external_link_is_listed():
    """After a change: `python book/site/links.py list _build/html`, and look at the difference."""
    assert links.in_pages(SITE) == links.listed()


def test_the_check_tells_a_link_that_answers_from_one_that_does_not(tmp_path, capsys):
    (tmp_path / "here.html").write_text("here")
    with served(tmp_path) as root:
        assert links.check([f"{root}here.html", f"{root}gone.html"]) == [f"{root}gone.html"]
    assert links.check([f"{root}here.html"]) == [f"{root}here.html"]  # nobody answers
    assert "404" in capsys.readouterr().out
