"""Outcomes that stand for a distribution have its stated moments, and no other coincidence; and
each equation is also evaluated at the borders of its domain."""

from contextlib import nullcontext
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from gdn_ref.proofs.printed import check, displays, load
from gdn_ref.proofs.printed.cases import BORDERS, LOW, RESET
from gdn_ref.proofs.printed.ch05_worlds import stream
from gdn_ref.proofs.printed.ch13 import one_cosine, product_of_three
from gdn_ref.proofs.printed.ch21 import scored
from gdn_ref.proofs.printed.draws import DRAWS, Draw
from gdn_ref.proofs.printed.gaps import gap
from gdn_ref.proofs.printed.statements import statements
from gdn_ref.proofs.printed.values import Refused


def mean(world, function):
    return sum(weight * function(letters) for weight, letters in world.outcomes)


def test_keys_of_different_tokens_are_independent():
    """The mean of a product of transitions is the product of the means, and the sets differ."""
    world = stream(DRAWS["modular"][2])
    P = r"\mathbf{P}_"
    both = mean(world, lambda at: at[P][(1,)] @ at[P][(2,)])
    one, other = (mean(world, lambda at, t=t: at[P][(t,)]) for t in (1, 2))
    assert (both == one @ other).all()
    firsts, seconds = ([at[P][(t,)] for _, at in world.outcomes] for t in (1, 2))
    assert not any((a == b).all() for a in firsts for b in seconds)


def test_scores_of_two_draws_have_other_fourth_moments():
    """Against those of uniform choices from one basis, whose products are 0, 1 and -1."""
    differ = 0
    for draw in DRAWS["rational"]:
        world = scored(draw)
        d_v, row = world.letters["d_{v}"], world.letters[r"\Omega_"]
        weights = [row[1, i] for i in world.ranges["i"]]
        square = sum(w**2 for w in weights)
        assert mean(world, lambda at: at["s'_"][(1,)] ** 2) == square / d_v
        fourth = sum(w**4 for w in weights)
        of_one_basis = fourth / d_v + Fraction(3, d_v**2) * (square**2 - fourth)
        differ += mean(world, lambda at: at["s'_"][(1,)] ** 4) != of_one_basis
    assert 0 < differ < len(DRAWS["rational"])


def test_roundings_have_two_sizes_and_are_not_as_likely_as_their_negatives():
    world = product_of_three(DRAWS["modular"][0])
    dY = r"\partial\mathbf{Y}"
    assert len({round(float(at[dY][0, 0]), 9) for _, at in world.outcomes}) == 4
    size = world.letters[r"\rho"] * world.letters["Y_"][1, 1]
    moments = [mean(world, lambda at, n=n: (at[dY][0, 0] / size) ** n) for n in (0, 1, 2, 3)]
    assert moments[:3] == pytest.approx([1, 0, 1]) and moments[3] > 1


def test_borders_have_equal_sizes_and_a_cosine_of_minus_one():
    load()
    equal = check.borders(check.PRINTED["eq-kv-cache-bytes"])[0].letters
    assert equal["d_{k}"] == equal["d_{v}"]
    still = one_cosine(Draw(False, 0, BORDERS[1])).letters
    assert (still["h"], still[r"\alpha"]) == (-1, 1)


def test_in_a_border_every_matrix_has_a_rank_of_its_own():
    load()
    letters = check.PRINTED["eq-gdn-chunk-output"].world(Draw(False, 0, LOW)).letters
    names = (r"\mathbf{Q}", r"\tilde{\mathbf{U}}", r"\mathbf{E}", r"\mathbf{V}", r"\mathbf{K}")
    assert [np.linalg.matrix_rank(letters[name], tol=1e-9) for name in names] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("label, excluded", [("eq-gdn-writes", False), ("eq-gdn-divided", True)])
def test_a_token_drops_everything_unless_the_page_excludes_it(label, excluded):
    load()
    entry, stated = check.PRINTED[label], statements(displays()[label].tex)
    worlds = [world for world in check.borders(entry) if world.letters["C"] > 1]
    assert (worlds[-1].letters[r"\alpha_"][3,] == 0) != excluded
    world = entry.world(replace(DRAWS["modular"][3], easy=RESET))
    with pytest.raises(Refused, match="division by zero") if excluded else nullcontext():
        assert gap(stated, world) == 0
