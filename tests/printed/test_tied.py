"""No check has a formula of its own: it takes it from the page, or it is held to the page."""

import ast
import inspect
import sys
from dataclasses import replace
from functools import cache

import pytest
import sympy as sp

from gdn_ref.proofs import page, printed, registry, running
from gdn_ref.proofs.printed import formula, tied
from gdn_ref.proofs.printed.draws import DRAWS
from gdn_ref.proofs.printed.evaluate import Evaluator
from gdn_ref.proofs.printed.gaps import gap, verdict
from gdn_ref.proofs.printed.mutate import mutants
from gdn_ref.proofs.printed.source import displays
from gdn_ref.proofs.printed.statements import statements

TAKES = {"side", "value", "page", "printed"}  # the calls that read a formula off the page

ALONE = {  # checks that are not, though others of their equation are: why
    "the code whose cost is counted computes the rule: no cost is in it": """
        ch14_designs.two_kernels_compute_the_rule ch14_designs.three_kernels_compute_the_rule
        ch14_segments.segments_are_exact ch14_shares.shares_are_exact
        ch16_cost.what_is_read_is_enough ch20_mixers.counted_stack_computes_the_mixers""",
    "a step of a proof, or what follows from the equation: the page's sides are not in it": """
        ch02_capacity.last_value_is_forced ch02_capacity.a_minor_is_an_error
        ch10_rule.norm_of_the_undecayed_read ch11_condition.the_mask_acts_as_the_decay
        ch11_condition.the_mask_acts_as_the_decay_at_real_size
        ch11_condition.the_mask_splits_into_columns ch12_decay.where_a_decay_lies
        ch13_solve.decays_multiply ch13_solve.decays_multiply_at_real_size
        ch18_backward.every_gradient ch21_floors.a_trace_of_low_rank
        ch21_stream.means_of_the_cubature""",
    "it runs the package, against permutations": "ch22_permutations.weights_that_track",
}


@pytest.fixture(scope="module", autouse=True)
def worlds():
    """All checks and worlds; each world is made once."""
    registry.load()
    printed.load()
    kept = dict(printed.PRINTED)
    for label, entry in kept.items():
        printed.PRINTED[label] = replace(entry, world=cache(entry.world))
    yield
    printed.PRINTED.update(kept)


@cache
def claims_of(number):
    """What check `number` says of the page of its own equation."""
    check = registry.CHECKS[number]
    with page.listening() as claims:
        check.function()
    return [claim for claim in claims if claim.label == check.label]


def taken(check):
    """The strings with which the check's function, and what it uses of its module, read a page."""
    module = sys.modules[check.function.__module__]
    defined = {}
    for node in ast.parse(inspect.getsource(module)).body:
        names = [t.id for t in ast.walk(node) if isinstance(t, ast.Name)]
        own = [node.name] if isinstance(node, ast.FunctionDef) else []
        if isinstance(node, ast.Assign):
            own = [t.id for target in node.targets for t in ast.walk(target) if hasattr(t, "id")]
        for name in own:
            defined.setdefault(name, []).append((node, names))
    found, seen, todo = set(), set(), [check.function.__name__]
    while todo:
        name = todo.pop()
        for node, names in defined.get(name, []) if name not in seen else []:
            todo += names
            within = (
                [*node.body, *node.args.defaults] if isinstance(node, ast.FunctionDef) else [node]
            )  # not its decorator, whose mutants are other formulas
            calls = [c for part in within for c in ast.walk(part) if isinstance(c, ast.Call)]
            for call in calls:
                if getattr(call.func, "id", getattr(call.func, "attr", "")) in TAKES:
                    found |= {a.value for a in call.args if isinstance(a, ast.Constant)}
        seen.add(name)
    return found


def test_every_check_is_held_to_the_page():
    """Of each equation one at least; and each check, or it is said why not."""
    held, alone = set(), set()
    for number, check in enumerate(registry.CHECKS):
        if check.label in taken(check) or claims_of(number):
            held.add(check.label)
        else:
            alone.add(check.name)
    assert {check.label for check in registry.CHECKS} == held
    reasons = {name for names in ALONE.values() for name in names.split()}
    assert alone == reasons, alone ^ reasons


def test_every_side_is_held_to_the_page():
    """But for what a display begins with, what it is about, and what is a letter alone."""
    claims = [claim for number in range(len(registry.CHECKS)) for claim in claims_of(number)]
    held = {(label, *formula.place(label, of, at)) for label, of, at in page.TAKEN}
    for claim in (claim for claim in claims if not claim.condition):
        node = statements(displays()[claim.label].tex)[claim.of].claim
        said = claim.sides if len(claim.sides) > 1 else claim.sides * tied._equal(node)
        held |= {(claim.label, claim.of, n) for n, x in enumerate(said) if x is not None}
    sides = {
        (label, number, n)
        for label in {check.label for check in registry.CHECKS}
        for number, found in enumerate(formula.sides(label))
        for n, side in enumerate(found)
        if (n or len(found) == 1) and not is_name(side)
    }
    assert sides - held == {
        ("eq-proximal-step", 0, 0),  # of what is least there the check has the slope
        ("eq-block", 5, 1),  # it names the rule of chapter 10
    }


