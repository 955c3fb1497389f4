"""The crosswalk of book/notation.md, row by row, against each library that is installed.

flash-linear-attention and transformers are run. FlashInfer needs a GPU even to import, so its
source is read: signatures from the syntax tree, and the plain function beside its decode kernel is
taken out and run. Mojo ships no source that could be read here.
"""

import ast
import importlib.util
import inspect
import math
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from tolerances import assert_close

from gdn_ref import causal_conv1d, chunk_gated_delta_rule, fused_recurrent_gated_delta_rule
from gdn_ref.proofs.data import hard_inputs

SINGLE = 1e-5  # the others compute in float32
SWITCHES = (
    "scale",
    "state_v_first",
    "cu_seqlens",
    "use_qk_l2norm_in_kernel",
    "use_gate_in_kernel",
    "A_log",
    "dt_bias",
    "use_beta_sigmoid_in_kernel",
    "allow_neg_eigval",
)


def inputs(heads=2, dtype=torch.float32):
    """Tensors in the ecosystem's layout, and the state `[N, HV, K, V]`; d_k is not d_v."""
    q, k, v, g, beta, S = (torch.from_numpy(x).to(dtype) for x in hard_inputs(batch=(1, heads)))
    q, k, v, g, beta = (x.transpose(1, 2) for x in (q, k, v, g, beta))
    return q, k, v, g, beta, S.mT


def parameters(function):
    return list(inspect.signature(inspect.unwrap(function)).parameters)


# flash-linear-attention


@pytest.fixture(scope="module")
def fla():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where there is no GPU
        return pytest.importorskip(
            "fla.ops.gated_delta_rule", reason="flash-linear-attention is not installed"
        )


@pytest.fixture
def naive(fla):
    from fla.ops.gated_delta_rule import naive

    return naive


@pytest.mark.peers
def test_fla_has_three_orders(fla, naive):
    assert parameters(fla.chunk_gated_delta_rule)[:5] == ["q", "k", "v", "g", "beta"]
    order = ["q", "k", "v", "g", "gk", "gv", "beta"]
    assert parameters(fla.fused_recurrent_gated_delta_rule)[:7] == order
    assert parameters(fused_recurrent_gated_delta_rule)[:7] == order
    order = ["q", "k", "v", "beta", "g"]
    assert parameters(naive.naive_recurrent_gated_delta_rule)[:5] == order


@pytest.mark.peers
def test_fla_needs_neither_g_nor_beta_token_by_token(fla):
    theirs = inspect.signature(fla.fused_recurrent_gated_delta_rule).parameters
    ours = inspect.signature(fused_recurrent_gated_delta_rule).parameters
    for name, default in (("g", ...), ("beta", ...)):
        assert theirs[name].default is None and ours[name].default is default
    for name in ("gk", "gv"):
        assert theirs[name].default is None and ours[name].default is None
    assert "beta = torch.ones_like" in inspect.getsource(fla.fused_recurrent_gated_delta_rule)


@pytest.mark.peers
def test_fla_convolves_without_activation_unless_told(fla):
    convolution = pytest.importorskip("fla.modules.convolution", reason="fla has moved it")
    theirs = inspect.signature(inspect.unwrap(convolution.causal_conv1d)).parameters
    assert theirs["activation"].default is None
    assert inspect.signature(causal_conv1d).parameters["activation"].default == "silu"


@pytest.mark.peers
def test_fla_drops_unknown_keywords(fla):
    for function in (fla.chunk_gated_delta_rule, fla.fused_recurrent_gated_delta_rule):
        assert "kwargs" in parameters(function)


@pytest.mark.peers
def test_fla_sums_log_decays_in_base_2(fla):
    from fla.ops.utils import constant

    np.testing.assert_allclose(constant.RCP_LN2, 1 / math.log(2), rtol=1e-7)


@pytest.mark.peers
@pytest.mark.parametrize("form", ["chunk", "recurrent"])
def test_fla_layouts_log_scale_and_type(naive, form):
    q, k, v, g, beta, S = inputs()
    theirs = getattr(naive, f"naive_{form}_gated_delta_rule")
    o, final = theirs(q, k, v, g=g, beta=beta, initial_state=S, output_final_state=True)
    ours, state = chunk_gated_delta_rule(q, k, v, g, beta, initial_state=S, output_final_state=True)
    assert_close(o, ours, SINGLE)
    assert_close(final, state, SINGLE)
    half = [x.bfloat16() for x in (q, k, v)]
    o, final = theirs(*half, g=g, beta=beta, output_final_state=True)
    assert (o.dtype, final.dtype) == (torch.float32, torch.float32)


