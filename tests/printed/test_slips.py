"""The slips of a printed equation, one by one: their values, and the data that hide them."""

import numpy as np
import pytest

from gdn_ref.proofs import printed
from gdn_ref.proofs.printed import cases
from gdn_ref.proofs.printed.draws import EQUAL_SIZES, Draw
from gdn_ref.proofs.printed.rule import rule
from gdn_ref.proofs.printed.slips import SHOWN

PLAIN = Draw(False, SHOWN)


def found(label):
    printed.load(label)
    result = printed.run(label, one_by_one=True)
    assert result["problems"] == []
    return result


def letter(draw, name):
    return rule(draw).letters[rf"\mathbf{{{name}}}"]


@pytest.fixture(scope="module")
def state():
    """eq-gdn-chunk-state: S' = gamma_C S + E^T D K."""
    return found("eq-gdn-chunk-state")


def row(result, form):
    (only,) = [r for r in result["slips"]["rows"] if r["form"] == form]
    return only


def hidden_by(result, form):
    return set(row(result, form)["hidden"])


@pytest.mark.parametrize(
    "label",
    ["eq-gdn-chunk-state", "eq-wy-cost", "eq-transition-norm", "eq-linear-attention-chunk",
     "eq-gdn-inverse", "eq-wy-product", "eq-transition-cases", "eq-recall-named"],
)  # fmt: skip
def test_each_rejected_form_has_one_row(label):
    result = found(label)
    rows, counts = result["slips"]["rows"], result["mutants"]
    assert len(rows) == counts["by_number"] + counts["refused"] > 0
    for one in rows:
        assert set(one["hidden"]) <= set(result["slips"]["data"]) <= set(cases.EASY)
        assert sum(key in one for key in ("right", "refused", "false")) == 1
        if "right" in one:
            assert one["right"] != one["wrong"]
    names = [(one["form"], one.get("place")) for one in rows]
    assert len(set(names)) == len(names)


def test_the_right_value_is_the_package_s_and_the_wrong_one_is_the_slip_s(state):
    one = row(state, r"without \gamma_{C}")
    i, j = (int(n) - 1 for n in one["at"].removeprefix("entry ").split(", "))
    world = rule(PLAIN).letters
    after, S = world[r"\mathbf{S}'"], world[r"\mathbf{S}"]
    written = letter(PLAIN, "E").T @ world[r"\mathbf{D}_{\rightarrow}"] @ letter(PLAIN, "K")
    slip = S + written
    assert one["right"] == pytest.approx(after[i, j], rel=1e-3)
    assert one["wrong"] == pytest.approx(slip[i, j], rel=1e-3)
    assert abs(slip - after).max() == pytest.approx(abs(slip - after)[i, j])
    error = np.linalg.norm(slip - after) / np.linalg.norm(after)
    assert one["off"] == pytest.approx(error, rel=0.05)


def test_easy_data_hide_the_slips_that_the_book_speaks_of(state):
    assert state["slips"]["data"] == [
        name for name in cases.EASY if name != cases.ONE_CHUNK
    ]  # it is one chunk already
    assert hidden_by(state, r"without \gamma_{C}") == {cases.EMPTY, cases.STILL}
    assert cases.EMPTY in hidden_by(state, r"sign of \gamma_{C}\mathbf{S}")
    assert hidden_by(state, r"\mathbf{D}_{\gamma} for \mathbf{D}_{\rightarrow}") == {cases.STILL}
    assert hidden_by(state, r"without \mathbf{D}_{\rightarrow}") == {cases.STILL, cases.ONE_TOKEN}
    assert hidden_by(state, r"\mathbf{Q} for \mathbf{K}") == set()
    product = found("eq-wy-product")
    no_sum = r"without \sum_{i < r}\boldsymbol{w}_{i}(\boldsymbol{k}_{i}^{\top}\boldsymbol{k}_{r})"
    assert hidden_by(product, no_sum) == {cases.ORTHONORMAL, cases.ONE_TOKEN}
    assert hidden_by(product, r"\mathbf{P}^{r} transposed") >= {cases.ORTHONORMAL}
    assert hidden_by(product, r"without \beta_{r}") == {cases.ONES}
    cost = found("eq-wy-cost")
    assert cost["slips"]["data"] == [EQUAL_SIZES]
    assert {r["form"] for r in cost["slips"]["rows"] if r["hidden"]} == {
        f"{a} for {b}" for a in ("C", "d_{k}", "d_{v}") for b in ("C", "d_{k}", "d_{v}") if a != b
    }
    chunks = found("eq-linear-attention-chunk")
    assert cases.ONE_CHUNK in chunks["slips"]["data"]


def test_what_hides_a_slip_has_the_property_by_which_it_is_called():
    inputs = {name: rule(Draw(False, SHOWN, name)) for name in cases.EASY}
    S, K, B = (
        {name: world.letters[rf"\mathbf{{{x}}}"] for name, world in inputs.items()} for x in "SKB"
    )
    assert not S[cases.EMPTY].any() and all(S[n].any() for n in cases.EASY if n != cases.EMPTY)
    np.testing.assert_array_equal(
        K[cases.ORTHONORMAL] @ K[cases.ORTHONORMAL].T, np.eye(len(K[cases.ORTHONORMAL]))
    )
    np.testing.assert_array_equal(B[cases.ONES], np.eye(len(B[cases.ONES])))
    gamma = inputs[cases.STILL].letters[r"\mathbf{D}_{\gamma}"]
    np.testing.assert_array_equal(gamma, np.eye(len(gamma)))
    assert len(K[cases.ONE_TOKEN]) == 1
    assert S[EQUAL_SIZES].shape[0] == S[EQUAL_SIZES].shape[1]
    for name in (cases.EMPTY, cases.STILL, cases.ONES):  # and differs in nothing else
        np.testing.assert_array_equal(K[name], letter(PLAIN, "K"))


def test_no_row_without_being_asked():
    printed.load("eq-gdn-chunk-state")
    assert "slips" not in printed.run("eq-gdn-chunk-state")
