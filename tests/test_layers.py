"""The layer against its formulas, written out here token by token and head by head in float64."""

import copy
import math

import pytest
import torch
from tolerances import FORMS, assert_close, relative_error

from gdn_ref import (
    GatedDeltaNet,
    GatedDeltaNetCache,
    causal_conv1d_update,
    fused_recurrent_gated_delta_rule,
    layer_weights,
    layers,
)
from gdn_ref.layers import GatedRMSNorm

H, K, HV, V, HIDDEN = 2, 6, 4, 5, 12
OPTIONS = {"num_v_heads": HV, "head_v_dim": V}


def layer(dtype=torch.float64, seed=0, **options):
    """A layer with long memories (decays near .95), so that what is far back still shows."""
    torch.manual_seed(seed)
    net = GatedDeltaNet(HIDDEN, H, K, **(OPTIONS | options), dtype=torch.float64)
    with torch.no_grad():
        net.A_log.copy_(torch.linspace(-1, 1, HV))
        net.dt_bias.fill_(-3.0)
        net.o_norm.weight.uniform_(0.5, 1.5)
        for linear in (net.q_proj, net.k_proj, net.v_proj, net.a_proj, net.b_proj):
            linear.weight.mul_(3)
    return net.to(dtype)


def tokens(B=2, T=20, dtype=torch.float64, seed=1):
    random = torch.Generator().manual_seed(seed)
    shared = torch.randn(B, 1, HIDDEN, generator=random, dtype=torch.float64)
    return (torch.randn(B, T, HIDDEN, generator=random, dtype=torch.float64) + shared).to(dtype)


