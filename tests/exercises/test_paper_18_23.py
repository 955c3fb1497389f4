"""What the pen-and-paper solutions of chapters 18 to 23 claim, on general data."""

from itertools import combinations
from math import ceil, sqrt

import numpy as np
import pytest
import torch

from gdn_ref import gated_delta_rule
from gdn_ref.experiments import permutations
from gdn_ref.figures import ch18_model
from gdn_ref.figures.ch20_models import MODELS
from gdn_ref.proofs.ch20_model import (
    cache_bytes,
    crossover,
    decode_bytes,
    state_bytes,
    with_share,
)
from gdn_ref.proofs.data import unit

TIGHT = 1e-12


def close(x, y):
    np.testing.assert_allclose(x, y, rtol=TIGHT, atol=TIGHT)


@pytest.fixture
def rng():
    return np.random.default_rng(27)


# 18: Across GPUs


def shard(rng, n, d_k, d_v):
    """Keys, values, log-decays, strengths, and the pair of the shard from the package's rule."""
    k, v = unit(rng.normal(size=(n, d_k))), rng.normal(size=(n, d_v))
    g, beta = np.log(rng.uniform(0.5, 1, n)), rng.uniform(0, 2, n)
    tall, start = np.hstack([v, 0 * k]), np.vstack([np.zeros((d_v, d_k)), np.eye(d_k)])
    _, S = gated_delta_rule.recurrent(k, k, tall, g, beta, start)
    return k, g, S[:d_v], S[d_v:]


def test_a_pair_of_few_tokens_is_a_few_vectors(rng):
    """ex-18-thin: F is gamma (I - sum w k^T), and G is sum x k^T."""
    k, g, G, F = shard(rng, n=4, d_k=9, d_v=5)
    for matrix in (np.eye(9) - F / np.exp(g.sum()), G):
        vectors = np.linalg.lstsq(k.T, matrix.T, rcond=None)[0]  # of matrix = vectors^T k
        close(vectors.T @ k, matrix)
    with pytest.raises(AssertionError):  # without gamma there is no such form
        vectors = np.linalg.lstsq(k.T, np.eye(9) - F, rcond=None)[0]
        close(vectors.T @ k, np.eye(9) - F)


@pytest.mark.parametrize("d_k, d_v", [(128, 128), (64, 128), (7, 3)])
def test_from_where_the_two_matrices_are_cheaper(d_k, d_v):
    """ex-18-thin: the first n with which the vectors are no fewer numbers."""
    first = next(n for n in range(10 * d_k) if n * (2 * d_k + d_v) + 1 >= d_k * (d_k + d_v))
    assert first == ceil((d_k * (d_k + d_v) - 1) / (2 * d_k + d_v))
    assert (d_k, d_v) != (128, 128) or first == 86


def relay(n, R, share, s):
    return (n + R - 1) * (share / n + s)


@pytest.mark.parametrize("R, share, s", [(2, 1.0, 0.1), (5, 3.0, 0.2), (64, 1.7, 0.01)])
def test_the_best_number_of_groups_in_a_relay(R, share, s):
    """ex-18-groups: the bound, where it is attained, and the case without a call's time."""
    close(R * share / relay(16, R, share, 0), ch18_model.relay_speedup(R, 16))
    least = (sqrt(share) + sqrt((R - 1) * s)) ** 2
    close(relay(sqrt((R - 1) * share / s), R, share, s), least)
    assert min(relay(n, R, share, s) for n in np.linspace(0.1, 500, 10_001)) >= least


def test_a_relay_of_two_ranks_whose_calls_take_a_tenth():
    """ex-18-groups: three groups, 1.21 times one card; 10 times for many ranks."""
    assert min(range(1, 50), key=lambda n: relay(n, 2, 1, 0.1)) == 3
    assert round(2.1 / (1 + sqrt(0.1)) ** 2, 2) == 1.21
    many = 10**9
    np.testing.assert_allclose((many + 0.1) / (1 + sqrt((many - 1) * 0.1)) ** 2, 10, rtol=1e-3)


