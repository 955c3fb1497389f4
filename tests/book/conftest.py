"""A server and a browser for the tests of the built book."""

import pytest
from built_book import CHROMIUM, FLAGS, SITE, served


@pytest.fixture(scope="module")
def server():
    """The address of the site on a free port of 127.0.0.1."""
    with served(SITE) as address:
        yield address


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(params=["server", "file"])
def root(request):
    """The address of the site: over HTTP, and as files."""
    return request.getfixturevalue("server") if request.param == "server" else SITE.as_uri() + "/"
