"""What an expression is worth in a world: in float64 and exactly; and what has no value."""

import math
from fractions import Fraction

import numpy as np
import pytest

from gdn_ref.proofs.printed import (
    Depends,
    Draw,
    Family,
    Refused,
    World,
    columns,
    entries,
    gradient,
    listed,
)  # fmt: skip
from gdn_ref.proofs.printed import values as v
from gdn_ref.proofs.printed.evaluate import Evaluator
from gdn_ref.proofs.printed.numbers import Residue
from gdn_ref.proofs.printed.statements import statements
from gdn_ref.proofs.printed.values import NotExact

A = np.array([[1, 2], [3, 5]])
K = np.array([[1, 2], [3, 4], [5, 7]])
F = [np.array([[1, n], [0, 2]]) for n in (3, 4, 5)]
LETTERS = {
    "a": 2, "b": 7, "d_k": 3, "d_v": 5, "x_": entries([10, 20, 30]), "A_": entries(A),
    r"\mathbf{A}": A, r"\mathbf{K}": K, r"\mathbf{A}_\gamma": 2 * A, r"\boldsymbol{v}_": columns(K),
    r"\mathbf{F}_": listed(F), r"\mathbf{F}^": listed([np.eye(2, dtype=int), *F], 0), "z": 0.5,
    r"\mathbf{S}'": 3 * A, "R": np.array([2, 3]), "I": np.array([1]), r"\boldsymbol{k}": K[:1].T,
    r"\phi": lambda x, y=0: 10 * x + y, r"\bar{s}": Depends(lambda at: 100 * at["t"]), "m": 9,
    r"\mathbf{S}_": Family(lambda s: lambda x: (s.start or 0, s.stop, x)), "bytes": 11,
    r"T^\ast": 4, "p_": listed([5, 6], bracket="("),
}  # fmt: skip
OUTCOMES = [(Fraction(1, 4), {"m": 0}), (Fraction(3, 4), {"m": 4})]
WORLD = World(LETTERS, {letter: range(1, 4) for letter in "ijtr"}, OUTCOMES)


def value(tex, world=WORLD, **scope):
    (statement,) = statements(tex)
    return Evaluator(world).value(statement.claim, scope)


@pytest.mark.parametrize(
    "tex, expected",
    [
        (r"\mathbf{A}\,\mathbf{A}^\top", A @ A.T),
        (r"\mathbf{A}^2 - \mathbf{A}^{-1}\mathbf{A}", A @ A - np.eye(2)),
        (r"\mathbf{A}^0", np.eye(2)),
        (r"\mathbf{I} + 2\,\mathbf{A}", np.eye(2) + 2 * A),
        (r"\mathbf{K}\mathbf{I} - \mathbf{0}", K),
        (r"\mathbf{K}\boldsymbol{v}_2", K @ K[1:2].T),
        (r"\mathbf{A} \odot \mathbf{A}^\top", A * A.T),
        (r"\mathbf{A}_\gamma", 2 * A),
        (r"\mathbf{S}'^\top", 3 * A.T),
        (r"\boldsymbol{v}_1^\top\boldsymbol{v}_2", 11),
        (r"\boldsymbol{v}_1\boldsymbol{v}_2^\top", np.outer(K[0], K[1])),
        (r"\langle\mathbf{A},\ \mathbf{A}^\top\rangle", np.sum(A * A.T)),
        (r"\|\mathbf{A}\|^2", 39),
        (r"\|\mathbf{A}\|_F^2", 39),
        (r"\|\boldsymbol{v}_2\|", 5),
        (r"|a - b| - |b|", -2),
        (r"\det\mathbf{A}", -1),
        (r"\det\begin{pmatrix} 0 & 1 \\ 1 & 0 \end{pmatrix}", -1),
        (r"\mathrm{tr}\,\mathbf{A}^2", 38),
        (r"\mathrm{rank}\begin{pmatrix} \mathbf{A} & \mathbf{A} \end{pmatrix}", 2),
        (r"\mathrm{tril}(\mathbf{A}, -1)", [[0, 0], [3, 0]]),
        (r"\mathrm{diag}(\boldsymbol{v}_1)", [[1, 0], [0, 2]]),
        (
            r"\begin{pmatrix} \mathbf{A} & \mathbf{0} \\ & a \end{pmatrix}",
            [[1, 2, 0], [3, 5, 0], [0, 0, 2]],
        ),
        (r"\begin{pmatrix} \mathbf{K} \\ \mathbf{I} \end{pmatrix}", np.vstack([K, np.eye(2)])),
        (r"\max(a, b) - \min(a, b)", 5),
        (r"\max_i x_i", 30),
        (r"\ln e^3", 3.0),
        (r"\log_2 8", 3.0),
        (r"\cos 2z\,(a)", 2 * math.cos(1.0)),
        (r"\mathrm{softplus}(z)", math.log1p(math.exp(0.5))),
    ],
)
def test_matrices_and_functions(tex, expected):
    found = value(tex)
    np.testing.assert_allclose(np.asarray(found, float), expected, rtol=1e-14, atol=0)


