"""What the solutions on paper of chapters 13 to 17 claim, on general data."""

from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose

from gdn_ref import backward, gated_delta_rule, wy
from gdn_ref.chunking import decay
from gdn_ref.proofs.data import hard_inputs

EXACT = {"rtol": 1e-12, "atol": 1e-12}


def system(k, g, beta):
    """I + A~ of a chunk."""
    return np.eye(len(k)) + wy.interaction(k, beta, decay(g)[1])


# Chapter 13


@pytest.mark.parametrize("T", [2, 7, 33])
def test_a_gain_lies_between_one_and_the_condition_number(T):
    def gain(matrix):
        return np.linalg.norm(np.linalg.inv(matrix)) / np.sqrt(T)

    _, k, _, g, beta, _ = hard_inputs(T=T)
    hard = system(k, g, beta)
    assert 1 < gain(hard) < np.linalg.cond(hard)
    assert_allclose(gain(system(np.eye(T), g, beta)), 1, **EXACT)  # orthogonal keys
    silent = beta * np.eye(T)[0]
    assert_allclose(gain(system(k, g, silent)), 1, **EXACT)  # no later token writes


@pytest.mark.parametrize("n", [1, 2, 5, 64])
def test_corrections_of_equal_keys_cancel(n):
    """Row t of `corrections` has the coefficients of the values in delta_t; all are exact."""
    values, state = np.eye(n, dtype=int), np.zeros(n, dtype=int)
    corrections = []
    for value in values:
        corrections.append(2 * (value - state))
        state = state + corrections[-1]
    signs = (-1) ** np.arange(n - 1, -1, -1)
    np.testing.assert_array_equal(state, 2 * signs)
    squares = [int(x @ x) for x in corrections]
    assert squares == [4 * (1 + 4 * t) for t in range(n)]
    assert Fraction(sum(squares), int(state @ state)) == 2 * n - 1
    inverse = np.linalg.inv(np.eye(n) + 2 * np.tri(n, k=-1))
    assert_allclose(np.sum(inverse**2) / n, 2 * n - 1, **EXACT)


# Chapter 14


def test_so_many_programs_come_near_the_limit():
    def time(eta, P):
        return eta / (1 - (1 - eta) ** P)

    for eta in (0.1, 0.45, 0.6, 0.9):
        for near in (0.01, 0.05, 0.3):
            P = int(np.ceil(np.log((1 + near) / near) / -np.log(1 - eta)))
            assert time(eta, P) <= (1 + near) * eta < time(eta, P - 1 or 1e-3)
    assert round(np.log(21) / np.log(2.5), 1) == 3.3
    assert time(0.6, 4) < 1.03 * 0.6


def test_a_higher_intensity_is_not_less_time():
    def cost(C, d, b, r, s):
        """FLOPs and bytes of the scan per token and value head, as eq-scan-intensity counts."""
        flops = 6 * d * d + 4 * C * d + 2 * s * C * d
        return flops, 2 * b * d * (1 + 1 / r) + b * C + 4

    def constants(d, b, r, s):
        return 4 + 2 * s, 2 * b * (1 + 1 / r) + 4 / d

    rng = np.random.default_rng(14)
    for _ in range(50):
        d, b = 8 * rng.integers(4, 40), rng.choice([2, 4])
        r, s = rng.integers(1, 9), rng.integers(1, 5)
        (flops, moved), (more, more_moved) = cost(64, d, b, r, s), cost(65, d, b, r, s)
        assert more / more_moved > flops / moved and more > flops and more_moved > moved
        e, f = constants(d, b, r, s)
        assert_allclose((6 * d + 64 * e) / (f + 64 * b / d), flops / moved, **EXACT)
        slope = (e * f - 6 * b) / (f + 64 * b / d) ** 2
        h = 1e-3
        (up, up_moved), (down, down_moved) = cost(64 + h, d, b, r, s), cost(64 - h, d, b, r, s)
        assert_allclose((up / up_moved - down / down_moved) / (2 * h), slope, rtol=1e-7)

    d, b, r, s, rho = 128, 2, 2, 2, 295
    e, f = constants(d, b, r, s)
    C = (rho * f - 6 * d) / (e - rho * b / d)
    flops, moved = cost(C, d, b, r, s)
    assert_allclose(flops / moved, rho, **EXACT)
    assert (round(f, 2), round(C)) == (6.03, 298)
    assert round(flops / cost(64, d, b, r, s)[0], 1) == 2.5


# Chapter 15


def test_places_of_a_swizzled_tile():
    rows, units = np.arange(64)[:, None], np.arange(8)
    places = units ^ (rows % 8)
    assert (np.sort(places, axis=1) == units).all()
    for first in range(56):
        assert (np.sort(places[first : first + 8], axis=0) == units[:, None]).all()
    for step, share in ((2, 2), (8, 8)):
        for unit in units:
            counts = np.unique(places[: 8 * step : step, unit], return_counts=True)[1]
            assert (counts == share).all()


def test_keys_read_two_chunks_ahead():
    q, k, v, g, beta, S = hard_inputs(T=21)
    parts = [slice(0, 7), slice(7, 14), slice(14, 21)]
    states, updates = [S], []
    for part in parts[:2]:
        of_chunk = (x[part] for x in (q, k, v, g, beta))
        _, following = gated_delta_rule.chunk(states[-1], *of_chunk)
        gamma, Gamma = decay(g[part])
        residual = v[part] - gamma[:, None] * (k[part] @ states[-1].T)
        E = np.linalg.solve(system(k[part], g[part], beta[part]), beta[part][:, None] * residual)
        updates.append((gamma[-1], (Gamma[-1][:, None] * E).T))
        states.append(following)
    (decayed, writes), (next_decayed, next_writes) = updates
    ahead = (
        next_decayed * decayed * (S @ k[parts[2]].T)
        + next_decayed * writes @ (k[parts[0]] @ k[parts[2]].T)
        + next_writes @ (k[parts[1]] @ k[parts[2]].T)
    )
    assert_allclose(ahead, states[2] @ k[parts[2]].T, **EXACT)


