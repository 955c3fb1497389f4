"""The public functions against a loop over tokens and heads, in float64, written here.

The loop keeps the state as `[K, V]` and has no chunk, no broadcasting and no backend in it.
"""

import importlib.util
import os
import subprocess
import sys

import pytest
import signatures
import torch
from tolerances import FORMS, assert_close
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils._python_dispatch import TorchDispatchMode

from gdn_ref import (
    chunk_gated_delta_rule,
    decode,
    fused_recurrent_gated_delta_rule,
    ops,
    prepared,
    reference,
)

OPS = [chunk_gated_delta_rule, fused_recurrent_gated_delta_rule]
BOTH = pytest.mark.parametrize("op", OPS, ids=["chunk", "recurrent"])
ROUNDING = {torch.float64: FORMS, torch.float32: 1e-6, torch.float16: 5e-4, torch.bfloat16: 4e-3}


def inputs(B=2, T=21, H=2, HV=6, K=5, V=4, N=None, dtype=torch.float64, seed=0):
    """Arguments on which mistakes show: related keys, varied decays, beta over (0, 2), a state."""
    random = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=random, dtype=torch.float64)

    def uniform(*shape):
        return torch.rand(*shape, generator=random, dtype=torch.float64)

    k = normal(B, T, H, K) + normal(B, 1, H, K)
    tensors = {
        "q": normal(B, T, H, K),
        "k": k / k.norm(dim=-1, keepdim=True),
        "v": normal(B, T, HV, V),
        "g": (0.8 + 0.2 * uniform(B, T, HV)).log(),
        "beta": 2 * uniform(B, T, HV),
        "initial_state": normal(B if N is None else N, HV, K, V),
    }
    return {name: x.to(dtype) for name, x in tensors.items()}


def raw_gate(HV=6, dtype=torch.float64):
    """Arguments that ask for the gate and the sigmoid inside."""
    random = torch.Generator().manual_seed(9)
    A_log, dt_bias = torch.randn(2, HV, generator=random, dtype=torch.float64).to(dtype)
    return {"use_gate_in_kernel": True, "A_log": A_log, "dt_bias": dt_bias}


