"""The built book in a browser, from a server and from file://: its address, its search."""

from built_book import Visit, in_browser


class TestReading:
    pytestmark = in_browser

    def test_the_address_of_the_site_leads_to_the_first_page(self, browser, root):
        with Visit(browser, root) as visit:
            visit.page.goto(root + "index.html")
            visit.page.wait_for_url("**/book/intro.html")
            assert visit.trouble == []

    def test_search_finds_householder(self, browser, root):
        with Visit(browser, root) as visit:
            visit.page.goto(root + "search.html?q=Householder")
            hits = visit.page.locator("#search-results li a")
            hits.first.wait_for(timeout=10_000)
            assert any("chapters/06" in hit.get_attribute("href") for hit in hits.all())
            assert visit.trouble == []

    def test_search_shows_prose_and_the_chapter_before_the_glossary(self, browser, server):
        with Visit(browser, server) as visit:
            visit.page.goto(server + "search.html?q=WY representation")
            hits = visit.page.locator("#search-results li")
            hits.locator("p.context").first.wait_for(timeout=10_000)
            assert "chapters/07" in hits.first.locator("a").first.get_attribute("href")
            visit.page.wait_for_timeout(1000)
            told = " ".join(visit.page.locator("#search-results p.context").all_inner_texts())
            assert len(told) > 1000
            for chrome in ("\\", "evaluated as printed", "Contents", "Previous"):
                assert chrome not in told
