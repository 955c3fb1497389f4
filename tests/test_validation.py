"""Every bad argument raises before any work, names itself, and says what was expected and got."""

import re
import sys

import pytest
import torch

from gdn_ref import chunk_gated_delta_rule, fused_recurrent_gated_delta_rule, reference, validation

BOTH = pytest.mark.parametrize(
    "op", [chunk_gated_delta_rule, fused_recurrent_gated_delta_rule], ids=["chunk", "recurrent"]
)
B, T, H, HV, K, V = 2, 8, 2, 4, 5, 3


def good():
    return {
        "q": torch.zeros(B, T, H, K),
        "k": torch.zeros(B, T, H, K),
        "v": torch.zeros(B, T, HV, V),
        "g": torch.zeros(B, T, HV),
        "beta": torch.zeros(B, T, HV),
    }


def packed(offsets, **others):
    x = {name: a[:1] for name, a in good().items()}
    return x | {"cu_seqlens": torch.as_tensor(offsets), **others}


@pytest.fixture(autouse=True)
def no_work(monkeypatch):
    """A check that comes too late fails the test."""

    def work(*arguments):
        pytest.fail("the arguments reached a backend")

    monkeypatch.setattr(reference, "forward", work)


def refused(op, error, message, arguments):
    with pytest.raises(error, match=message):
        op(**arguments)


SHAPES = {
    "q: three axes": ("q", (B, T, K), r"q: expected 4 axes \[B, T, H, K\], got shape \[2, 8, 5\]"),
    "k: five axes": ("k", (1, B, T, H, K), r"k: expected 4 axes .* got shape \[1, 2, 8, 2, 5\]"),
    "k: B": ("k", (3, T, H, K), r"k: expected shape \[B, T, H, K\] = \[2, 8, 2, 5\], got \[3, 8, "),
    "k: T": ("k", (B, 9, H, K), r"k: expected shape .* got \[2, 9, 2, 5\]"),
    "k: H": ("k", (B, T, 4, K), r"k: expected shape .* got \[2, 8, 4, 5\]"),
    "k: K": ("k", (B, T, H, 6), r"k: expected shape .* got \[2, 8, 2, 6\]"),
    "v: B": ("v", (1, T, HV, V), r"v: expected shape \[B, T, HV, V\] = \[2, 8, 4, 3\], got \[1, "),
    "v: T": ("v", (B, 7, HV, V), r"v: expected shape .* got \[2, 7, 4, 3\]"),
    "v: HV below H": ("v", (B, T, 1, V), r"v: expected HV a multiple of H = 2, got HV = 1"),
    "v: HV not a multiple": ("v", (B, T, 3, V), r"v: expected HV a multiple of H = 2, got HV = 3"),
    "v: no head": ("v", (B, T, 0, V), r"v: expected HV >= 1, got shape \[2, 8, 0, 3\]"),
    "v: no V": ("v", (B, T, HV, 0), r"v: expected V >= 1, got shape \[2, 8, 4, 0\]"),
    "g: H heads": ("g", (B, T, H), r"g: expected shape \[B, T, HV\] = .* got \[2, 8, 2\]"),
    "g: per key": ("g", (B, T, HV, K), r"g: expected 3 axes .* got shape \[2, 8, 4, 5\]"),
    "g: heads first": ("g", (B, HV, T), r"g: expected shape .* got \[2, 4, 8\]"),
    "beta: H heads": ("beta", (B, T, H), r"beta: expected shape \[B, T, HV\] = .*got \[2, 8, 2\]"),
    "beta: axes": ("beta", (B, T, HV, V), r"beta: expected 3 axes .* got shape \[2, 8, 4, 3\]"),
    "state: N": ("initial_state", (3, HV, K, V), r"initial_state: .*\[N, HV, K, V\] = \[2, 4, 5"),
    "state: HV": ("initial_state", (B, H, K, V), r"initial_state: expected .* got \[2, 2, 5, 3\]"),
    "state: V first": ("initial_state", (B, HV, V, K), r"initial_state: .* got \[2, 4, 3, 5\]"),
    "state: axes": ("initial_state", (HV, K, V), r"initial_state: expected 4 axes .* \[4, 5, 3\]"),
}


