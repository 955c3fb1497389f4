"""Every argument of flash-linear-attention's functions and layer: taken as meant, or refused.

What flash-linear-attention takes is read from its signatures, where it is installed, and the rows
of the crosswalk in book/notation.md are these arguments and no others.
"""

import inspect
import re
import warnings
from pathlib import Path

import pytest
import torch
from tolerances import assert_close

from gdn_ref import (
    GatedDeltaNet,
    GatedDeltaNetCache,
    causal_conv1d,
    chunk_gated_delta_rule,
    drop_in,
    fused_recurrent_gated_delta_rule,
    layer_weights,
    validation,
)

B, T, H, HV, K, V = 2, 7, 2, 4, 5, 3
OPS = {"chunk": chunk_gated_delta_rule, "recurrent": fused_recurrent_gated_delta_rule}
TABLES = {"chunk": drop_in.CHUNK, "recurrent": drop_in.RECURRENT}
FORM = pytest.mark.parametrize("form", OPS)


def inputs(N=B):
    random = torch.Generator().manual_seed(0)
    draw = lambda *shape: torch.randn(*shape, generator=random, dtype=torch.float64)
    k = torch.nn.functional.normalize(draw(N, T, H, K), dim=-1)
    return {
        "q": draw(N, T, H, K), "k": k, "v": draw(N, T, HV, V), "g": -draw(N, T, HV).abs(),
        "beta": draw(N, T, HV).sigmoid(),
    }  # fmt: skip


PACKED = inputs(N=1) | {"cu_seqlens": torch.tensor([0, 3, T])}


# The functions


def entries(table, kind):
    return [name for name, (taken, _) in table.items() if taken is kind]


@FORM
def test_what_cannot_change_the_result_is_taken_unread(form):
    expected = OPS[form](**inputs())[0]
    names = entries(TABLES[form], drop_in.UNREAD)
    assert {"output_attentions", "use_cache", "is_causal"} <= set(names)
    for name in names:
        for value in (None, True, torch.ones(2)):
            assert torch.equal(OPS[form](**inputs(), **{name: value})[0], expected), name


@FORM
def test_what_says_the_same_as_the_offsets_is_taken_with_them_alone(form):
    expected, whole = OPS[form](**PACKED)[0], OPS[form](**inputs())[0]
    names = entries(TABLES[form], drop_in.PACKED)
    assert {"chunk_indices", "seq_idx", "cu_seq_lens_k"} <= set(names)
    for name in names:
        value = torch.tensor([[0, 0], [1, 0]])
        assert torch.equal(OPS[form](**PACKED, **{name: value})[0], expected), name
        assert torch.equal(OPS[form](**inputs(), **{name: None})[0], whole), name
        with pytest.raises(TypeError, match=f"^{name}: expected cu_seqlens with it, got a Tensor"):
            OPS[form](**inputs(), **{name: value})


REFUSED = {
    ("chunk", "head_first"): (True, r"axes \[B, T, H, ...\], as x.transpose\(1, 2\) .*, got True"),
    ("chunk", "gk"): (torch.ones(1), "None, or fused_recurrent_gated_delta_rule, got a Tensor"),
    ("chunk", "gv"): (torch.ones(1), "None, or fused_recurrent_gated_delta_rule, got a Tensor"),
    ("recurrent", "head_first"): (True, r"axes \[B, T, H, ...\], .*, got True"),
    ("recurrent", "cp_context"): ([], "None, or chunk_gated_delta_rule, got a list"),
    ("recurrent", "chunk_size"): (64, "no chunks, or chunk_gated_delta_rule, got 64"),
}


@pytest.mark.parametrize("form, name", REFUSED)
def test_what_asks_for_something_else_is_refused_with_another_way(form, name):
    value, message = REFUSED[form, name]
    with pytest.raises(TypeError, match=f"^{name}: expected {message}$"):
        OPS[form](**inputs(), **{name: value})
    expected = OPS[form](**inputs())[0]
    for taken in TABLES[form][name][0]:
        assert torch.equal(OPS[form](**inputs(), **{name: taken})[0], expected)


def test_every_refusal_is_tested():
    kinds = (drop_in.UNREAD, drop_in.PACKED)
    for form, table in TABLES.items():
        names = {name for name, (taken, _) in table.items() if taken not in kinds}
        assert names == {name for f, name in REFUSED if f == form}
    for table, cases in ((drop_in.LAYER, BAD_LAYERS), (drop_in.FORWARD, BAD_FORWARDS)):
        names = {name for name, (taken, _) in table.items() if taken not in kinds}
        assert names == {name for name, *_ in cases}


@FORM
def test_a_value_that_only_equals_one_that_is_taken(form):
    with pytest.raises(TypeError, match="^head_first: .* got 0$"):
        OPS[form](**inputs(), head_first=0)


