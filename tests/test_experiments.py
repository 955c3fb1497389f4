"""The harness of chapters 21 and 22: mixers that are what their names say, training from a seed."""

from functools import partial

import numpy as np
import pytest
import torch

from gdn_ref import gated_delta_rule
from gdn_ref.experiments import models, training
from gdn_ref.family import delta_product

SIZES = {"hidden_size": 12, "num_heads": 2, "head_dim": 4, "head_v_dim": 5, "conv_size": 1}
TINY = {"vocabulary": 2, "outputs": 2, "hidden_size": 32, "num_heads": 2, "head_dim": 8, "mlp": 0}


def parity(rng, B=64, T=24):
    """Bits, and whether the number of ones so far is odd."""
    bits = rng.integers(0, 2, size=(B, T))
    return bits, bits.cumsum(1) % 2


def inputs_of_the_rule(layer, x):
    """What a layer with `conv_size` 1 hands to its rule, `[B, heads, T, ...]`."""
    n = getattr(layer, "steps", 1)
    taps = layer.conv1d.weight[:, 0, 0]
    qkv = torch.cat([layer.q_proj(x), layer.k_proj(x), layer.v_proj(x)], dim=-1)
    q, k, v = torch.nn.functional.silu(taps * qkv).split(layer.channels, dim=-1)
    H = layer.num_heads

    def split(y, n=1):
        return y.reshape(len(y), n * y.shape[1], H, -1).transpose(1, 2)

    q, k, v = split(q), split(k, n), split(v, n)
    q, k = (y / y.square().sum(-1, keepdim=True).add(1e-6).sqrt() for y in (q, k))
    beta = split(layer.b_proj(x), n)[..., 0].sigmoid() * (1 + layer.allow_neg_eigval)
    softplus = torch.nn.functional.softplus(layer.a_proj(x) + layer.dt_bias)
    g = (-layer.A_log.exp() * softplus).transpose(1, 2)
    return q * layer.head_dim**-0.5, k, v, g, beta


def finished(layer, x, o):
    """The layer's output from its rule's, `[B, heads, T, d_v]`."""
    gate = layer.g_proj(x).unflatten(-1, (layer.num_heads, -1))
    return layer.o_proj(layer.o_norm(o.transpose(1, 2), gate).flatten(2))


def expected(name, layer, x):
    """The mixer's output by its definition in the table, token by token."""
    q, k, v, g, beta = inputs_of_the_rule(layer, x)
    if name == "attention":
        q, k = (
            torch.nn.functional.silu(layer.conv1d.weight[rows, 0, 0] * p(x))
            .unflatten(-1, (2, -1)).transpose(1, 2)
            for p, rows in ((layer.q_proj, slice(0, 8)), (layer.k_proj, slice(8, 16)))
        )  # fmt: skip
        scores = (q @ k.mT * layer.head_dim**-0.5).masked_fill(
            torch.ones(x.shape[1], x.shape[1]).triu(1).bool(), -torch.inf
        )
        return finished(layer, x, scores.softmax(-1) @ v)
    if name in ("linear", "decay"):
        g = g if name == "decay" else 0 * g
        S, rows = torch.zeros(*v.shape[:2], v.shape[-1], k.shape[-1]), []
        for t in range(x.shape[1]):
            write = beta[..., t, None, None] * v[..., t, :, None] * k[..., t, None, :]
            S = g[..., t].exp()[..., None, None] * S + write
            rows.append((S @ q[..., t, :, None])[..., 0])
        return finished(layer, x, torch.stack(rows, dim=2))
    n = getattr(layer, "steps", 1)
    if n > 1:
        return finished(layer, x, delta_product.published(q, k, v, g, beta, n)[0])
    return finished(layer, x, gated_delta_rule.recurrent(q, k, v, g, beta)[0])


NAMES = ["attention", "linear", "decay", "delta", "delta-2", "gated", "gated-2"]
NAMES += ["delta-2x3", "gated-2x2", "gated-1x2"]


@pytest.mark.parametrize("name", NAMES)
def test_a_mixer_is_what_its_name_says(name):
    torch.manual_seed(1)
    layer, x = models.mixer(name, **SIZES), torch.randn(2, 9, 12)
    torch.testing.assert_close(layer(x), expected(name, layer, x), rtol=1e-4, atol=1e-5)
    _, _, _, g, beta = inputs_of_the_rule(layer, x)
    if name not in ("attention", "linear"):
        assert (g < 0).all() == (not name.startswith("delta"))
    assert (beta.max() > 1) == ("-2" in name)