def written_out(net, x, factor=1):
    """One sequence, `[T, HIDDEN]`, through the formulas of `gdn_ref.layers`."""
    w = {name: value.detach() for name, value in net.state_dict().items()}
    W = w["conv1d.weight"].shape[-1]
    S, rows = torch.zeros(HV, V, K, dtype=x.dtype), []
    mixed = torch.cat([x @ w[f"{name}_proj.weight"].T for name in "qkv"], dim=1)
    for t in range(len(x)):
        z = w.get("conv1d.bias", torch.zeros(len(w["conv1d.weight"]), dtype=x.dtype)).clone()
        for back in range(min(W, t + 1)):
            z += w["conv1d.weight"][:, 0, W - 1 - back] * mixed[t - back]
        z = z / (1 + torch.exp(-z))
        q, k = z[: H * K].view(H, K), z[H * K : 2 * H * K].view(H, K)
        q, k = (u / torch.sqrt((u * u).sum(1, keepdim=True) + 1e-6) for u in (q, k))
        v = z[2 * H * K :].view(HV, V)
        a, b = w["a_proj.weight"] @ x[t], w["b_proj.weight"] @ x[t]
        alpha = torch.exp(-torch.exp(w["A_log"]) * torch.log1p(torch.exp(a + w["dt_bias"])))
        beta = factor / (1 + torch.exp(-b))
        gate = (w["g_proj.weight"] @ x[t]).view(HV, V)
        heads = []
        for h in range(HV):
            key, query = k[h * H // HV], q[h * H // HV] / math.sqrt(K)
            S[h] = alpha[h] * (S[h] - beta[h] * torch.outer(S[h] @ key, key))
            S[h] += beta[h] * torch.outer(v[h], key)
            o = S[h] @ query
            o = o / torch.sqrt((o * o).mean() + net.o_norm.eps) * w["o_norm.weight"]
            heads.append(o * gate[h] / (1 + torch.exp(-gate[h])))
        rows.append(w["o_proj.weight"] @ torch.cat(heads))
    return torch.stack(rows)


@pytest.mark.parametrize("W", [1, 2, 4])
@pytest.mark.parametrize("conv_bias", [False, True])
@pytest.mark.parametrize("negative", [False, True])
def test_the_layer_is_its_formulas(W, conv_bias, negative):
    net, x = layer(conv_size=W, conv_bias=conv_bias, allow_neg_eigval=negative), tokens(T=70)
    expected = torch.stack([written_out(net, row, 2 if negative else 1) for row in x])
    assert_close(net(x).detach(), expected, FORMS)


@torch.no_grad()
def test_prefill_and_decoding_are_the_full_pass():
    net, x, prefill = layer(), tokens(B=1, T=4096), 3840
    full = net(x)
    cache = GatedDeltaNetCache()
    rows = [net(x[:, :1000], cache), net(x[:, 1000:prefill], cache)]
    rows += [net(x[:, t : t + 1], cache) for t in range(prefill, 4096)]
    rows = torch.cat(rows, dim=1)
    assert_close(rows, full, FORMS)
    assert_close(rows[:, prefill:], full[:, prefill:], FORMS)
    assert cache.recurrent_state.shape == (1, HV, K, V)
    assert cache.conv_state.shape == (1, 2 * H * K + HV * V, 3)


@torch.no_grad()
def test_few_tokens_a_sequence_go_one_by_one_after_a_cache(monkeypatch):
    chosen = []
    for form in ("chunk", "fused_recurrent"):
        rule = getattr(layers, f"{form}_gated_delta_rule")
        noted = lambda *x, form=form, rule=rule, **y: chosen.append(form) or rule(*x, **y)
        monkeypatch.setattr(layers, f"{form}_gated_delta_rule", noted)
    net, few = layer(), layers.DECODING_TOKENS
    net(tokens(T=1))
    net(tokens(T=few), GatedDeltaNetCache())
    net(tokens(T=few + 1), GatedDeltaNetCache())
    for T in (2 * few, 2 * few + 1):
        net(tokens(B=1, T=T), GatedDeltaNetCache(), torch.tensor([0, 3, T]))
    assert chosen == ["chunk", "fused_recurrent", "chunk", "fused_recurrent", "chunk"]


@torch.no_grad()
def test_packed_sequences_are_separate_sequences():
    net, lengths = layer(), [3, 0, 21, 1, 15]
    x = tokens(B=1, T=sum(lengths))
    cu_seqlens = torch.tensor([0, *lengths]).cumsum(0)
    cache, later = GatedDeltaNetCache(), tokens(B=1, T=9, seed=5)
    y = net(x, cache, cu_seqlens)
    more = torch.tensor([0, 2, 3, 4, 7, 9])
    y_later = net(later, cache, more)
    for n, part in enumerate(x.split(lengths, dim=1)):
        alone, new = GatedDeltaNetCache(), slice(more[n], more[n + 1])
        assert_close(y[:, cu_seqlens[n] : cu_seqlens[n + 1]], net(part, alone), FORMS)
        assert_close(y_later[:, new], net(later[:, new], alone), FORMS)
        assert_close(cache.recurrent_state[n : n + 1], alone.recurrent_state, FORMS)
        assert_close(cache.conv_state[n : n + 1], alone.conv_state, FORMS)


@pytest.mark.parametrize("conv_bias", [False, True])
@torch.no_grad()
def test_left_padding_changes_nothing(conv_bias):
    net, x = layer(conv_bias=conv_bias), tokens(B=3, T=20)
    mask = torch.ones(3, 20)
    mask[1, :7], mask[2, :19] = 0, 0
    junk = torch.tensor([0.0, 100.0, math.nan], dtype=x.dtype)[:, None, None]
    padded = torch.where(mask[..., None] > 0, x, junk)
    cache, next_token = GatedDeltaNetCache(), tokens(B=3, T=1, seed=3)
    y, y_next = net(padded, cache, attention_mask=mask), net(next_token, cache)
    for b, start in enumerate([0, 7, 19]):
        alone = GatedDeltaNetCache()
        assert_close(y[b : b + 1, start:], net(x[b : b + 1, start:], alone), FORMS)
        assert not y[b, :start].any()
        assert_close(y_next[b : b + 1], net(next_token[b : b + 1], alone), FORMS)


@torch.no_grad()
def test_a_mask_without_padding_goes_with_a_cache_that_holds_tokens():
    net, x = layer(), tokens(B=2, T=5)
    caches = GatedDeltaNetCache(), GatedDeltaNetCache()
    for cache in caches:
        net(x, cache)
    plain, masked = net(x, caches[0]), net(x, caches[1], attention_mask=torch.ones(2, 5))
    assert torch.equal(plain, masked)


@torch.no_grad()
def test_right_padding_without_a_cache():
    net, x = layer(), tokens(B=1, T=20)
    mask = torch.arange(20)[None] < 13
    y = net(x, attention_mask=mask)
    assert torch.equal(y, net(torch.where(mask[..., None], x, math.nan), attention_mask=mask))
    assert_close(y[:, :13], net(x[:, :13]), FORMS)
    assert not y[:, 13:].any()


@torch.no_grad()
def test_beams_take_their_memory_along():
    net, x, beams = layer(), tokens(B=3, T=10), torch.tensor([2, 0, 0, 1])
    cache, other = GatedDeltaNetCache(), GatedDeltaNetCache()
    net(x, cache)
    cache.reorder(beams)
    net(x[beams], other)
    assert_close(net(x[beams, :1], cache), net(x[beams, :1], other), FORMS)
    half = GatedDeltaNetCache(None, cache.recurrent_state)  # a cache without a convolution's
    half.reorder(beams[:1])
    assert torch.equal(half.recurrent_state, cache.recurrent_state[beams[:1]])
    GatedDeltaNetCache().reorder(beams)  # nothing to reorder


BAD_BEAMS = {
    "list": ([1, 0], TypeError, r"a torch.Tensor \[M\], got list"),
    "float": (torch.tensor([1.0]), ValueError, "int32 or int64, got torch.float32"),
    "mask": (torch.tensor([True, False]), ValueError, "int32 or int64, got torch.bool"),
    "number": (torch.tensor(1), ValueError, r"shape \[M\], got \[\]"),
    "device": (torch.tensor([1], device="meta"), ValueError, "device cpu, got meta"),
    "beyond": (torch.tensor([0, 3]), ValueError, "numbers from 0 to 2, got 3"),
    "negative": (torch.tensor([0, -1]), ValueError, "numbers from 0 to 2, got -1"),
}


@pytest.mark.parametrize("beams, error, message", BAD_BEAMS.values(), ids=BAD_BEAMS)
def test_bad_beams_are_refused_and_the_cache_stays(beams, error, message):
    cache = GatedDeltaNetCache(torch.ones(3, 4, 2), torch.ones(3, 1, 2, 2))
    before = copy.copy(cache)
    with pytest.raises(error, match=f"^sequences: expected {message}$"):
        cache.reorder(beams)
    assert cache.conv_state is before.conv_state
    assert cache.recurrent_state is before.recurrent_state


@torch.no_grad()
def test_decoding_from_two_pools():
    """What a serving engine does with slots: one pass for the convolution, one for the rule."""
    net, x = layer(), tokens(B=2, T=9)
    cache, slots = GatedDeltaNetCache(), torch.tensor([3, 1])
    net(x[:, :6], cache)
    conv_pool = torch.full((5, *cache.conv_state.shape[1:]), math.nan, dtype=torch.float64)
    pool = torch.full((5, HV, K, V), math.nan, dtype=torch.float64)
    conv_pool[slots], pool[slots] = cache.conv_state, cache.recurrent_state
    mixed = torch.cat([net.q_proj(x), net.k_proj(x), net.v_proj(x)], dim=-1)
    full = net(x)
    for t in range(6, 9):
        new = slice(t, t + 1)
        weight = net.conv1d.weight.squeeze(1)
        qkv = causal_conv1d_update(mixed[:, new], conv_pool, weight, slot_idx=slots)
        q, k, v = qkv.split([H * K, H * K, HV * V], dim=-1)
        o, pool[slots] = fused_recurrent_gated_delta_rule(
            q.view(2, 1, H, K), k.view(2, 1, H, K), v.view(2, 1, HV, V), g=net.a_proj(x[:, new]),
            beta=net.b_proj(x[:, new]), initial_state=pool[slots], output_final_state=True,
            use_qk_l2norm_in_kernel=True, use_gate_in_kernel=True, A_log=net.A_log,
            dt_bias=net.dt_bias, use_beta_sigmoid_in_kernel=True,
        )  # fmt: skip
        y = net.o_proj(net.o_norm(o, net.g_proj(x[:, new]).view(2, 1, HV, V)).flatten(2))
        assert_close(y, full[:, new], FORMS)
    assert conv_pool[[0, 2, 4]].isnan().all() and pool[[0, 2, 4]].isnan().all()


def test_gradients_of_everything():
    net, x = layer(conv_bias=True, allow_neg_eigval=True), tokens(B=1, T=3).requires_grad_()
    names, parameters = zip(*net.named_parameters(), strict=True)

    def run(x, *values):
        return torch.func.functional_call(net, dict(zip(names, values, strict=True)), (x,))

    assert torch.autograd.gradcheck(run, (x, *parameters), atol=1e-6)
    net(tokens()).square().sum().backward()
    for name, parameter in net.named_parameters():
        assert parameter.grad.abs().max() > 0, name


def test_gradients_flow_through_a_cache():
    net, x = layer(), tokens(T=20).requires_grad_()
    cache = GatedDeltaNetCache()
    parts = torch.cat([net(x[:, :12], cache), net(x[:, 12:], cache)], dim=1)
    (found,) = torch.autograd.grad(parts.sin().sum(), x)
    (expected,) = torch.autograd.grad(net(x).sin().sum(), x)
    assert_close(found, expected, 1e-11)


def test_one_graph_with_and_without_a_cache():
    net, x = layer(), tokens(T=70)
    torch.compiler.reset()
    run = torch.compile(net, fullgraph=True, backend="aot_eager")
    assert_close(run(x).detach(), net(x).detach(), FORMS)
    with torch.no_grad():
        ours, theirs = GatedDeltaNetCache(), GatedDeltaNetCache()
        for new in (slice(0, 68), slice(68, 69), slice(69, 70)):
            assert_close(run(x[:, new], theirs), net(x[:, new], ours), FORMS)
        assert_close(theirs.recurrent_state, ours.recurrent_state, FORMS)


def test_export():
    net, x = layer(), tokens(T=70)
    program = torch.export.export(net, (x,), {"attention_mask": torch.ones(2, 70)})
    mask = torch.ones(2, 70)
    mask[0, :9] = 0
    expected = net(x, attention_mask=mask).detach()
    assert_close(program.module()(x, attention_mask=mask).detach(), expected, FORMS)


def test_autocast_and_sixteen_bit_weights():
    net, x = layer(torch.float32), tokens(dtype=torch.float32)
    exact = layer()(x.double()).detach()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cache = GatedDeltaNetCache()
        y = net(x, cache)
    assert y.dtype == cache.conv_state.dtype == torch.bfloat16
    assert cache.recurrent_state.dtype == torch.float32
    assert_close(y.detach().double(), exact, 2e-2)
    half = GatedDeltaNet(HIDDEN, H, K, **OPTIONS, dtype=torch.bfloat16)
    half.load_state_dict(net.state_dict())
    assert half.A_log.dtype == half.dt_bias.dtype == torch.float32
    assert_close(half(x.bfloat16()).detach().double(), exact, 3e-2)
    assert_close(net(x).detach().double(), exact, 1e-6)


@pytest.mark.interpreter
def test_triton_in_the_interpreter():
    pytest.importorskip("triton")
    net, x = layer(torch.float32), tokens(T=70, dtype=torch.float32)
    exact = layer()(x.double()).detach()
    net.backend = "triton"
    with torch.no_grad():
        cache = GatedDeltaNetCache()
        parts = [net(part, cache) for part in x.split([66, 1, 3], dim=1)]
    assert_close(torch.cat(parts, 1).double(), exact, 1e-5)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype, tolerance", [(torch.bfloat16, 1.5e-2), (torch.float32, 3e-5)])
@torch.no_grad()
def test_on_the_device(dtype, tolerance):
    """Prefill in two parts, packed, and decoding, against the reference in float64."""
    torch.manual_seed(0)
    net = GatedDeltaNet(256, 2, 64, num_v_heads=4, head_v_dim=128, device="cuda", dtype=dtype)
    net.A_log.copy_(torch.linspace(-1, 1, 4))
    exact = copy.deepcopy(net).double()
    x = torch.randn(2, 4096, 256, device="cuda", dtype=dtype)
    full = exact(x.double())
    cache = GatedDeltaNetCache()
    parts = [net(part, cache) for part in x.split([3000, 1064, *[1] * 28, 4], dim=1)]
    assert_close(torch.cat(parts, 1).double().cpu(), full.cpu(), tolerance)
    assert_close(parts[-1].double().cpu(), full[:, -4:].cpu(), tolerance)
    assert_close(torch.cat(parts, 1).double().cpu(), net(x).double().cpu(), min(tolerance, 5e-3))
    packed, cu_seqlens = x.reshape(1, -1, 256), torch.tensor([0, 4096, 8192], device="cuda")
    y = net(packed, GatedDeltaNetCache(), cu_seqlens).view(2, 4096, 256)
    assert_close(y.double().cpu(), full.cpu(), tolerance)


@pytest.mark.gpu
def test_training_on_the_device():
    torch.manual_seed(0)
    net = GatedDeltaNet(64, 2, 32, num_v_heads=4, head_v_dim=16, device="cuda")
    exact, x = copy.deepcopy(net).double(), torch.randn(2, 150, 64, device="cuda")
    for module, inputs in ((net, x), (exact, x.double())):
        module(inputs).square().sum().backward()
    for (name, p), e in zip(net.named_parameters(), exact.parameters(), strict=True):
        assert relative_error(p.grad.double().cpu(), e.grad.cpu()) < 1e-4, name


def test_where_the_gate_starts():
    torch.manual_seed(0)
    net = GatedDeltaNet(8, 1, 2, num_v_heads=4000, head_v_dim=1)
    A, dt = net.A_log.exp(), torch.nn.functional.softplus(net.dt_bias)
    assert A.min() >= 0.01 and A.max() <= 16 and abs(A.mean() - 8) < 0.3
    assert (
        0.999e-3 < dt.min()
        and 0.098 < dt.max() < 0.1001
        and abs(dt.log().mean() - math.log(1e-2)) < 0.1
    )
    slow, fast = (math.log(2) / (A_0 * dt_0) for A_0, dt_0 in ((0.01, 1e-3), (16, 0.1)))
    assert round(slow, -3) == 69_000 and round(fast, 1) == 0.4


def test_a_layer_made_without_memory_starts_afresh():
    """As sharded training does it: every module resets the parameters that are its own."""
    net = GatedDeltaNet(HIDDEN, H, K, **OPTIONS, conv_bias=True, device="meta")
    assert all(p.is_meta for p in net.parameters())
    net.to_empty(device="cpu")
    with torch.no_grad():
        for p in net.parameters():
            p.fill_(math.nan)
    for module in net.modules():
        module.reset_parameters()
    assert net(tokens(dtype=torch.float32)).isfinite().all()
    assert torch.equal(net.o_norm.weight, torch.ones(V))


def test_what_is_left_out_has_its_default():
    net = GatedDeltaNet(HIDDEN, H, K)
    assert (net.num_v_heads, net.head_v_dim) == (H, 2 * K)
    assert (net.conv1d.kernel_size, net.conv1d.bias, net.o_norm.eps) == ((4,), None, 1e-5)
    assert (net.allow_neg_eigval, net.backend) == (False, "auto")
    assert {p.dtype for p in net.parameters()} == {torch.float32}
    exact = GatedDeltaNet(HIDDEN, H, K, dtype=torch.float64)
    assert {p.dtype for p in exact.parameters()} == {torch.float64}


def test_the_output_norm_rounds_once():
    random = torch.Generator().manual_seed(0)
    x, gate, weight = (torch.randn(64, 128, generator=random).bfloat16() for _ in range(3))
    norm = GatedRMSNorm(128, dtype=torch.bfloat16)
    norm.weight.data.copy_(weight[0])
    exact = copy.deepcopy(norm).double()(x.double(), gate.double()).detach()
    assert_close(norm(x, gate).detach().double(), exact, 2e-3)  # 2.4e-3 with silu(gate) rounded too


def test_the_gate_asks_for_no_weight_decay():
    asks = {name for name, p in layer().named_parameters() if hasattr(p, "_no_weight_decay")}
    assert asks == {"A_log", "dt_bias"}


def test_what_is_printed():
    shown = repr(layer(allow_neg_eigval=True))
    for part in ("num_heads=2, head_dim=6", "num_v_heads=4", "allow_neg_eigval=True", "(5, eps="):
        assert part in shown


def test_state_dict_round_trip():
    net, other = layer(conv_bias=True), layer(conv_bias=True, seed=1)
    other.load_state_dict(copy.deepcopy(net.state_dict()))
    assert torch.equal(net(tokens()), other(tokens()))
    names = {f"{name}_proj.weight" for name in "qkvgabo"}
    names |= {"conv1d.weight", "conv1d.bias", "A_log", "dt_bias", "o_norm.weight"}
    assert set(net.state_dict()) == names


ROUND_TRIPS = {
    "fla": (layer_weights.to_fla, layer_weights.from_fla),
    "qwen3_5": (layer_weights.to_qwen3_5, layer_weights.from_qwen3_5),
    "qwen3_next": (
        lambda weights: layer_weights.to_qwen3_next(weights, H),
        lambda weights: layer_weights.from_qwen3_next(weights, H),
    ),
}


@pytest.mark.parametrize("there, back", ROUND_TRIPS.values(), ids=ROUND_TRIPS)
def test_weights_go_there_and_back(there, back):
    weights = layer().state_dict()
    returned = back(there(weights))
    assert set(returned) == set(weights)
    assert all(torch.equal(returned[name], x) for name, x in weights.items())


def test_a_bias_goes_to_fla_and_back():
    weights = layer(conv_bias=True).state_dict()
    weights["conv1d.bias"] = torch.arange(float(len(weights["conv1d.bias"])))
    theirs = layer_weights.to_fla(weights)
    parts = [theirs[f"{c}_conv1d.bias"] for c in "qkv"]
    assert torch.equal(torch.cat(parts), weights["conv1d.bias"])
    assert [len(part) for part in parts] == [len(weights[f"{c}_proj.weight"]) for c in "qkv"]
    returned = layer_weights.from_fla(theirs)
    assert set(returned) == set(weights)
    assert torch.equal(returned["conv1d.bias"], weights["conv1d.bias"])


def test_a_bias_is_not_lost_on_the_way_to_qwen():
    weights = layer(conv_bias=True).state_dict()
    for there in (layer_weights.to_qwen3_5, ROUND_TRIPS["qwen3_next"][0]):
        with pytest.raises(ValueError, match="weights: expected no conv1d.bias"):
            there(weights)


def test_rows_of_qwen3_next_are_grouped_by_key_head():
    net = layer()
    qkvz = layer_weights.to_qwen3_next(net.state_dict(), H)["in_proj_qkvz.weight"]
    second = qkvz[len(qkvz) // 2 :]  # of two key heads: its q, its k, v and z of value heads 2, 3
    assert torch.equal(second[:K], net.q_proj.weight[K : 2 * K])
    assert torch.equal(second[K : 2 * K], net.k_proj.weight[K : 2 * K])
    assert torch.equal(second[2 * K : 2 * K + 2 * V], net.v_proj.weight[2 * V :])
    assert torch.equal(second[2 * K + 2 * V :], net.g_proj.weight[2 * V :])


ONE_ARGUMENT = ("from_fla", "to_fla", "from_qwen3_5", "to_qwen3_5")


@pytest.mark.parametrize("name", [*ONE_ARGUMENT, "from_qwen3_next", "to_qwen3_next"])
def test_weights_that_are_no_state_dict_of_a_layer(name):
    convert = getattr(layer_weights, name)
    heads = () if name in ONE_ARGUMENT else (H,)
    with pytest.raises(TypeError, match="^weights: expected a state dict, got GatedDeltaNet$"):
        convert(layer(), *heads)
    of_a_model = {f"layers.0.{key}": x for key, x in layer().state_dict().items()}
    message = r"^weights: .* one layer, which has \w+\.weight, got \d+ names without it$"
    with pytest.raises(ValueError, match=message):
        convert(of_a_model, *heads)


@pytest.mark.parametrize("num_heads, error", [(0, ValueError), (3, ValueError), ("2", TypeError)])
def test_a_number_of_key_heads_divides_the_value_heads(num_heads, error):
    weights = layer().state_dict()
    for convert, x in (
        (layer_weights.to_qwen3_next, weights),
        (layer_weights.from_qwen3_next, layer_weights.to_qwen3_next(weights, H)),
    ):
        with pytest.raises(error, match="^num_heads: expected "):
            convert(x, num_heads)


def test_offsets_elsewhere_are_refused_by_the_layers_own_names():
    net = GatedDeltaNet(12, 2, 6, device="meta")
    with pytest.raises(ValueError, match="^cu_seqlens: expected device meta like x, got cpu$"):
        net(torch.ones(1, 4, 12, device="meta"), cu_seqlens=torch.tensor([0, 4]))


BAD_LAYERS = {
    "hidden_size": ({"hidden_size": 0}, ValueError, "hidden_size: expected at least 1, got 0"),
    "value heads": ({"num_v_heads": 0}, ValueError, "num_v_heads: expected at least 1, got 0"),
    "value dim": ({"head_v_dim": 0}, ValueError, "head_v_dim: expected at least 1, got 0"),
    "head_dim": ({"head_dim": 6.0}, TypeError, "head_dim: expected an integer, got float"),
    "group": ({"num_v_heads": 3}, ValueError, "num_v_heads: expected a multiple of num_heads = 2"),
    "no head": ({"head_dim": None}, TypeError, "head_dim: expected an integer, got NoneType"),
    "eps": ({"norm_eps": -1e-5}, ValueError, "norm_eps: expected a finite number of at least 0"),
    "endless eps": ({"norm_eps": math.inf}, ValueError, "norm_eps: expected a finite number"),
    "no eps": ({"norm_eps": None}, TypeError, "norm_eps: expected a number, got NoneType"),
    "dtype": ({"dtype": torch.int64}, ValueError, "dtype: expected one of .*, got torch.int64"),
    "no dtype": ({"dtype": "float32"}, TypeError, "dtype: expected a torch.dtype, got str"),
    "flag": ({"conv_bias": 1}, TypeError, "conv_bias: expected True or False"),
    "sign": ({"allow_neg_eigval": 1}, TypeError, "allow_neg_eigval: expected True or False"),
    "backend": ({"backend": "fla"}, ValueError, "backend: expected one of"),
    "keyword": ({"expand_k": 2}, TypeError, "unexpected keyword argument 'expand_k'"),
    "ratio": ({"expand_v": 0.7}, ValueError, "expand_v: expected a whole number .* = 6, got 0.7"),
    "no ratio": ({"expand_v": "2"}, TypeError, "expand_v: expected a number, got str"),
    "endless ratio": ({"expand_v": math.inf}, ValueError, "expand_v: expected a whole number"),
    "ratio of 0": ({"expand_v": 0}, ValueError, "expand_v: .* of at least 1 times head_dim"),
    "both": ({"expand_v": 2, "head_v_dim": 12}, ValueError, "expand_v: .* head_v_dim = 12, got 2"),
}


@pytest.mark.parametrize("change, error, message", BAD_LAYERS.values(), ids=BAD_LAYERS)
def test_no_such_layer(change, error, message):
    good = {"hidden_size": 12, "num_heads": 2, "head_dim": 6}
    GatedDeltaNet(**good)
    with pytest.raises(error, match=message):
        GatedDeltaNet(**good | change)


OFFSETS = torch.tensor([0, 4])
BAD_CALLS = {
    "list": ({"x": [1.0]}, TypeError, r"x: expected a torch.Tensor \[B, T, hidden_size\]"),
    "size": ({"x": torch.ones(2, 4, 11)}, ValueError, r"x: .*= \[2, 4, 12\], got \[2, 4, 11\]"),
    "axes": ({"x": torch.ones(4, 12)}, ValueError, "x: expected 3 axes"),
    "dtype": (
        {"x": torch.ones(2, 4, 12).bfloat16()}, ValueError,
        r"x: expected torch.float32 like the weights \(or autocast\), got torch.bfloat16",
    ),
    "elsewhere": (
        {"x": torch.ones(2, 4, 12, device="meta")}, ValueError,
        "x: expected device cpu like the weights, got meta",
    ),
    "cache": ({"cache": {}}, TypeError, "cache: expected a GatedDeltaNetCache, got dict"),
    "batch": (
        {"x": torch.ones(3, 4, 12)}, ValueError,
        r"cache.conv_state: expected shape \[N, D, W - 1\] = \[3, 44, 3\], got \[2, 44, 3\]",
    ),
    "turned memory": (
        {"cache": GatedDeltaNetCache(None, torch.ones(2, HV, V, K))}, ValueError,
        r"cache.recurrent_state: expected shape .* = \[2, 4, 6, 5\], got \[2, 4, 5, 6\]",
    ),
    "memory elsewhere": (
        {"cache": GatedDeltaNetCache(None, torch.ones(2, HV, K, V, device="meta"))}, ValueError,
        "cache.recurrent_state: expected device cpu like x, got meta",
    ),
    "mask elsewhere": (
        {"attention_mask": torch.ones(2, 4, device="meta")}, ValueError,
        "attention_mask: expected device cpu like x, got meta",
    ),
    "offsets": ({"cu_seqlens": OFFSETS}, ValueError, "cu_seqlens: expected B = 1"),
    "mask": ({"attention_mask": [1]}, TypeError, r"attention_mask: expected a torch.Tensor \[B, T"),
    "cut mask": ({"attention_mask": torch.ones(2, 3)}, ValueError, r"mask: .*\[2, 4\], got \[2, 3"),
    "padding after tokens": (
        {"attention_mask": torch.tensor([[0, 1, 1, 1], [1, 1, 1, 1]])}, ValueError,
        "attention_mask: expected no padding with a cache that holds tokens",
    ),
    "both": (
        {"x": torch.ones(1, 4, 12), "cache": None, "cu_seqlens": OFFSETS,
         "attention_mask": torch.ones(1, 4)},
        ValueError, "attention_mask: expected None with cu_seqlens",
    ),
}  # fmt: skip


@pytest.mark.parametrize("change, error, message", BAD_CALLS.values(), ids=BAD_CALLS)
def test_a_bad_call_is_refused_and_the_cache_stays(change, error, message):
    net, cache = layer(torch.float32), GatedDeltaNetCache()
    good = {"x": torch.ones(2, 4, 12), "cache": cache}
    net(**good)
    before = copy.copy(cache)
    with pytest.raises(error, match=message):
        net(**good | change)
    assert cache.conv_state is before.conv_state
    assert cache.recurrent_state is before.recurrent_state