@BOTH
@pytest.mark.parametrize("name, shape, message", SHAPES.values(), ids=SHAPES)
def test_shapes(op, name, shape, message):
    refused(op, ValueError, "^" + message, good() | {name: torch.zeros(shape)})


CHANNELS = {
    "gk: V": ("gk", (B, T, HV, V), r"\[B, T, HV, K\] = \[2, 8, 4, 5\], got \[2, 8, 4, 3\]"),
    "gk: H": ("gk", (B, T, H, K), r".* got \[2, 8, 2, 5\] .*HV value heads, K key dim\)"),
    "gv: K": ("gv", (B, T, HV, K), r"\[B, T, HV, V\] = \[2, 8, 4, 3\], got \[2, 8, 4, 5\]"),
    "gv: heads first": ("gv", (B, HV, T, V), r".* got \[2, 4, 8, 3\]"),
    "gv: T": ("gv", (B, 1, HV, V), r".* got \[2, 1, 4, 3\] .*HV value heads, V value dim\)"),
}


@pytest.mark.parametrize("name, shape, message", CHANNELS.values(), ids=CHANNELS)
def test_shapes_of_decays_of_channels(name, shape, message):
    x = good() | {name: torch.zeros(shape)}
    message = f"^{name}: expected shape {message}"
    refused(fused_recurrent_gated_delta_rule, ValueError, message, x)


@pytest.mark.parametrize("name, D", [("gk", K), ("gv", V)])
def test_types_of_decays_of_channels(name, D):
    def refuse(error, message, value):
        x = good() | {name: value}
        refused(fused_recurrent_gated_delta_rule, error, f"^{name}: expected " + message, x)

    decay = torch.zeros(B, T, HV, D)
    refuse(TypeError, r"a torch\.Tensor \[B, T, HV, .\], got float$", 1.0)
    refuse(ValueError, r"4 axes \[B, T, HV, .\], got shape \[2, 8, 4\]", decay[..., 0])
    refuse(ValueError, r"a dtype among .*, got torch\.int64$", decay.long())
    refuse(ValueError, r"a dense tensor .*, got layout torch\.sparse_coo$", decay.to_sparse())
    refuse(ValueError, "device cpu like q, got meta$", decay.to("meta"))


LEGENDS = {
    "q": "B batch, T tokens, H key heads, K key dim",
    "v": "B batch, T tokens, HV value heads, V value dim",
    "beta": "B batch, T tokens, HV value heads",
    "initial_state": "N sequences = B or len(cu_seqlens) - 1, HV value heads, K key dim, "
    "V value dim",
}


@BOTH
@pytest.mark.parametrize("name", LEGENDS)
def test_a_message_explains_the_letters_it_uses_and_no_others(op, name):
    message = rf".* got shape \[1\] {re.escape('(' + LEGENDS[name] + ')')}$"
    refused(op, ValueError, f"^{name}: expected " + message, good() | {name: torch.zeros(1)})


@BOTH
@pytest.mark.parametrize("axis, shape", [("H", (B, T, 0, K)), ("K", (B, T, H, 0))])
def test_no_key_head_or_dimension(op, axis, shape):
    x = good() | {"q": torch.zeros(shape), "k": torch.zeros(shape)}
    refused(
        op,
        ValueError,
        f"^q: expected {axis} >= 1, got shape {re.escape(str(list(shape)))} .{axis} key",
        x,
    )


@BOTH
def test_state_with_v_first(op):
    x = good() | {"initial_state": torch.zeros(B, HV, K, V), "state_v_first": True}
    message = r"^initial_state: expected shape \[N, HV, V, K\] = \[2, 4, 3, 5\], got \[2, 4, 5, 3\]"
    refused(op, ValueError, message, x)


TENSORS = ["q", "k", "v", "g", "beta", "initial_state", "A_log", "dt_bias"]


def with_tensor(name, x):
    gate = {"use_gate_in_kernel": True, "A_log": torch.zeros(HV)} if name in TENSORS[-2:] else {}
    return good() | gate | {name: x}


def a_tensor(name):
    shapes = {"initial_state": (B, HV, K, V), "A_log": (HV,), "dt_bias": (HV,)}
    return torch.zeros(shapes[name]) if name in shapes else good()[name]