@FORM
def test_an_unknown_argument(form):
    name = OPS[form].__name__
    with pytest.raises(TypeError, match=rf"^{name}\(\) got an unexpected .* 'chunk_indexes'$"):
        OPS[form](**PACKED, chunk_indexes=None)


def test_the_order_token_by_token():
    x = inputs()
    gk, gv = -x["k"].abs().repeat_interleave(2, dim=2), -x["v"].abs()
    in_order = [x["q"], x["k"], x["v"], x["g"], gk, gv, x["beta"], 0.3, None, True, True]
    options = {"scale": 0.3, "output_final_state": True, "use_qk_l2norm_in_kernel": True}
    expected = fused_recurrent_gated_delta_rule(**x, gk=gk, gv=gv, **options)
    assert all(map(torch.equal, fused_recurrent_gated_delta_rule(*in_order), expected))
    with pytest.raises(
        TypeError, match=r"^beta: expected a torch.Tensor \[B, T, HV\], got nothing"
    ):
        fused_recurrent_gated_delta_rule(*x.values())  # the order of the chunk form


# The offsets' copy on the host


def offsets():
    return torch.tensor([0, 3, T])


@FORM
def test_a_copy_of_the_offsets(form):
    expected = OPS[form](**PACKED)[0]
    for copied in (offsets(), offsets().int()):
        assert torch.equal(OPS[form](**PACKED, cu_seqlens_cpu=copied)[0], expected)


@FORM
@pytest.mark.parametrize(
    "copied, error, message",
    [
        ([0, 3, T], TypeError, r"expected a torch.Tensor \[N \+ 1\], got list"),
        (torch.tensor([0, 2, T]), ValueError, r"expected the values of cu_seqlens, .*\[0, 2, 7\]"),
        (torch.tensor([0, T]), ValueError, r"expected int32 or int64 \[3\] .* torch.int64 \[2\]"),
        (torch.tensor([0.0, 3, T]), ValueError, "expected int32 or int64 .* got torch.float32"),
        (offsets().to("meta"), ValueError, "expected device cpu, got meta"),
    ],
    ids=["list", "other", "short", "float", "meta"],
)
def test_a_copy_that_is_none(form, copied, error, message):
    with pytest.raises(error, match=f"^cu_seqlens_cpu: {message}"):
        OPS[form](**PACKED, cu_seqlens_cpu=copied)


@FORM
def test_a_copy_of_nothing(form):
    with pytest.raises(ValueError, match="^cu_seqlens_cpu: expected cu_seqlens, .* got NoneType$"):
        OPS[form](**inputs(), cu_seqlens_cpu=offsets())


def test_the_copy_spares_the_wait(monkeypatch):
    """As where the offsets lie on a device: read once without a copy, and never with it."""
    read = []

    class OnDevice(torch.Tensor):
        def tolist(self):
            read.append(1)
            return super().tolist()

    monkeypatch.setattr(validation, "reading_waits", lambda x: isinstance(x, OnDevice))
    there = offsets().as_subclass(OnDevice)
    drop_in.take_host_copy(there, offsets())
    assert validation.read_offsets("cu_seqlens", there) == [0, 3, T] and not read
    with pytest.raises(ValueError, match="^cu_seqlens_cpu: expected the values of cu_seqlens"):
        drop_in.take_host_copy(there, torch.tensor([0, 4, T]))
    there[1] = 4  # another version, of which nothing is known
    drop_in.take_host_copy(there, torch.tensor([0, 4, T]))
    assert validation.read_offsets("cu_seqlens", there) == [0, 4, T] and not read
    again = offsets().as_subclass(OnDevice)
    assert validation.read_offsets("cu_seqlens", again) == [0, 3, T] and read == [1]


# Across ranks


@pytest.fixture
def one_rank():
    import torch.distributed as dist

    from gdn_ref.distributed import build_cp_context

    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield build_cp_context(PACKED["cu_seqlens"])
    dist.destroy_process_group()


def test_a_context_of_ranks(one_rank):
    x = {name: a for name, a in PACKED.items() if name != "cu_seqlens"}
    options = {
        "scale": 0.3, "initial_state": torch.ones(2, HV, V, K).double(), "state_v_first": True,
        "output_final_state": True, "use_qk_l2norm_in_kernel": True, "use_gate_in_kernel": True,
        "A_log": torch.linspace(-1, 1, HV).double(), "dt_bias": torch.ones(HV).double(),
        "use_beta_sigmoid_in_kernel": True, "allow_neg_eigval": True, "chunk_size": 16,
        "backend": "reference",
    }  # fmt: skip
    found = chunk_gated_delta_rule(**x, **options, cp_context=one_rank, chunk_indices=offsets())
    for a, b in zip(found, chunk_gated_delta_rule(**PACKED, **options), strict=True):
        assert_close(a, b)
    for name, value in (("cu_seqlens", offsets()), ("cu_seqlens_cpu", offsets())):
        with pytest.raises(ValueError, match=f"^{name}: expected None with cp_context, got Tensor"):
            chunk_gated_delta_rule(**x, cp_context=one_rank, **{name: value})
    with pytest.raises(ValueError, match="^batch_invariant: expected None with cp_context"):
        chunk_gated_delta_rule(**x, cp_context=one_rank, batch_invariant=True)


