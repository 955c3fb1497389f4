"""The Triton backend behind the public contract, in the interpreter, against the reference."""

import math

import pytest
import torch
from tolerances import KERNEL_FLOAT16, KERNEL_FLOAT32, assert_close

from gdn_ref import chunk_gated_delta_rule, fused_recurrent_gated_delta_rule
from gdn_ref.proofs.data import hard_inputs

pytest.importorskip("triton")
pytestmark = [pytest.mark.interpreter, pytest.mark.usefixtures("unwritten_memory_is_nan", "fenced")]


def arguments(B=2, T=50, H=2, HV=4, K=12, V=7, N=None, seed=0):
    """Hard float64 inputs in the layout of `ops`, as a dictionary."""
    q, k, v, g, beta, S = (
        torch.from_numpy(x)
        for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(max(B, N or B), HV), seed=seed)
    )
    tokens_first = (x[:B].transpose(1, 2) for x in (q[:, :H], k[:, :H], v, g, beta))
    q, k, v, g, beta = tokens_first
    return {"q": q, "k": k, "v": v, "g": g, "beta": beta, "initial_state": S[: N or B].mT}


def compare(tolerance=KERNEL_FLOAT32, dtype=torch.float32, options=(), **inputs):
    """Triton in `dtype` against the reference in float64 on the same numbers."""
    given = {name: x.to(dtype) for name, x in inputs.items() if x is not None}
    exact = {name: x.double() for name, x in given.items()}
    for name in ("g", "beta", "initial_state"):
        if name in given:
            given[name] = given[name].float()
    missing = {name: None for name, x in inputs.items() if x is None}
    options = {"output_final_state": True, **dict(options)}
    o, S = chunk_gated_delta_rule(**given, **missing, **options, backend="triton")
    exact_o, exact_S = chunk_gated_delta_rule(**exact, **missing, **options, backend="reference")
    assert o.dtype == dtype
    assert_close(o, exact_o, tolerance)
    assert_close(S, exact_S, tolerance)


@pytest.mark.parametrize("chunk_size", [16, 32, 64])
@pytest.mark.parametrize("T", [1, 15, 16, 17, 64, 100])
def test_any_length_and_chunk_size(T, chunk_size):
    compare(**arguments(T=T), options={"chunk_size": chunk_size})


@pytest.mark.parametrize("K, V", [(2, 1), (16, 16), (60, 100), (100, 60), (128, 40), (256, 18)])
def test_any_head_dimension(K, V):
    compare(**arguments(B=1, T=40, H=1, HV=2, K=K, V=V), options={"chunk_size": 32})


@pytest.mark.parametrize("H, HV", [(1, 1), (1, 3), (3, 3), (2, 8)])
def test_grouped_value_heads(H, HV):
    compare(**arguments(B=1, H=H, HV=HV), options={"chunk_size": 16})


def test_float16():
    compare(KERNEL_FLOAT16, torch.float16, **arguments())


@pytest.mark.parametrize(
    "lengths", [[50], [20, 30], [0, 7, 0, 0, 33, 10, 0], [1] * 20, [16, 32, 2]]
)
def test_packed_sequences(lengths):
    cu_seqlens = torch.tensor([0, *lengths]).cumsum(0)
    inputs = arguments(B=1, T=sum(lengths), N=len(lengths))
    compare(**inputs, options={"cu_seqlens": cu_seqlens, "chunk_size": 16})


