"""The data of the tests without a tolerance: nothing is rounded on them, and mistakes show."""

from dataclasses import replace

import exact_chunks
import exact_data
import numpy as np
import pytest
import torch
from exact_cases import CASES, FOR_HOPPER, SMALL, case

PROVED = [(name, C) for name in (*SMALL, "tokens") for C in (16, 32, 64)]
PROVED += [(name, 64) for name in CASES if name not in (*SMALL, "tokens", "many chunks")]
PROVED += [("256 with a short chunk", 32), ("128", 16)]  # their backward passes, on a device
PROVED += [pytest.param("many chunks", C, marks=pytest.mark.gpu) for C in (16, 32, 64)]


@pytest.mark.parametrize("name, chunk_size", PROVED)
def test_nothing_is_rounded(name, chunk_size):
    exact_chunks.prove(case(name)[0], chunk_size)


@pytest.mark.parametrize("name", ["segments", "segments of 128"])
def test_nothing_is_rounded_in_the_maps_of_segments(name):
    x = case(name)[0]
    V = x.v_.shape[2]
    maps = exact_chunks.prove_maps(x, 64)
    assert any(F.n[:, V:].any() for F in maps[1:])  # what is used of them is not all nothing


@pytest.mark.parametrize("name", [*SMALL, *FOR_HOPPER])
def test_log_decays_become_whole_numbers(name):
    """As the kernels sum them, in float32 and in float64."""
    halvings = case(name)[0].halvings[:64]
    c = halvings.cumsum(0)
    g = exact_data.arguments(case(name)[0])["g"][0, :64]
    for dtype in (torch.float32, torch.float64):
        log2 = torch.clamp(g.to(dtype) * torch.tensor(1.4426950408889634, dtype=dtype), -160.0)
        found = log2.cumsum(0).numpy()
        stretch = (found[:, None] - found).astype(np.float32)
        near = abs(c[:, None] - c) < exact_chunks.NOTHING
        assert np.array_equal(stretch[near], (c - c[:, None])[near])
        late = np.tri(len(c), dtype=bool)[:, :, None] & ~near
        assert not np.exp2(stretch[late]).any() and (stretch[late] < -149.5).all()


def test_the_data_are_not_trivial():
    for name in (*SMALL[1:], *FOR_HOPPER):
        x, _, last_, _ = case(name)
        y = exact_chunks.tokens(x, 64)
        A, T = (exact_data.in_float(a.n, a.e) for a in (y.A, y.T))
        assert abs(T - np.eye(64) + A - A @ A).max() > 0  # paths of three steps and more
        assert set(np.unique(x.twice_beta)) == {0, 1, 2, 4}
        assert not x.halvings.any() or {0, 1, 160} <= set(np.unique(x.halvings))
        way = exact_data.recurrence(x)[2]
        between = [way[t - 1][3] for n, t, _ in y.bounds if t > x.ends[n]]
        assert all(S.any() for S in between) and x.S_.any() and last_.any()
        assert x.k.shape[2] != x.v_.shape[2] or name in FOR_HOPPER


def test_the_derivatives_are_differences():
    """In each number the loss is linear, or quadratic in those of a key: quotients are exact."""
    x = exact_data.draw((11, 4), H=1, HV=2, K=4, V=3, seed=7)
    found, _ = exact_data.derivatives(x)

    def loss(name, at, to):
        changed = replace(x, **{name: getattr(x, name).copy()})
        getattr(changed, name)[at] = to
        o_, last_, _ = exact_data.recurrence(changed)
        total = (x.do * o_).sum() + (x.dS_ * last_ >> exact_data.UNIT).sum()
        return exact_data.in_float(total, exact_data.UNIT)

    steps = {"q": ("q", 1), "k": ("k", 1), "v": ("v_", 1 << exact_data.UNIT)}
    steps |= {"beta": ("twice_beta", 2), "initial_state": ("S_", 1 << exact_data.UNIT)}
    for name, (field, step) in steps.items():
        for at in np.ndindex(found[name].shape):
            is_ = getattr(x, field)[at]
            rise = loss(field, at, is_ + step) - loss(field, at, is_ - step)
            assert rise == 2 * found[name][at], (name, at)
    for at in np.ndindex(x.halvings.shape):
        alpha = 0.0 if x.halvings[at] == 160 else 0.5 ** x.halvings[at]
        rise = loss("halvings", at, 0) - loss("halvings", at, 160)
        assert found["g"][at] == alpha * rise