# 19: The Gated DeltaNet block


def test_the_derivative_of_the_norm(rng):
    """ex-19-jacobian: 1 / r across the output, eps / r^3 along it."""
    d_v, eps = 7, 0.3
    o = torch.tensor(rng.normal(size=d_v))
    J = torch.autograd.functional.jacobian(lambda o: o / (o @ o / d_v + eps).sqrt(), o).numpy()
    r = sqrt(float(o @ o) / d_v + eps)
    close(J, J.T)
    close(J @ o.numpy(), eps / r**3 * o.numpy())
    close(np.linalg.eigvalsh(J), [eps / r**3] + (d_v - 1) * [1 / r])
    o = o / o.norm() * sqrt(d_v * eps)  # the mean square is eps
    close(eps / (float(o @ o) / d_v + eps), 1 / 2)


def read_at_the_last_token(letters, beta, values):
    """Each token stores its value under the key of the letter before, then reads its own key."""
    eye, shifted = np.eye(len(values)), np.array([letters[0], *letters[:-1]])
    beta = np.where(np.arange(len(letters)) == 0, 0, beta)  # token 1 writes nothing
    O, _ = gated_delta_rule.recurrent(eye[letters], eye[shifted], values[letters], 0 * beta, beta)
    return O[-1]


def test_a_memory_of_frequencies(rng):
    """ex-19-bigram: the shares of all successors; with strengths 1 / j, their mean."""
    letters, values = rng.integers(4, size=60), rng.normal(size=(4, 3))
    places = [s for s in range(59) if letters[s] == letters[-1]][::-1]  # the latest first
    assert len(places) > 5
    beta = rng.uniform(0, 1, 60)
    shares = [beta[s + 1] * np.prod([1 - beta[later + 1] for later in places[:i]])
              for i, s in enumerate(places)]  # fmt: skip
    after = values[letters[[s + 1 for s in places]]]
    close(read_at_the_last_token(letters, beta, values), shares @ after)

    number = [0.0, *(1 / np.sum(letters[:t] == letters[t - 1]) for t in range(1, 60))]
    close(read_at_the_last_token(letters, np.array(number), values), after.mean(0))


# 20: Hybrid models


@pytest.mark.parametrize("E, k", [(512, 10), (256, 8), (6, 2), (7, 1)])
def test_when_half_of_the_experts_are_read(E, k):
    """ex-20-half: the formula, the falling mean, and the factor that few tokens can save."""

    def read(n):
        return E * (1 - (1 - k / E) ** n)

    half = np.log(2) / -np.log(1 - k / E)
    close(read(half), E / 2)
    assert (E, k) != (512, 10) or (round(half) == 35 and int(E / k) == 51)
    per_token = [read(n) / n for n in range(1, 200)]
    powers = (1 - k / E) ** np.arange(199)
    close(per_token, k * np.cumsum(powers) / np.arange(1, 200))
    assert np.all(np.diff(per_token) < 0)
    close(k / (read(E / k) / (E / k)), 1 / (1 - (1 - k / E) ** (E / k)))
    assert k / (read(E / k) / (E / k)) < 1 / (1 - np.exp(-1)) < 1.583


def memories_moved(x, T):
    """Bytes that a step moves for the memories of one sequence: what a second one adds."""
    return decode_bytes(x, T, 2, read=0) - decode_bytes(x, T, 1, read=0)


@pytest.mark.parametrize("name", MODELS)
def test_a_second_crossing(name):
    """ex-20-traffic: every mix moves the same at 2 T_0 - 1 tokens, and saves 1 / phi far beyond."""
    x = MODELS[name]
    T_0, mixes = crossover(x), [with_share(x, full) for full in (0, x.full, x.layers)]
    close([memories_moved(mix, 2 * T_0 - 1) / memories_moved(x, 2 * T_0 - 1) for mix in mixes], 1)
    assert name != "Qwen3-Next 80B-A3B" or 2 * T_0 - 1 == 2111
    kept = [cache_bytes(mix, 1.5 * T_0) + state_bytes(mix) for mix in mixes]
    moved = [memories_moved(mix, 1.5 * T_0) for mix in mixes]
    assert kept == sorted(kept) and moved == sorted(moved, reverse=True)
    everywhere, share = memories_moved(mixes[-1], 10**5), x.full / x.layers
    close(memories_moved(x, 10**5) / everywhere, share + 2 * (1 - share) * T_0 / (10**5 + 1))


