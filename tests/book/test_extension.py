"""The Sphinx extension on tiny books: a good one builds, and each fault fails with its message."""

import ast
import json
import sys
from types import SimpleNamespace

import pytest
from tiny_book import CHAPTER, CODE, EXTENSION, Book, as_printed

from gdn_ref.proofs.printed.source import fingerprint

sys.path.insert(0, str(EXTENSION))
from gdn_book import printed  # noqa: E402


@pytest.fixture
def book(tmp_path):
    return Book(tmp_path)


def test_a_good_book_builds(book):
    code, warnings = book.build()
    assert (code, warnings) == (0, "")

    chapter = book.page("11_chunks")
    assert chapter.count('class="gdn-badge ') == 2
    assert "definition: as printed it gives a <code>count</code>: float64" in chapter
    assert "What a is called." in chapter
    assert (
        "evaluated as printed against a <code>count</code>: whole numbers; "
        "4 altered forms rejected" in chapter
    )
    assert "3 false, 1 without a value" in chapter and "<dd>every <code>n</code></dd>" in chapter
    assert "off by &lt;one&gt;" in chapter
    assert 'href="checks/ch11.html#check-ch11-chunks-total"' in chapter
    assert 'href="verification.html#verified-eq-sum"' in chapter
    assert 'href="verification.html#verified-eq-name"' in chapter

    assert "(11.1)" in chapter and "(11.2)" in chapter  # chapter 11, from the file name
    assert 'href="#equation-eq-sum">(11.2)</a>' in chapter  # references show the same number
    assert '<a class="gdn-cite" href="#equation-eq-sum">eq-sum</a>' in chapter  # the code's comment

    verification = book.page("verification")
    assert "2 of 2 labelled equations are evaluated as they are printed" in verification
    assert "Of 8 formulas inside of sentences that do more than set a size" in verification
    assert "5 are evaluated</strong>, and 1,234 altered forms of them" in verification
    assert "1 equations have 2 checks of their own" in verification
    assert 'href="11_chunks.html#equation-eq-sum">(11.2)</a>' in verification
    assert "1 of 1 errata are confirmed" in verification
    assert 'class="as-counted is-algebra-every is-float64-stated row' in verification
    assert 'id="verified-eq-sum"' in verification and 'id="verified-eq-name"' in verification
    assert verification.count("Rejects: off by &lt;one&gt;") == 2
    assert 'href="checks/ch11.html#check-ch11-chunks-on-data"' in verification

    sources = book.page("checks/ch11")
    assert 'id="check-ch11-chunks-total"' in sources and 'id="check-ch11-chunks-slip"' in sources
    assert 'href="../verification.html#verified-eq-sum"' in sources
    assert '<span class="k">return</span>' in sources  # the source, highlighted

    api = book.page("api")
    prose = " ".join(api.split())  # the docstring's two labels, over a line break
    assert 'href="11_chunks.html#equation-eq-sum">(11.2)</a>, <a' in prose
    assert '<a class="gdn-cite" href="11_chunks.html#equation-eq-sum">eq-sum</a>)' in api

    errata = book.page("errata")
    assert 'id="erratum-sum"' in errata and 'href="#erratum-sum"' in errata
    assert "<em>by one</em>" in errata
    assert "1 + 1 = 3" in errata and "residual not zero" in errata
    assert 'href="11_chunks.html#equation-eq-sum">(11.2)</a>' in errata
    assert 'href="checks/ch11.html#check-ch11-chunks-slip"' in errata


def lose_the_check(book):
    book.results["checks"] = []


def lose_the_definition(book):
    book.results["definitions"] = {}


def define_what_is_checked(book):
    book.results["definitions"]["eq-sum"] = "A name."


def check_an_unknown_equation(book):
    book.results["checks"][0]["label"] = "eq-unknown"


def define_an_unknown_equation(book):
    book.results["definitions"]["eq-unknown"] = "A name."


def correct_an_unknown_equation(book):
    book.results["errata"][0]["label"] = "eq-unknown"


def cite_an_unknown_equation(book):
    book.write("code/README.md", "# Notes\n\nThis is eq-sum-of-all.\n")


def fail_a_check(book):
    book.results["checks"][0] |= {"passed": False, "residual": 0.25}


def keep_a_mutant(book):
    book.results["checks"][1]["mutants"][0]["rejected"] = False


def fail_an_erratum(book):
    book.results["errata"][0]["passed"] = False


def change_the_code(book):
    book.write("code/total.py", CODE + "x = 1\n")


def add_to_the_code(book):
    book.write("code/proofs/ch11_more.py", "x = 1\n")


def forget_the_fingerprints(book):
    del book.results["sources_sha256"]


def spell_a_label_badly(book):
    book.write("11_chunks.md", CHAPTER.replace("eq-name", "eq-Name_1"))
    book.results["definitions"] = {"eq-Name_1": "A name."}