@BOTH
@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("value", [[[[[1.0]]]], 1.0, "q"], ids=["list", "float", "str"])
def test_not_a_tensor(op, name, value):
    message = rf"^{name}: expected a torch\.Tensor \[.*\], got {type(value).__name__}$"
    refused(op, TypeError, message, with_tensor(name, value))


@BOTH
@pytest.mark.parametrize("name", ["q", "k", "v", "beta"])
def test_a_needed_tensor_is_none(op, name):
    message = rf"^{name}: expected a torch\.Tensor .* NoneType$"
    refused(op, TypeError, message, good() | {name: None})


@BOTH
@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn], ids=str
)
def test_dtypes(op, name, dtype):
    message = rf"^{name}: expected a dtype among torch\.float16, .*, got {re.escape(str(dtype))}$"
    refused(op, ValueError, message, with_tensor(name, a_tensor(name).to(dtype)))


NOT_DENSE = {
    "sparse": (torch.Tensor.to_sparse, "layout torch.sparse_coo"),
    "mkldnn": (torch.Tensor.to_mkldnn, "layout torch._mkldnn"),
    "nested": (torch.nested.as_nested_tensor, "a nested one"),
    "jagged": (lambda x: torch.nested.as_nested_tensor(x, layout=torch.jagged), "a nested one"),
}


@BOTH
@pytest.mark.parametrize("name", TENSORS[:6])
@pytest.mark.parametrize("make, kind", NOT_DENSE.values(), ids=NOT_DENSE)
def test_only_dense_tensors(op, name, make, kind):
    message = rf"^{name}: expected a dense tensor \[.*\], got {kind}$"
    refused(op, ValueError, message, with_tensor(name, make(a_tensor(name))))


@BOTH
@pytest.mark.parametrize("name", TENSORS[1:])
def test_devices(op, name):
    message = rf"^{name}: expected device cpu like q, got meta$"
    refused(op, ValueError, message, with_tensor(name, a_tensor(name).to("meta")))


def test_a_host_tensor_among_device_tensors():
    x = {name: a.to("meta")[:1] for name, a in good().items()}
    x["cu_seqlens"] = torch.tensor([0, T])
    message = "^cu_seqlens: expected device meta like q, got cpu$"
    refused(chunk_gated_delta_rule, ValueError, message, x)


@BOTH
def test_offsets_that_hold_no_numbers(op):
    x = {name: a.to("meta") for name, a in packed([0, T]).items()}
    message = "^cu_seqlens: expected numbers to read, got a tensor on the meta device$"
    refused(op, ValueError, message, x)


# cu_seqlens

OFFSETS = {
    "list": ([0, T], TypeError, r"expected a torch\.Tensor \[N \+ 1\], got list"),
    "float": (torch.tensor([0.0, T]), ValueError, r"expected int32 or int64, got torch\.float32"),
    "bool": (torch.tensor([False, True]), ValueError, r"expected int32 or int64, got torch\.bool"),
    "scalar": (torch.tensor(T), ValueError, r"expected shape \[N \+ 1\].* got \[\]"),
    "matrix": (torch.tensor([[0, T]]), ValueError, r"expected shape \[N \+ 1\].* got \[1, 2\]"),
    "no entry": (torch.zeros(0, dtype=torch.int64), ValueError, r"at least one entry, got \[0\]"),
    "start": (torch.tensor([1, T]), ValueError, "expected to start at 0, got 1"),
    "negative": (torch.tensor([-1, T]), ValueError, "expected to start at 0, got -1"),
    "end before T": (torch.tensor([0, 7]), ValueError, "expected to end at T = 8, got 7"),
    "end after T": (torch.tensor([0, 9]), ValueError, "expected to end at T = 8, got 9"),
    "falls": (torch.tensor([0, 5, 4, T]), ValueError, "that never fall, got 4 after 5 at 2"),
    "device": (torch.tensor([0, T], device="meta"), ValueError, "device cpu like q, got meta"),
}


@BOTH
@pytest.mark.parametrize("offsets, error, message", OFFSETS.values(), ids=OFFSETS)
def test_cu_seqlens(op, offsets, error, message):
    refused(op, error, "^cu_seqlens: .*" + message, packed([0, T]) | {"cu_seqlens": offsets})


@BOTH
def test_cu_seqlens_needs_one_row(op):
    x = good() | {"cu_seqlens": torch.tensor([0, T])}
    refused(op, ValueError, r"^cu_seqlens: expected B = 1 .* got B = 2", x)