@pytest.mark.parametrize(
    "tex, expected",
    [
        (r"\frac{a}{b}", Fraction(2, 7)),
        (r"a/(bd_k)", Fraction(2, 21)),
        (r"\tfrac12 a", 1),
        (r"a^{-2}", Fraction(1, 4)),
        (r"(-1)^a", 1),
        (r"\sqrt{a^2 + d_v}", 3),
        (r"\lfloor b/a \rfloor + \lceil b/a \rceil", 7),
        (r"b \bmod d_k", 1),
        (r"\binom{b}{a}", 21),
        (r"\text{bytes} + T^\ast", 15),
        (r"\phi(a)", 20),
        (r"\phi(a, b)^2", 27**2),
        (r"\phi(a)\,b", 140),
        (r"x_2 - x_{a-1}", 10),
        (r"A_{1,a}", 2),
        (r"\mathbf{S}_{1:a}(b)", (1, 2, 7)),
        (r"\mathbf{S}_{:a}(b)", (0, 2, 7)),
        (r"\sum_{i=1}^{3} x_i", 60),
        (r"\sum_{i=2}^{1} x_i + a", 2),
        (r"\prod_{i=1}^{2} x_i", 200),
        (r"\sum_{i \le 2} x_i\,a", 60),
        (r"\sum_{i \ne 2} x_i", 40),
        (r"\sum_{1 \le i < j \le 3} x_i x_j", 1100),
        (r"\sum_i x_i", 60),
        (r"x_1 + \dots + x_3", 60),
        (r"x_1 + x_2 + \dots + x_3", 60),
        (r"x_3 x_2 \cdots x_1", 6000),
        (r"(x_1, \dots, x_3)", (10, 20, 30)),
        (r"\mathbb{E}\,m^2 - \mathrm{Var}\,m", 9),
        (r"\mathrm{Var}\,(a\,m)", 12),
        (r"\begin{cases} a & a < b \\ b & a \ge b \end{cases}", 2),
    ],
)
def test_numbers(tex, expected):
    found = value(tex)
    assert found == expected and v.is_exact(found)


def test_indices_and_blocks():
    assert value("A_{ij}", i=1, j=2) == 2 and value("A_{i,j-1}", i=2, j=2) == 3
    assert value(r"\bigl[\mathbf{A}^\top\bigr]_{ij}", i=1, j=2) == 3
    assert value(r"(\mathbf{K}^\top)_{ij}", i=1, j=3) == 5
    np.testing.assert_array_equal(value(r"(\mathbf{K}\mathbf{K}^\top)_{RI}"), (K @ K.T)[1:, :1])
    np.testing.assert_array_equal(value(r"[x_i x_j]_{i,j=1}^{2}"), [[100, 200], [200, 400]])
    found = value(r"\begin{pmatrix} \mathbf{K} & \mathbf{0} \\ & \mathbf{A} \end{pmatrix}")
    np.testing.assert_array_equal(found, np.block([[K, 0 * K], [0 * A, A]]))