def ask_for_a_missing_figure(book):
    figure = '\n<div class="gdn-figure" data-figure="no-such-figure"></div>\n'
    book.write("11_chunks.md", CHAPTER + figure)


def print_another_formula(book):
    book.write("11_chunks.md", CHAPTER.replace("a = b", "a = -b"))


def evaluate_nothing(book):
    del book.results["printed"][0]


def print_a_false_formula(book):
    book.results["printed"][1]["problems"] = ["is false as it is printed: off by 2.0e+00"]


def crash_on_the_page(book):
    book.results["printed"][1]["crashed"] = "KeyError: 'n'"


def evaluate_what_no_page_prints(book):
    book.results["printed"].append(as_printed("eq-lost", "a = b"))


def change_a_sentence(book):
    book.results["sentences"][0]["problems"] = ["11_chunks.ipynb, cell 2, line 3: $a = c$ is false"]


FAULTS = {
    change_a_sentence: "FAILED sentence in 11_chunks.ipynb, cell 2, line 3: $a = c$ is false",
    print_another_formula: "the page prints eq-name otherwise than it was evaluated (11_chunks, "
    "cell 1, line 1)",
    evaluate_nothing: "the printed form of eq-name was neither evaluated nor read",
    print_a_false_formula: "FAILED eq-sum as printed in 11_chunks, cell 1, line 1: is false as it "
    "is printed: off by 2.0e+00",
    crash_on_the_page: "CRASHED eq-sum as printed in 11_chunks, cell 1, line 1: KeyError: 'n'",
    evaluate_what_no_page_prints: "the printed form of eq-lost was evaluated, but no page has it",
    lose_the_check: "the equation eq-sum has neither a check nor a definition",
    lose_the_definition: "the equation eq-name has neither a check nor a definition",
    define_what_is_checked: "the equation eq-sum is both checked and called a definition",
    check_an_unknown_equation: "the check ch11_chunks.on_data is about eq-unknown, but no page has",
    define_an_unknown_equation: "a definition is about eq-unknown, but no page has",
    correct_an_unknown_equation: "the erratum sum is about eq-unknown, but no page has",
    cite_an_unknown_equation: "the code cites eq-sum-of-all, but no page has an equation of that "
    "label: code/README.md:3",
    fail_a_check: "the check ch11_chunks.on_data of eq-sum fails: residual 0.25",
    keep_a_mutant: "the check ch11_chunks.total of eq-sum lets the mutant 'off by <one>' survive",
    fail_an_erratum: "the erratum sum (ch11_chunks.slip) does not tell the printed form",
    change_the_code: "proofs.json is stale, it was not made by this code (total.py)",
    add_to_the_code: "proofs.json is stale, it was not made by this code (proofs/ch11_more.py)",
    forget_the_fingerprints: "proofs.json is stale",
    spell_a_label_badly: "the equation label eq-Name_1 is not of the form",
    ask_for_a_missing_figure: "there is no figures/no-such-figure.js",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_fails_the_build(book, fault):
    fault(book)
    code, warnings = book.build()
    assert code != 0
    assert FAULTS[fault] in warnings


def test_missing_results_fail_the_build(book):
    code, warnings = book.build(results=False)
    assert code != 0
    assert "proofs.json is missing or empty: run `python -m gdn_ref.proofs" in warnings


def test_a_page_with_another_formula_in_a_sentence_is_noticed(tmp_path, monkeypatch):
    """The formulas of sentences that a notebook has are those that the results are about."""
    path = tmp_path / "11_chunks.ipynb"
    cell = {"cell_type": "markdown", "source": ["so $a = b + c$"]}
    path.write_text(json.dumps({"cells": [cell]}))
    env = SimpleNamespace(found_docs={"11_chunks"}, doc2path=lambda docname: str(path))
    heard = []
    monkeypatch.setattr(printed, "_warn", lambda message, *more, location: heard.append(location))
    chapter = {"notebook": path.name, "fingerprint": fingerprint("a = b + c")}
    printed._check_sentences(env, [chapter])
    assert not heard
    path.write_text(path.read_text().replace("b + c", "b - c"))
    printed._check_sentences(env, [chapter])
    assert heard == ["11_chunks"]


def test_the_parts_do_not_import_in_a_circle():
    """What a part takes from another is there when it is imported, in whichever order."""
    asks = {path.stem: set(parts_asked(path)) for path in EXTENSION.glob("gdn_book/*.py")}
    del asks["__init__"]
    while free := {part for part, others in asks.items() if not others & asks.keys()}:
        asks = {part: others for part, others in asks.items() if part not in free}
    assert not asks


def parts_asked(path):
    """The other modules of the extension that one imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield from [node.module] if node.module else (alias.name for alias in node.names)
