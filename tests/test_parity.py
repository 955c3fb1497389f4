"""The same results as the functions that ours stand in for, where those are installed.

`transformers` has them in plain PyTorch, inside its Qwen3-Next model, which calls `fla`
(flash-linear-attention) in their place where that is installed, even for CPU tensors; the tests
take the plain ones. `fla` has plain ones too and, on a GPU, its kernels.
"""

import inspect

import pytest
import torch
from tolerances import assert_close

from gdn_ref import chunk_gated_delta_rule, fused_recurrent_gated_delta_rule

FLOAT32 = 2e-6
ROUNDED = {torch.float32: FLOAT32, torch.bfloat16: 4e-3}
KERNELS = 8e-3  # two kernels with 16-bit operands, each 3e-3 to 4e-3 from float64


def inputs(T, H=2, HV=4, K=32, V=24, N=2, B=2, dtype=torch.float32, device="cpu", seed=0):
    random = torch.Generator().manual_seed(seed)
    k = torch.randn(B, T, H, K, generator=random) + torch.randn(B, 1, H, K, generator=random)
    g = torch.rand(B, T, HV, generator=random).mul(0.2).add(0.8).log()
    x = {
        "q": torch.randn(B, T, H, K, generator=random).to(dtype),
        "k": k.to(dtype),
        "v": torch.randn(B, T, HV, V, generator=random).to(dtype),
        "g": g,
        "beta": torch.rand(B, T, HV, generator=random).to(dtype),
        "initial_state": torch.randn(N, HV, K, V, generator=random),
    }
    return {name: a.to(device) for name, a in x.items()}


@pytest.fixture(scope="module")
def qwen():
    pytest.importorskip("transformers", reason="transformers is not installed")
    return pytest.importorskip(
        "transformers.models.qwen3_next.modeling_qwen3_next",
        reason="this transformers has no Qwen3-Next",
    )


def plain(qwen, name):
    """The PyTorch function, without the wrapper that would call another package."""
    return inspect.unwrap(getattr(qwen, name))


PAIRS = pytest.mark.parametrize(
    "ours, theirs",
    [
        (chunk_gated_delta_rule, "torch_chunk_gated_delta_rule"),
        (fused_recurrent_gated_delta_rule, "torch_recurrent_gated_delta_rule"),
    ],
    ids=["chunk", "recurrent"],
)


@PAIRS
@pytest.mark.parametrize("T", [1, 64, 130])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("with_state", [True, False])
def test_transformers_functions(qwen, ours, theirs, T, norm, with_state):
    x = inputs(T)
    if not norm:
        x["k"] = torch.nn.functional.normalize(x["k"], dim=-1)
    x["initial_state"] = x["initial_state"] if with_state else None
    options = {"output_final_state": True, "use_qk_l2norm_in_kernel": norm}
    o, S = ours(**x, **options)
    q, k = (x.pop(name).repeat_interleave(2, dim=2) for name in ("q", "k"))
    o_theirs, S_theirs = plain(qwen, theirs)(q, k, x.pop("v"), **x, **options)
    assert_close(o, o_theirs, FLOAT32)
    assert_close(S, S_theirs, FLOAT32)


def test_transformers_bfloat16(qwen):
    x = inputs(130, dtype=torch.bfloat16)
    options = {"output_final_state": True, "use_qk_l2norm_in_kernel": True}
    o, S = chunk_gated_delta_rule(**x, **options)
    q, k = (x.pop(name).repeat_interleave(2, dim=2) for name in ("q", "k"))
    theirs = plain(qwen, "torch_chunk_gated_delta_rule")
    o_theirs, S_theirs = theirs(q, k, x.pop("v"), **x, **options)
    assert o.dtype == o_theirs.dtype and S.dtype == S_theirs.dtype
    assert_close(o.float(), o_theirs.float(), ROUNDED[torch.bfloat16])
    assert_close(S, S_theirs, FLOAT32)


def test_transformers_gradients(qwen):
    x = inputs(130, H=2, HV=2)

    def gradients(function):
        leaves = {name: a.clone().requires_grad_() for name, a in x.items()}
        named = dict(leaves)
        vectors = [named.pop(name) for name in ("q", "k", "v")]
        options = {"output_final_state": True, "use_qk_l2norm_in_kernel": True}
        o, S = function(*vectors, **named, **options)
        (o.sin().sum() + S.cos().sum()).backward()
        return {name: a.grad for name, a in leaves.items()}

    expected = gradients(plain(qwen, "torch_chunk_gated_delta_rule"))
    for name, gradient in gradients(chunk_gated_delta_rule).items():
        assert_close(gradient, expected[name], 5 * FLOAT32)


