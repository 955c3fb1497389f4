"""Sizes in general position, and checks that count with what the page prints."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from gdn_ref.proofs import (
    ch07_cost,
    ch09_cost,
    ch12_cost,
    ch14_designs,
    ch14_segments,
    ch17_decode,
    ch19_sizes,
    ch20_cost,
    modular,
    page,
    running,
)
from gdn_ref.proofs.modular import Mod
from gdn_ref.proofs.printed import World, check, displays, formula, load
from gdn_ref.proofs.printed.independent import MONOMIALS, Echelon, exponents
from gdn_ref.proofs.printed.statements import statements
from gdn_ref.proofs.printed.values import Depends, listed
from gdn_ref.proofs.report import ARITHMETIC


def rank(*rows):
    """Of these rows, in one go and one by one."""
    echelons = Echelon(len(rows[0])), Echelon(len(rows[0]))
    echelons[0].add(Mod(np.array(rows, dtype=np.uint64)))
    for row in rows:
        echelons[1].add(Mod(np.array([row], dtype=np.uint64)))
    (one, other) = (len(echelon.pivots) for echelon in echelons)
    assert one == other
    return one


def test_rank():
    assert rank([1, 2, 3], [2, 4, 6], [0, 1, 1], [1, 3, 4]) == 2
    assert rank([0, 1], [1, 0], [1, 1]) == 2
    assert rank([0, 0], [0, 0]) == 0


def test_rank_of_many():
    """Whether they come in one go or not: 70 rows that 50 others make up."""
    draw = np.random.default_rng(0)
    made = modular.random(draw, 70, 50) @ modular.random(draw, 50, 60)
    assert rank(*made.residues) == 50


def test_exponents():
    assert sorted(exponents([1, 2], 2)) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)]


def test_most_monomials():
    """What is asked of the largest true display leaves room for another factor or so."""
    load()
    found = check.run("eq-segment-bytes")["position"]
    most = max(matrix["monomials"] for matrix in found)
    assert 300 < most < MONOMIALS / 1.4


def evaluated(monkeypatch, tex, world, few=None, arithmetic="counted"):
    """What a label of this TeX gives in a world of counts, or of other numbers."""
    shown = SimpleNamespace(tex=tex, fingerprint="", place="here")
    monkeypatch.setattr(check, "displays", lambda: {"eq-test": shown})
    entry = check.Printed("eq-test", world, arithmetic, "counts", few=few or {})
    monkeypatch.setitem(check.PRINTED, "eq-test", entry)
    return check.run("eq-test")


def test_a_relation_between_sizes_is_a_problem(monkeypatch):
    def free(draw):
        C, d = draw.anew().numbers(2, 2, 9)
        return World({"C": C, "d": d, "F": 3 * C * d})

    def bound(draw):
        C, _ = draw.anew().numbers(2, 2, 9)
        return World({"C": C, "d": 2 * C, "F": 6 * C * C})

    found = evaluated(monkeypatch, "F = 3 C d", free)
    assert not found["problems"] and found["position"][0] == {
        "monomials": 4, "cases": found["position"][0]["cases"], "rank": 4
    }  # fmt: skip
    found = evaluated(monkeypatch, "F = 3 C d", bound)
    assert any(p.startswith("its sizes are special") for p in found["problems"])


def test_a_letter_takes_many_values(monkeypatch):
    """Of 1/r and a polynomial that meets it at all values of r, nobody can tell which is meant."""

    def world(most):
        def of(draw):
            r = 1 + draw.anew().rng.integers(most)
            return World({"r": r, "F": Fraction(1, int(r))})

        return of

    tex = r"F = \frac{1}{r}"
    for most, named, asked in ((12, {}, False), (5, {}, True), (5, {"r": "five"}, False)):
        problems = evaluated(monkeypatch, tex, world(most), named)["problems"]
        assert ("few values: r takes 5 of 6" in problems) is asked


@pytest.mark.parametrize("arithmetic", ARITHMETIC)
def test_in_every_arithmetic(monkeypatch, arithmetic):
    """An index too, and what follows from one."""

    def world(most):
        count = Depends(lambda at: at["i"] + 1)
        return lambda draw: World({"a_": listed(range(1, 9), 0), "n": count}, {"i": range(most)})

    for most in (5, 6):
        problems = evaluated(monkeypatch, "a_i = n", world(most), {}, arithmetic)["problems"]
        for letter in "in":
            assert (f"few values: {letter} takes 5 of 6" in problems) is (most == 5)


def test_letters_of_few_values_are_named():
    """And each stands in its display."""
    load()
    for label, entry in check.PRINTED.items():
        if entry.few:
            mentioned = [x.mentions for s in statements(displays()[label].tex) for x in s.nodes]
            assert set(entry.few) & set().union(*mentioned)
    assert sum(bool(entry.few) for entry in check.PRINTED.values()) < 15


def test_what_is_rounded_is_seen_at_each_fraction(monkeypatch):
    """7n/8, rounded down, is n - 1 for all n up to 8, and 8n/7, rounded up, n + 1 for n up to 7; an
    exponent and an index are asked, too."""

    def sizes(draw):
        n, d = draw.anew().sizes(2, 1, 8)
        powers = {"F": 2 ** (n - 1), "d": d, "n": n, "a_": listed(range(8), 0), "e": n - 1}
        return World(powers)

    for tex in (r"F = 2^{\lfloor 7 n / 8 \rfloor}", r"e = a_{\lfloor 7 n / 8 \rfloor}"):
        found = evaluated(monkeypatch, tex, sizes)
        assert any("special: 6 of 16" in p or "special: 7 of 16" in p for p in found["problems"])
    seven = evaluated(monkeypatch, r"F = 2^{\lceil 8 n / 7 \rceil - 2}", sizes)
    assert any("special: 7 of 14" in p for p in seven["problems"]), seven


def test_an_exponent_is_a_formula(monkeypatch):
    """Where n = 3 - d in all draws, nobody can tell one exponent from the other."""

    def bound(draw):
        d = 1 + draw.seed % 2
        return World({"F": 2 ** (4 - d), "G": 2 ** (3 - d), "d": d, "n": 3 - d})

    for tex in ("F = 2^{n + 1}", "G = 2^n"):
        found = evaluated(monkeypatch, tex, bound)
        assert any(p.startswith("its sizes are special") for p in found["problems"])


@pytest.mark.parametrize(
    "label, of, old, new, claim",
    [
        ("eq-grad-flops", r"\mathrm{FLOPs}_{\text{back}}", "16", "8",
         lambda x: ch12_cost.products_of_a_chunk(back=x)),
        ("eq-grad-memory", "", "-1", "-2", lambda x: ch12_cost.states_at_a_time(claim=x)),
        ("eq-floor-bytes", "", "8\\,T", "4\\,T",
         lambda x: ch14_designs.counted(ch14_designs.DESIGNS["floor"], x)),
        ("eq-segment-bytes", "", "8H_v", "4H_v", lambda x: ch14_segments.segment_bytes(more=x)),
        ("eq-delta-depth", "solved late", "T+2", "C+2", lambda x: ch09_cost.waits(solve=x)),
        ("eq-grouped-bytes", "", "-H_k", "", lambda x: ch17_decode.sharing_is_counted(claim=x)),
    ],
)  # fmt: skip
def test_a_false_page_turns_the_counting_check_red(monkeypatch, label, of, old, new, claim):
    shown = displays()[label]
    for tex, holds in ((shown.tex, True), (shown.tex.replace(old, new, 1), False)):
        monkeypatch.setattr(formula, "displays", lambda tex=tex: {label: replace(shown, tex=tex)})
        letters = {"sigma": ch14_segments.s} if "segment" in label else {}
        size = running.magnitude(claim(formula.side(label, of, **letters)), "enumeration")
        assert (size == 0) is holds


@pytest.mark.parametrize(
    "label, old, new, check",
    [
        ("eq-wy-cost", "C(C-1)", "C(C+1)", ch07_cost.vectors_are_counted),
        ("eq-decode-bytes", "+N\\,n", "+n", ch17_decode.a_call_is_counted),
        ("eq-block-parameters", "W\\chi", "\\chi", ch19_sizes.parameters_are_counted),
        ("eq-hybrid-cache-bytes", "H_c", "H_q", ch20_cost.caches_are_counted),
        ("eq-hybrid-flops", "4\\,d_k+1", "4\\,d_k", ch20_cost.flops_are_counted),
    ],
)
def test_a_false_page_turns_the_check_of_a_function_red(monkeypatch, label, old, new, check):
    shown = displays()[label]
    assert old in shown.tex
    for tex, holds in ((shown.tex, True), (shown.tex.replace(old, new, 1), False)):
        monkeypatch.setattr(formula, "displays", lambda tex=tex: {label: replace(shown, tex=tex)})
        page.side.cache_clear()
        assert (running.magnitude(check(), "enumeration") == 0) is holds
    page.side.cache_clear()