@pytest.mark.parametrize("lengths", [None, [0, 1, 47, 0, 16, 37, 33]])
def test_shares_of_a_sequence_are_the_sequence(monkeypatch, lengths):
    """Programs that share sequences find what one finds, to the bit, and all of it."""
    packed = lengths is not None
    sizes = {"H": 1, "HV": 2, "T": 134}
    inputs = arguments(B=1 if packed else 2, N=len(lengths) if packed else None, **sizes)
    inputs = {name: x.float() for name, x in inputs.items()}
    cu_seqlens = torch.tensor([0, *lengths]).cumsum(0) if packed else None
    options = {"cu_seqlens": cu_seqlens, "chunk_size": 16, "output_final_state": True}
    whole = chunk_gated_delta_rule(**inputs, **options, backend="triton")
    for shares in (2, 3, 4):
        monkeypatch.setattr("gdn_ref.prepared._remembered", {})
        monkeypatch.setattr("gdn_ref.kernels.forward.launches.shares", lambda *_, n=shares: n)
        found = chunk_gated_delta_rule(**inputs, **options, backend="triton")
        for x, one in zip(found, whole, strict=True):
            assert torch.equal(x, one)


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("op", [chunk_gated_delta_rule, fused_recurrent_gated_delta_rule])
def test_a_call_is_not_taken_for_one_whose_tensors_lie_otherwise(monkeypatch, op, norm):
    """One after the other: in one piece, and cut from rows of three widths, in two orders."""
    monkeypatch.setattr("gdn_ref.prepared._remembered", {})
    x = {name: a.float().contiguous() for name, a in arguments(T=5).items()}
    options = {"use_qk_l2norm_in_kernel": norm}
    expected, _ = op(**x, **options, backend="reference")
    sizes, names = [x[name][0, 0].numel() for name in ("q", "k", "v")], ("q", "k", "v")
    for wider in (None, 0, 5, 16):
        for order in (names, names[::-1]) if wider is not None else (names,):
            given = dict(x)
            row = torch.cat([x[name].flatten(2) for name in order], dim=-1)
            if wider is not None:
                row = torch.nn.functional.pad(row, (wider, wider), value=math.nan)
                begin = wider
                for name in order:
                    size = sizes[names.index(name)]
                    part = row[..., begin : begin + size]
                    given[name], begin = part.unflatten(-1, x[name].shape[2:]), begin + size
                    assert not given[name].is_contiguous()
            assert_close(op(**given, **options, backend="triton")[0], expected, KERNEL_FLOAT32)


def test_few_heads_share_their_sequences():
    """As many programs as the device has room for, four at most, and no more than chunks."""
    from gdn_ref.kernels.forward import shares

    programs = {1: 4, 33: 4, 34: 3, 44: 3, 45: 2, 66: 2, 67: 1, 132: 1, 1000: 1}
    assert {n: shares.shares(100, n, 132) for n in programs} == programs
    assert [shares.shares(chunks, 1, 132) for chunks in range(6)] == [1, 1, 2, 3, 4, 4]


@pytest.mark.parametrize(
    "tokens, programs, K, expected",
    [
        (64, 8, 128, (1, None)),
        (2048, 16, 128, (4, None)),
        (8192, 16, 128, (1, 16 * 64)),
        (32768, 16, 128, (1, 64 * 64)),
        (32768, 16, 256, (4, None)),  # maps of such heads do not fit
        (32768, 64, 128, (2, None)),
        (32768, 96, 128, (1, None)),
    ],
)
def test_the_rule_for_few_heads_on_hopper(tokens, programs, K, expected):
    from gdn_ref.kernels.forward.hopper.launches import cut

    assert cut(tokens, programs, K, 132) == expected