@BOTH
def test_one_state_for_each_packed_sequence(op):
    x = packed([0, 3, T], initial_state=torch.zeros(1, HV, K, V))
    message = r"^initial_state: .* = \[2, 4, 5, 3\], got \[1, 4, 5, 3\].*len\(cu_seqlens\) - 1"
    refused(op, ValueError, message, x)


class Reads:
    """Counts how often offsets are read on the host."""

    def __init__(self, monkeypatch):
        self.count = 0
        monkeypatch.setattr(validation, "reading_waits", lambda x: True)
        read = torch.Tensor.tolist
        monkeypatch.setattr(torch.Tensor, "tolist", lambda x: self.add() or read(x))

    def add(self):
        self.count += 1


def test_device_offsets_are_read_once_and_after_a_change(monkeypatch):
    reads = Reads(monkeypatch)
    offsets = torch.tensor([0, 3, T])

    def check(T=T):
        validation.check_cu_seqlens(offsets, 1, T, offsets.device)

    check()
    check()
    assert reads.count == 1
    with pytest.raises(ValueError, match="expected to end at T = 9, got 8"):
        check(T=9)
    assert reads.count == 1
    offsets[1] = 9
    with pytest.raises(ValueError, match="got 8 after 9 at 2"):
        check()
    assert reads.count == 2


def test_device_offsets_made_under_inference_mode(monkeypatch):
    reads = Reads(monkeypatch)
    with torch.inference_mode():
        offsets = torch.tensor([0, T])
        for _ in range(2):
            validation.check_cu_seqlens(offsets, 1, T, offsets.device)
        assert reads.count == 2
        offsets[1] = T + 1  # which no counter tells
        validation.check_cu_seqlens(offsets, 1, T + 1, offsets.device)
        with pytest.raises(ValueError, match=f"expected to end at T = {T}, got {T + 1}"):
            validation.check_cu_seqlens(offsets, 1, T, offsets.device)


def test_offsets_are_forgotten_with_their_tensor(monkeypatch):
    Reads(monkeypatch)
    before = len(validation._read)
    validation.check_cu_seqlens(torch.tensor([0, T]), 1, T, torch.device("cpu"))
    assert len(validation._read) == before


# Options


@BOTH
@pytest.mark.parametrize(
    "name",
    [
        "output_final_state",
        "use_qk_l2norm_in_kernel",
        "state_v_first",
        "use_gate_in_kernel",
        "use_beta_sigmoid_in_kernel",
        "allow_neg_eigval",
    ],
)
@pytest.mark.parametrize("value", [1, None, "True", torch.tensor(True)], ids=repr)
def test_flags(op, name, value):
    message = f"^{name}: expected True or False, got {type(value).__name__}$"
    refused(op, TypeError, message, good() | {name: value})


@BOTH
@pytest.mark.parametrize("scale", [True, "1", 1j, torch.tensor(1.0)], ids=repr)
def test_scale_is_a_number(op, scale):
    message = f"^scale: expected a number or None, got {type(scale).__name__}$"
    refused(op, TypeError, message, good() | {"scale": scale})


@BOTH
@pytest.mark.parametrize(
    "scale",
    [float("nan"), float("inf"), float("-inf"), -(10**400)],
    ids=["nan", "inf", "-inf", "big"],
)
def test_scale_is_finite(op, scale):
    message = f"^scale: expected a finite number, got {scale}$"
    refused(op, ValueError, message, good() | {"scale": scale})


@pytest.mark.parametrize("chunk_size", [True, None, 64.0, "64", torch.tensor(64)], ids=repr)
def test_chunk_size_is_an_integer(chunk_size):
    message = f"^chunk_size: expected an integer, got {type(chunk_size).__name__}$"
    refused(chunk_gated_delta_rule, TypeError, message, good() | {"chunk_size": chunk_size})


@pytest.mark.parametrize("chunk_size", [0, -1])
def test_chunk_size_is_positive(chunk_size):
    message = f"^chunk_size: expected at least 1, got {chunk_size}$"
    refused(chunk_gated_delta_rule, ValueError, message, good() | {"chunk_size": chunk_size})