def is_name(node):
    """Whether a side is a letter or a number."""
    return node.kind in ("letter", "number") or (
        node.kind == "scripted" and node.parts[0].kind == "letter"
    )


def test_what_stands_for_the_page_is_the_page():
    """Where there are no chapters a check has a formula of its own: the same one."""
    compared = 0
    for (label, of, at), (letters, otherwise) in page.TAKEN.items():
        if otherwise is not None:
            found = formula.side(label, of, at, **letters)
            assert sp.simplify(found - otherwise) == 0, (label, found, otherwise)
            compared += 1
    assert compared >= 50


@pytest.mark.parametrize("chapter", [f"ch{n:02}" for n in range(1, 24)])
def test_a_false_page_turns_the_check_itself_red(chapter):
    """Every claim holds; and the altered pages that are false, tried in turn, break one."""
    for number, check in enumerate(registry.CHECKS):
        claims = claims_of(number) if check.name.startswith(chapter) else []
        if not claims:
            continue
        assert not any(map(tied.problem, claims)), check.name
        stated = statements(displays()[check.label].tex)
        entry = printed.PRINTED[check.label]
        worlds = [entry.world(draw.anew()) for draw in DRAWS[entry.arithmetic]]
        gap(stated, worlds[0], evaluator := Evaluator(worlds[0]))
        mine, false, red = {c.of for c in claims if not c.condition}, 0, False
        altered = [other for _, other in mutants(stated, evaluator)]
        for other in altered[::9] + altered[1::9] + altered:
            changed = {n for n, (a, b) in enumerate(zip(stated, other, strict=True)) if a != b}
            if changed & mine and verdict(other, worlds, changed) == "number":
                false += 1
                if red := any(tied.problem(claim, other) for claim in claims):
                    break
        assert red or not false, f"{check.name} passes on {false} false pages"


@pytest.mark.parametrize(
    "label, old, new, name",
    [
        ("eq-gdn-chunk-state", r"\gamma_C", r"\gamma_1", "ch11_chunk.state_after_one_more"),
        ("eq-gdn-chunk-output", r"\boldsymbol{\Gamma}", r"\mathbf{M}", "ch11_chunk.output_row"),
        ("eq-gdn-chunk-output", r"\boldsymbol{\Gamma}", r"\mathbf{M}",
         "ch11_whole.output_at_real_size"),
        ("eq-wy-product", r"\mathbf{I} - \sum", r"\mathbf{I} + \sum", "ch07_wy.one_more_factor"),
        ("eq-family-read", r"\mathbf{A}^k", r"\mathbf{A}^b", "ch23_family.read"),
        ("eq-grad-key", r"\mathbf{N}^\top\mathbf{K}", r"\mathbf{N}\mathbf{K}",
         "ch12_inputs.two_roles"),
        ("eq-grad-key", r"\mathbf{N}^\top\mathbf{K}", r"\mathbf{N}\mathbf{K}", "ch12_inputs.keys"),
    ],
)  # fmt: skip
def test_a_run_of_the_check_says_so(monkeypatch, label, old, new, name):
    check = next(c for c in registry.CHECKS if c.label == label and c.name == name)
    assert running.run(check)["passed"]
    shown = displays()[label]
    false = replace(shown, tex=shown.tex.replace(old, new))
    assert false != shown
    monkeypatch.setattr(tied, "displays", lambda: {label: false})
    result = running.run(check)
    assert not result["passed"] and "page" in result["page"][0]
    assert all(mutant["rejected"] for mutant in result["mutants"])


@pytest.mark.parametrize(
    "label, old, new, name",
    [
        ("eq-hybrid-decode-bytes", r"&=b\,(", r"&=2\,(", "decoding_is_counted"),
        ("eq-hybrid-state-bytes", r"b\,\kappa", r"2\,\kappa", "states_are_counted"),
    ],
)
def test_bytes_of_more_than_one_width(monkeypatch, label, old, new, name):
    from gdn_ref.proofs import ch20_cost

    shown, check = displays()[label], getattr(ch20_cost, name)
    for tex, holds in ((shown.tex, True), (shown.tex.replace(old, new), False)):
        monkeypatch.setattr(formula, "displays", lambda tex=tex: {label: replace(shown, tex=tex)})
        page.side.cache_clear()
        assert (running.magnitude(check(), "enumeration") == 0) is holds
    page.side.cache_clear()
