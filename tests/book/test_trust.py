"""What a reader can check: the filter, the run of every notebook, versions, a way to object."""

import shutil
import time
from importlib.metadata import version
from pathlib import Path

import pytest
from built_book import CHROMIUM, Visit
from tiny_book import CONF, INDEX, Book

ROOT = Path(__file__).parents[2]
STATIC = ROOT / "book" / "_static"

EXECUTION = """# Execution
```{gdn-execution}
```
```{gdn-versions}
```
"""
REQUIREMENTS = """# First lines.
# the package
numpy=={numpy}
no-such-package==1.0; platform_system == "Linux"
sympy==0.1

# what the above need
mpmath=={mpmath}
"""
VENDOR = (STATIC / "vendor" / "README.md").read_text(encoding="utf-8")
MYST_NB = """
nb_execution_mode = "force"
nb_execution_show_tb = True
exclude_patterns = ["book", "jupyter_execute"]
"""
NOTEBOOK = """---
kernelspec: {{name: python3, display_name: Python 3}}
file_format: mystnb
---
# A notebook

```{{code-cell}} python3
{code}
```
"""


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path)


def with_execution(book, code="1 + 1"):
    """Add a notebook and the execution page to the book."""
    book.write("conf.py", CONF.replace("myst_parser", "myst_nb") + MYST_NB)
    book.write("index.md", INDEX.replace("api\n", "api\n12_notebook\nexecution\n"))
    book.write("12_notebook.md", NOTEBOOK.format(code=code))
    book.write("execution.md", EXECUTION)
    pins = REQUIREMENTS.format(numpy=version("numpy"), mpmath=version("mpmath"))
    book.write("requirements.txt", pins)
    book.write("book/_static/vendor/README.md", VENDOR)
    return book


class TestExecution:
    def test_it_lists_each_notebook_that_ran(self, book):
        before = time.strftime("%Y-%m-%d", time.gmtime())
        assert with_execution(book).build()[0] == 0
        page = book.page("execution")
        assert "1 of 1 notebooks ran to the end" in page
        assert 'href="12_notebook.html">12. A notebook</a>' in page
        assert before in page and "11_chunks" not in page.split("<table")[1]

    def test_it_shows_the_versions_that_are_installed(self, book):
        assert with_execution(book).build()[0] == 0
        page = book.page("execution")
        assert f"<p>{version('numpy')}</p>" in page
        assert f"{version('sympy')} (pinned: 0.1)" in page
        assert "not installed (pinned: 1.0)" in page
        assert f"mpmath {version('mpmath')}" in page and "1 packages that these need" in page
        assert "<p>3.2.2</p>" in page

    def test_it_says_which_notebook_stopped(self, book):
        code, warnings = with_execution(book, code="1 / 0").build()
        assert code != 0 and "ZeroDivisionError" in warnings
        page = book.page("execution")
        assert "0 of 1 notebooks ran to the end" in page and "stopped: " in page

    def test_a_later_run_of_a_notebook_is_shown(self, book):
        """Only the notebook is read again; the table must not be that of the run before."""
        assert with_execution(book).build()[0] == 0
        book.write("12_notebook.md", NOTEBOOK.format(code="raise SystemError('later')"))
        assert book.build(fresh=False)[0] != 0
        assert "0 of 1 notebooks ran to the end" in book.page("execution")


def test_the_vendored_versions_are_those_of_the_files():
    readme = (STATIC / "vendor" / "README.md").read_text()
    mathjax = (STATIC / "vendor" / "mathjax" / "mathjax.cjs").read_text()
    assert "| 3.2.2 |" in readme and "MathJax 3.2.2, " in mathjax