@BOTH
@pytest.mark.parametrize("name", ["A_log", "dt_bias"])
def test_gate_parameters_without_the_gate(op, name):
    message = f"^{name}: expected None unless use_gate_in_kernel=True$"
    refused(op, ValueError, message, good() | {name: torch.zeros(HV)})


@BOTH
@pytest.mark.parametrize("name", ["A_log", "g"])
def test_gate_without_its_tensors(op, name):
    x = good() | {"use_gate_in_kernel": True, "A_log": torch.zeros(HV)} | {name: None}
    message = f"^{name}: expected a tensor with use_gate_in_kernel=True, got None$"
    refused(op, ValueError, message, x)


@BOTH
@pytest.mark.parametrize("name", ["A_log", "dt_bias"])
@pytest.mark.parametrize("shape", [(H,), (1, HV), ()])
def test_gate_parameter_shapes(op, name, shape):
    message = rf"^{name}: expected .*\[HV\].*, got .*{re.escape(str(list(shape)))}"
    refused(op, ValueError, message, with_tensor(name, torch.zeros(shape)))


@BOTH
def test_negative_eigenvalues_need_the_sigmoid(op):
    message = "^allow_neg_eigval: expected use_beta_sigmoid_in_kernel=True with it, got False$"
    refused(op, ValueError, message, good() | {"allow_neg_eigval": True})


# Backends


@BOTH
def test_backend_is_known(op):
    message = "^backend: expected one of auto, reference, triton, got 'cuda'$"
    refused(op, ValueError, message, good() | {"backend": "cuda"})
    refused(op, TypeError, "^backend: expected a string, got NoneType$", good() | {"backend": None})


@pytest.fixture
def interpret(monkeypatch):
    """Switch Triton's interpreter on or off."""
    triton = pytest.importorskip("triton", reason="triton is not installed")
    return lambda on: monkeypatch.setattr(triton.knobs.runtime, "interpret", on)


def with_dtype(dtype):
    return {name: x.to(dtype) for name, x in good().items()}


@BOTH
def test_triton_on_the_cpu(op, interpret):
    interpret(False)
    message = "^backend: Triton cannot run this: expected CUDA tensors, got cpu, .*start Python .*"
    refused(op, ValueError, message + "backend='reference' can$", good() | {"backend": "triton"})


@BOTH
def test_triton_switched_to_its_interpreter_too_late(op, interpret, monkeypatch):
    import triton

    interpret(True)
    monkeypatch.setattr(triton, "JITFunction", type(triton.language.cdiv))
    message = "^backend: .*expected CUDA tensors, got cpu, .*in its environment"
    refused(op, ValueError, message, good() | {"backend": "triton"})


@BOTH
def test_triton_bfloat16_in_the_interpreter(op, interpret):
    interpret(True)
    x = with_dtype(torch.bfloat16) | {"backend": "triton"}
    refused(op, ValueError, "^backend: .*float16 or float32 in the interpreter", x)


@BOTH
@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_triton_float64(op, interpret, name):
    interpret(True)
    x = good() | {"backend": "triton"}
    refused(op, ValueError, "^backend: .*got float64", x | {name: x[name].double()})


@BOTH
@pytest.mark.parametrize("axis, names", [("K", ("q", "k")), ("V", ("v",))])
def test_triton_wide_heads(op, interpret, axis, names):
    interpret(True)
    x = good() | {"backend": "triton"}
    most = {"K": 256, "V": 512}[axis]
    x |= {name: torch.zeros(*x[name].shape[:3], most + 1) for name in names}
    refused(op, ValueError, f"^backend: .*expected {axis} <= {most}, got {axis} = {most + 1}", x)


@pytest.mark.parametrize("chunk_size", [8, 48, 128])
def test_triton_chunk_sizes(interpret, chunk_size):
    interpret(True)
    x = good() | {"backend": "triton", "chunk_size": chunk_size}
    message = rf"^backend: .*expected chunk_size in \(16, 32, 64\), got {chunk_size}"
    refused(chunk_gated_delta_rule, ValueError, message, x)


@BOTH
def test_triton_not_installed(op, monkeypatch):
    monkeypatch.setitem(sys.modules, "triton", None)
    message = "^backend: expected triton to be installed.*pip install triton"
    refused(op, ImportError, message, good() | {"backend": "triton"})
