"""The four rules: every form against a dense loop written here, and the closed forms.

Each test runs on NumPy, on PyTorch and on the array API standard's own strict library, in float64,
on inputs that show mistakes (`hard_inputs`).
"""

import inspect

import array_api_strict
import numpy as np
import pytest
import torch
from tolerances import assert_close

from gdn_ref import affine, delta_rule, gated_delta_rule, linear_attention, scalar_decay
from gdn_ref.proofs.data import hard_inputs, unit

RULES = [linear_attention, scalar_decay, delta_rule, gated_delta_rule]
GATED = [scalar_decay, gated_delta_rule]
ERASING = [delta_rule, gated_delta_rule]
FORMS = ["recurrent", "chunkwise", "parallel"]


def short_name(rule):
    return rule.__name__.rpartition(".")[2]


@pytest.fixture(
    params=[np.asarray, torch.as_tensor, array_api_strict.asarray], ids=["numpy", "torch", "strict"]
)
def array(request):
    """Turns a NumPy array into the array of the library under test."""
    return request.param


each_rule = pytest.mark.parametrize("rule", RULES, ids=short_name)
each_gated_rule = pytest.mark.parametrize("rule", GATED, ids=short_name)
each_erasing_rule = pytest.mark.parametrize("rule", ERASING, ids=short_name)
each_form = pytest.mark.parametrize("form", FORMS)


def arguments(rule, q, k, v, g, beta):
    """The arguments that this rule takes, in its order."""
    known = {"q": q, "k": k, "v": v, "g": g, "beta": beta}
    return [known[name] for name in inspect.signature(rule.step).parameters if name != "S"]


def run(rule, form, array, inputs, S, **options):
    """One form of one rule on NumPy inputs, in the library under test."""
    arrays = [array(x) for x in arguments(rule, *inputs)]
    S = None if S is None else array(S)
    return getattr(rule, form)(*arrays, S=S, **options)


def oracle(rule, q, k, v, g, beta, S):
    """Token by token with dense matrices, one sequence at a time; calls nothing of gdn_ref."""
    g = g if rule in GATED else np.zeros_like(g)
    erase, write = (beta, beta) if rule in ERASING else (0 * beta, 1 + 0 * beta)
    T, d_k, d_v = q.shape[-2], q.shape[-1], v.shape[-1]
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in (q, k, v)), g.shape[:-1], beta.shape[:-1])
    q, k, v = (np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (q, k, v))
    g, erase, write = (np.broadcast_to(x, (*batch, T)) for x in (g, erase, write))
    O, S_end = np.empty((*batch, T, d_v)), np.empty((*batch, d_v, d_k))
    for b in np.ndindex(*batch):
        state = np.zeros((d_v, d_k)) if S is None else np.broadcast_to(S, S_end.shape)[b]
        for t in range(T):
            keep = np.eye(d_k) - erase[b][t] * np.outer(k[b][t], k[b][t])
            state = np.exp(g[b][t]) * state @ keep + write[b][t] * np.outer(v[b][t], k[b][t])
            O[b][t] = state @ q[b][t]
        S_end[b] = state
    return O, S_end


def agrees(rule, array, inputs, S, chunk_sizes=(16,)):
    """Every form gives the oracle's outputs and state."""
    O, S_end = oracle(rule, *inputs, S)
    runs = [run(rule, form, array, inputs, S) for form in ("recurrent", "parallel")]
    runs += [run(rule, "chunkwise", array, inputs, S, chunk_size=C) for C in chunk_sizes]
    for actual_O, actual_S in runs:
        assert_close(actual_O, O)
        assert_close(actual_S, S_end)


@each_rule
def test_every_form_is_the_recurrence(rule, array):
    *inputs, S = hard_inputs(T=50, d_k=12, d_v=7)
    agrees(rule, array, inputs, S, chunk_sizes=(1, 2, 7, 16, 25, 49, 50, 51, 64))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("d_k", [1, 2, 12])
def test_the_data_have_unit_keys(d_k):
    """In one dimension, too, where a key's two parts may cancel."""
    q, k, *_ = hard_inputs(T=50, d_k=d_k)
    for x in (q, k):
        np.testing.assert_allclose(np.linalg.norm(x, axis=-1), 1.0, rtol=1e-14)


@each_rule
def test_the_memory_starts_empty(rule, array):
    *inputs, _ = hard_inputs(T=20, seed=1)
    agrees(rule, array, inputs, None)