def test_a_transformers_model_runs_on_ours(qwen, monkeypatch):
    """A small Qwen3-Next: prefill, then decode from its cache, on a CPU."""
    torch.manual_seed(0)
    config = qwen.Qwen3NextConfig(
        vocab_size=60, hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=1, head_dim=16,
        linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=16,
        linear_value_head_dim=8, layer_types=["linear_attention", "full_attention"],
        num_experts=2, num_experts_per_tok=1, moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
    )  # fmt: skip
    model = qwen.Qwen3NextForCausalLM(config).eval()
    tokens = torch.randint(60, (2, 75))
    calls = []

    def run():
        with torch.no_grad():
            prefill = model(tokens[:, :70], use_cache=True)
            logits, cache = [prefill.logits], prefill.past_key_values
            for t in range(70, 75):
                step = model(tokens[:, t : t + 1], past_key_values=cache, use_cache=True)
                logits.append(step.logits)
        return torch.cat(logits, dim=1)

    def called(function):
        """As transformers calls a function: without the options that it does not have."""
        known = inspect.signature(function).parameters

        def wrapped(*tensors, **options):
            calls.append(function)
            return function(*tensors, **{n: x for n, x in options.items() if n in known})

        return wrapped

    def use(chunk, recurrent):
        monkeypatch.setattr(qwen, "torch_chunk_gated_delta_rule", chunk)
        monkeypatch.setattr(qwen, "torch_recurrent_gated_delta_rule", recurrent)

    use(
        plain(qwen, "torch_chunk_gated_delta_rule"), plain(qwen, "torch_recurrent_gated_delta_rule")
    )
    expected = run()
    use(called(chunk_gated_delta_rule), called(fused_recurrent_gated_delta_rule))
    assert_close(run(), expected, FLOAT32)
    assert calls == [chunk_gated_delta_rule] + 5 * [fused_recurrent_gated_delta_rule]


@pytest.mark.peers
@pytest.mark.filterwarnings("ignore:Triton is not supported on current platform")
@pytest.mark.parametrize("T", [1, 64, 130])
def test_fla_plain_functions(T):
    naive = pytest.importorskip("fla.ops.gated_delta_rule.naive", reason="fla is not installed")
    x = inputs(T, HV=2)
    x["k"] = torch.nn.functional.normalize(x["k"], dim=-1)
    for ours, theirs in (
        (chunk_gated_delta_rule, naive.naive_chunk_gated_delta_rule),
        (fused_recurrent_gated_delta_rule, naive.naive_recurrent_gated_delta_rule),
    ):
        o, S = ours(**x, output_final_state=True)
        o_theirs, S_theirs = theirs(**x, output_final_state=True)
        assert_close(o, o_theirs, FLOAT32)
        assert_close(S, S_theirs, FLOAT32)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["chunk_gated_delta_rule", "fused_recurrent_gated_delta_rule"])
@pytest.mark.parametrize("v_first", [False, True])
@pytest.mark.parametrize("offsets", [None, [0, 50, 51, 130]], ids=["padded", "packed"])
def test_fla_kernels(name, v_first, offsets):
    fla = pytest.importorskip("fla.ops.gated_delta_rule", reason="fla is not installed")
    ours = {f.__name__: f for f in (chunk_gated_delta_rule, fused_recurrent_gated_delta_rule)}[name]
    size = {"K": 64, "V": 64, "dtype": torch.bfloat16, "device": "cuda"}
    x = inputs(130, **size) if offsets is None else inputs(130, B=1, N=3, **size)
    if v_first:
        x["initial_state"] = x["initial_state"].mT.contiguous()
    options = dict.fromkeys(
        ("output_final_state", "use_qk_l2norm_in_kernel", "use_gate_in_kernel",
         "use_beta_sigmoid_in_kernel", "allow_neg_eigval"), True,
    )  # fmt: skip
    options |= {
        "A_log": torch.linspace(-1, 1, 4, device="cuda"),
        "dt_bias": torch.linspace(-2, 0, 4, device="cuda"),
        "state_v_first": v_first,
        "cu_seqlens": None if offsets is None else torch.tensor(offsets, device="cuda"),
        "scale": 0.3,
    }
    o, S = ours(**x, **options)
    o_theirs, S_theirs = getattr(fla, name)(**x, **options)
    assert o.dtype == o_theirs.dtype and S.shape == S_theirs.shape
    assert_close(o.float().cpu(), o_theirs.float().cpu(), KERNELS)
    assert_close(S.cpu(), S_theirs.cpu(), KERNELS)