@pytest.mark.peers
def test_fla_gate_and_its_names(fla):
    from fla.ops.gated_delta_rule import gate

    q, k, v, a, beta, S = inputs()
    A_log, dt_bias = torch.tensor([0.5, -1.0]), torch.tensor([0.1, 0.3])
    g = gate.naive_gdn_gate(a, A_log, dt_bias)
    ours, _ = chunk_gated_delta_rule(
        q, k, v, a, beta, use_gate_in_kernel=True, A_log=A_log, dt_bias=dt_bias
    )
    assert_close(ours, chunk_gated_delta_rule(q, k, v, g, beta)[0], SINGLE)
    source = inspect.getsource(inspect.unwrap(fla.chunk_gated_delta_rule))
    for name in SWITCHES:
        assert name in source and name in parameters(chunk_gated_delta_rule), name


@pytest.mark.peers
def test_fla_refuses_the_second_switch_without_the_first(fla):
    q, k, v, g, beta, _ = inputs()
    with pytest.raises(ValueError, match="use_beta_sigmoid_in_kernel"):
        fla.chunk_gated_delta_rule(q, k, v, g=g, beta=beta, allow_neg_eigval=True)


@pytest.mark.peers
def test_fla_shares_key_heads_in_its_kernels_and_not_in_its_plain_loop(fla, naive):
    assert "HV" in inspect.getsource(inspect.unwrap(fla.chunk_gated_delta_rule))
    q, k, v, g, beta, _ = inputs(heads=4)
    with pytest.raises(RuntimeError):
        naive.naive_recurrent_gated_delta_rule(q[:, :, :2], k[:, :, :2], v, beta, g)


@pytest.mark.peers
def test_fla_default_scale_of_the_kernels(fla):
    source = inspect.getsource(inspect.unwrap(fla.chunk_gated_delta_rule))
    assert "scale = k.shape[-1] ** -0.5" in source


@pytest.mark.peers
def test_fla_layer_keeps_value_first_states(fla):
    spec = importlib.util.find_spec("fla.layers")
    layer = Path(spec.origin).with_name("gated_deltanet.py").read_text()
    assert "state_v_first=True" in layer and "state_v_first=False" not in layer


@pytest.mark.peers
def test_fla_names_inside_a_chunk(naive):
    source = inspect.getsource(naive.naive_chunk_gated_delta_rule)
    for name in ("L_mask", "k_cumsum", "k_cumdecay", "v_new"):
        assert name in source, name


# transformers


@pytest.fixture(scope="module")
def qwen():
    pytest.importorskip("transformers", reason="transformers is not installed")
    return pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next")


@pytest.mark.parametrize("form", ["chunk", "recurrent"])
def test_transformers_layouts_log_scale_and_norm(qwen, form):
    q, k, v, g, beta, S = inputs()
    q, k = 1e-3 * q, 1e-3 * k  # so small that the place of the small number shows
    theirs = inspect.unwrap(getattr(qwen, f"torch_{form}_gated_delta_rule"))
    assert parameters(theirs)[:5] == ["query", "key", "value", "g", "beta"]
    assert "scale" not in parameters(theirs) and "kwargs" in parameters(theirs)
    options = {"initial_state": S, "output_final_state": True, "use_qk_l2norm_in_kernel": True}
    o, final = theirs(q, k, v, g=g, beta=beta, **options)
    ours, state = chunk_gated_delta_rule(q, k, v, g, beta, **options)
    assert_close(o, ours, SINGLE)
    assert_close(final, state, SINGLE)
    half = [x.bfloat16() for x in (q, k, v)]
    o, final = theirs(*half, g=g, beta=beta, output_final_state=True)
    assert (o.dtype, final.dtype) == (torch.bfloat16, torch.float32)