@each_rule
@pytest.mark.parametrize("d_k, d_v", [(1, 1), (1, 5), (5, 1), (16, 3), (3, 16)])
def test_head_sizes(rule, array, d_k, d_v):
    cosine = 0.5 if d_k > 1 else 1.0  # unit keys of size 1 are +-1 and cannot be in between
    *inputs, S = hard_inputs(T=20, d_k=d_k, d_v=d_v, cosine=cosine, seed=2)
    agrees(rule, array, inputs, S)


@each_rule
def test_batches_and_heads(rule, array):
    *inputs, S = hard_inputs(T=20, batch=(2, 3), seed=3)
    agrees(rule, array, inputs, S)


@each_rule
@pytest.mark.parametrize("initial", [True, False], ids=["initial state", "empty"])
def test_heads_broadcast(rule, array, initial):
    """Keys and queries of one head, values of three: the state has three."""
    q, k, *_ = hard_inputs(T=20, batch=(2, 1), seed=4)
    _, _, v, g, beta, S = hard_inputs(T=20, batch=(2, 3), seed=5)
    agrees(rule, array, (q, k, v, g, beta), S if initial else None)


@each_rule
def test_a_single_token(rule, array):
    *inputs, S = hard_inputs(T=1, seed=6)
    agrees(rule, array, inputs, S)


@each_rule
@each_form
def test_no_token_leaves_the_state(rule, form, array):
    *inputs, S = hard_inputs(T=0, batch=(2,))
    O, S_end = run(rule, form, array, inputs, S)
    assert tuple(O.shape) == (2, 0, 7)
    np.testing.assert_array_equal(np.asarray(S_end), S)


@each_rule
@each_form
def test_dtype_is_kept(rule, form, array):
    *inputs, S = (x.astype(np.float32) for x in hard_inputs(T=20))
    O, S_end = run(rule, form, array, inputs, S)
    assert np.asarray(O).dtype == np.asarray(S_end).dtype == np.float32


@each_rule
def test_chunk_size_is_checked(rule, array):
    *inputs, S = hard_inputs(T=5)
    for size in (0, 2.5, None, "3"):
        with pytest.raises(ValueError, match=f"^chunk_size: .* at least 1, got {size}$"):
            run(rule, "chunkwise", array, inputs, S, chunk_size=size)


@each_rule
def test_a_chunk_size_may_be_any_integer(rule, array):
    *inputs, S = hard_inputs(T=20)
    found = run(rule, "chunkwise", array, inputs, S, chunk_size=np.int64(8))
    for x, y in zip(found, run(rule, "chunkwise", array, inputs, S, chunk_size=8), strict=True):
        np.testing.assert_array_equal(np.asarray(x), np.asarray(y))


@each_rule
@each_form
@pytest.mark.parametrize("length", [1, 49, 51])
def test_as_many_of_each_as_there_are_tokens(rule, form, array, length):
    """No slice comes up short, or broadcasts, without a word: each argument in turn is wrong."""
    inputs = arguments(rule, *hard_inputs(T=50)[:5])
    others = arguments(rule, *hard_inputs(T=length)[:5])
    for n in range(len(inputs)):
        given = [array(x) for x in (*inputs[:n], others[n], *inputs[n + 1 :])]
        with pytest.raises(ValueError, match=r"^tokens: expected 3 arrays .*same T, got.*\(50, "):
            getattr(rule, form)(*given)


def test_a_number_or_a_list_is_no_array_of_tokens():
    k = np.eye(3)
    for given in ((k, k, k, 0.0, np.ones(3)), (k.tolist(), k.tolist(), k.tolist(), [0.0], [1.0])):
        with pytest.raises(ValueError, match=r"^tokens: .* with the same T, got shapes .*\(\)"):
            gated_delta_rule.chunkwise(*given, S=k)


@each_rule
@each_form
@pytest.mark.parametrize("shape", [(3, 4), (1, 3), (4, 1), (3,), ()])
def test_a_state_of_another_shape_is_refused(rule, form, array, shape):
    """Transposed, it may fit by chance; with a row or a column for all, it would broadcast."""
    inputs = hard_inputs(T=5, d_k=3, d_v=4)[:5]
    with pytest.raises(ValueError, match=r"^S: expected .* d_k\] = \[\.\.\., 4, 3\], got"):
        run(rule, form, array, inputs, np.ones(shape))


