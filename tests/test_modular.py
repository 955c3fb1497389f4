"""Arithmetic modulo 2^61 - 1 against Python's integers."""

import operator

import numpy as np
import pytest

from gdn_ref.proofs.modular import LONGEST_SUM, Mod, P, join, random, reciprocal


def big(x):
    """The same array as Python integers."""
    return x.residues.astype(object)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize("op", [operator.add, operator.sub, operator.mul])
def test_elementwise(op, rng):
    a, b = random(rng, 5, 7), random(rng, 5, 7)
    np.testing.assert_array_equal(big(op(a, b)), op(big(a), big(b)) % P)


def test_the_largest_product_is_exact():
    largest = Mod(np.array([P - 1, 2**61 - 2**31, 2**31 - 1, 1, 0], dtype=np.uint64))
    products = largest[:, None] * largest[None]
    np.testing.assert_array_equal(big(products), np.outer(big(largest), big(largest)) % P)


@pytest.mark.parametrize("rows", [1, 5, 16, 48])
def test_matrix_product(rows, rng):
    a, b = random(rng, rows, 70), random(rng, 70, 3)
    np.testing.assert_array_equal(big(a @ b), (big(a) @ big(b)) % P)
    np.testing.assert_array_equal(big(a @ b[:, 0]), (big(a) @ big(b[:, 0])) % P)


def test_the_largest_sum_is_exact():
    largest = Mod(np.full((1, LONGEST_SUM), P - 1, dtype=np.uint64))
    np.testing.assert_array_equal(big(largest @ largest.T), [[LONGEST_SUM]])


def test_integers_mix_with_elements(rng):
    a = random(rng, 4, 4)
    eye = np.eye(4, dtype=np.int64)
    np.testing.assert_array_equal(big(eye @ a), big(a))
    np.testing.assert_array_equal(big(eye - a), (eye.astype(object) - big(a)) % P)
    np.testing.assert_array_equal(big(-a + a), 0 * big(a))
    np.testing.assert_array_equal(big(a * -1), (-big(a)) % P)


def test_reciprocal_and_join(rng):
    a = random(rng, 6)
    np.testing.assert_array_equal(big(a * reciprocal(a)), 1 + 0 * big(a))
    np.testing.assert_array_equal(big(join([a, a])), np.stack([big(a), big(a)]))