def test_transformers_layer_gates_repeats_and_asks_for_the_norm(qwen, monkeypatch):
    config = qwen.Qwen3NextConfig(
        hidden_size=32, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=16,
        linear_value_head_dim=8, num_hidden_layers=1, layer_types=["linear_attention"],
    )  # fmt: skip
    torch.manual_seed(0)
    layer = qwen.Qwen3NextGatedDeltaNet(config, layer_idx=0)
    seen = {}

    def watch(query, key, value, **keywords):
        seen.update(keywords, query=query, value=value)
        return value, None

    monkeypatch.setattr(qwen, "torch_chunk_gated_delta_rule", watch)
    hidden = torch.randn(1, 5, 32)
    layer(hidden)
    mixed = layer.in_proj_qkvz(hidden), layer.in_proj_ba(hidden)
    *_, b, a = layer.fix_query_key_value_ordering(*mixed)
    g = -layer.A_log.exp() * torch.log1p(torch.exp(a + layer.dt_bias))
    torch.testing.assert_close(seen["g"], g, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(seen["beta"], torch.sigmoid(b))
    assert seen["use_qk_l2norm_in_kernel"] is True
    assert seen["query"].shape[2] == seen["value"].shape[2] == 4  # the layer repeats the two heads


def test_transformers_names_inside_a_chunk(qwen):
    chunk = inspect.getsource(inspect.unwrap(qwen.torch_chunk_gated_delta_rule))
    for name in ("cum_decay", "pairwise_decay", "ut_system", "k_cumdecay", "new_values", "v_new",
                 "last_recurrent_state"):  # fmt: skip
        assert name in chunk, name
    assert "kv_mem" in inspect.getsource(inspect.unwrap(qwen.torch_recurrent_gated_delta_rule))


# FlashInfer, read


@pytest.fixture(scope="module")
def flashinfer():
    """`read(file) -> {function name: syntax tree}` for a file of the installed package."""
    spec = importlib.util.find_spec("flashinfer")
    if spec is None:
        pytest.skip("FlashInfer is not installed")
    home = Path(spec.submodule_search_locations[0])

    def read(file):
        tree = ast.parse((home / file).read_text())
        return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}

    return read


def names(function):
    return [argument.arg for argument in function.args.args]


def default(function, name):
    given = dict(zip(names(function)[::-1], function.args.defaults[::-1], strict=False))
    return ast.literal_eval(given[name])


def test_flashinfer_prefill(flashinfer):
    prefill = flashinfer("gdn_prefill.py")["chunk_gated_delta_rule"]
    assert names(prefill)[:5] == ["q", "k", "v", "g", "beta"]
    for name in ("g", "beta", "scale", "initial_state"):
        assert default(prefill, name) is None
    assert default(prefill, "use_qk_l2norm_in_kernel") is False
    page = " ".join(ast.get_docstring(prefill).split())
    assert "Forget gate (alpha)" in page and "Defaults to all ones" in page  # alpha, not its log
    assert "``[N, H, V, K]``" in page and "epsilon ``1e-6``" in page
    assert "Must be float32, bfloat16, float16, float8_e4m3fn, or float8_e5m2" in page  # a state
    assert "must not be ``None``" in page and "[total_seq_len, num_q_heads, head_size]" in page
    body = ast.unparse(prefill)
    assert "scale is not None and scale != 0.0 else 1.0 / math.sqrt(head_size)" in body
    assert "normalize_qk(q, k)" in body


def test_flashinfer_decode_signatures(flashinfer):
    decode = flashinfer("gdn_decode.py")
    for name, layout in (
        ("gated_delta_rule_decode", "``[B, HV, K, V]``"),
        ("gated_delta_rule_decode_pretranspose", "``[B, HV, V, K]``"),
    ):
        order = ["q", "k", "v", "state", "A_log", "a", "dt_bias", "b", "scale"]
        assert names(decode[name])[:9] == order
        assert default(decode[name], "use_qk_l2norm") is True
        assert layout in ast.get_docstring(decode[name])
    pool = ast.get_docstring(decode["gated_delta_rule_decode_pretranspose"])
    assert "``[pool_size, HV, V, K]``" in pool and "Bfloat16: BF16 state backend" in pool


def test_flashinfer_decode_in_numbers(flashinfer):
    """The plain function beside its decode kernel: value-first state, gates inside."""
    function = flashinfer("trace/templates/gdn.py")["_gdn_decode_reference"]
    scope = {"torch": torch, "math": math, "F": torch.nn.functional}
    exec(compile(ast.Module([function], []), "flashinfer", "exec"), scope)
    q, k, v, a, b, S = inputs()
    q, k, v, a, b = (x[:, :1] for x in (q, k, v, a, b))
    A_log, dt_bias = torch.tensor([0.5, -1.0]), torch.tensor([0.1, 0.3])
    o, final = scope["_gdn_decode_reference"](q, k, v, S.mT, A_log, a, dt_bias, b, None)
    ours, state = fused_recurrent_gated_delta_rule(
        q, k, v, g=a, beta=b, initial_state=S, output_final_state=True, use_gate_in_kernel=True,
        A_log=A_log, dt_bias=dt_bias, use_beta_sigmoid_in_kernel=True,
    )  # fmt: skip
    assert_close(final.mT, state, SINGLE)
    assert_close(o.float(), ours, 5e-3)  # it returns bfloat16
