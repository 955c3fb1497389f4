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