def test_a_context_of_another_library():
    with pytest.raises(
        TypeError, match="^cp_context: .* gdn_ref.distributed.build_cp_context, got"
    ):
        chunk_gated_delta_rule(**inputs(), cp_context=object())


# The layer

SIZES = {"hidden_size": 12, "num_heads": 2, "head_dim": 6, "num_v_heads": 4}
BAD_LAYERS = [
    ("mode", "fused_chunk", "'chunk' or 'fused_recurrent', got 'fused_chunk'"),
    ("use_gate", False, "True, or chunk_gated_delta_rule in a layer of your own, got False"),
    ("use_gate", 1, "True, or .* got 1"),
    ("use_short_conv", False, "True, with conv_size=1 and conv1d.weight at 1, got False"),
    ("output_gate_activation", "sigmoid", "'swish' or 'silu', or .* got 'sigmoid'"),
]
BAD_FORWARDS = [
    ("past_key_values", [], "None, and a GatedDeltaNetCache as cache, got a list"),
    ("use_cache", True, "False, or a GatedDeltaNetCache as cache, got True"),
    ("output_attentions", True, "False, for there is no matrix of attention, got True"),
]


def test_a_layer_by_flas_arguments():
    theirs = {
        "expand_v": 1.5, "mode": "chunk", "use_gate": True, "use_short_conv": True,
        "layer_idx": 3, "output_gate_activation": "".join(["swi", "sh"]),
    }  # fmt: skip
    net = GatedDeltaNet(**SIZES, **theirs)
    assert net.head_v_dim == 9 and net.v_proj.out_features == 36
    assert GatedDeltaNet(12, 2, 49, expand_v=1 / 49).head_v_dim == 1  # which is a hair below
    x = torch.randn(1, 3, 12)
    theirs = {"past_key_values": None, "use_cache": False, "output_attentions": None}
    assert torch.equal(net(x, **theirs), net(x))


@pytest.mark.parametrize("name, value, message", BAD_LAYERS)
def test_a_layer_that_ours_is_not(name, value, message):
    with pytest.raises(TypeError, match=f"^{name}: expected {message}$"):
        GatedDeltaNet(**SIZES, **{name: value})


@pytest.mark.parametrize("name, value, message", BAD_FORWARDS)
def test_a_call_that_ours_does_not_take(name, value, message):
    net, cache = GatedDeltaNet(**SIZES), GatedDeltaNetCache()
    with pytest.raises(TypeError, match=f"^{name}: expected {message}$"):
        net(torch.randn(1, 3, 12), cache, **{name: value})
    assert cache.conv_state is None


def test_unknown_arguments_of_the_layer():
    with pytest.raises(TypeError, match=r"^GatedDeltaNet\(\) got an unexpected .* 'num_head'$"):
        GatedDeltaNet(**SIZES, num_head=2)
    with pytest.raises(TypeError, match=r"^GatedDeltaNet.forward\(\) got an unexpected .* 'mask'$"):
        GatedDeltaNet(**SIZES)(torch.randn(1, 3, 12), mask=None)


def test_what_to_do_without_a_convolution():
    """The refusal's other way: each channel through the activation alone."""
    net = GatedDeltaNet(**SIZES, conv_size=1)
    torch.nn.init.ones_(net.conv1d.weight)
    x = torch.randn(1, 5, sum(net.channels))
    y, _ = causal_conv1d(x, net.conv1d.weight.squeeze(1), net.conv1d.bias)
    assert_close(y.detach(), torch.nn.functional.silu(x), 1e-6)


# flash-linear-attention itself


@pytest.fixture(scope="module")
def fla():
    pytest.importorskip("transformers", reason="fla's layers need transformers")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it warns where there is no GPU
        pytest.importorskip("fla.layers", reason="flash-linear-attention is not installed")
        import fla.layers
        import fla.ops.gated_delta_rule
    return fla


def theirs(fla):
    """Who takes which arguments, those included that they take out of their `**kwargs`."""
    rule, layer = fla.ops.gated_delta_rule, fla.layers.GatedDeltaNet
    found = {}
    for who, function in {
        "chunk": rule.chunk_gated_delta_rule,
        "recurrent": rule.fused_recurrent_gated_delta_rule,
        "layer": layer.__init__,
        "forward": layer.forward,
    }.items():
        function = inspect.unwrap(function)
        source = inspect.getsource(function)
        hidden = re.findall(r"kwargs\.(?:get|pop)\('(\w+)'|'(\w+)' in kwargs", source)
        names = {*inspect.signature(function).parameters, *(a or b for a, b in hidden)}
        found[who] = names - {"self", "kwargs"}
    return found