@pytest.mark.parametrize("gradient", [False, True])
def test_a_head_of_a_packed_sequence_does_not_see_its_neighbours(gradient):
    """They are NaN, which no product with a zero hides."""
    inputs = {name: x.float() for name, x in arguments(B=1, T=60, V=19, N=3).items()}
    options = {"cu_seqlens": torch.tensor([0, 9, 44, 60], dtype=torch.int32), "chunk_size": 16}
    options |= {"output_final_state": True, "backend": "triton"}

    def own(name, x):
        """The share of the second sequence and the second key head."""
        return x[1, 2:] if name == "initial_state" else x[:, 9:44, x.shape[2] // 2 :]

    found = []
    for fill in (torch.clone, lambda x: torch.full_like(x, math.nan)):
        given = {name: fill(x) for name, x in inputs.items()}
        for name, x in given.items():
            own(name, x).copy_(own(name, inputs[name]))
            x.requires_grad_(gradient)
        o, S = chunk_gated_delta_rule(**given, **options)
        found.append((o[:, 9:44, 2:], S[1, 2:]))
    for before, after in zip(*found, strict=True):
        assert torch.equal(before, after)


@pytest.mark.parametrize("rule", [chunk_gated_delta_rule, fused_recurrent_gated_delta_rule])
def test_offsets_are_read_again_when_they_change(rule):
    inputs = {name: x.float() for name, x in arguments(B=1, T=9, N=2).items()}
    cu_seqlens = torch.tensor([0, 4, 9])
    rule(**inputs, cu_seqlens=cu_seqlens, backend="triton")
    cu_seqlens[2] = 3
    with pytest.raises(ValueError, match="^cu_seqlens: expected to end at T = 9, got 3$"):
        rule(**inputs, cu_seqlens=cu_seqlens, backend="triton")


def test_the_precision_is_looked_up_again_when_it_changes(monkeypatch):
    found, inputs = [], {name: x.float() for name, x in arguments(T=3).items()}

    def noted(launch, *rest):
        found.append((launch.kernel.fn.__name__, launch.case.PRECISION))

    monkeypatch.setattr("gdn_ref.kernels.host.launch.Launch.__call__", noted)
    try:
        for precision in ("highest", "high"):
            torch.set_float32_matmul_precision(precision)
            chunk_gated_delta_rule(**inputs, backend="triton")
    finally:
        torch.set_float32_matmul_precision("highest")
    assert [x for name, x in found if name == "chunk_scan_kernel"] == ["tf32x3", "tf32"]


@pytest.mark.parametrize("state_v_first", [False, True])
def test_state_layouts_and_no_initial_state(state_v_first):
    inputs = arguments(V=9)
    if state_v_first:
        inputs["initial_state"] = inputs["initial_state"].mT
    compare(**inputs, options={"state_v_first": state_v_first, "chunk_size": 16})
    inputs["initial_state"] = None
    compare(**inputs, options={"state_v_first": state_v_first, "chunk_size": 16})


def test_no_decay_is_the_delta_rule():
    compare(**{**arguments(), "g": None}, options={"chunk_size": 16})


def test_resets_and_strong_decays():
    inputs = arguments(T=70)
    inputs["initial_state"] *= 1e35  # forgotten at once
    inputs["g"][:, [0, 5, 6, 40]] = -math.inf
    inputs["g"][:, 20:30] = -20.0
    inputs["g"][:, 50:] = -2.0  # ratios of cumulative decays would be 0/0 here
    compare(**inputs, options={"chunk_size": 64})


@pytest.mark.parametrize("chunk_size", [32, 64])
def test_strong_decays_leave_the_weak_ones_exact(chunk_size):
    # c falls to thousands here; differences of float32 sums would lose the small stretches
    inputs = arguments(T=64)
    inputs["g"].unflatten(1, (2, 32))[:, :, 4:20] = -110.0
    compare(**inputs, options={"chunk_size": chunk_size})


def test_everything_inside():
    inputs = arguments(T=33)
    inputs["q"], inputs["k"] = 3.0 * inputs["q"], 0.2 * inputs["k"]
    inputs["g"], inputs["beta"] = 2.0 + inputs["g"], inputs["beta"] - 1.0
    HV = inputs["v"].shape[2]
    gate = {"A_log": torch.linspace(-1, 1, HV), "dt_bias": torch.linspace(0.5, -0.5, HV)}
    flags = dict.fromkeys(
        [
            "use_qk_l2norm_in_kernel",
            "use_gate_in_kernel",
            "use_beta_sigmoid_in_kernel",
            "allow_neg_eigval",
        ],
        True,
    )
    compare(**inputs, options={**gate, **flags, "scale": 0.7, "chunk_size": 16})


def test_no_tokens():
    inputs = arguments(T=1)
    empty = {name: x if name == "initial_state" else x[:, :0] for name, x in inputs.items()}
    empty = {name: x.float().contiguous() for name, x in empty.items()}
    o, S = chunk_gated_delta_rule(**empty, output_final_state=True, backend="triton")
    assert o.shape == (2, 0, 4, 7)
    assert_close(S, inputs["initial_state"].float(), 0.0)
    assert S.data_ptr() != empty["initial_state"].data_ptr()


def test_non_contiguous_inputs_and_an_untouched_state():
    inputs = {name: x.float() for name, x in arguments().items()}
    kept = {name: x.clone() for name, x in inputs.items()}
    assert not inputs["q"].is_contiguous()
    compare(**inputs)
    for name, x in kept.items():
        assert torch.equal(inputs[name], x), name


@pytest.mark.parametrize("rule", [chunk_gated_delta_rule, fused_recurrent_gated_delta_rule])
def test_the_bits_of_a_token_depend_on_its_past_alone(rule):
    inputs = {name: x.float() for name, x in arguments(T=32, H=1, HV=2).items()}
    options = {"output_final_state": True, "backend": "triton"}
    options |= {"chunk_size": 16} if rule is chunk_gated_delta_rule else {}
    o, S = rule(**inputs, **options)

    def same(x, right):
        torch.testing.assert_close(x, right, rtol=0, atol=0)

    same(rule(**inputs, **options), (o, S))
    for n in range(2):  # alone in its batch
        same(rule(**{name: x[n : n + 1] for name, x in inputs.items()}, **options),
             (o[n : n + 1], S[n : n + 1]))  # fmt: skip
    tokens = dict(inputs)
    state = tokens.pop("initial_state")
    future = {name: torch.cat([x[:, :20], x[:, 20:].flip(1)], dim=1) for name, x in tokens.items()}
    same(rule(**future, initial_state=state, **options)[0][:, :20], o[:, :20])
    for begin, end in ((0, 16), (16, 32)):  # a sequence in parts of whole chunks
        part = {name: x[:, begin:end] for name, x in tokens.items()}
        found, state = rule(**part, initial_state=state, **options)
        same(found, o[:, begin:end])
    same(state, S)


def test_fused_recurrent_is_the_same_function():
    inputs = {name: x.float() for name, x in arguments(T=20).items()}
    o, S = fused_recurrent_gated_delta_rule(**inputs, output_final_state=True, backend="triton")
    expected_o, expected_S = fused_recurrent_gated_delta_rule(
        **{name: x.double() for name, x in inputs.items()}, output_final_state=True
    )
    assert_close(o, expected_o, KERNEL_FLOAT32)
    assert_close(S, expected_S, KERNEL_FLOAT32)


def test_gradients_reach_every_input():
    inputs = {name: x.float().requires_grad_() for name, x in arguments(T=20).items()}
    exact = {name: x.detach().double().requires_grad_() for name, x in inputs.items()}
    for given, backend in ((inputs, "triton"), (exact, "reference")):
        o, S = chunk_gated_delta_rule(**given, output_final_state=True, backend=backend)
        (o.square().sum() + S.square().sum()).backward()
    for name, x in inputs.items():
        assert_close(x.grad, exact[name].grad, 1e-5)


@pytest.mark.parametrize("v_first", [False, True])
def test_heads_in_zeros_are_prepared_once(monkeypatch, v_first):
    """Heads for which copies to wider ones pay, which the device alone decides."""
    from gdn_ref.kernels.forward import launches as forward
    from gdn_ref.kernels.forward import padding

    asked = []

    def padded(new, k, v, chunk_size, options):
        asked.append((k.shape[3], v.shape[3]))
        return None if asked[-1] == (16, 32) else padding.PaddedForward(new, options)

    monkeypatch.setattr(padding, "padded_sizes", lambda K, V: (16, 32))
    monkeypatch.setattr(padding.PaddedForward, "of", padded)
    monkeypatch.setattr(forward, "pays", lambda plan, sizes: True)
    monkeypatch.setattr("gdn_ref.prepared._remembered", {})
    for seed in (0, 1):
        inputs = arguments(seed=seed)
        if v_first:
            inputs["initial_state"] = inputs["initial_state"].mT
        compare(**inputs, options={"state_v_first": v_first})
    assert asked == [(12, 7), (16, 32)]
