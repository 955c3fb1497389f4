"""The whole book as one PDF: the built site, page after page, printed by headless Chromium.

    PYTHONPATH=book/_ext python -m gdn_book.pdf

The articles of the site become one HTML page, so that Chromium makes links between them, and an
outline from the headings; formulas and figures stay vectors. Page numbers are only known once the
book is printed: it is printed once to learn them and once more with them filled in.
"""

import argparse
import datetime
import io
import shutil
import tempfile
import time
from pathlib import Path

import yaml

from .onepage import OnePage
from .pack import pack

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
READY = """async () => {
    await document.fonts.ready;
    for (const image of document.images) image.loading = "eager";
    await Promise.all([...document.images].map(image => image.decode().catch(() => 0)));
    for (const formula of document.querySelectorAll("[data-tex]")) {
        const drawing = formula.querySelector("svg");  // its TeX is what a screen reader says
        drawing.removeAttribute("aria-hidden");
        drawing.setAttribute("role", "img");
        drawing.setAttribute("aria-label", formula.dataset.tex);
        formula.querySelector("math").remove();
    }
}"""
PAPER = {"width": 627, "height": 1002}  # pixels between the margins: figures draw themselves for it
PLACE = Path(__file__).with_name("place.js").read_text("utf-8")
FILL_IN = """pages => document.querySelectorAll("[data-page-of]").forEach(
    place => place.textContent = pages[place.dataset.pageOf] ?? "")"""


def print_book(html, out):
    """Print the page to `out`, with page numbers in its contents; returns how many pages."""
    from playwright.sync_api import sync_playwright
    from pypdf import PdfReader

    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise SystemExit(f"no browser on the PATH; looked for {', '.join(BROWSERS)}")
    options = {"prefer_css_page_size": True, "print_background": True, "outline": True}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        source = Path(folder) / "book.html"
        source.write_text(html, "utf-8")
        chromium = driver.chromium.launch(executable_path=browser, args=["--no-sandbox"])
        page = chromium.new_page(viewport=PAPER)
        page.set_default_timeout(300_000)
        page.emulate_media(media="print", color_scheme="light", reduced_motion="reduce")
        page.goto(source.as_uri(), wait_until="load")
        page.evaluate(READY)
        page.evaluate(PLACE)
        first = PdfReader(io.BytesIO(page.pdf(**options)))
        numbers = {
            name.removeprefix("/"): first.get_destination_page_number(place) + 1
            for name, place in first.named_destinations.items()
        }
        page.evaluate(FILL_IN, numbers)
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(pack(page.pdf(tagged=True, **options)))
        chromium.close()
    return len(first.pages)


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m gdn_book.pdf", description=__doc__)
    parser.add_argument("--site", type=Path, default=Path("_build/html"))
    parser.add_argument("--out", type=Path, default=Path("_build/gdn-book.pdf"))
    parser.add_argument("--toc", type=Path, default=Path("_toc.yml"), help="which pages, in order")
    args = parser.parse_args(argv)
    if not args.site.is_dir():
        raise SystemExit(f"no built book in {args.site}: run `make book` first")

    start = time.perf_counter()
    config = yaml.safe_load(Path("_config.yml").read_text("utf-8"))
    version = yaml.safe_load(Path("CITATION.cff").read_text("utf-8"))["version"]
    book = OnePage(args.site, yaml.safe_load(args.toc.read_text("utf-8")))
    today = datetime.date.today().isoformat()
    pages = print_book(book.html(config["title"], config["author"], version, today), args.out)
    size = args.out.stat().st_size / 1e6
    print(f"{args.out}: {pages} pages, {size:.1f} MB, {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
