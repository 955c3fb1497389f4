"""Every mutant of the chunk form dies on hard inputs; on easy inputs many survive."""

import numpy as np
import pytest

from gdn_ref.proofs.ch11_mutants import EQUIVALENT, MUTANTS
from gdn_ref.proofs.ch11_survivors import easy_tokens, survivors, survivors_table
from gdn_ref.proofs.running import FLOAT64_PASS
from gdn_ref.proofs.token_forms import (
    FORM,
    chunkwise,
    difference,
    float64_tokens,
    polynomial_tokens,
    recurrence,
)


def test_there_are_enough_distinct_mutants():
    changes = [
        (tuple(sorted(change)), tuple(id(line) for _, line in sorted(change.items())))
        for mutants in MUTANTS.values()
        for change in mutants.values()
    ]
    assert len(set(changes)) == len(changes) >= 49


def test_no_mutant_survives_hard_inputs():
    assert survivors(float64_tokens()) == []


@pytest.mark.parametrize(
    ("inputs", "survivor"),
    [
        ("no state and one chunk", "no W S^T (eq-gdn-delta-split)"),
        ("no state and one chunk", "state not decayed (eq-gdn-chunk-state)"),
        ("no decay", "M for Gamma (eq-gdn-chunk-output)"),
        ("orthonormal keys", "gated solve on raw K, rows scaled after (eq-gdn-delta-split)"),
        ("orthonormal keys", "A upper (eq-wy-w)"),
        ("beta = 1", "no beta on the right (eq-wy-w)"),
        ("one token in a chunk", "no mask (eq-gdn-chunk-output)"),
    ],
)
def test_easy_inputs_hide_a_mistake(inputs, survivor):
    assert survivor in survivors(easy_tokens()[inputs])


def test_the_table_counts_the_survivors():
    counts, total = survivors_table()
    assert counts["hard inputs"] == 0
    assert all(0 < count < total for name, count in counts.items() if name != "hard inputs")
    assert total == sum(map(len, MUTANTS.values()))


@pytest.mark.parametrize("name", EQUIVALENT)
def test_equivalent_forms_pass_in_float64(name):
    tokens = float64_tokens()
    results = zip(chunkwise(tokens, FORM | EQUIVALENT[name]), recurrence(tokens), strict=True)
    assert max(difference(actual, expected) for actual, expected in results) < FLOAT64_PASS


@pytest.mark.parametrize("name", EQUIVALENT)
def test_equivalent_forms_pass_as_polynomials(name):
    tokens = polynomial_tokens(C=3, d_k=2, d_v=2)
    for actual, expected in zip(
        chunkwise(tokens, FORM | EQUIVALENT[name]), recurrence(tokens), strict=True
    ):
        np.testing.assert_array_equal(actual, expected)