# 21: Recall, measured


@pytest.mark.parametrize("d", [1, 2, 5, 16])
def test_keys_that_attain_the_bound(d, rng):
    """ex-21-simplex: the corners of a simplex, whose crosstalk is that of the bound."""
    centred = np.eye(d + 1) - 1 / (d + 1)
    k = centred @ np.linalg.svd(centred)[2][:d].T  # the same corners in d dimensions
    k /= np.linalg.norm(k, axis=1, keepdims=True)
    overlaps = k @ k.T
    close(overlaps[~np.eye(d + 1, dtype=bool)], -1 / d)
    crosstalk = (overlaps**2).sum(1) - 1
    close(crosstalk, (d + 1) / d - 1)
    if d > 1:  # a key that moves leaves the bound
        k[0] = unit(k[0] + 0.1 * rng.normal(size=d))
        assert np.mean(((k @ k.T) ** 2).sum(1) - 1) > (d + 1) / d - 1 + 1e-6


def causal_attention(x, W_q, W_k, W_v):
    scores = np.where(np.tri(len(x), dtype=bool), (x @ W_q) @ (x @ W_k).T, -np.inf)
    weights = np.exp(scores - scores.max(1, keepdims=True))
    return weights / weights.sum(1, keepdims=True) @ x @ W_v


def test_attention_without_positions_answers_ones_alike(rng):
    """ex-21-hybrid, 2: any depth, with residual paths and functions of single tokens."""
    ones = two = np.tile(rng.normal(size=5), (40, 1))
    two = two + (np.arange(40) == 0)[:, None]  # a first token that differs
    for _ in range(4):
        W = rng.normal(size=(4, 5, 5))
        ones, two = (np.tanh((x + causal_attention(x, *W[:3])) @ W[3]) for x in (ones, two))
    close(ones - ones[0], np.zeros_like(ones))
    assert np.abs(np.diff(two[1:], axis=0)).max() > 1e-6


def test_a_task_for_a_hybrid_alone(rng):
    """ex-21-hybrid, 3: one number as state and one layer of attention, on random words."""
    n, N, s = 6, 3, 30.0
    circle = np.array([[np.cos(a), np.sin(a)] for a in 2 * np.pi * np.arange(n) / n])
    for _ in range(50):
        values, kind, name, written = rng.integers(N, size=n), [], [], []
        for _ in range(40):
            new = [i for i in range(n) if i not in written]
            what = rng.choice(["0", "1", *(["pair"] if new else []), *(["ask"] * bool(written))])
            kind.append(str(what))
            name.append(rng.choice(new if what == "pair" else written or [0]))
            written += [name[-1]] if what == "pair" else []
        kind, name = np.array(kind), np.array(name)
        one, pair, ask = (kind == x for x in ("1", "pair", "ask"))
        key = np.ones((40, 1))
        parity, _ = gated_delta_rule.recurrent(key, key, key / 2, 0.0 * one, 2.0 * one)
        np.testing.assert_array_equal(parity[:, 0], np.cumsum(one) % 2)
        near = s * circle[name] @ (pair[:, None] * circle[name]).T
        scores = np.where(np.tri(40, dtype=bool), near, -np.inf)
        read = np.exp(scores) @ (pair[:, None] * np.eye(N)[values[name]])
        np.testing.assert_array_equal(read[ask].argmax(1), values[name[ask]])


# 22: State tracking


