"""The family: each published rule against the general rule, in every form, and its gradients.

All on NumPy, on PyTorch and on the array API standard's own strict library, in float64, on data
that show mistakes: a state to start from, correlated keys, decays near .95 and some that leave
nothing, `d_k != d_v`.
"""

import importlib.util
from pathlib import Path

import array_api_strict
import numpy as np
import pytest
import torch
from tolerances import assert_close, relative_error

from gdn_ref import delta_rule, gated_delta_rule, linear_attention, scalar_decay
from gdn_ref.family import (
    MEMBERS,
    backward,
    comba,
    delta_product,
    deltanet,
    gated_deltanet,
    gated_deltanet_2,
    general_rule,
    gla,
    kda,
    mamba2,
    rwkv7,
    ttt,
    two_gates,
)
from gdn_ref.proofs.data import hard_inputs, unit

T, D_K, D_V, BATCH = 50, 12, 7, (2,)
CHUNK_SIZES = (1, 2, 7, 16, 17, 33, 50, 64)
DECAYS = ["mild", "strong", "resets"]
TOKENS = ("q", "k", "v", "a", "b", "g")
FLA = 2e-6  # fla's plain functions work in float32


def short_name(module):
    return module.__name__.rpartition(".")[2]


@pytest.fixture(
    params=[np.asarray, torch.as_tensor, array_api_strict.asarray], ids=["numpy", "torch", "strict"]
)
def array(request):
    """Turns a NumPy array into the array of the library under test."""
    return request.param


each_member = pytest.mark.parametrize("member", MEMBERS, ids=short_name)
each_decay = pytest.mark.parametrize("decays", DECAYS)


