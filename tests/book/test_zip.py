"""The zip of the book opens from its files: no server, no other host, and search works."""

import sys
from pathlib import Path
from zipfile import ZipFile

import pytest
from built_book import SITE, Visit, in_browser, needs_site, pages

sys.path.insert(0, str(Path(__file__).parents[2] / "book" / "site"))

import zip as packer  # noqa: E402

SAMPLE = [page for page in pages() if page.startswith(("book/", "chapters/1"))]


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("zip") / "book.zip"
    packer.pack(SITE, path)
    return path


@pytest.fixture(scope="module")
def root(archive):
    with ZipFile(archive) as packed:
        packed.extractall(archive.parent)
    return (archive.parent / packer.FOLDER).as_uri() + "/"


@needs_site
def test_it_holds_every_file_but_those_that_need_a_server(archive):
    with ZipFile(archive) as packed:
        names = {name.removeprefix(f"{packer.FOLDER}/") for name in packed.namelist()}
        assert packed.testzip() is None
    files = {path.relative_to(SITE).as_posix() for path in SITE.rglob("*") if path.is_file()}
    assert names - {packer.INSTEAD} == {name for name in files if not name.startswith("lite/")}


@needs_site
def test_the_same_site_gives_the_same_bytes(archive, tmp_path):
    packer.pack(SITE, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


def test_a_site_that_is_not_built_is_refused(tmp_path):
    with pytest.raises(SystemExit, match="no index.html: run `make book` first"):
        packer.pack(tmp_path, tmp_path / "book.zip")


class TestFromFiles:
    pytestmark = in_browser

    def test_pages_ask_nobody(self, browser, root):
        with Visit(browser, root) as visit:
            for path in SAMPLE:
                visit.open(path)
            assert visit.trouble == []

    def test_it_opens_on_the_first_page(self, browser, root):
        with Visit(browser, root) as visit:
            visit.page.goto(root + "index.html")
            visit.page.wait_for_url("**/book/intro.html")
            assert visit.trouble == []

    @pytest.mark.parametrize(
        "words, page",
        [
            ("WY representation", "chapters/07"),
            ("Householder", "chapters/06"),
            ("chunk_gated_delta_rule", "book/api"),
            ("eq-gdn-step", "chapters/10"),
        ],
    )
    def test_search_finds(self, browser, root, words, page):
        with Visit(browser, root) as visit:
            visit.page.goto(f"{root}search.html?q={words}")
            hits = visit.page.locator("#search-results li a")
            hits.first.wait_for(timeout=10_000)
            assert any(page in hit.get_attribute("href") for hit in hits.all())
            assert visit.trouble == []

    def test_a_page_says_what_was_left_out(self, browser, root):
        with Visit(browser, root) as visit:
            visit.page.goto(f"{root}{packer.INSTEAD}?path=chapters/06.ipynb")
            assert "need a web server" in visit.page.inner_text("body")
            visit.page.click("a")
            visit.page.wait_for_url("**/book/intro.html")
            assert visit.trouble == []