def test_how_many_steps_may_be_wasted(rng):
    """ex-22-waste: what a step does to lengths, and the parity of the number of reflections."""
    s, k, beta = rng.normal(size=5), unit(rng.normal(size=5)), 1.3
    after = s - beta * (s @ k) * k
    close(after @ after - s @ s, -beta * (2 - beta) * (s @ k) ** 2)
    for p in permutations.all_of(5):
        matrix = np.eye(5)[list(p)]
        moved = sum(i != x for i, x in enumerate(p))
        needed = np.linalg.matrix_rank(matrix - np.eye(5))  # m - c
        close(np.linalg.det(matrix), (-1.0) ** needed)
        assert needed <= moved
        keys = permutations.keys_of(p, steps=4)  # whole numbers; a step that waits has no key
        assert np.count_nonzero(keys.any(axis=1)) % 2 == needed % 2
    close(np.linalg.det(np.eye(5) - 2 * np.outer(k, k)), -1)


@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("beta", [0.7, 1.9, 2.0])
def test_leaky_swaps(m, beta, rng):
    """ex-22-leaky: the mean over all swaps of the squared length, exactly."""
    s = rng.normal(size=m)
    s -= s.mean()
    lengths = []
    for i, j in combinations(range(m), 2):
        after = s.copy()
        after[i], after[j] = s[i] + beta / 2 * (s[j] - s[i]), s[j] + beta / 2 * (s[i] - s[j])
        close(after.sum(), 0)
        lengths.append(after @ after)
    close(np.mean(lengths), (1 - beta * (2 - beta) / (m - 1)) * (s @ s))
    assert m > 2 or np.isclose(np.mean(lengths), (beta - 1) ** 2 * (s @ s), rtol=TIGHT)


def test_after_how_many_leaky_swaps_half_is_left():
    """ex-22-leaky: (m - 1) ln 2 / (2 eps), for a small eps."""
    for m in (2, 5, 9):
        life = np.log(2) / -np.log(1 - (2 - 1e-6) * 1e-6 / (m - 1))
        np.testing.assert_allclose(life, (m - 1) * np.log(2) / 2e-6, rtol=1e-5)


# 23: The family


def transition(k, beta):
    return np.eye(len(k)) - beta * np.outer(k, k)


def test_two_steps_are_not_one(rng):
    """ex-23-two: rank 2 for independent keys, one strength for parallel ones."""
    k, other = unit(rng.normal(size=(2, 6)))
    one, two, keys, rho = 1.3, 0.4, np.stack([k, other]), k @ other
    middle = np.array([[one, -one * two * rho], [0, two]])
    rest = np.eye(6) - transition(k, one) @ transition(other, two)
    close(rest, keys.T @ middle @ keys)
    close(np.linalg.det(middle), one * two)
    assert np.linalg.matrix_rank(rest) == 2
    for parallel in (k, -k):
        product = transition(k, one) @ transition(parallel, two)
        close(product, transition(k, 1 - (1 - one) * (1 - two)))


@pytest.mark.parametrize("largest", [1.0, 2.0, 6.0])
def test_the_spectrum_of_a_gated_transition(largest, rng):
    """ex-23-spectrum: the equation, the gaps between the decays, and the boundary at -1."""
    below = 0
    for _ in range(200):
        d = np.sort(rng.uniform(0, 1, 5))
        k, e = unit(rng.normal(size=5)), rng.uniform(0.05, largest, 5)
        eigenvalues = np.linalg.eigvals(np.diag(d) - np.outer(k, e * k))
        np.testing.assert_allclose(eigenvalues.imag, 0, atol=1e-7)
        found = np.sort(eigenvalues.real)
        assert found[0] < d[0] and np.all((d[:-1] < found[1:]) & (found[1:] < d[1:]))
        # det(M - x I) is the product of the d - x, times 1 minus the sum; both at a general x
        x, share = 1.7, e * k**2
        det = np.linalg.det(np.diag(d - x) - np.outer(k, e * k))
        close(det, np.prod(d - x) * (1 - np.sum(share / (d - x))))
        assert (found[0] > -1) == (np.sum(share / (d + 1)) < 1)
        assert np.sum(share / (0.9 * d + 1)) > np.sum(share / (d + 1))  # forgetting more
        below += found[0] < -1
    assert (below > 0) == (largest > 1)