def oracle(q, k, v, g, beta, initial_state=None, scale=None, bounds=None, gk=None, gv=None):
    """`o`, `[B, T, HV, V]`, and the final state, `[N, HV, K, V]`, of the gated delta rule.

    `bounds` are the first and last-plus-one tokens of packed sequences.
    """
    tensors = (q, k, v, g, beta, gk, gv)
    q, k, v, g, beta, gk, gv = (None if x is None else x.double() for x in tensors)
    B, T, H, K = q.shape
    HV, V = v.shape[2:]
    scale = K**-0.5 if scale is None else scale
    places = [(b, 0, T) for b in range(B)] if bounds is None else [(0, *ends) for ends in bounds]
    states, rows = [], {}
    for n, (b, begin, end) in enumerate(places):
        for h in range(HV):
            S = torch.zeros(K, V, dtype=torch.float64)
            S = S if initial_state is None else initial_state[n, h].double()
            for t in range(begin, end):
                key, query = k[b, t, h * H // HV], q[b, t, h * H // HV] * scale
                S = S if g is None else S * torch.exp(g[b, t, h])
                S = S if gk is None else S * torch.exp(gk[b, t, h])[:, None]
                S = S if gv is None else S * torch.exp(gv[b, t, h])[None, :]
                missing = v[b, t, h] - key @ S
                S = S + beta[b, t, h] * torch.outer(key, missing)
                rows[b, t, h] = query @ S
            states.append(S)
    o = [rows[b, t, h] for b in range(B) for t in range(T) for h in range(HV)]
    o = torch.stack(o) if o else torch.zeros(0, V, dtype=torch.float64)
    return o.reshape(B, T, HV, V), torch.stack(states).reshape(-1, HV, K, V)


def small_chunks(op):
    """Options that cut even short sequences into several chunks."""
    return {"chunk_size": 4} if op is chunk_gated_delta_rule else {}


def unit(x):
    return x / (x.double() ** 2).sum(-1, keepdim=True).add(1e-6).sqrt()


def gate(g, A_log, dt_bias):
    return -A_log.double().exp() * torch.log1p((g.double() + dt_bias.double()).exp())


# The contract


def test_signatures_are_the_published_ones():
    assert signatures.plain(chunk_gated_delta_rule) == (
        "(q, k, v, g, beta, scale=None, initial_state=None, output_final_state=False, "
        "use_qk_l2norm_in_kernel=False, *, cu_seqlens=None, state_v_first=False, "
        "use_gate_in_kernel=False, A_log=None, dt_bias=None, use_beta_sigmoid_in_kernel=False, "
        "allow_neg_eigval=False, chunk_size=64, backend='auto', batch_invariant=False, "
        "transpose_state_layout=None, cu_seqlens_cpu=None, cp_context=None, **foreign)"
    )
    assert signatures.plain(fused_recurrent_gated_delta_rule) == (
        "(q, k, v, g=Ellipsis, gk=None, gv=None, beta=Ellipsis, scale=None, initial_state=None, "
        "output_final_state=False, use_qk_l2norm_in_kernel=False, *, cu_seqlens=None, "
        "state_v_first=False, use_gate_in_kernel=False, A_log=None, dt_bias=None, "
        "use_beta_sigmoid_in_kernel=False, allow_neg_eigval=False, backend='auto', "
        "batch_invariant=False, transpose_state_layout=None, cu_seqlens_cpu=None, **foreign)"
    )


@BOTH
def test_the_older_name_of_state_v_first(op):
    x = inputs(T=3) | {"output_final_state": True}
    first = x | {"initial_state": x["initial_state"].mT.contiguous()}
    expected = op(**first, state_v_first=True)
    for given, older, right in ((first, True, expected), (x, False, op(**x))):
        with pytest.warns(DeprecationWarning, match="older name of state_v_first"):
            found = op(**given, transpose_state_layout=older)
        assert all(map(torch.equal, found, right))
    with pytest.raises(TypeError, match="transpose_state_layout: expected True or False, got int"):
        op(**x, transpose_state_layout=1)
    for older in (True, False):
        with pytest.raises(ValueError, match="transpose_state_layout: expected state_v_first"):
            op(**first, state_v_first=True, transpose_state_layout=older)


@BOTH
@pytest.mark.parametrize("name", ["head_first", "output_final_sate", "kwargs"])
def test_unknown_keyword_is_a_type_error(op, name):
    with pytest.raises(TypeError, match=name):
        op(**inputs(T=2), **{name: True})


@BOTH
def test_final_state_only_on_request(op):
    assert op(**inputs(T=3))[1] is None
    assert op(**inputs(T=3), output_final_state=True)[1].shape == (2, 6, 5, 4)


def test_auto_on_the_cpu_leaves_triton_alone():
    program = """
import sys, torch
from gdn_ref import chunk_gated_delta_rule
x = torch.ones(1, 3, 1, 2)
chunk_gated_delta_rule(x, x, x, x[..., 0], x[..., 0])
assert not [name for name in sys.modules if name.split(".")[0] == "triton"]
"""
    subprocess.run([sys.executable, "-c", program], check=True)


# Values


@BOTH
@pytest.mark.parametrize("T", [1, 21, 70])
@pytest.mark.parametrize("H, HV", [(1, 1), (2, 2), (2, 6)])
def test_equals_the_loop(op, T, H, HV):
    x = inputs(T=T, H=H, HV=HV)
    o, S = op(**x, output_final_state=True)
    o_loop, S_loop = oracle(**x)
    assert_close(o, o_loop)
    assert_close(S, S_loop)


@pytest.mark.parametrize("chunk_size", [1, 3, 7, 16, 21, 64])
def test_chunk_size_changes_nothing(chunk_size):
    x = inputs()
    o, S = chunk_gated_delta_rule(**x, output_final_state=True, chunk_size=chunk_size)
    o_loop, S_loop = oracle(**x)
    assert_close(o, o_loop)
    assert_close(S, S_loop)


@BOTH
@pytest.mark.parametrize("with_g", [True, False])
@pytest.mark.parametrize("with_state", [True, False])
@pytest.mark.parametrize("scale", [None, 0.3, 2])
def test_optional_arguments(op, with_g, with_state, scale):
    x = inputs(T=9)
    x["g"] = x["g"] if with_g else None
    x["initial_state"] = x["initial_state"] if with_state else None
    o, S = op(**x, scale=scale, output_final_state=True)
    o_loop, S_loop = oracle(**x, scale=scale)
    assert_close(o, o_loop)
    assert_close(S, S_loop)


@BOTH
def test_calls_of_other_lengths_run_what_is_remembered(op, monkeypatch):
    chosen, runner = [], ops.runner
    monkeypatch.setattr(ops, "runner", lambda *call: chosen.append(call) or runner(*call))
    monkeypatch.setattr(prepared, "_remembered", {})
    for sizes in ({}, {"T": 9}, {"B": 3}, {"T": 1}, {"B": 1, "T": 40}):
        x = inputs(**sizes)
        for found, right in zip(op(**x, output_final_state=True), oracle(**x), strict=True):
            assert_close(found, right)
    assert len(chosen) == 1


@BOTH
@pytest.mark.parametrize("name", ["k", "v", "g", "beta", "initial_state"])
def test_lengths_are_checked_at_every_call(op, name):
    op(**inputs())
    x = inputs()
    for wrong in (x[name][:1], x[name][:, :-1]):
        with pytest.raises(ValueError, match=f"^{name}: expected shape"):
            op(**x | {name: wrong})
    if name == "initial_state":
        op(**inputs(B=1, N=2), cu_seqlens=torch.tensor([0, 9, 21]))
        for B, offsets, named in ((2, [0, 9, 21], "cu_seqlens"), (1, [0, 21], "initial_state")):
            with pytest.raises(ValueError, match=f"^{named}: expected"):
                op(**inputs(B=B, N=2), cu_seqlens=torch.tensor(offsets))


@BOTH
def test_rows_apart_are_no_matter_of_the_length(op, monkeypatch):
    """Cut from one wide row per token, of one batch or many, or every other token taken."""
    monkeypatch.setattr(prepared, "_remembered", {})
    looks = (
        lambda x: torch.cat([x, x], -1)[..., : x.shape[-1]],
        lambda x: torch.stack([x, x], 2)[:, :, 0],
        lambda x: torch.cat([x, x], 1)[:, : x.shape[1]],
    )
    for look in looks:
        for sizes in ({"T": 9}, {"T": 1}, {"T": 21}, {"B": 1, "T": 1}, {"B": 1, "T": 12}):
            x = inputs(**sizes)
            given = x | {name: look(x[name]) for name in "qkv"}
            assert_close(op(**given)[0], oracle(**x)[0])


@BOTH
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("gated", [True, False])
@pytest.mark.parametrize("reach", [0, 1, 2])
def test_activations_inside(op, norm, gated, reach):
    """`reach`: the write strength's upper end, or 0 for a ready-made one."""
    x = inputs(T=9)
    expected = dict(x)
    options = {"use_qk_l2norm_in_kernel": norm}
    if norm:
        x["q"], x["k"] = 3 * x["q"], torch.linspace(0.001, 4, 9)[:, None, None] * x["k"]
        expected["q"], expected["k"] = unit(x["q"]), unit(x["k"])
    if gated:
        options |= raw_gate()
        x["g"] = 5 * x["g"] + 1
        expected["g"] = gate(x["g"], options["A_log"], options["dt_bias"])
    if reach:
        options |= {"use_beta_sigmoid_in_kernel": True, "allow_neg_eigval": reach == 2}
        x["beta"] = 3 * x["beta"] - 3
        expected["beta"] = reach / (1 + torch.exp(-x["beta"]))
    o, S = op(**x, **options, output_final_state=True)
    o_loop, S_loop = oracle(**expected)
    assert_close(o, o_loop)
    assert_close(S, S_loop)


@BOTH
def test_gate_without_bias(op):
    x = inputs(T=5)
    options = raw_gate() | {"dt_bias": None}
    x["g"] = 5 * x["g"]
    expected = x | {"g": gate(x["g"], options["A_log"], torch.zeros(6))}
    assert_close(op(**x, **options)[0], oracle(**expected)[0])


def test_a_gate_far_out_is_linear():
    x = inputs(T=5)
    x["g"] = torch.full_like(x["g"], 1000.0)  # exp(1000) is infinite, and the log of it 1000
    options = raw_gate() | {"A_log": torch.full((6,), -7.0, dtype=torch.float64), "dt_bias": None}
    expected = x | {"g": -1000.0 * options["A_log"].exp().expand_as(x["g"])}
    assert_close(chunk_gated_delta_rule(**x, **options)[0], oracle(**expected)[0])


@BOTH
def test_a_zero_key_stays_zero_under_the_norm(op):
    x = inputs(T=4)
    x["k"][:, 1] = 0
    o, _ = op(**x, use_qk_l2norm_in_kernel=True)
    assert_close(o, oracle(**x | {"q": unit(x["q"]), "k": unit(x["k"])})[0])


@BOTH
def test_minus_infinity_resets(op):
    x = inputs(T=9)
    x["g"][:, 4] = -torch.inf
    o, S = op(**x, output_final_state=True)
    tail = {name: a[:, 4:] for name, a in x.items() if name != "initial_state"}
    o_tail, S_tail = oracle(**tail)
    assert_close(o[:, 4:], o_tail)
    assert_close(S, S_tail)


# Decays of channels, token by token

CHANNELS = pytest.mark.parametrize("names", [["gk"], ["gv"], ["gk", "gv"]], ids="-".join)
recurrent = fused_recurrent_gated_delta_rule


def channel_inputs(names=("gk", "gv"), **sizes):
    """`inputs` and the decays of channels of these names, from none to almost a reset."""
    x = inputs(**sizes)
    random = torch.Generator().manual_seed(5)
    for name, wide in (("gk", x["k"]), ("gv", x["v"])):
        size = (*x["v"].shape[:3], wide.shape[3])
        decay = -3 * torch.rand(size, generator=random, dtype=torch.float64) ** 4
        x |= {name: decay.to(x["v"].dtype)} if name in names else {}
    return x


@CHANNELS
@pytest.mark.parametrize("with_g", [True, False])
@pytest.mark.parametrize("T", [1, 9])
@pytest.mark.parametrize("H, HV", [(1, 1), (2, 2), (2, 6)])
def test_decays_of_channels_equal_the_loop(names, with_g, T, H, HV):
    x = channel_inputs(names, T=T, H=H, HV=HV)
    x["g"] = x["g"] if with_g else None
    expected = oracle(**x)
    for given in [x] if with_g else [x, {name: a for name, a in x.items() if name != "g"}]:
        for found, right in zip(recurrent(**given, output_final_state=True), expected, strict=True):
            assert_close(found, right)


@CHANNELS
@pytest.mark.parametrize("with_state", [True, False])
def test_decays_of_channels_of_packed_sequences(names, with_state):
    offsets = [0, 0, 5, 5, 20, 21, 21]
    x = channel_inputs(names, B=1, N=6)
    x["initial_state"] = x["initial_state"] if with_state else None
    found = recurrent(**x, cu_seqlens=torch.tensor(offsets), output_final_state=True)
    right = oracle(**x, bounds=list(zip(offsets, offsets[1:], strict=False)))
    for a, b in zip(found, right, strict=True):
        assert_close(a, b)


@pytest.mark.parametrize("T", [1, 9])
@pytest.mark.parametrize("name, D", [("gk", 5), ("gv", 4)])
def test_one_decay_for_all_channels_is_g(name, D, T):
    x = inputs(T=T)
    right = recurrent(**x, output_final_state=True)
    g = x.pop("g")
    channels = g[..., None].expand(2, T, 6, D)
    for given in ({name: channels}, {"g": 0.3 * g, name: 0.7 * channels}):
        for a, b in zip(recurrent(**x, **given, output_final_state=True), right, strict=True):
            assert_close(a, b)


def test_minus_infinity_resets_channels():
    x = channel_inputs(T=9)
    x["gk"][:, 4, :, 1] = x["gv"][:, 6, :2, 2:] = -torch.inf
    x["gk"][:, 7, 5] = -torch.inf  # every key channel of the last head: its whole state
    o, S = recurrent(**x, output_final_state=True)
    o_loop, S_loop = oracle(**x)
    assert_close(o, o_loop)
    assert_close(S, S_loop)
    tail = {name: a[:, 7:, 5:] for name, a in x.items() if name not in ("q", "k", "initial_state")}
    tail |= {name: x[name][:, 7:, 1:] for name in "qk"}
    assert_close(S[:, 5:], oracle(**tail)[1])


@pytest.mark.parametrize("v_first", [True, False])
def test_decays_of_channels_beside_the_activations(v_first):
    x = channel_inputs(T=9)
    options = raw_gate() | {"use_qk_l2norm_in_kernel": True, "use_beta_sigmoid_in_kernel": True}
    g, beta = gate(x["g"], options["A_log"], options["dt_bias"]), torch.sigmoid(x["beta"])
    o_loop, S_loop = oracle(**x | {"q": unit(x["q"]), "k": unit(x["k"]), "g": g, "beta": beta})
    if v_first:
        x["initial_state"], S_loop = x["initial_state"].mT.contiguous(), S_loop.mT
    o, S = recurrent(**x, **options, state_v_first=v_first, output_final_state=True)
    assert_close(o, o_loop)
    assert_close(S, S_loop)


@pytest.mark.parametrize("decays", list(ROUNDING))
@pytest.mark.parametrize("dtype", list(ROUNDING))
def test_dtypes_of_decays_of_channels(dtype, decays):
    x = channel_inputs(T=5, dtype=dtype)
    x |= {name: x[name].to(decays) for name in ("gk", "gv")}
    state_dtype = torch.float64 if dtype == torch.float64 else torch.float32
    o, S = recurrent(**x, output_final_state=True)
    o_loop, S_loop = oracle(**x)
    assert o.dtype == dtype and S.dtype == state_dtype
    assert_close(o.double(), o_loop, ROUNDING[dtype])
    assert_close(S, S_loop, ROUNDING[state_dtype])


@pytest.mark.parametrize("name", ["gk", "gv"])
def test_lengths_of_decays_are_checked_at_every_call(name):
    recurrent(**channel_inputs())
    assert_close(recurrent(**channel_inputs(T=9))[0], oracle(**channel_inputs(T=9))[0])
    x = channel_inputs()
    for wrong in (x[name][:1], x[name][:, :-1], x[name][:, :, :2], x[name][..., :1]):
        with pytest.raises(ValueError, match=f"^{name}: expected shape"):
            recurrent(**x | {name: wrong})
    with pytest.raises(ValueError, match=f"^{name}: expected 4 axes"):
        recurrent(**x | {name: x["g"]})


def test_without_any_decay_g_must_be_said():
    x = {name: a for name, a in inputs(T=3).items() if name != "g"}
    with pytest.raises(TypeError, match="^g: expected a torch.Tensor, or None for no decay"):
        recurrent(**x)
    assert_close(recurrent(**x, g=None)[0], oracle(**x, g=None)[0])


@pytest.mark.parametrize("name", ["gk", "gv"])
def test_the_chunk_form_and_decode_have_no_decays_of_channels(name):
    x = channel_inputs([name], T=3)
    with pytest.raises(TypeError, match=name):
        chunk_gated_delta_rule(**x)
    pool = x.pop("initial_state")
    with pytest.raises(TypeError, match=name):
        decode(**x, pool=pool, slot_idx=None)


# States and packing


@BOTH
def test_state_layouts(op):
    x = inputs(T=9)
    o, S = op(**x, output_final_state=True)
    x["initial_state"] = x["initial_state"].mT.contiguous()
    o_v, S_v = op(**x, output_final_state=True, state_v_first=True)
    assert_close(o_v, o)
    assert_close(S_v, S.mT)


@BOTH
def test_no_initial_state_v_first(op):
    x = inputs(T=3) | {"initial_state": None}
    _, S = op(**x, output_final_state=True, state_v_first=True)
    assert_close(S, oracle(**x)[1].mT)


def test_prefill_then_decode():
    x = inputs(T=12)
    o_whole, S_whole = oracle(**x)
    S = x.pop("initial_state")
    cuts = [(0, 7, chunk_gated_delta_rule)]
    cuts += [(t, t + 1, fused_recurrent_gated_delta_rule) for t in range(7, 12)]
    outputs = []
    for begin, end, op in cuts:
        part = {name: a[:, begin:end] for name, a in x.items()}
        o, S = op(**part, initial_state=S, output_final_state=True)
        outputs.append(o)
    assert_close(torch.cat(outputs, dim=1), o_whole)
    assert_close(S, S_whole)


@BOTH
@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("with_state", [True, False])
@pytest.mark.parametrize("with_g", [True, False])
@pytest.mark.parametrize(
    "offsets", [[0, 21], [0, 8, 9, 21], [0, 0, 5, 5, 20, 21, 21]], ids=["one", "three", "empties"]
)
def test_packed_sequences(op, dtype, with_state, with_g, offsets):
    x = inputs(B=1, N=len(offsets) - 1)
    x["initial_state"] = x["initial_state"] if with_state else None
    x["g"] = x["g"] if with_g else None
    cu_seqlens = torch.tensor(offsets, dtype=dtype)
    o, S = op(**x, **small_chunks(op), cu_seqlens=cu_seqlens, output_final_state=True)
    o_loop, S_loop = oracle(**x, bounds=list(zip(offsets, offsets[1:], strict=False)))
    assert_close(o, o_loop)
    assert_close(S, S_loop)


@BOTH
def test_a_packed_sequence_is_deaf_to_the_others(op):
    x = inputs(B=1, N=3)
    cu_seqlens = torch.tensor([0, 6, 14, 21])
    o, S = op(**x, cu_seqlens=cu_seqlens, output_final_state=True)
    for name in ("q", "k", "v", "g", "beta"):
        x[name][:, :6] = torch.nan
        x[name][:, 14:] = torch.nan
    o_nan, S_nan = op(**x, cu_seqlens=cu_seqlens, output_final_state=True)
    torch.testing.assert_close(o_nan[:, 6:14], o[:, 6:14], rtol=0, atol=0)
    torch.testing.assert_close(S_nan[1], S[1], rtol=0, atol=0)


@BOTH
@pytest.mark.parametrize("name", ["q", "k", "v", "g", "beta"])
def test_where_a_nan_arrives(op, name):
    """At token 70 of 200, in the second chunk of 64."""
    x = inputs(B=1, T=200, H=1, HV=1)
    clean, _ = op(**x)
    x[name][:, 70] = torch.nan
    o, _ = op(**x)
    first = 64 if op is chunk_gated_delta_rule and name != "q" else 70
    end = 71 if name == "q" else 200
    assert o[:, first:end].isnan().all()
    torch.testing.assert_close(o[:, :first], clean[:, :first], rtol=0, atol=0)
    torch.testing.assert_close(o[:, end:], clean[:, end:], rtol=0, atol=0)


@BOTH
def test_nothing_to_do(op):
    """No token, no batch entry, no sequence; a state that passes through is a copy."""
    x = inputs(T=0)
    o, S = op(**x, output_final_state=True)
    assert o.shape == (2, 0, 6, 4)
    assert_close(S, x["initial_state"])
    S.zero_()
    assert x["initial_state"].count_nonzero() == x["initial_state"].numel()

    o, S = op(**inputs(T=0) | {"initial_state": None}, output_final_state=True)
    torch.testing.assert_close(S, torch.zeros(2, 6, 5, 4, dtype=torch.float64))

    o, S = op(**inputs(B=0), output_final_state=True)
    assert o.shape == (0, 21, 6, 4) and S.shape == (0, 6, 5, 4)

    packed = {"cu_seqlens": torch.tensor([0]), "output_final_state": True}
    o, S = op(**inputs(B=1, T=0, N=0), **packed)
    assert o.shape == (1, 0, 6, 4) and S.shape == (0, 6, 5, 4)

    x = inputs(B=1, T=0, N=2)
    o, S = op(**x, cu_seqlens=torch.tensor([0, 0, 0]), output_final_state=True)
    assert_close(S, x["initial_state"])


# Dtypes and memory


@BOTH
@pytest.mark.parametrize("dtype", list(ROUNDING))
def test_dtypes(op, dtype):
    x = inputs(dtype=dtype)
    state_dtype = torch.float64 if dtype == torch.float64 else torch.float32
    x["initial_state"] = x["initial_state"].to(state_dtype)
    o, S = op(**x, output_final_state=True)
    o_loop, S_loop = oracle(**x)
    assert o.dtype == dtype and S.dtype == state_dtype
    assert_close(o.double(), o_loop, ROUNDING[dtype])
    assert_close(S, S_loop, ROUNDING[state_dtype])  # the state is not rounded to 16 bits


@BOTH
@pytest.mark.parametrize(
    "dtypes, o_dtype, S_dtype",
    [
        ({"q": torch.bfloat16, "k": torch.float16}, torch.float32, torch.float32),
        ({"v": torch.bfloat16}, torch.bfloat16, torch.float32),
        ({"v": torch.float16, "g": torch.float64, "beta": torch.bfloat16}, torch.float16, None),
        ({"initial_state": torch.bfloat16}, torch.float32, torch.float32),
        ({"k": torch.float64}, torch.float32, torch.float64),
        ({"q": torch.float64, "v": torch.bfloat16}, torch.bfloat16, torch.float64),
    ],
)
def test_mixed_dtypes(op, dtypes, o_dtype, S_dtype):
    x = inputs(dtype=torch.float32)
    x |= {name: x[name].to(dtype) for name, dtype in dtypes.items()}
    o, S = op(**x, output_final_state=True)
    S_dtype = S_dtype or torch.float32
    assert o.dtype == o_dtype and S.dtype == S_dtype
    o_loop, S_loop = oracle(**x)
    assert_close(o.double(), o_loop, ROUNDING[o_dtype])
    assert_close(S, S_loop, ROUNDING[S_dtype])


@BOTH
@pytest.mark.parametrize("biased", [True, False])
def test_half_inputs_are_activated_in_float32(op, biased):
    x = inputs(T=9, dtype=torch.bfloat16)
    x["initial_state"] = x["initial_state"].float()
    options = raw_gate(dtype=torch.bfloat16) | {
        "use_qk_l2norm_in_kernel": True,
        "use_beta_sigmoid_in_kernel": True,
    }
    bias = options["dt_bias"] if biased else torch.zeros(6)
    options["dt_bias"] = bias if biased else None
    _, S = op(**x, **options, output_final_state=True)
    expected = x | {
        "q": unit(x["q"]),
        "k": unit(x["k"]),
        "g": gate(x["g"], options["A_log"], bias),
        "beta": torch.sigmoid(x["beta"].double()),
    }
    assert_close(S, oracle(**expected)[1], ROUNDING[torch.float32])


@BOTH
def test_autocast_does_not_reach_inside(op):
    x = inputs(T=9, dtype=torch.float32)
    o, S = op(**x, output_final_state=True, use_qk_l2norm_in_kernel=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        o_cast, S_cast = op(**x, output_final_state=True, use_qk_l2norm_in_kernel=True)
    torch.testing.assert_close(o_cast, o, rtol=0, atol=0)
    torch.testing.assert_close(S_cast, S, rtol=0, atol=0)


@BOTH
def test_the_meta_device_gives_shapes(op):
    x = inputs(T=9)
    o, S = op(**x, output_final_state=True)
    on_meta = {name: a.to("meta") if isinstance(a, torch.Tensor) else a for name, a in x.items()}
    o_meta, S_meta = op(**on_meta, output_final_state=True)
    assert (o_meta.shape, o_meta.dtype, o_meta.is_meta) == (o.shape, o.dtype, True)
    assert (S_meta.shape, S_meta.dtype, S_meta.is_meta) == (S.shape, S.dtype, True)


@BOTH
def test_strides_do_not_matter_and_inputs_stay(op):
    x = inputs() | raw_gate()
    strided = {}
    for name, a in x.items():
        if isinstance(a, torch.Tensor):
            a = torch.stack([a, a.new_full(a.shape, torch.nan)], dim=-1).mT.contiguous().mT[..., 0]
            strided[name] = a.transpose(0, -1).contiguous().transpose(0, -1)
    assert not strided["q"].is_contiguous()
    before = {name: a.clone() for name, a in strided.items()}
    options = {"use_beta_sigmoid_in_kernel": True, "output_final_state": True}
    o, S = op(**x | strided, **options)
    o_plain, S_plain = op(**x, **options)
    assert_close(o, o_plain)
    assert_close(S, S_plain)
    assert o.is_contiguous() and S.is_contiguous()
    o.zero_(), S.zero_()
    for name, a in strided.items():
        torch.testing.assert_close(a, before[name], rtol=0, atol=0)


@BOTH
def test_only_the_shapes_of_meta_tensors(op):
    x = {name: a.to("meta").requires_grad_() for name, a in inputs(T=9).items()}
    o, S = op(**x, output_final_state=True, use_qk_l2norm_in_kernel=True)
    assert (o.device.type, o.shape, S.shape) == ("meta", (2, 9, 6, 4), (2, 6, 5, 4))
    (o.sum() + S.sum()).backward()
    assert all(a.grad.shape == a.shape for a in x.values())


@BOTH
def test_compiled_with_a_scale_that_is_a_symbol(op):
    torch.compiler.reset()

    @torch.compile(fullgraph=True, dynamic=True, backend="eager")
    def run(x):
        return op(**x, scale=2 * x["q"].shape[-1] ** -0.5)[0]

    x = inputs(B=1, T=2, H=1, HV=2, dtype=torch.float32)
    assert_close(run(x), oracle(**x, scale=2 * 5**-0.5)[0], ROUNDING[torch.float32])


@BOTH
def test_traced_with_sizes_that_are_symbols(op):
    x = inputs(T=5)
    names = list(x)

    def run(*tensors):
        return op(**dict(zip(names, tensors, strict=True)), output_final_state=True)

    graph = make_fx(run, tracing_mode="symbolic")(*x.values())
    other = inputs(B=3, T=5, seed=1)
    for found, expected in zip(graph(*other.values()), oracle(**other), strict=True):
        assert_close(found, expected)


def test_compiled_code_refuses_bad_offsets_too():
    torch.compiler.reset()
    run = torch.compile(chunk_gated_delta_rule, backend="eager")
    x = inputs(B=1, T=6, H=1, HV=1) | {"initial_state": None}
    o, _ = run(**x, cu_seqlens=torch.tensor([0, 2, 2, 6]))
    assert_close(o, oracle(**x, bounds=[(0, 2), (2, 6)])[0])
    for offsets in ([1, 2, 2, 6], [0, 2, 2, 5], [0, 5, 4, 6]):
        with pytest.raises(ValueError, match="^cu_seqlens: expected"):
            run(**x, cu_seqlens=torch.tensor(offsets))


# Gradients


def weighted_sum(outputs):
    """A scalar in which every entry of every output has its own weight."""
    return sum((x.double() * torch.sin(torch.arange(1.0, x.numel() + 1).reshape(x.shape))).sum()
               for x in outputs)  # fmt: skip


def gradients(function, tensors):
    leaves = {name: x.clone().requires_grad_() for name, x in tensors.items()}
    weighted_sum(function(**leaves)).backward()
    return {name: x.grad for name, x in leaves.items()}


@BOTH
@pytest.mark.parametrize("offsets", [None, [0, 4, 4, 5, 9]], ids=["padded", "packed"])
def test_gradients_equal_those_of_the_loop(op, offsets):
    x = inputs(B=2 if offsets is None else 1, T=9, N=None if offsets is None else 4)
    cu_seqlens = None if offsets is None else torch.tensor(offsets)
    bounds = None if offsets is None else list(zip(offsets, offsets[1:], strict=False))
    options = {"cu_seqlens": cu_seqlens, "output_final_state": True} | small_chunks(op)
    got = gradients(lambda **x: op(**x, **options), x)
    expected = gradients(lambda **x: oracle(**x, bounds=bounds), x)
    for name in x:
        assert_close(got[name], expected[name])


@BOTH
def test_gradients_through_the_activations(op):
    x = inputs(B=1, T=6, N=1)
    parameters = raw_gate()
    x |= {name: parameters[name] for name in ("A_log", "dt_bias")}
    switches = ("use_qk_l2norm_in_kernel", "use_gate_in_kernel", "use_beta_sigmoid_in_kernel")
    options = dict.fromkeys((*switches, "allow_neg_eigval", "output_final_state"), True)

    def loop(q, k, v, g, beta, initial_state, A_log, dt_bias):
        beta = 2 * torch.sigmoid(beta)
        return oracle(unit(q), unit(k), v, gate(g, A_log, dt_bias), beta, initial_state)

    got = gradients(lambda **x: op(**x, **options), x)
    expected = gradients(loop, x)
    for name in x:
        assert_close(got[name], expected[name])


@pytest.mark.parametrize("with_g", [True, False])
def test_gradcheck(with_g):
    x = inputs(B=1, T=5, H=1, HV=2, K=3, V=2)
    x["g"] = x["g"] if with_g else None
    leaves = [None if a is None else a.requires_grad_() for a in x.values()]

    def function(q, k, v, g, beta, S):
        return chunk_gated_delta_rule(
            q, k, v, g, beta, initial_state=S, output_final_state=True, chunk_size=3
        )

    assert torch.autograd.gradcheck(function, leaves)


@BOTH
def test_second_and_forward_derivatives(op):
    x = inputs(B=1, T=2, H=1, HV=1, K=2, V=1)
    x["initial_state"].mul_(0.3)

    def function(*leaves):
        return op(**dict(zip(x, leaves, strict=True)), output_final_state=True)

    leaves = [a.requires_grad_() for a in x.values()]
    assert torch.autograd.gradcheck(function, leaves, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(function, leaves)


@CHANNELS
@pytest.mark.parametrize("T", [1, 3])
@pytest.mark.parametrize("with_g", [True, False])
def test_gradcheck_with_decays_of_channels(names, T, with_g):
    x = channel_inputs(names, B=1, T=T, H=1, HV=2, K=3, V=2)
    x["g"] = x["g"] if with_g else None
    leaves = [None if a is None else a.requires_grad_() for a in x.values()]

    def function(*leaves):
        return recurrent(**dict(zip(x, leaves, strict=True)), output_final_state=True)

    assert torch.autograd.gradcheck(function, leaves, check_forward_ad=True)


def test_gradients_of_decays_of_channels_equal_those_of_the_loop():
    offsets = [0, 4, 4, 5, 9]
    x = channel_inputs(B=1, T=9, N=4)
    options = {"cu_seqlens": torch.tensor(offsets), "output_final_state": True}
    bounds = list(zip(offsets, offsets[1:], strict=False))
    got = gradients(lambda **x: recurrent(**x, **options), x)
    expected = gradients(lambda **x: oracle(**x, bounds=bounds), x)
    for name in x:
        assert_close(got[name], expected[name])


@BOTH
def test_gradients_of_each_entry_of_a_batch(op):
    x = inputs(T=5)

    def loss(*tensors):
        entry = {name: a[None] for name, a in zip(x, tensors, strict=True)}
        return weighted_sum(op(**entry, output_final_state=True))

    found = torch.func.vmap(torch.func.grad(loss, argnums=tuple(range(len(x)))))(*x.values())
    for b in range(2):
        alone = {name: a[b : b + 1] for name, a in x.items()}
        expected = gradients(lambda **x: oracle(**x), alone)
        for name, gradient in zip(x, found, strict=True):
            assert_close(gradient[b : b + 1], expected[name])


@BOTH
def test_batch_invariance_takes_one_sequence_at_a_time(op, monkeypatch):
    batches, forward = [], reference.forward
    noted = lambda q, *rest: batches.append(len(q)) or forward(q, *rest)
    monkeypatch.setattr(reference, "forward", noted)
    op(**inputs(B=3), batch_invariant=True)
    assert batches == [1, 1, 1]


@BOTH
@pytest.mark.parametrize("g", [-20.0, -1000.0, -torch.inf])
def test_strong_decay_is_finite_forward_and_backward(op, g):
    x = inputs(T=40, dtype=torch.float32)
    x["g"][:, ::2] = g
    o, S = op(**x, output_final_state=True)
    assert o.isfinite().all() and S.isfinite().all()
    for name, gradient in gradients(lambda **x: op(**x, output_final_state=True), x).items():
        assert gradient.isfinite().all(), name


class Work(TorchDispatchMode):
    """Counts what PyTorch is asked to do, and how many numbers that makes."""

    calls = numbers = 0

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        made = function(*arguments, **options or {})
        if isinstance(made, torch.Tensor):
            self.calls += 1
            self.numbers += made.numel()
        return made


@pytest.mark.parametrize("HV", [2, 6])
def test_a_decoding_step_is_few_operations(HV):
    """On a CPU each of them takes longer than its numbers do; they were 37 and 47."""
    x = inputs(T=1, HV=HV)
    with Work() as work:
        fused_recurrent_gated_delta_rule(**x, output_final_state=True)
    assert work.calls <= (21 if HV == 2 else 30)


@pytest.mark.parametrize("packed", [False, True])
@BOTH
def test_the_work_of_both_passes_is_linear_in_the_tokens(op, packed):
    """A gradient of each slice of the tokens would be as long as they are."""

    def work(T):
        x = {name: y.requires_grad_() for name, y in inputs(B=1, T=T, N=1).items()}
        if packed:
            x["cu_seqlens"] = torch.arange(0, T + 1, 16)
            x.pop("initial_state")
        o, _ = op(**x, **({"chunk_size": 16} if op is chunk_gated_delta_rule else {}))
        with Work() as work, torch.autograd.set_multithreading_enabled(False):
            o.sum().backward()
        return work.numbers

    assert work(256) < 2.1 * work(128)


# The Triton backend, as these functions call it (its kernels have their own tests)


@pytest.fixture
def interpreter():
    triton = pytest.importorskip("triton", reason="triton is not installed")
    if not triton.knobs.runtime.interpret:
        pytest.skip("TRITON_INTERPRET is not set")


@pytest.mark.interpreter
@pytest.mark.parametrize("v_first", [True, False])
@pytest.mark.parametrize("offsets", [None, [0, 3, 3, 20]], ids=["padded", "packed"])
@BOTH
def test_triton_equals_the_reference(interpreter, op, offsets, v_first):
    x = inputs(B=1, T=20, N=None if offsets is None else 3, dtype=torch.float32)
    options = raw_gate(dtype=torch.float32) | {
        "use_qk_l2norm_in_kernel": True,
        "use_beta_sigmoid_in_kernel": True,
        "output_final_state": True,
        "state_v_first": v_first,
        "cu_seqlens": None if offsets is None else torch.tensor(offsets),
    }
    if v_first:
        x["initial_state"] = x["initial_state"].mT.contiguous()
    options |= {"chunk_size": 16} if op is chunk_gated_delta_rule else {}
    o, S = op(**x, **options, backend="triton")
    o_reference, S_reference = op(**x, **options, backend="reference")
    assert_close(o, o_reference, ROUNDING[torch.float32])
    assert_close(S, S_reference, ROUNDING[torch.float32])


@pytest.mark.interpreter
@pytest.mark.parametrize("halved", ["v", "q", "k", "g", "beta", "initial_state"])
def test_triton_promotes_mixed_dtypes(interpreter, halved):
    x = inputs(B=1, T=5, dtype=torch.float32)
    x[halved] = x[halved].half()
    o, S = chunk_gated_delta_rule(**x, output_final_state=True, backend="triton")
    assert o.dtype == x["v"].dtype and S.dtype == torch.float32
    o_loop, S_loop = oracle(**x)
    assert_close(o, o_loop, ROUNDING[o.dtype])
    assert_close(S, S_loop, ROUNDING[torch.float32])  # q and k were not rounded to v's 16 bits


@pytest.mark.interpreter
@pytest.mark.parametrize("asked", [("q",), ("v", "initial_state"), ("k", "g", "beta")])
def test_triton_gradients_equal_the_reference(interpreter, asked):
    x = inputs(B=1, T=20, dtype=torch.float32)

    def run(backend):
        def function(**leaves):
            return chunk_gated_delta_rule(
                **x | leaves, output_final_state=True, chunk_size=16, backend=backend
            )

        return gradients(function, {name: x[name] for name in asked})

    expected = run("reference")
    for name, gradient in run("triton").items():
        assert_close(gradient, expected[name], ROUNDING[torch.float32])


@pytest.mark.interpreter
def test_triton_without_tokens(interpreter):
    x = inputs(B=1, T=0, dtype=torch.float32)
    x["q"].requires_grad_()
    o, S = chunk_gated_delta_rule(**x, output_final_state=True, backend="triton")
    assert o.shape == (1, 0, 6, 4)
    assert_close(S.detach(), x["initial_state"])
    o.sum().backward()  # no output depends on q


@pytest.mark.gpu
@BOTH
def test_auto_on_a_gpu_is_triton(op, monkeypatch):
    from gdn_ref.kernels import rule

    calls = []
    rule_for = rule.rule_for
    monkeypatch.setattr(rule, "rule_for", lambda *a: calls.append(a) or rule_for(*a))
    monkeypatch.setattr(prepared, "_remembered", {})
    x = {name: a.cuda() for name, a in inputs(T=70, dtype=torch.float32).items()}
    o, S = op(**x, output_final_state=True)
    assert len(calls) == 1
    o_loop, S_loop = oracle(**{name: a.cpu() for name, a in x.items()})
    assert_close(o.cpu(), o_loop, 1e-5)
    assert_close(S.cpu(), S_loop, 1e-5)
    x["q"] = x["q"].double()
    assert op(**x, output_final_state=True)[1].dtype == torch.float64  # by the reference
    assert len(calls) == 1


@pytest.mark.gpu
def test_offsets_on_a_gpu_are_read_once():
    x = {name: a.cuda() for name, a in inputs(B=1, N=2, dtype=torch.float32).items()}
    cu_seqlens = torch.tensor([0, 9, 21], device="cuda")
    expected, _ = chunk_gated_delta_rule(**x, cu_seqlens=cu_seqlens)
    torch.cuda.set_sync_debug_mode("error")
    try:
        o, _ = chunk_gated_delta_rule(**x, cu_seqlens=cu_seqlens)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    torch.testing.assert_close(o, expected, rtol=0, atol=0)

    graph = torch.cuda.CUDAGraph()
    fresh = cu_seqlens.clone()  # never read: nothing may wait during the capture
    with torch.cuda.graph(graph):
        o, _ = chunk_gated_delta_rule(**x, cu_seqlens=fresh)
    graph.replay()
    torch.testing.assert_close(o, expected, rtol=0, atol=0)


SWITCHES = """
import torch
from gdn_ref import chunk_gated_delta_rule, prepared
{switch}
x = torch.ones(1, 3, 1, 4)
for backend in {backends}:
    o, _ = chunk_gated_delta_rule(x, x, x, -x[..., 0], x[..., 0], backend=backend)
    assert o.isfinite().all()
print(len(prepared._remembered))
"""


@pytest.mark.parametrize(
    "switch",
    [
        'torch.backends.cuda.matmul.fp32_precision = "tf32"',
        'torch.backends.fp32_precision = "tf32"',
        'torch.backends.cudnn.fp32_precision = "tf32"',
        'torch.set_float32_matmul_precision("high")',
    ],
)
def test_every_switch_of_pytorch_for_float32_products_may_be_set(switch):
    """With the new ones PyTorch raises at the older question. In a process of its own: it stays."""
    backends = ["reference", "triton"] if importlib.util.find_spec("triton") else ["reference"]
    script = SWITCHES.format(switch=switch, backends=backends)
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True,
        env={**os.environ, "TRITON_INTERPRET": "1"},
    )  # fmt: skip
    assert done.stdout.strip() == str(len(backends)), done.stderr
