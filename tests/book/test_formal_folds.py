"""The folds of the formal proofs on tiny books: what a good one shows, and what fails the build."""

import json

import pytest
from tiny_book import Book

from gdn_ref.proofs import formal

FOLDER = "gdn_ref/proofs/formal"
SOURCE = """From mathcomp Require Import all_ssreflect.

Section Sum.
Variables m n : nat.

(* eq-sum: both orders, for d_k <= n *)
Theorem sum_swaps : (m + n < 2) ->
  m + n = n + m.
Proof. by rewrite addnC. Qed.
End Sum.
"""


@pytest.fixture
def book(tmp_path):
    book = Book(tmp_path)
    book.write(f"{FOLDER}/sum.v", SOURCE)
    write_record(book)
    return book


def write_record(book, **changes):
    """The record of the files of this book as they are, with changes to its first theorem."""
    folder = book.root / FOLDER
    stated = [theorem | {"closed": True} for theorem in formal.theorems(folder)]
    record = {
        "date": "2026-01-02",
        "versions": {"coq": "8.16.1", "mathcomp": "1.15.0"},
        "sources_sha256": formal.digests(folder),
        "theorems": [stated[0] | changes, *stated[1:]],
    }
    book.write("book/_data/formal.json", json.dumps(record))


def test_the_fold_stands_under_the_badge(book):
    assert book.build() == (0, "")
    chapter = book.page("11_chunks")
    fold = '<details class="gdn-badge gdn-formal"><summary>Proved formally, in Rocq</summary>'
    assert chapter.count(fold) == 1
    badge, equation = chapter.index("gdn-badge gdn-checked"), chapter.index('id="equation-eq-sum"')
    assert equation < badge < chapter.index(fold)
    assert "<dd>Both orders, for <i>d</i><sub>k</sub> \u2264 n.</dd>" in chapter
    assert "Variables m n : nat.\nTheorem sum_swaps : (m + n &lt; 2) -&gt;" in chapter
    assert "</pre>Tokens are counted from 0 and vectors are rows" in chapter
    assert "Rocq 8.16.1, MathComp 1.15.0, on 2026-01-02; it rests on no axiom" in chapter
    assert f'<a href="formal/sum.html"><code>{FOLDER}/sum.v</code></a>' in chapter
    assert "sum_swaps" in book.page("formal/sum")


def change_the_file(book):
    book.write(f"{FOLDER}/sum.v", SOURCE.replace("Qed", "Defined"))


def change_the_statement(book):
    write_record(book, statement="Theorem sum_swaps : m + n = m.")


def leave_it_open(book):
    write_record(book, closed=False)


def add_a_file(book):
    book.write(f"{FOLDER}/more.v", SOURCE.replace("sum_swaps", "another"))


def lose_the_record(book):
    (book.root / "book/_data/formal.json").unlink()


def prove_an_unknown_equation(book):
    book.write(f"{FOLDER}/sum.v", SOURCE.replace("eq-sum", "eq-unknown"))
    write_record(book)


FAULTS = {
    change_the_file: "formal.json is stale (`make formal RECORD=1`): sum.v is not the file that",
    change_the_statement: "the theorem sum_swaps of sum.v is recorded otherwise",
    leave_it_open: "the theorem sum_swaps of sum.v is recorded otherwise",
    add_a_file: "the theorem another of more.v is not recorded",
    lose_the_record: "the theorem sum_swaps of sum.v is not recorded",
    prove_an_unknown_equation: "the theorem sum_swaps is about eq-unknown, but no page has",
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_fault_fails_the_build(book, fault):
    fault(book)
    code, warnings = book.build()
    assert code != 0
    assert FAULTS[fault] in warnings


def test_a_new_record_rebuilds_the_page(book):
    assert book.build() == (0, "")
    book.write(f"{FOLDER}/sum.v", SOURCE.replace("both orders", "any order"))
    write_record(book)
    assert book.build(fresh=False) == (0, "")
    assert "Any order" in book.page("11_chunks")