@each_gated_rule
def test_resets(rule, array):
    """`g = -inf` forgets: first and last token, chunk borders, and two in a row."""
    q, k, v, g, beta, S = hard_inputs(T=50, seed=7)
    g[[0, 5, 6, 15, 16, 33, 49]] = -np.inf
    agrees(rule, array, (q, k, v, g, beta), S, chunk_sizes=(1, 7, 16, 64))


@each_gated_rule
@each_form
def test_a_reset_starts_a_new_sequence(rule, form, array):
    q, k, v, g, beta, S = hard_inputs(T=40, seed=8)
    g[23] = -np.inf
    O, S_end = run(rule, form, array, (q, k, v, g, beta), S)
    inputs = [x[23:] for x in (q, k, v, g, beta)]
    O_fresh, S_fresh = run(rule, form, array, inputs, None)
    assert_close(O[23:, :], O_fresh)
    assert_close(S_end, S_fresh)


@each_gated_rule
def test_strong_decay(rule, array):
    """exp(-20) a token: `gamma` underflows within a chunk, and nothing divides by it."""
    q, k, v, g, beta, S = hard_inputs(T=100, seed=9)
    g[10:90] = -20.0
    agrees(rule, array, (q, k, v, g, beta), S, chunk_sizes=(1, 16, 64, 100))


@each_erasing_rule
@pytest.mark.parametrize("strength", [0.0, 1.0, 2.0])
def test_constant_write_strengths(rule, array, strength):
    q, k, v, g, beta, S = hard_inputs(T=50, seed=10)
    agrees(rule, array, (q, k, v, g, np.full_like(beta, strength)), S)


@each_form
def test_no_write_leaves_the_state(form, array):
    q, k, v, g, beta, S = hard_inputs(T=20, seed=11)
    O, S_end = run(delta_rule, form, array, (q, k, v, g, 0 * beta), S)
    assert_close(O, q @ S.T)
    np.testing.assert_array_equal(np.asarray(S_end), S)


@each_form
def test_no_write_only_decays(form, array):
    q, k, v, g, beta, S = hard_inputs(T=20, seed=12)
    O, S_end = run(gated_delta_rule, form, array, (q, k, v, g, 0 * beta), S)
    assert_close(O, np.exp(np.cumsum(g))[:, None] * (q @ S.T))
    assert_close(S_end, np.exp(np.sum(g)) * S)


@each_form
def test_one_table_four_rules(form, array):
    """g = 0 is the delta rule, for every beta."""
    q, k, v, g, beta, S = hard_inputs(T=50, seed=13)
    inputs = (q, k, v, 0 * g, beta)
    for rule, corner in [(gated_delta_rule, delta_rule), (scalar_decay, linear_attention)]:
        O, S_end = run(rule, form, array, inputs, S)
        O_corner, S_corner = run(corner, form, array, inputs, S)
        assert_close(O, O_corner)
        assert_close(S_end, S_corner)


@each_rule
@each_form
@pytest.mark.parametrize("cut", [1, 16, 33, 49])
def test_a_split_sequence_is_the_whole(rule, form, array, cut):
    *inputs, S = hard_inputs(T=50, seed=14)
    O, S_end = run(rule, form, array, inputs, S)
    tokens_first = [x[:cut] for x in inputs]
    tokens_then = [x[cut:] for x in inputs]
    O_first, S_between = run(rule, form, array, tokens_first, S)
    O_then, S_then = run(rule, form, array, tokens_then, S_between)
    assert_close(np.concatenate([O_first, O_then]), O)
    assert_close(S_then, S_end)


@each_rule
@each_form
def test_the_past_does_not_see_the_future(rule, form, array):
    *inputs, S = hard_inputs(T=50, seed=15)
    *others, _ = hard_inputs(T=50, seed=16)
    changed = [np.concatenate([x[:29], y[29:]]) for x, y in zip(inputs, others, strict=True)]
    O, _ = run(rule, form, array, inputs, S)
    O_changed, _ = run(rule, form, array, changed, S)
    assert_close(O_changed[:29, :], O[:29, :])
    assert np.all(np.linalg.norm(np.asarray(O_changed[29:, :] - O[29:, :]), axis=-1) > 1e-3)