@pytest.mark.parametrize("name", ["gatd", "gated-3", "delta-2x0", "product"])
def test_an_unknown_mixer_is_refused(name):
    with pytest.raises(ValueError, match="mixers: expected attention"):
        models.Model(2, 2, [name])


def test_a_hybrid_has_a_block_of_each():
    net = models.Model(3, 2, ["gated", "attention"], **{**SIZES, "conv_size": 4})
    assert [type(b.mixer).__name__ for b in net.blocks] == ["GatedDeltaNet", "Additive"]
    assert net(torch.zeros(2, 7, dtype=torch.int64)).shape == (2, 7, 2)


def job(**changes):
    given = {"model": TINY | {"mixers": ["delta-2"]}, "task": parity, "seed": 3, "steps": 120}
    given |= {"tests": {"24": parity, "48": partial(parity, T=48)}, "learning_rate": 1e-2}
    return given | changes


def test_training_learns_and_is_drawn_by_its_seed():
    """One reflection per token learns parity; the same seed draws the same curve, another not."""
    once, again = (training.train(**job(every=40)) for _ in range(2))
    other = training.train(**job(every=40, seed=4))
    assert once["curve"] == again["curve"] != other["curve"]
    assert [row["step"] for row in once["curve"]] == [40, 80, 120]
    assert once["accuracy"]["24"] > 0.99
    plain = training.train(**job(model=TINY | {"mixers": ["delta"]}))
    assert plain["accuracy"]["24"] < 0.8


def test_many_jobs_come_back_in_order():
    jobs = [job(steps=2, seed=seed) for seed in (5, 6, 7)]
    seen = {}
    found = training.run_many(jobs, 2, report=seen.__setitem__)
    assert [r["accuracy"] for r in found] == [training.train(**x)["accuracy"] for x in jobs]
    assert [seen[i] for i in range(3)] == found


def test_the_gate_is_left_out_of_weight_decay():
    net = models.Model(**TINY, mixers=["gated"])
    decay, keep = (group["params"] for group in training.groups(net, 0.1))
    kept = {id(x) for x in keep}
    layer = net.blocks[0].mixer
    assert id(layer.A_log) in kept and id(layer.dt_bias) in kept
    assert id(layer.q_proj.weight) in {id(x) for x in decay}
    assert len(decay) + len(keep) == len([*net.parameters()])


def test_the_schedule_rises_and_falls():
    found = [training.schedule(i, 100, 0.1) for i in range(100)]
    assert found[:10] == pytest.approx([(i + 1) / 10 for i in range(10)])
    assert found[10] == 1 and found[55] == pytest.approx(0.5) and found[-1] < 1e-3


def test_ignored_answers_do_not_count():
    class Ones(torch.nn.Module):
        def forward(self, tokens):
            return torch.nn.functional.one_hot(torch.ones_like(tokens), 2).float()

    answers = torch.tensor([[1, 0, training.IGNORED, 1]])
    assert training.accuracy(Ones(), torch.zeros_like(answers), answers) == 0.6667


def test_an_interval_is_students():
    """Of 1 to 5: mean 3, standard error sqrt(2.5 / 5), and Student's 2.776 with 4 d.f."""
    mean, low, high = training.interval([1, 2, 3, 4, 5])
    half = 2.776 * np.sqrt(0.5)
    np.testing.assert_allclose([mean, low, high], [3, 3 - half, 3 + half], rtol=1e-12)
    assert np.isnan(training.interval([0.5])[1])
    with pytest.raises(ValueError, match="values: expected 1 to 10 numbers"):
        training.interval([])


def test_a_fresh_head_starts_with_the_half_life_that_is_asked():
    sizes = {"num_heads": 3, "half_life": 500.0, "mlp": 0}
    net = models.Model(2, 2, ["gated", "delta", "decay", "attention"], **sizes)
    for block in net.blocks:
        layer = block.mixer
        if layer.A_log.requires_grad:
            softplus = torch.nn.functional.softplus(layer.dt_bias)
            half_life = np.log(2) / (layer.A_log.exp() * softplus).detach().numpy()
            np.testing.assert_allclose(half_life, 500, rtol=1e-4)
    assert not net.blocks[1].mixer.A_log.isfinite().any()  # forgets nothing, as before
