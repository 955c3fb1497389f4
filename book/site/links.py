"""The addresses outside the book that its pages link to: listed in a file, and asked for.

    python book/site/links.py list SITE    rewrite the list from the built pages
    python book/site/links.py check        ask for each; exit 1 if one is gone

A test holds the list to the built pages. Asking is no test: it needs the network.
"""

import sys
import urllib.error
import urllib.request
from html.parser import HTMLParser
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
LIST = ROOT / "book" / "_data" / "external_links.txt"
LAUNCHERS = "https://mybinder.org/", "https://colab.research.google.com/"
AGENT = {"User-Agent": "Mozilla/5.0 (link check of a book)"}
REFUSED = {401, 403, 405, 429}  # there, but not for a program
SECONDS = 30


class Links(HTMLParser):
    """The external addresses of a page's links."""

    def __init__(self, html):
        super().__init__()
        self.found = set()
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        address = dict(attributes).get("href") or ""
        if tag == "a" and address.startswith(("http://", "https://")):
            self.found.add(address.partition("#")[0])


def listed():
    return LIST.read_text(encoding="utf-8").split()


def made_by_the_build():
    """How the addresses start that the build makes from the repository's own."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    repository = config["repository"]["url"]
    return (*LAUNCHERS, repository) if repository else LAUNCHERS


def in_pages(site):
    """The external addresses that the pages of the built book link to, sorted."""
    pages = (p for p in Path(site).rglob("*.html") if p.relative_to(site).parts[0] != "lite")
    found = set().union(*(Links(page.read_text(encoding="utf-8")).found for page in pages))
    return sorted(link for link in found if not link.startswith(made_by_the_build()))


def answer(address):
    """ "ok", "refused" or what is wrong with an address."""
    request = urllib.request.Request(address, headers=AGENT)
    try:
        with urllib.request.urlopen(request, timeout=SECONDS):
            return "ok"
    except urllib.error.HTTPError as error:
        return "refused" if error.code in REFUSED else f"{error.code} {error.reason}"
    except OSError as error:
        return f"{type(error).__name__}: {error}"


def check(addresses):
    """Print the answer for each address; returns those that are wrong."""
    wrong = []
    for address in addresses:
        said = answer(address)
        print(f"{said:10} {address}", flush=True)
        if said not in ("ok", "refused"):
            wrong.append(address)
    return wrong


def main(command, site=None):
    if command == "list":
        LIST.write_text("".join(f"{address}\n" for address in in_pages(site)), encoding="utf-8")
    elif command == "check":
        sys.exit(1 if check(listed()) else 0)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main(*sys.argv[1:])