@each_form
@pytest.mark.parametrize("rule", [linear_attention, delta_rule, gated_delta_rule], ids=short_name)
def test_orthonormal_keys_recall_exactly(rule, form, array):
    q, _, v, g, beta, _ = hard_inputs(T=12, d_k=12)
    k, _ = np.linalg.qr(np.random.default_rng(17).normal(size=(12, 12)))
    _, S = run(rule, form, array, (q, k, v, 0 * g, 1 + 0 * beta), None)
    assert_close(k @ np.asarray(S).T, v)


@each_erasing_rule
@each_form
def test_a_repeated_key_keeps_the_last_value(rule, form, array):
    """Whatever the memory held under this key and however it decayed, beta = 1 replaces it."""
    q, _, v, g, beta, S = hard_inputs(T=20, seed=18)
    k = np.tile(unit(np.random.default_rng(19).normal(size=12)), (20, 1))
    _, S_end = run(rule, form, array, (q, k, v, g, 1 + 0 * beta), S)
    assert_close(np.asarray(S_end) @ k[0], v[-1])


def chunk_maps(array, q, k, v, g, beta, chunk_size):
    bounds = [slice(start, start + chunk_size) for start in range(0, k.shape[-2], chunk_size)]
    return [affine.chunk_map(*(array(x[rows]) for x in (k, v, g, beta))) for rows in bounds]


@pytest.mark.parametrize("reset", [False, True], ids=["decays", "with a reset"])
def test_a_scan_of_chunk_maps_is_the_recurrence(array, reset):
    q, k, v, g, beta, S = hard_inputs(T=50, seed=20)
    if reset:
        g[21] = -np.inf
    prefixes = affine.scan(chunk_maps(array, q, k, v, g, beta, chunk_size=16))
    assert len(prefixes) == 4
    for prefix, end in zip(prefixes, (16, 32, 48, 50), strict=True):
        tokens = [x[:end] for x in (q, k, v, g, beta)]
        assert_close(affine.apply(prefix, array(S)), oracle(gated_delta_rule, *tokens, S)[1])


def test_composition_is_associative_and_ordered(array):
    q, k, v, g, beta, _ = hard_inputs(T=48, seed=21)
    a, b, c = chunk_maps(array, q, k, v, g, beta, chunk_size=16)
    left = affine.compose(affine.compose(a, b), c)
    right = affine.compose(a, affine.compose(b, c))
    swapped = affine.compose(affine.compose(b, a), c)
    for x, y, z in zip(left, right, swapped, strict=True):
        assert_close(x, y)
        assert np.linalg.norm(np.asarray(x - z)) > 1e-3


def leaves(rule, *inputs):
    """The arguments of the rule, the state last, as PyTorch tensors that want gradients."""
    *tokens, S = inputs
    return [torch.tensor(x, requires_grad=True) for x in (*arguments(rule, *tokens), S)]


@each_rule
@pytest.mark.parametrize("form", ["recurrent", "chunkwise"])
def test_gradcheck(rule, form):
    def function(*args):
        *tokens, S = args
        options = {"chunk_size": 3} if form == "chunkwise" else {}
        return getattr(rule, form)(*tokens, S=S, **options)

    assert torch.autograd.gradcheck(function, leaves(rule, *hard_inputs(T=5, d_k=3, d_v=2)))


@each_rule
@pytest.mark.parametrize("decays", ["mild", "strong", "resets"])
def test_gradients_of_every_form_agree(rule, decays):
    q, k, v, g, beta, S = hard_inputs(T=40, seed=22)
    if decays == "strong":
        g[8:30] = -20.0
    elif decays == "resets":
        g[[8, 9, 16, 29]] = -np.inf
    rng = np.random.default_rng(23)
    dO, dS = torch.tensor(rng.normal(size=v.shape)), torch.tensor(rng.normal(size=S.shape))
    gradients = []
    for form, options in [
        ("recurrent", {}),
        ("chunkwise", {"chunk_size": 16}),
        ("chunkwise", {"chunk_size": 7}),
        ("parallel", {}),
    ]:
        *tokens, state = leaves(rule, q, k, v, g, beta, S)
        outputs = getattr(rule, form)(*tokens, S=state, **options)
        gradients.append(torch.autograd.grad(outputs, (*tokens, state), (dO, dS)))
    expected, *others = gradients
    assert all(x.isfinite().all() for x in expected)
    for actual in others:
        for x, y in zip(actual, expected, strict=True):
            assert_close(x, y)
