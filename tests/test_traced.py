"""What `gdn_ref.exercises.traced` sees of an answer, and what it does not mind."""

import numpy as np
import pytest

from gdn_ref.exercises.traced import additions, largest, operations, takes_part

X = np.arange(1.0, 9)  # eight numbers


def loop(x):
    total = x[0]
    for number in x[1:]:
        total = total + number
    return total


@pytest.mark.parametrize(
    "answer, count",
    [
        (lambda x: x + 1, 8),
        (lambda x: 1 - x, 8),
        (lambda x: x.sum(), 7),
        (np.sum, 7),
        (np.cumsum, 7),
        (lambda x: x.cumsum(), 7),
        (lambda x: np.add.accumulate(x[2:]), 5),
        (lambda x: sum(x), 8),  # it starts from 0
        (loop, 7),
        (lambda x: x @ x, 7),
        (lambda x: np.ones((3, 8)) @ x, 21),
        (lambda x: [x[: r + 1].sum() for r in range(8)], 28),
        (lambda x: np.exp(x) * x, 0),
        (lambda x: np.concatenate([x, x])[::-1], 0),
    ],
)
def test_additions_are_counted_however_they_are_written(answer, count):
    assert additions(operations(answer, X)) == count


@pytest.mark.parametrize(
    "answer, most",
    [
        (lambda x: np.outer(x, x), 64),
        (lambda x: x[:, None] * x, 64),
        (lambda x: x.reshape(-1, 1) @ x.reshape(1, -1), 64),
        (lambda x: np.einsum("i,j->ij", x, x).sum(), 64),
        (lambda x: np.diag(x), 64),
        (lambda x: np.eye(8) + x, 64),
        (lambda x: x @ x, 8),
        (lambda x: x * (x @ x) - 1, 8),
        (lambda x: np.stack([x, x]), 16),
        (lambda x: 0, 0),
    ],
)
def test_the_largest_array_is_seen(answer, most):
    assert largest(operations(answer, X)) == most


def test_an_array_is_recognised_on_its_way_in_and_out():
    square, other = np.outer(X, X + 1), np.ones((8, 8))
    assert takes_part(operations(lambda x: np.outer(x, x + 1), X), square)
    assert takes_part(operations(lambda x: square @ x, X), square)
    assert takes_part(operations(lambda x: square.T @ x, X), square)
    assert takes_part(operations(lambda x: np.vsplit(x[:, None] * (x + 1), [8]), X), square)
    assert not takes_part(operations(lambda x: np.outer(x, x + 1), X), other)
    assert not takes_part(operations(lambda x: x * (x @ x), X), square)


def test_an_answer_that_raises_is_seen_up_to_there():
    def answer(x):
        x = x + 1
        raise TypeError("not for such arrays")

    assert additions(operations(answer, X)) == 8


def test_the_arrays_themselves_are_left_alone():
    given = X.copy()
    operations(lambda x: np.multiply(x, 0, out=x), given)
    np.testing.assert_array_equal(given, X)