class TestReports:
    def test_no_address_no_link(self, book):
        assert book.build()[0] == 0
        for name in ("11_chunks", "errata", "verification"):
            assert "gdn-report" not in book.page(name)

    def test_with_an_address_every_page_and_erratum_has_one(self, book):
        options = 'html_theme_options = {"repository_url": "https://github.com/example/book/"}\n'
        theme = "html_theme = 'sphinx_book_theme'"
        book.write("conf.py", CONF.replace('html_theme = "basic"', theme) + options)
        book.build()
        issue = 'href="https://github.com/example/book/issues/new?title='
        for name in ("11_chunks", "errata", "verification"):
            assert f"{issue}Slip+in+{name}" in book.page(name)
        assert f"{issue}Erratum+sum" in book.page("errata")

    def test_the_address_is_set_in_one_place(self):
        """Jupyter Book's own default is the address of Jupyter Book: ours must replace it."""
        from jupyter_book.config import get_final_config

        cli = {"latex_individualpages": False}
        config, _ = get_final_config(user_yaml=ROOT / "_config.yml", cli_config=cli)
        assert "executablebooks" not in config["html_theme_options"]["repository_url"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of the tiny book, built once for the tests that only look."""
    book = Book(tmp_path_factory.mktemp("book"))
    book.results["methods"]["modular"] = "modulo a prime"
    shutil.copy(STATIC / "table-filter.js", book.root / "static")
    assert book.build() == (0, "")
    return (book.root / "html").as_uri() + "/"


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH")
class TestFilter:
    """The table of equations of the tiny book, from file://."""

    @pytest.fixture
    def page(self, browser, site):
        with Visit(browser, site) as visit:
            yield visit.open("verification.html")
            assert not [one for one in visit.trouble if one.startswith("exception")]

    def shown(self, page):
        rows = page.locator(".gdn-equations tbody tr:not([hidden])").all()
        return [row.get_attribute("id") for row in rows]

    def count(self, page):
        return page.locator("#gdn-filter output").inner_text()

    EVERYTHING = [None, "verified-eq-name", "verified-eq-sum"]  # the chapter's heading row first

    def test_words_from_the_keyboard(self, page):
        assert self.shown(page) == self.EVERYTHING and self.count(page) == "2 of 2 equations"
        page.locator("#gdn-filter input").focus()
        page.keyboard.type("off eq-sum")  # a mutant's name, in the fold, and the label
        assert self.shown(page) == [None, "verified-eq-sum"]
        assert self.count(page) == "1 of 2 equations"
        page.keyboard.type(" nothing")
        assert self.shown(page) == [] and self.count(page) == "0 of 2 equations"
        page.locator("#gdn-filter button").focus()
        page.keyboard.press("Enter")
        page.wait_for_function("document.querySelector('#gdn-filter output').value.startsWith('2')")
        assert self.shown(page) == self.EVERYTHING

    @pytest.mark.parametrize(
        "choice, left",
        [
            ({"printed": "counted"}, [None, "verified-eq-sum"]),
            ({"printed": "float64"}, [None, "verified-eq-name"]),
            ({"printed": "counted", "method": "definition"}, []),
            ({"method": "definition"}, [None, "verified-eq-name"]),
            ({"method": "float64"}, [None, "verified-eq-sum"]),
            ({"method": "modular"}, []),
            ({"coverage": "every"}, [None, "verified-eq-sum"]),
            ({"coverage": "every", "method": "float64"}, []),  # not by the same check
            ({"coverage": "stated", "method": "float64"}, [None, "verified-eq-sum"]),
            ({"chapter": "11_chunks"}, EVERYTHING),
            ({"coverage": "counted"}, []),
        ],
        ids=str,
    )
    def test_choices(self, page, choice, left):
        for name, value in choice.items():
            page.select_option(f"#gdn-filter select[name={name}]", value)
        assert self.shown(page) == left

    def test_an_address_opens_its_row(self, page):
        page.select_option("#gdn-filter select[name=method]", "definition")
        page.evaluate("location.hash = 'verified-eq-sum'")
        row = page.locator("#verified-eq-sum")
        row.locator("details[open]").wait_for()
        page.wait_for_function("!document.getElementById('verified-eq-sum').hidden")
        assert "off by <one>" in row.inner_text()

    def test_without_scripts_everything_is_shown(self, page):
        plain = page.context.browser.new_context(java_script_enabled=False).new_page()
        plain.goto(page.url)
        assert plain.locator(".gdn-equations tbody tr:visible").count() == 3
        assert plain.locator("#gdn-filter:visible").count() == 0


def test_coverage_is_read_from_the_words(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book" / "_ext"))
    from gdn_book.results import coverage, method

    kinds = {
        ("algebra", "every C, d_k, d_v"): "every",
        ("algebra", "all 32 registers of all 32 lanes"): "stated",
        ("polynomial", "C=4, every entry a symbol"): "stated",
        ("modular", "C=64, d_k=128, d_v=96"): "stated",
        ("float64", "gdn_ref.wy.u, C=50"): "package",
        ("float64", "delta_rule.step, keys of any length"): "package",
        ("enumeration", "gdn_ref.delta_rule.step, counted, d_k to 4"): "counted",
    }
    for (by, covers), kind in kinds.items():
        check = {"method": by, "covers": covers}
        assert coverage(check) == kind, covers
        assert (method(check) == "exact, case by case") == (kind == "counted"), covers
