"""Two slips at once, and terms that have one value: what one edit at a time does not show."""

import pytest

from gdn_ref.proofs import printed
from gdn_ref.proofs.printed import World, altered, cases, pairs
from gdn_ref.proofs.printed.contained import contained, members
from gdn_ref.proofs.printed.draws import DRAWS
from gdn_ref.proofs.printed.evaluate import Evaluator
from gdn_ref.proofs.printed.gaps import gap
from gdn_ref.proofs.printed.mutate import mutants
from gdn_ref.proofs.printed.statements import statements
from gdn_ref.proofs.printed.tree import render


@pytest.fixture
def whole(page, monkeypatch):
    """`page`, with pairs of edits and with terms of equal value."""
    for name in ("doubles", "alike"):
        monkeypatch.setattr(altered, name, getattr(pairs, name))
    return page


def edits(tex, **letters):
    stated, world = statements(tex), World(letters)
    gap(stated, world, evaluator := Evaluator(world))
    return stated, evaluator, {edit.what: form for edit, form in mutants(stated, evaluator)}


def text(stated):
    return "; ".join(render(node) for statement in stated for node in statement.nodes)


@pytest.mark.parametrize(
    "one, other, both",
    [
        ("3 for 2", "without y", "s = 3x + z"),
        ("without 2x", "without y", "s = z"),
        ("sign of 2x", "sign of z", "s = - 2x + y - z"),
        ("without y", "sign of z", "s = 2x - z"),
        ("x for s", "y for z", "x = 2x + y + y"),
        ("without x", "3 for 2", "s = 3 + y + z"),
        ("without y", "sign of y", None),
        ("3 for 2", "without 2", None),
    ],
)
def test_two_edits_together(one, other, both):
    stated, _, found = edits("s = 2x + y + z", s=21, x=5, y=7, z=4)
    for pair in ((one, other), (other, one)):
        merged = pairs.merged(stated, *(found[what] for what in pair))
        assert (merged and text(merged)) == both


def test_doubles_are_the_same_at_each_call_and_half_as_many_as_edits():
    stated, evaluator, _ = edits("s = 2x + y + z", s=21, x=5, y=7, z=4)
    rejected = list(mutants(stated, evaluator))
    one, other = (list(pairs.doubles(stated, rejected, "eq-test")) for _ in range(2))
    assert one == other and len(one) == (len(rejected) + 1) // 2
    assert one != list(pairs.doubles(stated, rejected, "eq-other"))
    assert len({text(form) for _, form in one}) == len(one)


def test_a_double_that_holds_is_found(whole, monkeypatch):
    """Here y is x in every draw, so one x more makes up for the y that is left out."""

    def world(draw):
        x = draw.seed + 2
        return World({"s": 3 * x, "x": x, "y": x})

    def both(stated, rejected, label):
        found = {edit.what: form for edit, form in rejected}
        yield pairs.Edit("double", "3 for 2; without y"), pairs.merged(
            stated, found["3 for 2"], found["without y"]
        )  # fmt: skip

    monkeypatch.setattr(altered, "doubles", both)
    found = whole("s = 2x + y", world)
    assert "survives: 3 for 2; without y" in found["problems"]
    assert found["doubles"]["survived"] == ["3 for 2; without y"]
    reason = {"3 for 2; without y": "they say so"}
    said = whole("s = 2x + y", world, equal=reason)["doubles"]["equal"]
    assert said == [{"form": "3 for 2; without y", "why": "they say so"}]


def test_numbers_in_another_order_are_the_same():
    stated, evaluator, found = edits("s = xyz", s=70, x=2, y=5, z=7)
    both = pairs.merged(stated, found["y for x"], found["x for y"])
    why = pairs.same_value(stated, both, pairs.Edit("double", ""), evaluator)
    assert text(both) == "s = yxz" and "in another order" in why


def varied(draw):
    b, c, C = draw.anew().sizes(3)
    return World({"a": b * c, "b": b, "c": c, "C": C})


def test_a_number_in_the_place_of_a_size(whole):
    """The same in all draws, it is not told from the size; where sizes differ, it is."""
    known = World({"a": 6, "b": 3, "c": 2})
    assert "survives: 3 for b" in whole("a = bc", known)["problems"]
    found = whole("a = bc", varied)
    assert found["problems"] == [] and found["alike"]["by_number"] > 0


def test_two_sizes_that_are_always_the_same(whole):
    def world(draw):
        b = draw.seed + 2
        return World({"a": 5 * b, "b": b, "n": b, "c": 5 + 0 * b})

    assert "survives: n for b" in whole("a = cb", world)["problems"]