def test_a_product_keeps_the_order_of_its_index():
    """Both directions of the dots, a product sign, and an empty one."""
    forth, back = F[0] @ F[1] @ F[2], F[2] @ F[1] @ F[0]
    assert np.any(forth != back)
    np.testing.assert_array_equal(value(r"\mathbf{F}_1 \mathbf{F}_2 \cdots \mathbf{F}_3"), forth)
    np.testing.assert_array_equal(value(r"\mathbf{F}_1 \cdots \mathbf{F}_3"), forth)
    np.testing.assert_array_equal(value(r"\mathbf{F}_3 \cdots \mathbf{F}_2 \mathbf{F}_1"), back)
    np.testing.assert_array_equal(value(r"\prod_{i=1}^{3} \mathbf{F}_i"), forth)
    np.testing.assert_array_equal(
        value(r"\mathbf{A}\,\mathbf{F}_{r+1} \cdots \mathbf{F}_3", r=3), A
    )
    np.testing.assert_array_equal(value(r"\mathbf{A}\prod_{i=4}^{3} \mathbf{F}_i"), A)


def test_a_superscript_is_a_family_or_a_power():
    np.testing.assert_array_equal(value(r"\mathbf{F}^r", r=2), F[1])
    np.testing.assert_array_equal(value(r"(\mathbf{F}^r)^2", r=2), F[1] @ F[1])
    assert value("a^r", r=3) == 8


def test_a_sum_binds_what_is_not_given():
    assert value(r"\sum_{i \le r} x_i", r=2) == 30
    assert value(r"\sum_{j \ge t > i} x_i x_j", t=2) == 10 * (20 + 30)
    with pytest.raises(Refused, match="binds no letter"):
        value(r"\sum_{i \le r} x_i", r=2, i=1)
    with pytest.raises(Refused, match="no value for j"):
        value(r"\sum_{i \le 2} x_j")
    with pytest.raises(Refused, match="a sum over what is given"):
        value(r"\sum_{r \ge i} x_i", r=2)


def test_brackets_at_an_index_are_a_part_of_the_name():
    assert value("p_{(1)}") == 5 and value(r"p_{(1)} + \dots + p_{(j)}", j=2) == 11


def test_what_follows_from_an_index():
    assert value(r"\bar s", t=3) == 300
    with pytest.raises(Refused, match="'t' stands where it is not given"):
        value(r"\bar s", r=3)


