"""The buttons that run a page: in the browser only where it can, elsewhere only with an address."""

import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest
from built_book import SITE, needs_site, pages

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "book" / "_ext"
sys.path.insert(0, str(EXTENSION))

from gdn_book.launch import torchless  # noqa: E402

IN_BROWSER, BINDER, COLAB = "lite/notebooks/index.html", "mybinder.org", "colab.research"
CONF = """
import sys
sys.path.insert(0, {extension!r})
extensions = ["myst_nb", "sphinx.ext.autodoc", "gdn_book"]
nb_execution_mode = "off"
root_doc = "index"
html_theme = "sphinx_book_theme"
html_theme_options = {{"repository_url": {repository!r}, "repository_branch": "main"}}
gdn_lite = True
suppress_warnings = ["gdn", "toc"]
"""


def notebook(*lines):
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "# A page"},
        {"cell_type": "code", "metadata": {}, "source": "\n".join(lines),
         "outputs": [], "execution_count": None},
    ]  # fmt: skip
    python = {"name": "python3", "display_name": "Python 3", "language": "python"}
    whole = {"nbformat": 4, "nbformat_minor": 4, "metadata": {"kernelspec": python}}
    return json.dumps({**whole, "cells": cells})


NOTEBOOKS = {
    "plain.ipynb": notebook("%matplotlib inline", "import numpy", "await nothing", "x = 1"),
    "torch.ipynb": notebook("import torch"),
    "through.ipynb": notebook("from gdn_ref import chunk_gated_delta_rule"),
    "inside.ipynb": notebook("def later():", "    import torch"),
}


class Links(HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.found = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attributes):
        self.found += [dict(attributes).get("href") or ""] if tag == "a" else []

    def to(self, place):
        return [address for address in self.found if place in address]


def build(tmp_path, repository=""):
    """A book of the four notebooks; gives the links of each page."""
    for name, text in NOTEBOOKS.items():
        (tmp_path / name).write_text(text)
    names = "\n".join(Path(name).stem for name in NOTEBOOKS)
    (tmp_path / "index.md").write_text(f"# Book\n\n```{{toctree}}\n{names}\n```\n")
    (tmp_path / "conf.py").write_text(CONF.format(extension=str(EXTENSION), repository=repository))
    command = [sys.executable, "-m", "sphinx", "-q", str(tmp_path), str(tmp_path / "out")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name: Links(tmp_path / "out" / name.replace("ipynb", "html")) for name in NOTEBOOKS}


def test_imports_tell_which_notebooks_run_without_torch(tmp_path):
    for name, text in NOTEBOOKS.items():
        (tmp_path / name).write_text(text)
    paths = [tmp_path / name for name in NOTEBOOKS]
    assert torchless(paths, ROOT) == [tmp_path / "plain.ipynb", tmp_path / "inside.ipynb"]


def test_without_an_address_there_is_no_binder_and_no_colab(tmp_path):
    links = build(tmp_path)
    assert links["plain.ipynb"].to(IN_BROWSER) == [f"{IN_BROWSER}?path=plain.ipynb"]
    assert not links["torch.ipynb"].to(IN_BROWSER) and not links["through.ipynb"].to(IN_BROWSER)
    assert not any(page.to(place) for page in links.values() for place in (BINDER, COLAB))


def test_with_an_address_every_notebook_has_both(tmp_path):
    links = build(tmp_path, "https://github.com/someone/gated-deltanet")
    for name, page in links.items():
        stem = name.removesuffix(".ipynb")
        assert page.to(BINDER) == [
            f"https://mybinder.org/v2/gh/someone/gated-deltanet/main?urlpath=lab/tree/{stem}.ipynb"
        ]
        assert page.to(COLAB) == [
            "https://colab.research.google.com/github/someone/gated-deltanet"
            f"/blob/main/{stem}.ipynb"
        ]


@needs_site
def test_the_buttons_of_the_book_are_on_the_pages_that_import_no_torch():
    notebooks = [ROOT / page.replace(".html", ".ipynb") for page in pages()]
    notebooks = [path for path in notebooks if path.is_file()]
    able = {path.relative_to(ROOT).as_posix() for path in torchless(notebooks, ROOT)}
    offered = {
        page.replace(".html", ".ipynb") for page in pages() if Links(SITE / page).to(IN_BROWSER)
    }
    assert offered == able and len(able) >= 5


RUN = """
import asyncio, json, os, sys
sys.modules["torch"] = sys.modules["triton"] = None
os.environ["MPLBACKEND"] = "agg"
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
for cell in json.load(open(sys.argv[1]))["cells"]:
    if cell["cell_type"] == "code":
        source = "".join(cell["source"])
        result = shell.run_cell(source, store_history=False, silent=True)
        if result.error_before_exec or result.error_in_exec:
            sys.exit(f"stops at: {source}")
"""


def served_notebooks():
    return sorted((SITE / "lite" / "files").rglob("*.ipynb")) or ["no notebook"]


@needs_site
@pytest.mark.parametrize("path", served_notebooks(), ids=lambda path: Path(path).stem)
def test_a_notebook_for_the_browser_runs_where_there_is_no_torch(path):
    """With NumPy and Matplotlib there, as for a reader who is online."""
    command = [sys.executable, "-c", RUN, str(path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
