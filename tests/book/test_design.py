"""The built book at first sight: quick, steady, light; previews and the map of chapters work."""

import functools
import posixpath
import re

import pytest
import yaml
from bs4 import BeautifulSoup
from built_book import SITE, Visit, in_browser, needs_site, pages

CHAPTERS = [path for path in pages() if re.match(r"chapters/\d\d_", path)]
PLAN = yaml.safe_load((SITE.parents[1] / "book" / "chapters.yml").read_text(encoding="utf-8"))
NEEDS = {n: c["needs"] for part in PLAN["parts"] for n, c in part["chapters"].items()}
JOB = """() => {
    const start = performance.now();
    let sum = 1;
    for (let i = 0; i < 3e7; i++) sum = (sum * 1103515245 + 12345) & 0x7fffffff;
    window.sum = sum;
    return performance.now() - start;
}"""
JOB_TAKES = 160  # ms where the page was measured at 390 to 590 ms: 4 cores, Chromium 150
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Infinity"


def assert_is_read_within(milliseconds, browser, server, path, times_slower=1):
    """On a machine that does `JOB` in `JOB_TAKES`; a slower or busier one has longer."""
    tries = []
    while len(tries) < 12:  # others use the machine too
        with Visit(browser, server) as visit:
            slower = max(1, visit.page.evaluate(JOB) / JOB_TAKES)
            processor = visit.context.new_cdp_session(visit.page)
            processor.send("Emulation.setCPUThrottlingRate", {"rate": times_slower})
            visit.page.goto(server + path, wait_until="load")
            visit.page.wait_for_timeout(1000)
            tries.append((round(visit.page.evaluate(PAINTED)), round(slower, 2)))
            if tries[-1][0] < milliseconds * slower:
                return
            visit.page.wait_for_timeout(2000)
    pytest.fail(f"milliseconds, and how much slower the machine was: {tries}")


@pytest.mark.parametrize("path", [path for path in CHAPTERS if path.startswith("chapters/12")])
class TestALongChapter:
    pytestmark = in_browser

    def test_can_be_read_soon_on_a_slow_processor(self, browser, server, path):
        assert_is_read_within(1500, browser, server, path, times_slower=4)


class TestTheFirstPage:
    pytestmark = in_browser

    def test_can_be_read_within_a_second(self, browser, server):
        assert_is_read_within(1000, browser, server, "book/intro.html")

    def test_maps_every_chapter(self, browser, root):
        with Visit(browser, root) as visit:
            page = visit.open("book/intro.html")
            rows = page.locator(".gdn-map li[data-chapter]")
            linked = [a.get_attribute("href") for a in rows.locator("a").all()]
            assert rows.count() == len(NEEDS)
            assert ["chapters/" + link.rsplit("/", 1)[1] for link in linked] == CHAPTERS

    def test_shows_what_a_chapter_builds_on(self, browser, server):
        with Visit(browser, server) as visit:
            page = visit.open("book/intro.html")
            page.locator(".gdn-map li[data-chapter='6'] a").focus()
            chosen = page.locator(".gdn-map li.gdn-chosen").all()
            found = [int(row.get_attribute("data-chapter")) for row in chosen]
            assert found == sorted(before(6) | {6})
            assert "01, 02, 03, 04, 05" in page.locator(".gdn-map-says").inner_text()

    def test_shows_a_reading_path(self, browser, server):
        with Visit(browser, server) as visit:
            page = visit.open("book/intro.html")
            button = page.locator("button[data-path]").nth(1)
            button.press("Enter")
            assert button.get_attribute("aria-pressed") == "true"
            chosen = page.locator(".gdn-map li.gdn-chosen").all()
            found = [int(row.get_attribute("data-chapter")) for row in chosen]
            assert found == PLAN["paths"][1]["chapters"]
            button.press("Enter")
            assert page.locator(".gdn-map li.gdn-chosen").count() == 0

    @pytest.mark.parametrize("number", range(len(PLAN["paths"])))
    def test_a_reading_path_stays_on_the_map_that_comes_under_the_pointer(
        self, browser, server, number
    ):
        with Visit(browser, server) as visit:
            page = visit.open("book/intro.html")
            page.locator("button[data-path]").nth(number).click()
            page.wait_for_timeout(500)
            rows = page.locator(".gdn-map li.gdn-chosen").all()
            found = [int(row.get_attribute("data-chapter")) for row in rows]
            assert found == PLAN["paths"][number]["chapters"]
            says = page.locator(".gdn-map-says")
            for shown in (rows[0], says):
                box = shown.bounding_box()
                assert 0 <= box["y"] and box["y"] + box["height"] <= page.viewport_size["height"]
            assert says.inner_text().startswith(f"On this path: {found[0]:02}")


def before(chapter):
    return set(NEEDS[chapter]).union(*(before(n) for n in NEEDS[chapter]))


