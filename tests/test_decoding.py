"""Decoding over a pool of states: the contract, and the reference against the token recurrence.

Pools are poisoned: every slot that no sequence has is NaN, and must stay so to the bit.
"""

import math

import pytest
import signatures
import torch
from tolerances import FORMS, assert_close
from torch._subclasses.fake_tensor import FakeTensorMode

from gdn_ref import (
    chunk_gated_delta_rule,
    decode,
    decoding,
    fused_recurrent_gated_delta_rule,
    gated_delta_rule,
    prepared,
)
from gdn_ref.figures.ch17_drift import state_drift
from gdn_ref.proofs.data import hard_inputs

SLOTS = [5, 0, 3, 6]  # of sequences of 1, 3, 0 and 4 tokens
LENGTHS = [1, 3, 0, 4]


def arguments(lengths=None, N=4, T=1, H=2, HV=4, K=12, V=7, dtype=torch.float64, seed=0):
    """Hard inputs for `decode`, packed by `lengths` or [N, T], with a poisoned pool of 7 slots."""
    batch, T = (1, sum(lengths)) if lengths else (N, T)
    q, k, v, g, beta, _ = (
        torch.from_numpy(x).to(dtype)
        for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(batch, HV), seed=seed)
    )
    q, k, v, g, beta = (x.transpose(1, 2).contiguous() for x in (q, k, v, g, beta))
    N = len(lengths) if lengths else N
    states = torch.randn(N, HV, K, V, generator=torch.Generator().manual_seed(seed)).to(dtype)
    pool = torch.full((7, HV, K, V), math.nan, dtype=dtype)
    pool[SLOTS[:N]] = states
    x = {"q": q[:, :, :H], "k": k[:, :, :H], "v": v, "g": g, "beta": beta}
    x |= {"pool": pool, "slot_idx": torch.tensor(SLOTS[:N])}
    if lengths:
        x["cu_seqlens"] = torch.tensor([0, *lengths]).cumsum(0)
    return x


def by_rule(q, k, v, g, beta, pool, slot_idx, cu_seqlens=None, scale=None):
    """Outputs, and what the pool should hold, by `gated_delta_rule.recurrent` on each head."""
    B, T, H, K = q.shape
    HV = v.shape[2]
    scale = K**-0.5 if scale is None else scale
    g = torch.zeros_like(beta) if g is None else g
    ends = torch.arange(B + 1) * T if cu_seqlens is None else cu_seqlens
    q, k, v, g, beta = (x.flatten(0, 1) for x in (q, k, v, g, beta))
    o, pool = torch.full_like(v, math.nan), pool.clone()
    for n, slot in enumerate(slot_idx.tolist()):
        rows = slice(ends[n], ends[n + 1])
        for hv in range(HV):
            h = hv * H // HV
            o[rows, hv], S = gated_delta_rule.recurrent(
                scale * q[rows, h], k[rows, h], v[rows, hv], g[rows, hv], beta[rows, hv],
                pool[slot, hv].mT,
            )  # fmt: skip
            pool[slot, hv] = S.mT
    return o.reshape(B, T, *o.shape[1:]), pool


def bits(x):
    """The bytes of a tensor, so that NaN equals NaN."""
    return x.detach().contiguous().view(torch.uint8)


def check(x, options=(), tolerance=FORMS, expected=None):
    """`decode` against the rule: outputs, addressed slots, and every bit of the others."""
    options = dict(options)
    right_o, right = by_rule(**(expected or x))
    pool = x["pool"].clone()
    o = decode(**{**x, "pool": pool}, **options)
    assert o.shape == x["v"].shape and o.dtype == x["v"].dtype
    used = x["slot_idx"]
    assert_close(o, right_o, tolerance)
    assert_close(pool[used], right[used], tolerance)
    others = [slot for slot in range(len(pool)) if slot not in used.tolist()]
    assert torch.equal(bits(pool[others]), bits(x["pool"][others]))


# The contract