def test_instructions_of_a_chain_that_reads_ahead():
    def instructions(rows, columns, summed):
        return rows * columns * summed // (64 * 64 * 16)

    C, d_k, d_v = 64, 128, 64
    read, solve, write = (d_v, C, d_k), (d_v, C, C), (d_v, d_k, C)
    scores, old, new = (C, C, d_k), (d_v, C, d_k), (d_v, C, C)
    shipped = sum(instructions(*x) for x in (read, solve, write, scores, old, new))
    ahead = instructions(C, C, d_k) + instructions(d_v, C, C)
    assert [shipped + m * ahead for m in range(3)] == [40, 40 + 12, 64]
    assert round(64 * 0.023, 2) == 1.47 > 1.31


# Chapter 16


@pytest.mark.parametrize("chunk_size", [4, 16])
def test_two_sums_that_gradients_keep(chunk_size):
    q, k, v, g, beta, S = hard_inputs()
    rng = np.random.default_rng(16)
    dO, dS = rng.normal(size=v.shape), rng.normal(size=S.shape)
    o, last = gated_delta_rule.recurrent(q, k, v, g, beta, S)
    dq, _, dv, _, _, dS_first = backward.gradients(
        q, k, v, g, beta, S, dO, dS, chunk_size=chunk_size
    )
    assert_allclose((q * dq).sum(1), (o * dO).sum(1), **EXACT)
    assert_allclose(
        (v * dv).sum() + (S * dS_first).sum(), (o * dO).sum() + (last * dS).sum(), **EXACT
    )


def kept_on_the_way_back(p, r, m):
    """The most states and gradients kept at a time, and how many states are computed in all."""
    chunks, group = p * r * m, r * m
    kept, most, computed = set(range(0, chunks, group)), 0, chunks
    for first in reversed(range(0, chunks, group)):
        kept |= set(range(first, first + group, m))
        computed += group
        for start in reversed(range(first, first + group, m)):
            segment = set(range(start, start + m))
            kept |= segment
            computed += m
            most = max(most, len(kept) + m)  # with the segment's gradients
            kept -= segment
    return most, computed


def test_segments_within_segments():
    for p, r, m in ((8, 8, 4), (3, 5, 2), (1, 4, 6), (7, 1, 3), (1, 1, 9)):
        most, computed = kept_on_the_way_back(p, r, m)
        assert most == p + r + 2 * m - 2 >= 3 * np.cbrt(2 * p * r * m) - 2 - 1e-9
        assert computed == 3 * p * r * m
    sizes = [(p, r, 256 // (p * r)) for p in range(1, 257) for r in range(1, 257)
             if 256 % (p * r) == 0]  # fmt: skip
    assert min(p + r + 2 * m - 2 for p, r, m in sizes) == 8 + 8 + 2 * 4 - 2 == 22
    assert 44 < 2 * np.sqrt(512) - 1 < 45
    for levels in (1, 2, 5):  # products of levels + 1 factors, the last one doubled
        assert (levels + 1) * (2 * 256) ** (1 / (levels + 1)) >= np.e * np.log(2 * 256)


# Chapter 17


def idle_slots(lengths, C):
    """For each sequence, the slots behind its chunks and before the next one's first."""
    ends = np.cumsum([0, *lengths])
    first = [end // C + n for n, end in enumerate(ends)]
    return [first[n + 1] - first[n] - -(-L // C) for n, L in enumerate(lengths)]


def test_which_sequences_leave_a_slot_idle():
    rng = np.random.default_rng(17)
    for _ in range(200):
        C, lengths = rng.integers(1, 9), rng.integers(1, 30, size=rng.integers(1, 9))
        s, tails = (np.cumsum(lengths) - lengths) % C, lengths % C
        idle = idle_slots(lengths, C)
        np.testing.assert_array_equal(idle, (tails == 0) | (s + tails >= C))
        assert all(idle) == all(tails == 0)
        assert (not any(idle)) == (all(tails > 0) and sum(tails) < C)


@pytest.mark.parametrize("C", [1, 2, 16, 64])
def test_half_of_the_sequences_leave_one_on_average(C):
    idle = [idle_slots([s, tail + C], C)[1] if s else idle_slots([tail + C], C)[0]
            for s in range(C) for tail in range(C)]  # fmt: skip
    assert Fraction(sum(idle), C * C) == Fraction(C + 1, 2 * C)


def test_accepted_tokens_need_no_second_run():
    q, k, v, g, beta, S = hard_inputs(T=5)
    gamma, Gamma = decay(g)
    residual = v - gamma[:, None] * (k @ S.T)
    delta = np.linalg.solve(system(k, g, beta), beta[:, None] * residual)
    for a in range(1, 6):
        kept = gamma[a - 1] * S + (Gamma[a - 1, :a, None] * delta[:a]).T @ k[:a]
        first = (x[:a] for x in (q, k, v, g, beta))
        _, right = gated_delta_rule.recurrent(*first, S)
        assert_allclose(kept, right, **EXACT)
    d, n = 128, 5
    pairs = 1 + Fraction(n * 2 * d, d * d)
    assert round(float(pairs), 2) == 1.08 and pairs / 2 < 1 < pairs
    assert round(float(Fraction(3, 2) / pairs) - 1, 2) == 0.39