@needs_site
@pytest.mark.parametrize("path", CHAPTERS)
def test_a_chapter_needs_those_whose_equations_it_uses(path):
    """Earlier chapters whose equations it cites more than once lie on the way to it."""
    article = (SITE / path).read_text(encoding="utf-8")
    article = article[article.index("<article") : article.index("</article>")]
    prose = re.sub(r'<div class="gdn-badge-body">.*?</details>', "", article, flags=re.DOTALL)
    number = int(path[9:11])
    cited = [int(n) for n in re.findall(r'reference internal" href="(\d\d)_[^"#]*#equation', prose)]
    used = {n for n in cited if n < number and cited.count(n) > 1}
    assert used <= before(number)


KINDS = {  # what is shown beside a link, and a link that leads to it
    "an equation elsewhere": "article p a[href*='.html#equation-']",
    "an equation here": "article p a[href^='#equation-']",
    "an equation from code": "article .highlight a.gdn-cite",
    "a theorem": "article p:not(.solution p) a[href*='#thm-']",
    "a figure": "article p a.reference[href*='#fig-']",
    "a source": "article p a[href*='#id']",
    "a term": "article p a[href*='#term-'], article dd a[href*='#term-']",
    "a symbol": "article .gdn-badge-body a[href*='#symbol-']",
}


@functools.cache
def soup(path):
    return BeautifulSoup((SITE / path).read_text(encoding="utf-8"), "html.parser")


def page_with(kind, among=None):
    """The first page of the book, or of these, that has such a link."""
    among = (among or pages()) if SITE.is_dir() else []
    return next((path for path in among if soup(path).select_one(KINDS[kind])), "no page")


class TestPreviews:
    pytestmark = in_browser

    @pytest.mark.parametrize("kind", KINDS)
    def test_come_on_hover_and_on_focus(self, browser, root, kind):
        with Visit(browser, root) as visit:
            page = visit.open(page_with(kind))
            page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
            link = next(one for one in page.locator(KINDS[kind]).all() if one.is_visible())
            box = page.locator(".gdn-preview")
            link.scroll_into_view_if_needed()
            link.hover()
            box.wait_for()
            on_hover = box.inner_text()
            assert on_hover.strip() or box.locator("img, svg").count()
            page.mouse.move(2, 2)
            box.wait_for(state="detached")
            page.keyboard.press("Shift")  # so that focus counts as the keyboard's
            link.focus()
            box.wait_for()
            assert link.get_attribute("aria-describedby") == box.get_attribute("id")
            page.wait_for_function(DRAWN)
            page.keyboard.press("Escape")
            assert box.count() == 0
            assert visit.trouble == []

    def test_explain_a_symbol_in_a_formula(self, browser, root):
        with Visit(browser, root) as visit:
            page = visit.open(CHAPTERS[0])
            letter = page.locator("article .math use[href='#B-1D412']")
            letter.first.scroll_into_view_if_needed()
            letter.first.hover()
            box = page.locator(".gdn-preview")
            box.wait_for()
            assert "state after token" in box.inner_text()
            assert visit.trouble == []


@needs_site
def test_every_page_that_others_link_into_has_its_previews():
    """The script that a reader's pointer on such a link asks for, even if it shows nothing."""
    for path in pages():
        text = (SITE / path).read_text(encoding="utf-8")
        for target in re.findall(r'href="([^":#]+)\.html#', text.partition("<article")[2]):
            page = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
            assert (SITE / "_static/previews" / f"{page.replace('/', '-')}.js").is_file(), path


DRAWN = """() => [...document.querySelectorAll('.gdn-preview .math use')]
    .every((sign) => document.querySelector(sign.getAttribute('href')))"""


@needs_site
class TestHeads:
    def test_every_page_says_what_it_is_about(self):
        told = {}
        for path in pages():
            text = (SITE / path).read_text(encoding="utf-8")
            if path.startswith(("chapters/", "book/")):
                told[path] = re.search(r'<meta name="description" content="([^"]*)"', text)[1]
                assert 20 < len(told[path]) < 420, path  # signs such as &#x27; count more than one
                assert f'property="og:description" content="{told[path]}"' in text
        assert len(set(told.values())) == len(told)

    def test_titles_are_plain_text(self):
        titles = [re.search(r"<title>(.*?)</title>", (SITE / p).read_text(), re.DOTALL)[1]
                  for p in pages()]  # fmt: skip
        assert not [title for title in titles if "\\" in title]

    def test_the_card_has_an_address_only_if_the_site_has_one(self):
        assert (SITE / "_static" / "card.png").is_file()
        for path in pages():
            for address in re.findall(r'og:image" content="([^"]*)"', (SITE / path).read_text()):
                assert address.startswith("https://")

    def test_no_page_loads_what_only_a_kernel_or_the_build_needs(self):
        for path in pages():
            text = (SITE / path).read_text(encoding="utf-8")
            assert not re.search(r"window\.MathJax|<script[^>]*mathjax", text, re.IGNORECASE), path
            assert "jupyter.widget" not in text, path  # a slider of a notebook needs its kernel