def test_the_signature():
    assert signatures.plain(decode) == (
        "(q, k, v, g, beta, pool, slot_idx, *, cu_seqlens=None, scale=None, "
        "use_qk_l2norm_in_kernel=False, state_v_first=False, use_gate_in_kernel=False, "
        "A_log=None, dt_bias=None, use_beta_sigmoid_in_kernel=False, allow_neg_eigval=False, "
        "backend='auto')"
    )


def test_an_unknown_keyword_is_a_type_error():
    with pytest.raises(TypeError, match="initial_state"):
        decode(**arguments(), initial_state=None)


def vector(*entries, dtype=torch.int64):
    return torch.tensor(entries, dtype=dtype)


REFUSED = {  # what is wrong: the arguments that differ, the error, its message
    "a slot twice": (
        {"slot_idx": vector(5, 0, 5, 6)},
        ValueError,
        "^slot_idx: expected no slot twice, got 5 more than once$",
    ),
    "a slot beyond": (
        {"slot_idx": vector(5, 0, 7, 6)},
        ValueError,
        "^slot_idx: expected slots from 0 to 6, got 7$",
    ),
    "a negative slot": (
        {"slot_idx": vector(5, 0, -1, 6)},
        ValueError,
        "^slot_idx: expected slots from 0 to 6, got -1$",
    ),
    "too few slots": (
        {"slot_idx": vector(5, 0)},
        ValueError,
        r"^slot_idx: expected shape \[N\] = \[4\], got \[2\]",
    ),
    "slots as a matrix": (
        {"slot_idx": vector(5, 0, 3, 6)[None]},
        ValueError,
        r"^slot_idx: expected shape \[N\] = \[4\], got \[1, 4\]",
    ),
    "slots as floats": (
        {"slot_idx": torch.ones(4)},
        ValueError,
        "^slot_idx: expected int32 or int64, got torch.float32$",
    ),
    "slots elsewhere": (
        {"slot_idx": vector(5, 0, 3, 6).to("meta")},
        ValueError,
        "^slot_idx: expected device cpu like pool, got meta$",
    ),
    "slots as a list": (
        {"slot_idx": [5, 0, 3, 6]},
        TypeError,
        r"^slot_idx: expected a torch.Tensor \[N\], got list$",
    ),
    "no slots, a small pool": (
        {"slot_idx": None, "pool": torch.zeros(3, 4, 12, 7)},
        ValueError,
        "^pool: expected a slot for each of 4 sequences, got 3$",
    ),
    "the pool's heads": (
        {"pool": torch.zeros(7, 2, 12, 7)},
        ValueError,
        r"^pool: expected shape \[slots, HV, K, V\] = \[7, 4, 12, 7\], got \[7, 2, 12, 7\]",
    ),
    "the pool's layout": (
        {"state_v_first": True},
        ValueError,
        r"^pool: expected shape \[slots, HV, V, K\] = \[7, 4, 7, 12\], got \[7, 4, 12, 7\]",
    ),
    "an integer pool": (
        {"pool": torch.zeros(7, 4, 12, 7, dtype=torch.int8)},
        ValueError,
        "^pool: expected a dtype among .* got torch.int8$",
    ),
    "no pool": ({"pool": None}, TypeError, r"^pool: expected a torch.Tensor .* got NoneType$"),
    "slots in pieces": (
        {"pool": torch.zeros(7, 12, 4, 7).transpose(1, 2)},
        ValueError,
        r"^pool: expected slots apart, each in one piece, strides \[>= 336, 84, 7, 1\], "
        r"got \[336, 7, 28, 1\]$",
    ),
    "one slot many times": (
        {"pool": torch.zeros(1, 4, 12, 7).expand(7, 4, 12, 7)},
        ValueError,
        r"^pool: expected slots apart, .* got \[0, 84, 7, 1\]$",
    ),
    "slots that overlap": (
        {"pool": torch.zeros(840).as_strided((7, 4, 12, 7), (84, 84, 7, 1))},
        ValueError,
        r"^pool: expected slots apart, .* got \[84, 84, 7, 1\]$",
    ),
    "a query's shape": (
        {"q": torch.zeros(4, 1, 2, 11)},
        ValueError,
        r"^k: expected shape \[B, T, H, K\] = \[4, 1, 2, 11\], got \[4, 1, 2, 12\]",
    ),
    "a number as a flag": (
        {"use_qk_l2norm_in_kernel": 1},
        TypeError,
        "^use_qk_l2norm_in_kernel: expected True or False, got int$",
    ),
    "a gate without its switch": (
        {"A_log": torch.zeros(4)},
        ValueError,
        "^A_log: expected None unless use_gate_in_kernel=True$",
    ),
    "a gate without parameters": (
        {"use_gate_in_kernel": True},
        ValueError,
        "^A_log: expected a tensor with use_gate_in_kernel=True, got None$",
    ),
    "twice no sigmoid": (
        {"allow_neg_eigval": True},
        ValueError,
        "^allow_neg_eigval: expected use_beta_sigmoid_in_kernel=True",
    ),
    "offsets for a batch": (
        {"cu_seqlens": vector(0, 1)},
        ValueError,
        r"^cu_seqlens: expected B = 1",
    ),
    "an endless scale": ({"scale": math.inf}, ValueError, "^scale: expected a finite number"),
    "another backend": ({"backend": "cuda"}, ValueError, "^backend: expected one of"),
    "a gradient": (
        {"v": torch.zeros(4, 1, 4, 7, requires_grad=True)},
        ValueError,
        "^decode: expected no gradient to be asked for",
    ),
    "a gradient of the pool": (
        {"pool": torch.zeros(7, 4, 12, 7, requires_grad=True)},
        ValueError,
        "^decode: expected no gradient to be asked for",
    ),
    "a gradient of the gate": (
        {
            "use_gate_in_kernel": True,
            "A_log": torch.zeros(4),
            "dt_bias": torch.zeros(4, requires_grad=True),
        },
        ValueError,
        "^decode: expected no gradient to be asked for",
    ),
}