OURS = {
    "chunk": ({*inspect.signature(chunk_gated_delta_rule).parameters}, drop_in.CHUNK),
    "recurrent": (
        {*inspect.signature(fused_recurrent_gated_delta_rule).parameters}, drop_in.RECURRENT,
    ),
    "layer": ({*inspect.signature(GatedDeltaNet).parameters}, drop_in.LAYER),
    "forward": ({*inspect.signature(GatedDeltaNet.forward).parameters}, drop_in.FORWARD),
}  # fmt: skip


@pytest.mark.peers
@pytest.mark.parametrize("who", OURS)
def test_every_argument_of_fla_has_a_place(fla, who):
    names, table = OURS[who]
    missing = theirs(fla)[who] - names - set(table)
    assert missing == (
        {"hidden_states"} if who == "forward" else set()
    )  # our x, which must be given
    assert not names & set(table)


@pytest.mark.peers
def test_the_crosswalk_lists_every_argument(fla):
    page = (Path(__file__).parents[1] / "book" / "notation.md").read_text()
    for who, title in (
        ("chunk", "Arguments of fla's chunk function"),
        ("recurrent", "Arguments of fla's recurrent function"),
        ("layer", "Arguments of fla's layer"),
        ("forward", "Arguments of fla's layer, when called"),
    ):
        rows = re.search(rf"^#+ {title}\n(.*?)(?=^#|\Z)", page, re.S | re.M)[1]
        names = [re.findall(r"`(\w+)`", line.split("|")[1]) for line in rows.splitlines()
                 if line.startswith("| `")]  # fmt: skip
        names = [name for row in names for name in row]
        assert len(names) == len(set(names)) and set(names) == theirs(fla)[who], who


@pytest.mark.peers
@pytest.mark.parametrize("conv_bias", [False, True])
@pytest.mark.parametrize("negative", [False, True])
def test_a_layer_of_fla_as_one_of_ours(fla, conv_bias, negative):
    torch.manual_seed(0)
    net = fla.layers.GatedDeltaNet(
        24, 0.75, 8, 2, 4, conv_size=3, conv_bias=conv_bias, allow_neg_eigval=negative,
        norm_eps=1e-3, mode="fused_recurrent", output_gate_activation="silu",
    ).eval()  # fmt: skip
    ours = GatedDeltaNet.from_fla(net, backend="reference")
    assert (ours.hidden_size, ours.num_heads, ours.num_v_heads) == (24, 2, 4)
    assert (ours.head_dim, ours.head_v_dim, ours.o_norm.eps) == (8, 6, 1e-3)
    assert (ours.allow_neg_eigval, ours.backend, ours.training) == (negative, "reference", False)
    assert ours.conv1d.kernel_size == (3,) and (ours.conv1d.bias is not None) == conv_bias
    weights = layer_weights.from_fla(net)
    by_name = layer_weights.from_fla(net.state_dict())
    assert set(weights) == set(by_name) == set(ours.state_dict())
    for name, x in ours.state_dict().items():
        assert torch.equal(x, weights[name]) and torch.equal(x, by_name[name])
        assert x.data_ptr() != weights[name].data_ptr()
    assert GatedDeltaNet.from_fla(net.bfloat16()).q_proj.weight.dtype == torch.bfloat16


@pytest.mark.peers
@pytest.mark.parametrize(
    "options, name",
    [
        ({"use_gate": False}, "use_gate"),
        ({"use_short_conv": False}, "use_short_conv"),
        ({"output_gate_activation": "sigmoid"}, "output_gate_activation"),
    ],
)
@pytest.mark.filterwarnings("ignore:ShortConvolution is crucial")
def test_a_layer_of_fla_without_counterpart(fla, options, name):
    net = fla.layers.GatedDeltaNet(24, 0.75, 8, 2, 4, **options)
    for convert in (GatedDeltaNet.from_fla, layer_weights.from_fla):
        with pytest.raises(TypeError, match=f"^{name}: expected "):
            convert(net)


def test_another_module_is_no_layer_of_fla():
    with pytest.raises(TypeError, match="^layer: expected a fla.layers.GatedDeltaNet, got Linear"):
        GatedDeltaNet.from_fla(torch.nn.Linear(2, 2))
    with pytest.raises(TypeError, match="^layer: expected a fla.layers.GatedDeltaNet, got Gated"):
        GatedDeltaNet.from_fla(GatedDeltaNet(**SIZES))