@pytest.mark.parametrize(
    "tex, message",
    [
        (r"\mathbf{K}\mathbf{K}", r"a product of shapes \(3, 2\) and \(3, 2\)"),
        (r"\mathbf{A} + \mathbf{K}", "a sum of shapes"),
        (r"\mathbf{A} + a", "a sum of shapes"),
        (r"\mathbf{K} + \mathbf{I}", "the identity beside a shape"),
        (r"\mathbf{A} \odot \mathbf{K}", "an entrywise product of shapes"),
        (r"\mathbf{K}^{-1}", "a power of a shape"),
        (r"(\boldsymbol{v}_1\boldsymbol{v}_1^\top)^{-1}", "a matrix without an inverse"),
        (r"\frac{a}{\mathbf{A}}", "a division by what is no number"),
        (r"a/0", "a division by zero"),
        (r"\sqrt{-a}", "a root of a negative number"),
        (r"\langle\mathbf{A}, \mathbf{K}\rangle", "an inner product of shapes"),
        (r"a + (a, b)", "a product with what is no number"),
        (r"\langle (a, b), \boldsymbol{k} \rangle", "an inner product of shapes"),
        ("q", "no value for q"),
        ("x_4", "no index 4"),
        ("x_0", "no index 0"),
        ("x_{12}", "no index 12"),
        (r"A_{1}", "1 indices where 2 are expected"),
        (r"a\,\phi", "without its argument"),
        (r"\phi(a, b, m)", "too many positional arguments"),
        (r"a_1", "an index on what has no entries"),
        (r"a_1 + \dots", "dots between what does not run"),
        (r"x_1 + \dots - x_3", "dots between terms of two signs"),
        (r"\mathbf{F}_3 \cdots \mathbf{F}_1", "dots that count the other way"),
        (r"\ln(a, b)", "too many positional arguments"),
        (r"\mathrm{tr}(\mathbf{A}, 1)", "takes 1 positional argument"),
        (r"A_{1,2}^\top", "the transpose of an entry"),
        (r"A^\top_{1,2}", "the transpose of an entry"),
        (r"\mathbf{A}_{1,2}^\top", "an entry and a power of one matrix, without brackets"),
        (r"x_1 \cdots A_{3}", "dots between two letters"),
        (r"\det\mathbf{K}", "a square matrix is expected"),
        (r"\begin{cases} a & a > b \end{cases}", "no case applies"),
        (r"\begin{cases} a & a < b \\ b & a \ne b \end{cases}", "two cases apply, and differ"),
        (r"\|\mathbf{I}\|", "a norm of what has no size"),
        (r"\exp\mathbf{A}", "a function of a number, given a matrix"),
        (r"a^{999999} z", "a number too large"),
        (r"\log_1 a", "division by zero"),
        (r"\begin{pmatrix} \mathbf{A} \\ \mathbf{0} \end{pmatrix}", "blocks of no known size"),
        (r"\begin{pmatrix} \mathbf{K} & \mathbf{I} \\ & \mathbf{A} \end{pmatrix}", "not square"),
        (r"(a = b) + 1", "a relation where a value is expected"),
        (r"\phi\cdot(a)", "a function of {\\(a\\)}, which has no brackets"),
        (r"\phi\, a", "a function of a, which has no brackets"),
        ("x_{(1)}", r"other brackets at x_{\(1\)}"),
        ("p_1", "other brackets at p_{1}"),
        ("p_{[1]}", "other brackets at p"),
        ("a^{(2)}", "an index or a power in brackets"),
        (r"(\mathbf{A})_{[ij]}", "an index or a power in brackets"),
        (r"\sum_{j=1}^{b} x_j m", "a sum over j, which is given already"),
    ],
)
def test_what_has_no_value(tex, message):
    with pytest.raises(Refused, match=message):
        value(tex, j=1)


EXACT = World(
    {"x": Residue(3), "y_": entries([1, 2]), r"\mathbf{A}": A.astype(object) * Residue(1)}
)


def test_residues_are_exact_and_have_no_order():
    assert value(r"\frac{1}{x}\,x", EXACT) == 1 and value("x^{-2}x^2", EXACT) == 1
    assert np.all(value(r"\mathbf{A}^{-1}\mathbf{A}", EXACT) == np.eye(2, dtype=int))
    ordered = ("e^x", r"\sqrt{x}", r"\max(x, 1)", "|x|", "x^{1/2}", "2^x", r"\mathbf{A}^x")
    for tex in (*ordered, r"\|\mathbf{A}\|_2", r"\mathrm{cond}(\mathbf{A})"):
        with pytest.raises(NotExact):
            value(tex, EXACT)


def test_only_whole_numbers_count():
    for tex in ("y_x", r"\sum_{i=1}^{x} i", r"y_1 + \dots + y_x", "y_{1/2}", r"y_{\mathbf{A}}"):
        with pytest.raises(Refused):
            value(tex, EXACT)
    assert v.counts(Fraction(4, 2)) and not v.counts(math.inf) and not v.counts(Residue(1))


def test_the_same_lines_draw_floats_and_residues():
    for exact in (False, True):
        draw = Draw(exact, 0)
        x = draw.array(2, 3)
        assert v.is_exact(x) is exact and np.all(x != draw.array(2, 3))
        assert np.all(x == draw.anew().array(2, 3)) and np.all(x != draw.anew(1).array(2, 3))
        assert draw.other(x).shape == x.shape and np.all(draw.other(x) != x)


def test_dual_numbers_differentiate():
    x = np.array([[2.0, 3.0]])
    slope = gradient(lambda y: y[0, 0] * y[0, 0] * y[0, 1] / (1 + y[0, 1]), x, exact=False)
    np.testing.assert_allclose(slope, [[3.0, 0.25]], rtol=1e-14)