@pytest.mark.parametrize("wrong, error, message", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("after_a_good_call", [False, True])
def test_refused_before_anything_is_written(wrong, error, message, after_a_good_call):
    x = arguments()
    if after_a_good_call:
        decode(**x)
    x["pool"] = wrong.get("pool", x["pool"])
    kept = None if x["pool"] is None else x["pool"].clone()
    with pytest.raises(error, match=message):
        decode(**{**x, **wrong})
    assert kept is None or torch.equal(bits(x["pool"]), bits(kept))


def test_slots_that_hold_no_numbers():
    x = {name: a.to("meta") for name, a in arguments().items()}
    message = "^slot_idx: expected numbers to read, got a tensor on the meta device$"
    with pytest.raises(ValueError, match=message):
        decode(**x)
    assert decode(**x | {"slot_idx": None}).shape == (4, 1, 4, 7)


def test_values_are_read_again_when_they_change():
    x = arguments([2, 2])
    decode(**x)
    x["cu_seqlens"][1] = 9
    with pytest.raises(ValueError, match="^cu_seqlens: expected offsets that never fall"):
        decode(**x)
    x["cu_seqlens"][1] = 2
    x["slot_idx"][0] = 0
    with pytest.raises(ValueError, match="^slot_idx: expected no slot twice, got 0"):
        decode(**x)


def test_a_gradient_may_be_possible_where_none_is_asked_for():
    x = arguments()
    decode(**x)
    x["v"].requires_grad_()
    with pytest.raises(ValueError, match="no gradient"):
        decode(**x)
    with torch.no_grad():
        assert not decode(**x).requires_grad
    with pytest.raises(ValueError, match="no gradient"):
        decode(**x)


@pytest.mark.interpreter
@pytest.mark.parametrize("backend", ["reference", "triton"])
def test_autograd_knows_that_the_pool_has_changed(backend):
    if backend == "triton":
        pytest.importorskip("triton")
    x = arguments(dtype=torch.float32)
    factor = torch.ones(1, requires_grad=True)
    later = (factor * x["pool"]).nansum()
    decode(**x, backend=backend)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        later.backward()


def test_a_new_length_is_no_new_call_for_tensors_cut_from_larger_ones(monkeypatch):
    """The first tokens of a buffer, and one token each of sequences whose rows are wide."""
    monkeypatch.setattr(prepared, "_remembered", {})
    buffers = (torch.randn(4, 50, 2, 8) for _ in range(3))
    q, k, v = (x.mT.contiguous().mT for x in buffers)
    g, beta = -torch.rand(4, 50, 2), torch.rand(4, 50, 2)
    for T in (20, 21, 33):
        chunk_gated_delta_rule(*(x[:, :T] for x in (q, k, v, g, beta)))
    assert len(prepared._remembered) == 1
    for B in (2, 3, 4):
        chunk_gated_delta_rule(*(x[:B, :1] for x in (q, k, v, g, beta)))
    assert len(prepared._remembered) == 2


def test_what_is_remembered_stays_small(monkeypatch):
    monkeypatch.setattr(prepared, "MOST_REMEMBERED", 3)
    monkeypatch.setattr(prepared, "_remembered", {})
    for V in range(1, 9):
        check(arguments(V=V))
        assert min(V, 3) <= len(prepared._remembered) <= 3  # the oldest goes, and no other


@pytest.mark.parametrize("dynamic", [False, True])
def test_one_graph_decodes_in_place(dynamic):
    x = arguments(T=2, dtype=torch.float32)
    expected = x | {"pool": x["pool"].clone()}
    right = decode(**expected)
    torch.compiler.reset()
    options = {"fullgraph": True, "backend": "aot_eager", "dynamic": dynamic}
    found = torch.compile(lambda x: decode(**x), **options)(x)
    assert torch.equal(found, right)
    assert torch.equal(bits(x["pool"]), bits(expected["pool"]))


@pytest.mark.parametrize("name", ["q", "k", "v", "pool"])
def test_float64_on_a_gpu_goes_to_the_reference(name):
    """Whichever tensor has it; on a GPU that is not there, where Triton would refuse."""
    with FakeTensorMode():
        x = {a: torch.zeros(4, 1, 2, 8, device="cuda") for a in ("q", "k", "v")}
        x |= {a: torch.zeros(4, 1, 2, device="cuda") for a in ("g", "beta")}
        x |= {"A_log": None, "dt_bias": None, "pool": torch.zeros(4, 2, 8, 8, device="cuda")}
        x[name] = x[name].double()
        options = (None, False, False, False, False, False)
        run = decoding.runner(*x.values(), None, None, *options, "auto")
        assert run.func is decoding.decode_reference
        with pytest.raises(ValueError, match="expected float16, bfloat16 or float32, got float64"):
            decoding.runner(*x.values(), None, None, *options, "triton")


# Values


@pytest.mark.parametrize("lengths", [None, LENGTHS, [0, 0, 2], [1, 1, 1, 1]])
@pytest.mark.parametrize("H, HV", [(1, 1), (2, 2), (2, 6)])
def test_equals_the_rule(lengths, H, HV):
    check(arguments(lengths, H=H, HV=HV))


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("T", [1, 2, 4])
def test_several_tokens_a_sequence(T, dtype):
    x = arguments(T=T)
    x["slot_idx"] = x["slot_idx"].to(dtype)
    check(x, {"scale": 0.3}, expected={**x, "scale": 0.3})


def test_a_sequence_without_tokens_keeps_its_slot_to_the_bit():
    x = arguments(LENGTHS, dtype=torch.float32)
    x["pool"] = x["pool"].bfloat16()
    x["pool"][SLOTS[2]] = torch.tensor(0x7FC1, dtype=torch.int16).view(torch.bfloat16)  # a NaN
    pool = x["pool"].clone()
    decode(**{**x, "pool": pool})
    assert torch.equal(bits(pool[SLOTS[2]]), bits(x["pool"][SLOTS[2]]))
    assert not torch.equal(bits(pool[SLOTS[0]]), bits(x["pool"][SLOTS[0]]))


@pytest.mark.parametrize("shape", [(0, 1), (4, 0)])
def test_nothing_to_do(shape):
    x = {name: a[: shape[0], : shape[1]] for name, a in arguments().items() if name in "qkvgbeta"}
    odd = torch.tensor(0x7FC1, dtype=torch.int16).view(torch.bfloat16)  # a NaN
    x |= {"pool": odd.expand(7, 4, 12, 7).clone(), "slot_idx": vector(*SLOTS[: shape[0]])}
    kept = x["pool"].clone()
    assert decode(**x).shape == (*shape, 4, 7)
    assert torch.equal(bits(x["pool"]), bits(kept))


def test_sequence_n_has_slot_n_by_default():
    x = arguments() | {"slot_idx": torch.arange(4)}
    x["pool"] = torch.randn(7, 4, 12, 7, dtype=torch.float64)
    right_o, right = by_rule(**x)
    assert_close(decode(**{**x, "slot_idx": None}), right_o)
    assert_close(x["pool"], right)


def test_no_decay_is_the_delta_rule():
    check(arguments(LENGTHS) | {"g": None})


def test_a_reset_forgets_what_was_finite():
    x = arguments(T=2)
    x["g"][:, 1] = -math.inf
    check(x)
    fresh = {name: a[:, 1:] for name, a in x.items() if name not in ("pool", "slot_idx")}
    empty = torch.zeros(4, 4, 12, 7, dtype=torch.float64)
    o = decode(**x)
    assert_close(o[:, 1:], decode(**fresh, pool=empty, slot_idx=None))
    assert_close(x["pool"][SLOTS], empty)


@pytest.mark.parametrize("reach", [0, 1, 2])
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("norm", [True, False])
def test_activations_inside(norm, bias, reach):
    """`reach`: the write strength's upper end, or 0 for a ready-made one."""
    x = arguments(LENGTHS)
    x |= {"q": 3 * x["q"], "k": (1 if norm else 0.5) * x["k"], "g": 20 * x["g"] + 1}
    A_log, dt_bias = torch.randn(2, 4, generator=torch.Generator().manual_seed(1)).double()
    options = {"use_gate_in_kernel": True, "A_log": A_log, "use_qk_l2norm_in_kernel": norm}
    options |= {"dt_bias": dt_bias} if bias else {}
    expected = dict(x)
    expected["g"] = -A_log.exp() * (1 + (x["g"] + (dt_bias if bias else 0)).exp()).log()
    if norm:
        for name in "qk":
            expected[name] = x[name] / (x[name].square().sum(-1, keepdim=True) + 1e-6).sqrt()
    if reach:
        options |= {"use_beta_sigmoid_in_kernel": True, "allow_neg_eigval": reach == 2}
        x["beta"] = 3 * x["beta"] - 3
        expected["beta"] = reach / (1 + (-x["beta"]).exp())
    check(x, options, expected=expected)


def test_states_with_the_values_first():
    x = arguments(LENGTHS)
    right_o, right = by_rule(**x)
    x["pool"] = x["pool"].mT.contiguous()
    assert_close(decode(**x, state_v_first=True), right_o)
    assert_close(x["pool"][SLOTS], right[SLOTS].mT)


def test_a_pool_that_is_part_of_a_larger_one():
    x = arguments(LENGTHS)
    right_o, right = by_rule(**x)
    layers = torch.full((7, 3, 4, 12, 7), math.nan, dtype=torch.float64)
    layers[:, 1] = x["pool"]
    assert_close(decode(**{**x, "pool": layers[:, 1]}), right_o)
    assert_close(layers[SLOTS, 1], right[SLOTS])
    assert layers[:, [0, 2]].isnan().all()


ROUNDING = {torch.float32: 1e-6, torch.float16: 1e-3, torch.bfloat16: 6e-3}


@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("kept_in", ROUNDING)
def test_the_pool_has_a_dtype_of_its_own(dtype, kept_in):
    """Arithmetic is float32; the state is rounded to the pool's dtype, the output to v's."""
    x = arguments(LENGTHS)
    vectors = {name: x[name].to(dtype) for name in "qkv"}
    x |= vectors | {"pool": x["pool"].to(kept_in), "g": x["g"].float(), "beta": x["beta"].float()}
    exact = {n: a.double() if a.is_floating_point() else a for n, a in x.items()}
    right_o, right = by_rule(**exact)
    o = decode(**x)
    assert o.dtype == dtype and x["pool"].dtype == kept_in
    assert_close(o.double(), right_o, ROUNDING[dtype])
    assert_close(x["pool"][SLOTS].double(), right[SLOTS], ROUNDING[kept_in])


# Sequences that go on


def test_prefill_then_token_by_token_is_the_full_pass():
    N, T, prompt, H, HV, K, V = 3, 90, 70, 2, 4, 12, 7
    q, k, v, g, beta, S = (
        torch.from_numpy(x) for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(N, HV))
    )
    q, k, v, g, beta = (x.transpose(1, 2) for x in (q[:, :H], k[:, :H], v, g, beta))
    x = {"q": q, "k": k, "v": v, "g": g, "beta": beta}
    whole, last = chunk_gated_delta_rule(**x, initial_state=S.mT, output_final_state=True)
    slots = torch.tensor([4, 0, 2])
    pool = torch.full((5, HV, K, V), math.nan, dtype=torch.float64)
    first = {name: a[:, :prompt] for name, a in x.items()}
    o, pool[slots] = chunk_gated_delta_rule(**first, initial_state=S.mT, output_final_state=True)
    outputs = [o]
    for t in range(prompt, T):
        now = {name: a[:, t : t + 1] for name, a in x.items()}
        outputs.append(decode(**now, pool=pool, slot_idx=slots))
    assert_close(torch.cat(outputs, dim=1), whole)
    assert_close(pool[slots], last)
    assert pool[[1, 3]].isnan().all()