def test_what_the_display_says_itself(whole):
    """A term for its equal is true, by the display; a side for itself claims nothing."""

    def world(draw):
        b, c = draw.anew().sizes(2)
        return World({"a": b * c, "b": b, "c": c, "d": b * c + b})

    found = whole(r"a = bc, \quad d = a + b", world, tied="a")
    assert found["problems"] == []
    assert {"form": "bc for a", "why": "the display says that the two are equal"} in found["alike"][
        "equal"
    ]


def test_a_premise_that_is_not_needed_is_found(page):
    def longer(draw):
        b, c = draw.anew().sizes(2)
        return World({"a": b * c + 1, "b": b, "c": c})

    assert page("a = bc", varied, needs={"no more": longer})["problems"] == []
    found = page("a = bc", varied, needs={"nothing": varied})
    assert found["problems"] == ["does not need nothing"] and found["needs"] == ["nothing"]


def test_sizes_have_no_relation_of_degree_one():
    """No sum of multiples of tokens, d_k and d_v is the same in all draws."""
    import numpy as np

    rows = [[1, *cases.SIZES[case]] for case in cases.SIZES]
    assert np.linalg.matrix_rank(np.array(rows)) == 4
    assert {cases.case(draw) for draw in DRAWS["modular"]} == set(cases.SIZES)


def test_the_cases_that_the_rule_is_run_on():
    from gdn_ref.proofs.printed.rule import rule

    found = contained([rule(draw.anew()) for draw in DRAWS["modular"]])
    assert set(found) == {
        "1, 5, 6, 7, 19 tokens", "d_v below d_k", "d_v above d_k", "dependent keys",
        "keys of a rank below both sizes", "keys of length 1 that are not orthogonal",
        "queries orthogonal to some keys", "a strength of 0", "a strength of 1", "a strength of 2",
        "strengths between", "a decay of 1",
    }  # fmt: skip


@pytest.mark.parametrize(
    "label, case",
    [
        ("eq-exact-recall", "a Gram matrix of determinant 1 that is not the identity"),
        ("eq-slot-room", "a chunk less one"),
        ("eq-slot-room", "a chunk"),
        ("eq-slot-room", "a chunk and one more"),
        ("eq-packed-mask", "up to 7 lengths, of 0 to 4 tokens"),
        ("eq-transition-cases", "a strength of 1"),
    ],
)
def test_a_case_that_a_world_contains(label, case):
    """It is found in the values of the draws."""
    printed.load(label)
    entry = printed.PRINTED[label]
    assert case in contained([entry.world(draw.anew()) for draw in DRAWS[entry.arithmetic]])


def test_no_matrix_has_one_shape_in_all_draws():
    """Nor a vector: a size that is always the same could stand as a number."""
    import numpy as np

    printed.load()
    fixed, worlds = set(), {}
    for label, entry in printed.PRINTED.items():
        for draw in DRAWS[entry.arithmetic] if entry.arithmetic != "counted" else ():
            if (entry.world, draw) not in worlds:
                worlds[entry.world, draw] = entry.world(draw.anew())
        made = [worlds[key] for key in worlds if key[0] is entry.world]
        for letter in made[0].letters if made else ():
            found = [[*members(w, letter.rstrip("_")), w.letters.get(letter)][0] for w in made]
            shapes = {x.shape for x in found if isinstance(x, np.ndarray)}
            if len(shapes) == 1 and max(*shapes.pop()) > 1:
                fixed.add((label, letter))
    assert not fixed


def test_no_few_powers_invert_a_long_draw():
    """The sixteenth power of A is not zero, not even without its first row or its last."""
    import numpy as np

    from gdn_ref.proofs.printed.rule import rule

    (long,) = (draw for draw in DRAWS["modular"] if cases.case(draw) == cases.LONG)
    letters = rule(long.anew()).letters
    for A in (letters[r"\mathbf{A}"], letters[r"\tilde{\mathbf{A}}"]):
        for part in (A[1:, 1:], A[:-1, :-1]):
            assert np.any(np.linalg.matrix_power(part, 16) != 0)


def test_what_takes_few_tokens_of_a_long_draw_is_named():
    """One more has as few, which are a power of two and not taken from the draw."""
    printed.load()
    (long,) = (draw for draw in DRAWS["modular"] if cases.case(draw) == cases.LONG)
    by_world = {}
    for label, entry in printed.PRINTED.items():
        if entry.arithmetic == "modular":
            by_world.setdefault(entry.world, set()).add(label)
    found = set()
    for world, labels in by_world.items():
        K = world(long.anew()).letters.get(r"\mathbf{K}")
        found |= labels if getattr(K, "shape", (0,))[0] == cases.FEW else set()
    assert found == {*cases.TAKE_FEW, "eq-inverse-doubling"}