def draw(decays="mild", T=T, d_k=D_K, d_v=D_V, batch=BATCH, n_h=3, seed=0):
    """All that a member may ask for, by name, as float64 NumPy arrays."""
    q, k, v, per_head, beta, S = hard_inputs(T, d_k, d_v, batch, seed=seed)
    rng = np.random.default_rng([seed, T, d_k])
    g = np.log(rng.uniform(0.9, 1.0, size=k.shape))
    if decays == "strong":
        g[..., T // 5 : T // 2, ::2] = -20.0
        g[..., T // 3 : T // 2, :] = -20.0
        per_head[..., T // 5 : T // 2] = -20.0
    if decays == "resets":
        some = [t for t in (0, 5, 6, 15, 16, 33, 49) if t < T]
        g[..., some, ::3] = -np.inf
        g[..., [t for t in (16, 40) if t < T], :] = -np.inf
        per_head[..., some] = -np.inf
    _, k_steps, v_steps, _, beta_steps, _ = hard_inputs(n_h * T, d_k, d_v, batch, seed=seed + 1)
    gate = lambda like: rng.uniform(0.05, 0.95, size=like.shape)
    return {
        "q": q, "k": k, "v": v, "S": S, "g": g, "per_head": per_head, "beta": beta,
        "erase": gate(k), "write": gate(v), "kappa": unit(k + 0.3 * rng.normal(size=k.shape)),
        "long_k": k * rng.uniform(0.5, 1.5, size=k.shape), "half": beta / 2,
        "head": rng.uniform(0.2, 0.8, size=batch),
        "k_steps": k_steps, "v_steps": v_steps, "beta_steps": beta_steps,
    }  # fmt: skip


ARGUMENTS = {  # the names in `draw` of what `published` takes, in its order
    mamba2: "v dt A long_k q",
    gla: "q long_k v g",
    deltanet: "q k v beta",
    gated_deltanet: "q k v per_head beta",
    kda: "q k v g beta",
    gated_deltanet_2: "q k v g erase write",
    rwkv7: "q g long_k v kappa erase",
    comba: "q k v p per_head half head",
    delta_product: "q k_steps v_steps per_head beta_steps n_h",
    ttt: "q k v half",
}


def arguments(member, drawn):
    """The arguments of `member.published` but for the state: NumPy arrays, and a number of steps.

    Mamba-2's decay cannot be -inf; exp(-800) is zero, too.
    """
    A = -0.5 - drawn["head"]
    g = np.maximum(drawn["per_head"], -800.0)
    made = {"A": A, "dt": g / A[..., None], "p": drawn["head"][..., None, None] * drawn["k"]}
    made["n_h"] = drawn["k_steps"].shape[-2] // max(1, drawn["q"].shape[-2])
    return [(drawn | made)[name] for name in ARGUMENTS[member].split()]


def converted(array, given):
    return [array(x) if isinstance(x, np.ndarray) else x for x in given]


def forms(member, given, S, chunk_sizes=CHUNK_SIZES):
    """The general rule on the member's arguments, in every form: pairs `(O, S)`."""
    tokens = member.general(*given)
    outputs = lambda O: delta_product.outputs(O, given[-1]) if member is delta_product else O
    yield_all = [general_rule.recurrent(*tokens, S)]
    yield_all += [general_rule.chunkwise(*tokens, S, chunk_size=C) for C in chunk_sizes]
    return [(outputs(O), S_end) for O, S_end in yield_all]


def general_arguments(decays="mild", seed=0, **sizes):
    """Arguments of the general rule, all different, and a state."""
    x = draw(decays, seed=seed, **sizes)
    a, b = 0.9 * x["kappa"], x["erase"] * x["k"]
    return [x["q"], x["long_k"], x["v"], a, b, x["g"], x["S"]]


def oracle(q, k, v, a, b, g, S):
    """Token by token with dense matrices, one sequence at a time; calls nothing of gdn_ref."""
    O, S_end = np.empty(v.shape), np.empty(S.shape)
    for n in np.ndindex(*S.shape[:-2]):
        state = S[n]
        for t in range(q.shape[-2]):
            transition = np.diag(np.exp(g[n][t])) - np.outer(a[n][t], b[n][t])
            state = state @ transition + np.outer(v[n][t], k[n][t])
            O[n][t] = state @ q[n][t]
        S_end[n] = state
    return O, S_end


# The general rule


@each_decay
def test_every_form_is_the_recurrence(decays, array):
    given = general_arguments(decays)
    expected = oracle(*given)
    given = converted(array, given)
    runs = [general_rule.recurrent(*given)]
    runs += [general_rule.chunkwise(*given, chunk_size=C) for C in CHUNK_SIZES]
    for found in runs:
        for x, right in zip(found, expected, strict=True):
            assert_close(x, right)


@pytest.mark.parametrize("sub_chunk", [1, 2, 3, 5, 16, 100])
@each_decay
def test_borders_may_lie_anywhere(decays, sub_chunk, monkeypatch):
    """A chunk of 50 tokens, halved down to sub-chunks of this size."""
    monkeypatch.setattr(general_rule, "SUB_CHUNK", sub_chunk)
    given = general_arguments(decays, seed=1)
    for x, right in zip(general_rule.chunkwise(*given), oracle(*given), strict=True):
        assert_close(x, right)


@pytest.mark.parametrize("d_k, d_v", [(1, 1), (1, 5), (5, 1), (16, 3)])
def test_head_sizes(d_k, d_v, array):
    q, k, v, a, b, g, S = (0.7 * x for x in np.random.default_rng(2).normal(size=(7, 20, 16)))
    q, k, a, b, g = (x[:, :d_k] for x in (q, k, a / 4, b / 4, -abs(g)))
    given = [q, k, v[:, :d_v], a, b, g, S[:d_v, :d_k]]
    for C in (7, 64):
        found = general_rule.chunkwise(*converted(array, given), chunk_size=C)
        for x, right in zip(found, oracle(*given), strict=True):
            assert_close(x, right)


def test_the_memory_starts_empty(array):
    *tokens, S = general_arguments(seed=3)
    expected = oracle(*tokens, 0 * S)
    for form in (general_rule.recurrent, general_rule.chunkwise):
        for x, right in zip(form(*converted(array, tokens)), expected, strict=True):
            assert_close(x, right)


def test_heads_broadcast(array):
    """One head of keys and queries, one decay for all sequences, three heads of values."""
    q, k, _, a, b, _, _ = general_arguments(batch=(2, 1), T=40, seed=4)
    v, S = (general_arguments(batch=(2, 3), T=40, seed=5)[n] for n in (2, 6))
    g = general_arguments(batch=(), T=40, seed=6)[5]
    given = [q, k, v, a, b, g, S]
    wide = [np.broadcast_to(x, (2, 3, *x.shape[-2:])) for x in given]
    for form in (general_rule.recurrent, general_rule.chunkwise):
        for x, right in zip(form(*converted(array, given)), oracle(*wide), strict=True):
            assert_close(x, right)


@pytest.mark.parametrize("cut", [1, 16, 33, 49])
def test_a_split_sequence_is_the_whole(cut):
    *tokens, S = general_arguments("strong", seed=7)
    O, S_end = general_rule.chunkwise(*tokens, S)
    O_first, S_between = general_rule.chunkwise(*(x[:, :cut] for x in tokens), S)
    O_then, S_then = general_rule.chunkwise(*(x[:, cut:] for x in tokens), S_between)
    assert_close(np.concatenate([O_first, O_then], axis=-2), O)
    assert_close(S_then, S_end)


def test_the_past_does_not_see_the_future():
    *tokens, S = general_arguments(seed=8)
    others = general_arguments(seed=9)[:-1]
    changed = [
        np.concatenate([x[:, :29], y[:, 29:]], axis=1) for x, y in zip(tokens, others, strict=True)
    ]
    O, _ = general_rule.chunkwise(*tokens, S)
    O_changed, _ = general_rule.chunkwise(*changed, S)
    assert_close(O_changed[:, :29], O[:, :29])
    assert np.all(np.linalg.norm(O_changed[:, 29:] - O[:, 29:], axis=-1) > 1e-3)


def test_a_reset_of_all_channels_starts_a_new_sequence():
    """With nothing read before it: `a = 0`, since this rule may read what it then forgets."""
    q, k, v, a, b, g, S = general_arguments(seed=10)
    g[:, 23], a[:, 23] = -np.inf, 0
    O, S_end = general_rule.chunkwise(q, k, v, a, b, g, S)
    fresh = general_rule.chunkwise(*(x[:, 23:] for x in (q, k, v, a, b, g)))
    assert_close(O[:, 23:], fresh[0])
    assert_close(S_end, fresh[1])


RESETS = (mamba2, gla, gated_deltanet, kda, gated_deltanet_2, delta_product)
READ_FIRST = (rwkv7, comba)


def after_a_decay_of_zero(member):
    """One token with `g = -inf`, on a state and on none: both states, in every form."""
    x = draw(T=1, seed=13)
    x["g"][...], x["per_head"][...] = -np.inf, -np.inf
    given = arguments(member, x)
    published = [member.published(*given, S=S)[1] for S in (x["S"], None)]
    yield x["S"], given, *published
    for (_, full), (_, empty) in zip(
        forms(member, given, x["S"], (1, 64)), forms(member, given, None, (1, 64)), strict=True
    ):
        yield x["S"], given, full, empty


@pytest.mark.parametrize("member", RESETS, ids=short_name)
def test_a_decay_of_zero_is_a_reset_where_the_decay_comes_before_the_read(member):
    for _, _, full, empty in after_a_decay_of_zero(member):
        np.testing.assert_array_equal(full, empty)


@pytest.mark.parametrize("member", READ_FIRST, ids=short_name)
def test_a_decay_of_zero_is_no_reset_where_the_read_comes_first(member):
    """What was read of the old state is still erased: `-S a b^T` of it stays."""
    for S, given, full, empty in after_a_decay_of_zero(member):
        _, _, _, a, b, _ = member.general(*given)
        left = -(S @ np.swapaxes(a, -1, -2)) @ b
        assert_close(full - empty, left)
        assert np.linalg.norm(left) > 0.01 * np.linalg.norm(S)


@pytest.mark.parametrize("strength", [-20.0, -1e4, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_overflows_and_nothing_is_divided(strength, dtype):
    given = general_arguments(seed=11, T=100)
    given[5][:, 10:90, ::2] = strength
    given[5][:, 60:80] = strength
    expected = oracle(*given)
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        found = general_rule.chunkwise(*(x.astype(dtype) for x in given))
    for x, right in zip(found, expected, strict=True):
        assert x.dtype == dtype
        assert_close(x, right, 1e-12 if dtype == np.float64 else 1e-5)


def test_weak_decays_stay_exact_beside_strong_ones():
    """A channel that forgets at once leaves the others' bits as they are."""
    q, k, v, a, b, g, S = general_arguments(seed=12, T=64)
    alone = general_rule.chunkwise(*(x[..., 1:] for x in (q, k)), v, a[..., 1:], b[..., 1:],
                                   g[..., 1:], S[..., 1:])  # fmt: skip
    for x in (a, b, q):
        x[..., 0] = 0
    g[..., 0] = -np.inf
    O, S_end = general_rule.chunkwise(q, k, v, a, b, g, S)
    assert_close(O, alone[0], 1e-14)
    assert_close(S_end[..., 1:], alone[1], 1e-14)


@pytest.mark.parametrize("form", ["recurrent", "chunkwise"])
def test_no_token_leaves_the_state(form, array):
    *tokens, S = general_arguments()
    O, S_end = getattr(general_rule, form)(*converted(array, [x[:, :0] for x in tokens]), array(S))
    assert tuple(O.shape) == (2, 0, D_V)
    np.testing.assert_array_equal(np.asarray(S_end), S)


def test_step_is_one_token_of_chunk(array):
    given = converted(array, [x[0] for x in general_arguments()])
    *tokens, S = given
    o, S_step = general_rule.step(S, *(x[0, :] for x in tokens))
    O, S_chunk = general_rule.chunk(S, *(x[:1, :] for x in tokens))
    assert_close(o, O[0, :])
    assert_close(S_step, S_chunk)


# Gradients


def leaves(given):
    return [torch.tensor(x, requires_grad=isinstance(x, np.ndarray)) for x in given]


def directions(*likes, seed=0):
    random = torch.Generator().manual_seed(seed)
    return [torch.randn(x.shape, generator=random, dtype=torch.float64) for x in likes]


@each_decay
@pytest.mark.parametrize("chunk_size", [None, 1, 7, 16, 64])
def test_gradients_by_hand_are_those_of_autograd(decays, chunk_size):
    given = leaves(general_arguments(decays, seed=20))
    options = {} if chunk_size is None else {"chunk_size": chunk_size}
    form = general_rule.recurrent if chunk_size is None else general_rule.chunkwise
    outputs = form(*given, **options)
    dO, dS = directions(*outputs)
    expected = torch.autograd.grad(outputs, given, (dO, dS))
    found = backward.gradients(*(x.detach() for x in given), dO, dS)
    for x, right in zip(found, expected, strict=True):
        assert right.isfinite().all()
        assert_close(x, right)


def test_gradients_on_numpy_and_of_no_token():
    given = leaves(general_arguments("resets", seed=21))
    given = [x.detach() for x in given]
    dO, dS = directions(given[2], given[6])
    arrays = [x.numpy() for x in (*given, dO, dS)]
    expected = backward.gradients(*given, dO, dS)
    for x, right in zip(backward.gradients(*arrays), expected, strict=True):
        assert_close(x, right)
    empty = [x[:, :0] for x in arrays[:6]]
    *tokens, dS_0 = backward.gradients(*empty, arrays[6], arrays[7][:, :0], arrays[8])
    assert [x.shape for x in tokens] == [x.shape for x in empty]
    np.testing.assert_array_equal(dS_0, arrays[8])


@pytest.mark.parametrize("missing", ["S", "dO", "dS"])
def test_what_is_left_out_is_zero(missing):
    *tokens, S = (x.detach() for x in leaves(general_arguments(seed=22)))
    dO, dS = directions(tokens[2], S)
    given = {"S": S, "dO": dO, "dS": dS}
    filled = given | {missing: torch.zeros_like(given[missing])}
    del given[missing]
    expected = backward.gradients(*tokens, **filled)
    for x, right in zip(backward.gradients(*tokens, **given), expected, strict=True):
        torch.testing.assert_close(x, right)


def test_gradcheck():
    given = leaves(general_arguments(T=7, d_k=3, d_v=2, batch=(), seed=23))

    class ByHand(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            ctx.save_for_backward(*inputs)
            return general_rule.chunkwise(*inputs, chunk_size=3)

        @staticmethod
        def backward(ctx, dO, dS):
            return backward.gradients(*ctx.saved_tensors, dO, dS)

    assert torch.autograd.gradcheck(ByHand.apply, given)


@each_member
@each_decay
def test_gradients_of_a_member_follow_by_the_chain_rule(member, decays):
    """The general rule's by hand, through `general`, are autograd's of the published recurrence."""
    x = draw(decays, seed=24)
    *given, S = leaves([*arguments(member, x), x["S"]])
    wanted = [y for y in (*given, S) if y.requires_grad]
    given = [y if y.requires_grad else int(y) for y in given]
    outputs = member.published(*given, S=S)
    dO, dS = directions(*outputs)
    expected = torch.autograd.grad(outputs, wanted, (dO, dS))
    tokens = member.general(*given)
    if member is delta_product:
        n_h = given[-1]
        spread = torch.zeros(*BATCH, T, n_h, D_V, dtype=torch.float64)
        spread[..., -1, :] = dO
        dO = spread.reshape(*BATCH, T * n_h, D_V)
    *by_hand, dS_0 = backward.gradients(*(y.detach() for y in (*tokens, S)), dO, dS)
    pairs = [(y, dy) for y, dy in zip(tokens, by_hand, strict=True) if y.requires_grad]
    roots, seeds = zip(*pairs, strict=True)
    found = torch.autograd.grad(roots, wanted[:-1], seeds)
    for y, right in zip((*found, dS_0), expected, strict=True):
        assert right.isfinite().all()
        assert_close(y, right)


# The members


@each_member
@each_decay
def test_a_published_rule_is_the_general_rule(member, decays, array):
    x = draw(decays, seed=30)
    given, S = converted(array, arguments(member, x)), array(x["S"])
    expected = member.published(*given, S=S)
    for found in forms(member, given, S):
        for y, right in zip(found, expected, strict=True):
            assert_close(y, right)


@each_member
@pytest.mark.parametrize("T", [0, 1, 5])
def test_few_tokens_and_an_empty_memory(member, T, array):
    x = draw(T=T, seed=31)
    if T == 0:
        x |= {name: x[name][:, :0] for name in ("k_steps", "v_steps", "beta_steps")}
    given = converted(array, arguments(member, x))
    if member is delta_product:
        given[-1] = 3
    O, S_end = member.published(*given)
    assert tuple(O.shape) == (2, T, D_V) and tuple(S_end.shape) == (2, D_V, D_K)
    for found in forms(member, given, None, chunk_sizes=(1, 3, 64)):
        for y, right in zip(found, (O, S_end), strict=True):
            assert_close(y, right)


@each_member
def test_arguments_are_the_general_rules(member):
    tokens = member.general(*arguments(member, draw()))
    assert [x.shape[-1] for x in tokens] == [D_K, D_K, D_V, D_K, D_K, D_K]
    assert np.all(tokens[5] <= 0)


@each_member
def test_the_crosswalk_is_in_the_docstring(member):
    for word in ("Source: ", "arXiv ", "\nhere", "`q`", "`a`", "`b`", "`g`", "`v`"):
        assert word in member.__doc__, word


def same(found, expected):
    for x, right in zip(found, expected, strict=True):
        assert_close(x, right)


@each_decay
def test_the_corners_are_the_books_rules(decays):
    x = draw(decays, seed=32)
    q, k, v, S, per_head, beta = (x[n] for n in ("q", "k", "v", "S", "per_head", "beta"))
    run = lambda tokens: general_rule.chunkwise(*tokens, S)
    gated = gated_delta_rule.chunkwise(q, k, v, per_head, beta, S)
    same(run(gated_deltanet.general(q, k, v, per_head, beta)), gated)
    same(run(kda.general(q, k, v, general_rule.per_channel(per_head, k), beta)), gated)
    same(run(deltanet.general(q, k, v, beta)), delta_rule.chunkwise(q, k, v, beta, S))
    same(run(gla.general(q, k, v, 0 * k)), linear_attention.chunkwise(q, k, v, S))
    dt = np.minimum(-per_head, 800.0)
    scalar = scalar_decay.chunkwise(q, k, dt[..., None] * v, -dt, S)
    same(run(mamba2.general(v, dt, np.asarray(-1.0), k, q)), scalar)


@each_decay
def test_two_gates_that_are_one_number_are_kda(decays):
    x = draw(decays, seed=33)
    q, k, v, g, beta = (x[n] for n in ("q", "k", "v", "g", "beta"))
    one = beta[..., None]
    expected = kda.published(q, k, v, g, beta, x["S"])
    same(general_rule.chunkwise(*two_gates.arguments(q, k, v, g, one, one), x["S"]), expected)
    gates = one + 0 * k, one + 0 * v
    same(gated_deltanet_2.published(q, k, v, g, *gates, x["S"]), expected)


def test_one_step_a_token_is_gated_deltanet():
    x = draw("resets", seed=34)
    given = [x[n] for n in ("q", "k", "v", "per_head", "beta")]
    same(delta_product.published(*given, 1, x["S"]), gated_deltanet.published(*given, x["S"]))


def test_comba_reads_before_it_decays():
    """With `p = alpha k` and no correction it would be Gated DeltaNet, which reads after."""
    x = draw(seed=35)
    q, k, v, g, beta, S = (x[n] for n in ("q", "k", "v", "per_head", "beta", "S"))
    expected = gated_deltanet.published(q, k, v, g, beta, S)
    same(comba.published(q, k, v, np.exp(g)[..., None] * k, g, beta, 0.0, S), expected)
    O, _ = comba.published(q, k, v, k, g, beta, 0.0, S)
    assert relative_error(O, expected[0]) > 1e-3


def test_ttt_steps_down_the_gradient_of_its_loss():
    x = draw(seed=36)
    k, v = (torch.tensor(x[n][0, 0]) for n in ("k", "v"))
    W = torch.tensor(x["S"][0], requires_grad=True)
    loss = (W @ k - v).square().sum()
    (right,) = torch.autograd.grad(loss, W)
    assert_close(ttt.gradient(W.detach(), k, v), right)


@pytest.mark.parametrize("batch_size", [1, 4, 16, 50, 64])
def test_ttt_in_mini_batches(batch_size, array):
    x = draw(seed=37)
    given, S = converted(array, arguments(ttt, x)), array(x["S"])
    expected = ttt.published(*given, S, batch_size)
    same(ttt.mini_batches(*given, S, batch_size), expected)
    if batch_size == 1:
        same(general_rule.chunkwise(*ttt.general(*given), S), expected)


def test_ttt_in_one_batch_from_nothing_is_linear_attention():
    x = draw(seed=38)
    q, k, v = (x[n] for n in ("q", "k", "v"))
    half = np.full(q.shape[:-1], 0.5)
    same(ttt.published(q, k, v, half, None, T), linear_attention.recurrent(q, k, v))


# Growth


def erase_only(member, gates, T=64, log_decay=0.0):
    """The length of a state of length sqrt 2 after tokens that write nothing; two keys by turns."""
    k, e = (np.tile(x, (T // 2, 1)) for x in (np.array([[5, 12], [12, 5]]) / 13, gates))
    g, nothing = np.full(k.shape, log_decay), np.zeros((T, 1))
    given = {rwkv7: (k, g, 0 * k, nothing, k, e), gated_deltanet_2: (k, k, nothing, g, e, nothing)}
    _, last = member.published(*given[member], S=np.array([[1.0, -1.0]]))
    return np.linalg.norm(last)


PER_CHANNEL, ONE_STRENGTH = np.eye(2), np.full((2, 2), 0.5)


@pytest.mark.parametrize("member, grown", [(rwkv7, 1722), (gated_deltanet_2, 1734)])
def test_gates_per_channel_that_change_make_a_state_grow(member, grown):
    """Under RWKV-7, too; a strength per head, a gate that stays, and decay do not let it."""
    assert round(erase_only(member, PER_CHANNEL)) == grown
    assert erase_only(member, 0.05 + 0.9 * PER_CHANNEL) > 300
    assert erase_only(member, ONE_STRENGTH) < 0.01
    stays = np.array([[0.9, 0.1], [0.9, 0.1]])
    assert erase_only(member, stays) < 2**0.5 * (0.9 / 0.1) ** 0.5
    assert 2**0.5 < erase_only(member, PER_CHANNEL, log_decay=-0.1) < 10
    assert erase_only(member, PER_CHANNEL, log_decay=-0.2) < 0.1


@pytest.mark.parametrize("member", [rwkv7, gated_deltanet_2], ids=short_name)
def test_one_transition_is_symmetric_in_the_gates_own_scale_and_no_longer_than_1(member):
    """Hence real eigenvalues between -1 and 1, and no growth without bound if the gate stays."""
    x = draw(seed=14)
    S = np.eye(D_K)
    for t in range(T):
        one = {name: x[name][0, t : t + 1] for name in ("q", "k", "v", "g", "erase", "write")}
        k = x["kappa"][0, t : t + 1] if member is rwkv7 else one["k"]
        nothing = np.zeros((1, D_K))
        if member is rwkv7:
            given = (one["q"], one["g"], 0 * k, nothing, k, one["erase"])
        else:
            given = (one["q"], k, nothing, one["g"], one["erase"], nothing)
        _, transition = member.published(*given, S=S)
        root = np.sqrt(one["erase"][0])
        scale = root if member is rwkv7 else 1 / root
        scaled = scale[:, None] * transition / scale
        if member is rwkv7:  # decay and erasing side by side: symmetric
            assert_close(scaled, scaled.T)
        assert np.linalg.norm(scaled, 2) <= 1 + 1e-12
        values = np.linalg.eigvals(transition)
        assert abs(values.imag).max() < 1e-9 and abs(values).max() <= 1 + 1e-12


# Bad input


@pytest.mark.parametrize("form", ["recurrent", "chunkwise"])
@pytest.mark.parametrize("n, name", [*enumerate(TOKENS), (6, "S")])
@pytest.mark.parametrize("axis", [-1, -2])
def test_a_wrong_argument_is_named(form, n, name, axis):
    given = general_arguments(T=5)
    if name in "kv":  # these say what the others should be, and a length that fits neither
        given[n], name = given[n][..., :-1, :] if axis == -2 else given[n][..., :-1], None
        if form == "chunkwise" and axis == -1 and n == 2:
            name = "S"
    else:
        given[n] = np.take(given[n], [0], axis=axis)
    before = [x.copy() for x in given]
    pattern = rf"^{name or '[a-zS]+'}: expected \[\.\.\., .*\] = \[\.\.\., \d+, \d+\], got shape \("
    with pytest.raises(ValueError, match=pattern):
        getattr(general_rule, form)(*given)
    for x, y in zip(given, before, strict=True):
        np.testing.assert_array_equal(x, y)


@each_member
def test_each_argument_of_a_member_is_looked_at(member):
    """Each in turn has one token too few, or one channel."""
    given = arguments(member, draw(T=5))
    names = member.general.__code__.co_varnames[: len(given)]
    for n, name in enumerate(names):
        if name in ("A", "d", "n_h"):
            continue
        numbers = given[n].ndim == 2
        short = given[n][..., :1] if numbers else given[n][..., :1, :]
        for wrong in [short] if numbers else [short, given[n][..., :1]]:
            bad = [*given[:n], wrong, *given[n + 1 :]]
            with pytest.raises(ValueError, match=r"^\w+: expected \[\.\.\., .*, got shape \("):
                general_rule.chunkwise(*member.general(*bad), np.ones((2, D_V, D_K)))


def test_a_gate_of_another_length_is_refused():
    x = draw(T=5)
    q, k, v, g = (x[n] for n in ("q", "k", "v", "g"))
    for wrong in (x["erase"][..., :1, :], x["erase"][..., :3], x["beta"], 1.0):
        with pytest.raises(ValueError, match=r"^erase: expected \[\.\.\., 5, 12\], got shape"):
            two_gates.arguments(q, k, v, g, wrong, x["write"])
        with pytest.raises(ValueError, match=r"^write: expected \[\.\.\., 5, 7\], got shape"):
            two_gates.arguments(q, k, v, g, x["erase"], wrong)


def test_heads_that_do_not_fit_are_refused():
    *tokens, S = general_arguments(T=5, batch=(2,))
    tokens[5] = np.concatenate([tokens[5], tokens[5][:1]])
    with pytest.raises(ValueError, match=r"^axes in front: .* broadcast, got .*g \(3,\), .*S \(2,"):
        general_rule.chunkwise(*tokens, S)


def test_no_array_chunk_size_and_steps():
    given = general_arguments(T=5)
    for size in (0, 2.5, None, "3"):
        with pytest.raises(ValueError, match=f"^chunk_size: .* at least 1, got {size}$"):
            general_rule.chunkwise(*given, chunk_size=size)
    with pytest.raises(ValueError, match=r"^g: expected \[\.\.\., T, d_k\] = .*got shape \(\)$"):
        general_rule.recurrent(*given[:5], 0.0)
    with pytest.raises(ValueError, match=r"^k: expected \[\.\.\., T, d_k\], got shape \(\)$"):
        general_rule.recurrent(given[0], 1.0, *given[2:])
    steps = arguments(delta_product, draw(T=5))
    for n_h in (0, 1.5, None):
        with pytest.raises(ValueError, match=f"^n_h: .* at least 1, got {n_h}$"):
            delta_product.general(*steps[:-1], n_h)
    with pytest.raises(ValueError, match=r"^k: expected \[\.\.\., n_h T, d_k\] = \[\.\.\., 10, 12"):
        delta_product.general(*steps[:-1], 2)


@pytest.mark.parametrize("name", ["dO", "dS"])
def test_gradients_of_another_shape_are_refused(name):
    given = general_arguments(T=5)
    right = {"dO": np.ones((2, 5, D_V)), "dS": np.ones((2, D_V, D_K))}
    wrong = right | {name: right[name][..., :1, :]}
    with pytest.raises(ValueError, match=rf"^{name}: expected .*, got shape \(2, 1, "):
        backward.gradients(*given, **wrong)


# flash-linear-attention's plain functions


def fla(path):
    """A module of fla without its package, which may ask for a GPU or for transformers."""
    package = importlib.util.find_spec("fla")
    if package is None:
        pytest.skip("fla is not installed")
    if importlib.util.find_spec("einops") is None:
        pytest.skip("einops, which fla's plain functions use, is not installed")
    (home,) = package.submodule_search_locations
    file = Path(home, "ops", path)
    if not file.exists():
        pytest.skip(f"this fla has no {path}")
    spec = importlib.util.spec_from_file_location("fla_" + path.replace("/", "_"), file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def for_fla(*names, T=64):
    """Float32 tensors `[B, T, H, ...]` for fla, and the first state as `[B, H, d_k, d_v]`."""
    x = draw(T=T, batch=(2, 3), n_h=2, seed=40)
    x["p"] = x["head"][..., None, None] * x["k"]
    x["scaled"] = x["q"] * D_K**-0.5
    given = {name: torch.tensor(x[name]).transpose(1, 2).float() for name in names}
    return x, given, torch.tensor(x["S"]).mT.contiguous().float()


def agree(member, given, S, theirs):
    """fla's `(o, S)` are those of the member's chunk form in float64."""
    tokens = member.general(*given)
    O, S_end = general_rule.chunkwise(*tokens, S)
    O = delta_product.outputs(O, given[-1]) if member is delta_product else O
    o_theirs, S_theirs = theirs
    assert_close(o_theirs.transpose(1, 2), O, FLA)
    assert_close(S_theirs.mT, S_end, FLA)


@pytest.mark.peers
def test_fla_mamba2():
    naive = fla("simple_gla/naive.py")
    x, t, S = for_fla("q", "k", "v", "per_head")
    dt, A = -x["per_head"], np.asarray(-1.0)
    v = -t["per_head"][..., None] * t["v"]
    for function in (naive.naive_recurrent_simple_gla, naive.naive_chunk_simple_gla):
        found = function(
            t["q"], t["k"], v, t["per_head"], scale=1.0, initial_state=S, output_final_state=True
        )
        agree(mamba2, (x["v"], dt, A, x["k"], x["q"]), x["S"], found)


@pytest.mark.peers
def test_fla_gla():
    x, t, S = for_fla("q", "k", "v", "g")
    found = fla("gla/naive.py").naive_recurrent_gla(
        t["q"], t["k"], t["v"], t["g"], initial_state=S, output_final_state=True
    )
    agree(gla, (x["scaled"], x["k"], x["v"], x["g"]), x["S"], found)


@pytest.mark.peers
def test_fla_deltanet():
    x, t, S = for_fla("q", "k", "v", "beta")
    heads_first = [t[n].transpose(1, 2) for n in ("q", "k", "v", "beta")]
    o, S_end = fla("delta_rule/naive.py").delta_rule_recurrence(*heads_first, initial_state=S)
    agree(deltanet, (x["scaled"], x["k"], x["v"], x["beta"]), x["S"], (o.transpose(1, 2), S_end))


@pytest.mark.peers
def test_fla_gated_deltanet():
    naive = fla("gated_delta_rule/naive.py")
    x, t, S = for_fla("q", "k", "v", "per_head", "beta")
    for function in (naive.naive_recurrent_gated_delta_rule, naive.naive_chunk_gated_delta_rule):
        found = function(
            t["q"], t["k"], t["v"], g=t["per_head"], beta=t["beta"], scale=1.0,
            initial_state=S, output_final_state=True,
        )  # fmt: skip
        agree(gated_deltanet, [x[n] for n in ("q", "k", "v", "per_head", "beta")], x["S"], found)


@pytest.mark.peers
def test_fla_kda():
    naive = fla("kda/naive.py")
    x, t, S = for_fla("q", "k", "v", "g", "beta")
    for function in (naive.naive_recurrent_kda, naive.naive_chunk_kda):
        found = function(**t, scale=1.0, initial_state=S, output_final_state=True)
        agree(kda, [x[n] for n in t], x["S"], found)


@pytest.mark.peers
def test_fla_gated_deltanet_2():
    naive = fla("gdn2/naive.py")
    x, t, S = for_fla("q", "k", "v", "g", "erase", "write")
    for function in (naive.naive_recurrent_gdn2, naive.naive_chunk_gdn2):
        found = function(*t.values(), scale=1.0, initial_state=S, output_final_state=True)
        agree(gated_deltanet_2, [x[n] for n in t], x["S"], found)


@pytest.mark.peers
def test_fla_rwkv7():
    """fla runs RWKV-7 by its rule with a diagonal plus rank one, `alpha` and `beta` its names."""
    naive = fla("generalized_delta_rule/dplr/naive.py")
    x, t, S = for_fla("q", "long_k", "v", "kappa", "erase", "g")
    q, k, v, kappa, a, log_w = (y.transpose(1, 2) for y in t.values())
    given = (x["scaled"], x["g"], x["long_k"], x["v"], x["kappa"], x["erase"])
    for function in (naive.dplr_recurrence, naive.dplr_chunkwise):
        o, S_end = function(q, k, v, -kappa, a * kappa, log_w, initial_state=S)
        agree(rwkv7, given, x["S"], (o.transpose(1, 2), S_end))


@pytest.mark.peers
def test_fla_comba():
    """The chunk form is Comba; the token loop beside it decays before it reads, which is not."""
    naive = fla("comba/naive.py")
    x, t, S = for_fla("q", "k", "v", "p", "per_head", "half")
    options = {"scale": 1.0, "initial_state": S, "output_final_state": True}
    d = torch.tensor(x["head"])[:, None, :, None].float()
    tokens = {"q": t["q"] - d * t["p"], "k": t["k"], "v": t["v"], "p": t["p"]}
    tokens |= {"g": t["per_head"], "beta": t["half"]}
    given = [x[n] for n in ("q", "k", "v", "p", "per_head", "half", "head")]
    agree(comba, given, x["S"], naive.naive_chunk_comba(**tokens, **options))
    decayed = [*given[:3], np.exp(x["per_head"])[..., None] * x["p"], *given[4:]]
    decayed[0] = given[0] - x["head"][..., None, None] * (x["p"] - decayed[3])  # d p as it was
    agree(comba, decayed, x["S"], naive.naive_recurrent_comba(**tokens, **options))


@pytest.mark.peers
def test_fla_delta_product():
    naive = fla("gated_delta_product/naive.py")
    x, t, S = for_fla("q", "k_steps", "v_steps", "per_head", "beta_steps")
    found = naive.naive_recurrent_gated_delta_product(
        *t.values(), scale=1.0, initial_state=S, output_final_state=True, num_householder=2
    )
    agree(delta_product, [*(x[n] for n in t), 2], x["S"], found)