def test_decode_is_fused_recurrent_on_a_pool():
    x = arguments(T=3)
    states = x["pool"][x["slot_idx"]]
    tokens = {name: x[name] for name in ("q", "k", "v", "g", "beta")}
    o, last = fused_recurrent_gated_delta_rule(
        **tokens, initial_state=states, output_final_state=True
    )
    assert torch.equal(decode(**x), o)
    assert torch.equal(x["pool"][x["slot_idx"]], last)


def test_a_pool_of_16_bits_drifts():
    """4,096 tokens, decay .999, write strength .02: the errors of a rounding a token add up."""
    tokens = {"tokens": 4096, "d": 32, "heads": 2}
    drift = {dtype: state_drift(dtype, **tokens)[-1] for dtype in ROUNDING}
    assert drift[torch.float32] < 2e-6
    assert 2e-3 < drift[torch.float16] < 8e-3
    assert 2e-2 < drift[torch.bfloat16] < 6e-2
    rarely = state_drift(torch.bfloat16, tokens_a_call=64, **tokens)[-1]
    assert 2e-3 < rarely < 8e-3


def test_a_pool_made_under_inference_mode_is_written_to_under_it_alone():
    inputs = (torch.tensor(y).float().unsqueeze(2) for y in hard_inputs(1, 8, 8, (1,))[:5])
    x = dict(zip(("q", "k", "v", "g", "beta"), inputs, strict=True))
    with torch.inference_mode():
        pool = torch.ones(1, 1, 8, 8)
        expected = decode(**x, pool=pool.clone(), slot_idx=None)
        assert torch.equal(decode(**x, pool=pool, slot_idx=None), expected)
    before = pool.clone()
    with pytest.raises(ValueError, match="pool: expected .* under torch.inference_mode"):
        decode(**x, pool=pool, slot_idx=None)
    assert torch.equal(pool, before)
