"""The token-by-token kernel, in the interpreter and on a CUDA device, against float64."""

import itertools
import math
import weakref

import pytest
import torch
from tolerances import (
    KERNEL_BFLOAT16,
    KERNEL_FLOAT16,
    KERNEL_FLOAT32,
    assert_close,
    relative_error,
)
from torch.utils._python_dispatch import TorchDispatchMode

from gdn_ref import (
    chunk_gated_delta_rule,
    decode,
    fused_recurrent_gated_delta_rule,
    prepared,
)
from gdn_ref.proofs.data import hard_inputs

pytest.importorskip("triton")
from gdn_ref.kernels.decode import launches  # noqa: E402
from gdn_ref.kernels.decode.kernel import RecurrentGiven, recurrent_kernel  # noqa: E402
from gdn_ref.kernels.decode.launches import PROGRAMS, Decode, warp_tiles  # noqa: E402
from gdn_ref.kernels.host import launch as host_launch  # noqa: E402
from gdn_ref.kernels.host.layout import stride_of_tokens  # noqa: E402

TOLERANCE = {
    torch.float32: KERNEL_FLOAT32,
    torch.float16: KERNEL_FLOAT16,
    torch.bfloat16: KERNEL_BFLOAT16,
}
SLOTS = [5, 0, 3, 6]
LENGTHS = [1, 3, 0, 4]
SIZES = [(12, 7), (16, 16), (60, 100), (100, 60), (20, 5), (2, 1), (128, 40), (256, 18)]
pytestmark = pytest.mark.usefixtures("unwritten_memory_is_nan", "fenced")
interpreter = pytest.mark.interpreter


def arguments(lengths=LENGTHS, N=4, T=1, H=2, HV=4, K=12, V=7, dtype=torch.float32, kept_in=None,
              v_first=False, slots=7, device="cpu"):  # fmt: skip
    """Hard inputs in `dtype`, packed by `lengths` or [N, T]; a pool in `kept_in`, poisoned."""
    batch, T = (1, sum(lengths)) if lengths else (N, T)
    q, k, v, g, beta, _ = (
        torch.from_numpy(x).float() for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(batch, HV))
    )
    q, k, v, g, beta = (x.transpose(1, 2) for x in (q[:, :H], k[:, :H], v, g, beta))
    used = SLOTS if slots == 7 else torch.randperm(slots)[: len(lengths or range(N))].tolist()
    used = used[: len(lengths) if lengths else N]
    size = (HV, V, K) if v_first else (HV, K, V)
    pool = torch.full((slots, *size), math.nan)
    pool[used] = torch.randn(len(used), *size, generator=torch.Generator().manual_seed(1))
    x = {"q": q.to(dtype), "k": k.to(dtype), "v": v.to(dtype), "g": g, "beta": beta}
    x |= {"pool": pool.to(kept_in or torch.float32), "slot_idx": torch.tensor(used)}
    if lengths:
        x["cu_seqlens"] = torch.tensor([0, *lengths]).cumsum(0)
    return {name: a.to(device) for name, a in x.items()}


def compare(x, **options):
    """Triton against the reference in float64 on the same numbers, and the other slots' bits."""
    exact = {
        name: a.double() if isinstance(a, torch.Tensor) and a.is_floating_point() else a
        for name, a in (x | options).items()
    }
    right_o = decode(**exact, backend="reference")
    used, pool = x["slot_idx"], x["pool"].clone()
    o = decode(**{**x, "pool": pool}, **options, backend="triton")
    assert o.dtype == x["v"].dtype and o.is_contiguous()
    assert_close(o.double().cpu(), right_o.cpu(), TOLERANCE[o.dtype])
    found, right = pool[used].double().cpu(), exact["pool"][used].cpu()
    assert_close(found, right, TOLERANCE[pool.dtype])
    others = [slot for slot in range(len(pool)) if slot not in used.tolist()]
    assert torch.equal(pool[others].view(torch.uint8), x["pool"][others].view(torch.uint8))


# In the interpreter


@interpreter
@pytest.mark.parametrize("v_first", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("K, V", SIZES)
def test_any_head_dimension(K, V, dtype, v_first):
    x = arguments([1, 2], H=1, HV=2, K=K, V=V, dtype=dtype, v_first=v_first)
    compare(x, state_v_first=v_first)


@interpreter
@pytest.mark.parametrize("lengths", [None, LENGTHS, [0, 0, 2, 0], [9], [1] * 4])
@pytest.mark.parametrize("H, HV", [(1, 1), (2, 2), (2, 6)])
def test_batches_and_grouped_heads(lengths, H, HV):
    compare(arguments(lengths, H=H, HV=HV))


@interpreter
@pytest.mark.parametrize("T", [2, 4])
def test_padded_batches_of_several_tokens(T):
    compare(arguments(None, T=T))


@interpreter
@pytest.mark.parametrize("kept_in", [torch.float32, torch.float16])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_the_pool_has_a_dtype_of_its_own(dtype, kept_in):
    compare(arguments(dtype=dtype, kept_in=kept_in))


@interpreter
@pytest.mark.parametrize("flag", ["norm", "gate", "bias", "sigmoid", "twice", "all"])
def test_activations_inside(flag):
    compare(**with_flag(flag, arguments()))


def with_flag(flag, x):
    """Arguments and options that have one activation inside, or all."""
    device, options = x["v"].device, {}
    if flag in ("norm", "all"):
        options["use_qk_l2norm_in_kernel"] = True
        x["q"], x["k"] = 3 * x["q"], 0.2 * x["k"]
    if flag in ("gate", "bias", "all"):
        options |= {"use_gate_in_kernel": True, "A_log": torch.linspace(-1, 1, 4, device=device)}
        x["g"] = 3 + 40 * x["g"]
        x["g"][:, -1, :2] = torch.tensor([-30.0, 90.0])  # both ends of softplus
    if flag in ("bias", "all"):
        options["dt_bias"] = torch.linspace(0.5, -4, 4, device=device)
    if flag in ("sigmoid", "twice", "all"):
        options["use_beta_sigmoid_in_kernel"] = True
        x["beta"] = 3 * x["beta"] - 3
    options["allow_neg_eigval"] = flag in ("twice", "all")
    return {"x": x, **options, "scale": 0.7}


@interpreter
@pytest.mark.parametrize("raw", [-9.0, -12.0, -17.0])
def test_a_gate_hardly_open_still_decays(raw):
    """softplus(-17) is 4e-8; 1 + exp(-17) is 1 in float32, and has few right digits at -12."""
    x = arguments(None)
    x["g"], x["beta"] = torch.full_like(x["g"], raw), torch.zeros_like(x["beta"])
    options = {"use_gate_in_kernel": True, "A_log": torch.full((4,), 10.0)}
    kept = x["pool"][SLOTS].clone()
    decode(**x, **options, backend="triton")
    lost = -math.expm1(-math.exp(10.0) * math.log1p(math.exp(raw)))
    assert_close(torch.tensor(relative_error(x["pool"][SLOTS], kept)), torch.tensor(lost), 2e-4)


@interpreter
def test_no_decay_and_resets():
    compare(arguments() | {"g": None})
    x = arguments()
    x["g"][:, [0, 5]] = -math.inf
    compare(x)


@interpreter
def test_vectors_cut_from_one_row_per_token_are_not_copied():
    H, HV, K, V = 2, 4, 12, 7
    x = arguments()
    row = torch.cat([x[name].flatten(2) for name in "qkv"], dim=-1)
    parts = row.split([H * K, H * K, HV * V], dim=-1)
    for name, part, heads in zip("qkv", parts, (H, H, HV), strict=True):
        x[name] = part.unflatten(-1, (heads, -1))
        assert not x[name].is_contiguous()
        assert stride_of_tokens(x[name]) == 2 * H * K + HV * V
    compare(x)


@interpreter
def test_any_strides():
    x = arguments(None, T=2)
    for name in ("q", "k", "v", "g", "beta"):  # heads before tokens, as a transpose leaves them
        x[name] = x[name].transpose(1, 2).contiguous().transpose(1, 2)
    assert stride_of_tokens(x["v"]) is None
    assert stride_of_tokens(x["v"][:, :1]) is None
    compare(x)
    x = arguments(None, T=5)
    for name in ("q", "k", "v", "g", "beta"):  # the first tokens of longer sequences
        x[name] = x[name].contiguous()[:, :2]
    assert stride_of_tokens(x["v"]) is None
    A_log = torch.linspace(-1, 1, 8)[::2]
    x["slot_idx"] = torch.tensor(SLOTS).repeat_interleave(2)[::2]
    compare(x, use_gate_in_kernel=True, A_log=A_log, dt_bias=torch.zeros(1).expand(4))
    x = arguments()
    x["cu_seqlens"] = x["cu_seqlens"].repeat_interleave(2)[::2]
    compare(x)
    compare_recurrent(x, initial_state=x["pool"][SLOTS].mT.contiguous().mT)
    for step, found in ((2**31 - 1, 2**31 - 1), (2**31, None)):  # the kernel counts in 32 bits
        apart = torch.empty(2**32, device="meta").as_strided((1, 2, 1), (0, step, 1))
        assert stride_of_tokens(apart) == found


@interpreter
def test_a_pool_that_is_part_of_a_larger_one():
    x = arguments()
    layers = torch.full((7, 3, *x["pool"].shape[1:]), math.nan)
    layers[:, 1] = x["pool"]
    expected = decode(**x, backend="triton")
    assert torch.equal(decode(**{**x, "pool": layers[:, 1]}, backend="triton"), expected)
    assert torch.equal(layers[SLOTS, 1], x["pool"][SLOTS])
    assert layers[:, [0, 2]].isnan().all()


@interpreter
@pytest.mark.parametrize("lengths, T", [([0, 0], 0), (None, 0)])
def test_no_tokens(lengths, T):
    x = arguments(lengths, N=2, T=T)
    kept = x["pool"].clone()
    assert decode(**x, backend="triton").numel() == 0
    assert torch.equal(x["pool"].view(torch.uint8), kept.view(torch.uint8))


@interpreter
def test_more_programs_than_a_grid_has_rows(monkeypatch):
    """65,536 sequences: a grid's second axis would end at 65,535."""
    N = 65_536
    x = {name: torch.ones(N, 1, 1, 1) for name in "qkv"}
    x |= {name: torch.full((N, 1, 1), 0.5) for name in ("g", "beta")}
    launched = []
    monkeypatch.setattr(
        host_launch.Launch, "__call__", lambda launch, grid, *rest: launched.append(grid)
    )
    decode(**x, pool=torch.zeros(N, 1, 1, 1), slot_idx=None, backend="triton")
    assert launched == [(N, 1, 1)]


@interpreter
def test_arguments_come_in_the_order_of_the_signature(monkeypatch):
    """A launch after the first passes them by position."""
    launched = []
    monkeypatch.setattr(host_launch.Launch, "__call__", lambda *rest: launched.append(rest))
    decode(**arguments(), backend="triton")
    for names in ((), ("gk",), ("gv",), ("gk", "gv")):
        given = recurrent_arguments(with_channels(arguments(), names), False)
        fused_recurrent_gated_delta_rule(**given, backend="triton")
    names = RecurrentGiven._fields
    pointers = [name for name in names if name.endswith("_ptr")]
    for launch, _, tensors, numbers in launched:
        assert launch.kernel is recurrent_kernel and launch.given is RecurrentGiven
        given = dict(zip(names, (*tensors, *numbers), strict=False))
        assert [name for name, x in given.items() if not isinstance(x, (int, float))] == pointers
        channels = given["gk_ptr"] is not None or given["gv_ptr"] is not None
        assert len(given) == len(names) - (0 if channels else 2)
    assert len(launched) == 5


@interpreter
def test_what_is_remembered_of_a_call_keeps_no_tensor_alive():
    x = arguments()
    decode(**x, backend="triton")
    alive = [weakref.ref(a) for a in x.values()]
    del x
    assert not any(a() is not None for a in alive)


@interpreter
def test_values_are_read_again_when_they_change():
    x = arguments()
    decode(**x, backend="triton")
    kept = x["pool"].clone()
    x["cu_seqlens"][1] = 9
    with pytest.raises(ValueError, match="^cu_seqlens: expected offsets that never fall"):
        decode(**x, backend="triton")
    x["cu_seqlens"][1], x["slot_idx"][0] = 1, 7
    with pytest.raises(ValueError, match="^slot_idx: expected slots from 0 to 6, got 7"):
        decode(**x, backend="triton")
    assert torch.equal(x["pool"].view(torch.uint8), kept.view(torch.uint8))


@interpreter
def test_what_triton_cannot_run_is_refused():
    x = arguments()
    with pytest.raises(ValueError, match="expected float16, bfloat16 or float32, got float64"):
        decode(**x | {"pool": x["pool"].double()}, backend="triton")
    with pytest.raises(ValueError, match="expected float16 or float32 in the interpreter"):
        decode(**x | {"pool": x["pool"].bfloat16()}, backend="triton")
    with pytest.raises(ValueError, match="expected K <= 256, got K = 300"):
        decode(**arguments(K=300), backend="triton")
    for name in ("q", "k", "v"):  # whatever the dtypes of the others come to
        with pytest.raises(ValueError, match="expected float16 or float32 in the interpreter"):
            decode(**x | {name: x[name].bfloat16()}, backend="triton")
    with pytest.raises(ValueError, match="^allow_neg_eigval: expected use_beta_sigmoid_in_kernel"):
        decode(**x, allow_neg_eigval=True, backend="triton")


@interpreter
def test_the_tiles_of_a_warp():
    """Few states are cut until there is work for all; many stay whole, as registers allow."""
    for K, V in SIZES:
        for states in (1, 16, 64, 128, 1000, 10_000):
            BK, BV, warps = warp_tiles(states, K, V)
            assert K <= BK < 2 * K and BK * BV <= 4096 and warps == 1
            assert BV >= min(8, V) and BV < 2 * V
            assert BV <= 8 or states * -(-V // BV) >= PROGRAMS
            BK, BV, warps = warp_tiles(states, K, V, once=True)
            assert BV < 2 * V and BK * BV <= 4096 * warps and (warps == 1 or BV <= 64)
    assert warp_tiles(32, 128, 128) == (128, 16, 1)
    assert warp_tiles(64 * 32, 128, 128) == (128, 32, 1)
    # one token of each of many sequences: more of a row in one piece
    assert warp_tiles(24 * 32, 128, 128, once=True) == (128, 32, 1)
    assert warp_tiles(64 * 32, 128, 128, once=True) == (128, 64, 2)
    assert warp_tiles(64 * 32, 64, 64, once=True) == (64, 64, 1)
    assert warp_tiles(64 * 8, 256, 256, once=True) == (256, 64, 4)


@interpreter
@pytest.mark.parametrize("v_first", [False, True])
@pytest.mark.parametrize("lengths", [None, [1, 1, 1, 1], [1, 3, 0, 0]])
def test_which_tiles_one_token_takes(monkeypatch, lengths, v_first):
    """It is known on the host where B times T is the number of sequences, whatever each has."""
    asked = []
    monkeypatch.setattr(launches, "PIECE", 8)
    monkeypatch.setattr(launches, "MANY", 1)
    monkeypatch.setattr(launches, "STATE_OF_A_WARP", 64)
    monkeypatch.setattr(launches, "warp_tiles", lambda *x: asked.append(x[3]) or tiles(*x))
    tiles = warp_tiles.__wrapped__
    for T in (1, 2):
        x = arguments(lengths, K=16, V=16, v_first=v_first, T=T)
        compare(x, state_v_first=v_first)
        once = (lengths is not None or T == 1) and not v_first
        assert asked.pop() == once and not asked
        assert tiles(4, 16, 16, once=once) == (16, *((8, 2) if once else (4, 1)))


# Behind `fused_recurrent_gated_delta_rule`


def recurrent_arguments(x, v_first):
    S = x["pool"][x["slot_idx"]].float()
    tokens = {name: x[name] for name in x if name not in ("pool", "slot_idx")}
    return tokens | {"initial_state": S, "state_v_first": v_first, "output_final_state": True}


def compare_recurrent(x, v_first=False, **options):
    given = recurrent_arguments(x, v_first) | options
    kept = None if given["initial_state"] is None else given["initial_state"].clone()
    exact = {
        name: a.double() if isinstance(a, torch.Tensor) and a.is_floating_point() else a
        for name, a in given.items()
    }
    found = fused_recurrent_gated_delta_rule(**given, backend="triton")
    right = fused_recurrent_gated_delta_rule(**exact, backend="reference")
    assert found[0].dtype == given["v"].dtype and found[1].dtype == torch.float32
    for a, b in zip(found, right, strict=True):
        assert a.is_contiguous()
        assert_close(a.double().cpu(), b.cpu(), TOLERANCE[a.dtype])
    assert kept is None or torch.equal(given["initial_state"], kept)


@interpreter
def test_batch_invariant_is_one_tile_whatever_the_tokens(monkeypatch):
    """Wide heads have as many warps for few sequences as others for many."""
    taken = []

    def noted(*sizes, **how):
        taken.append(warp_tiles(*sizes, **how))
        return taken[-1]

    monkeypatch.setattr(launches, "warp_tiles", noted)
    for T in (1, 2):
        x = arguments(None, N=1, T=T, H=1, HV=1, K=256, V=512)
        compare_recurrent(x, batch_invariant=True)
    assert taken == [(256, 16, 1)] * 2


@pytest.fixture
def no_chunks(monkeypatch):
    def chunks(*arguments, **options):
        pytest.fail("the chunk kernel ran")

    import gdn_ref.kernels.rule as kernels

    monkeypatch.setattr(kernels, "Forward", chunks)
    monkeypatch.setattr(prepared, "_remembered", {})


@interpreter
@pytest.mark.parametrize("v_first", [False, True])
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_fused_recurrent_runs_this_kernel(no_chunks, lengths, v_first):
    x = arguments(lengths, T=9, v_first=v_first)
    compare_recurrent(x, v_first)
    compare_recurrent(x, v_first, initial_state=None)
    compare_recurrent(x | {"g": None}, v_first)
    compare_recurrent(arguments(lengths, T=9, v_first=v_first, dtype=torch.float16), v_first)


@interpreter
@pytest.mark.parametrize("flag", ["norm", "gate", "bias", "sigmoid", "twice", "all"])
def test_fused_recurrent_with_activations_inside(no_chunks, flag):
    options = with_flag(flag, arguments())
    compare_recurrent(**options)
    x = options.pop("x")
    sixteen = {name: x[name].half() for name in ("q", "v", "g", "beta")}
    compare_recurrent(x | sixteen | {"pool": x["pool"].double()}, **options)


@interpreter
def test_one_launch_does_it_all(monkeypatch):
    """No operator of PyTorch runs beside it but those that find memory for the results."""
    options = with_flag("all", arguments())
    given = recurrent_arguments(options.pop("x"), False)
    given |= {name: given[name].contiguous() for name in ("q", "k", "v", "g", "beta")} | options
    launched, others = [], set()
    monkeypatch.setattr(
        host_launch.Launch, "__call__", lambda launch, *rest: launched.append(launch.kernel)
    )

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, operator, types, inputs=(), options=None):
            others.add(operator.overloadpacket.__name__)
            return operator(*inputs, **(options or {}))

    with Watch():
        fused_recurrent_gated_delta_rule(**given, backend="triton")
    assert launched == [recurrent_kernel]
    # the fixture above fills them
    assert others <= {"promote_types", "new_empty", "empty_like", "fill_"}


@interpreter
def test_fused_recurrent_without_tokens(no_chunks):
    compare_recurrent(arguments(None, T=0))


def with_channels(x, names=("gk", "gv"), dtype=torch.float32):
    """Arguments with decays of channels of these names, a reset among them."""
    random = torch.Generator().manual_seed(2)
    for name, wide in (("gk", x["k"]), ("gv", x["v"])):
        decay = -2 * torch.rand(*x["v"].shape[:3], wide.shape[3], generator=random) ** 3
        decay[:, -1:, 1:, :1] = -math.inf
        x |= {name: decay.to(wide.device, dtype)} if name in names else {}
    return x


@interpreter
@pytest.mark.parametrize("v_first", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("K, V", SIZES)
def test_decays_of_channels(no_chunks, K, V, dtype, v_first):
    x = arguments([1, 3, 0], H=1, HV=2, K=K, V=V, dtype=dtype, v_first=v_first)
    compare_recurrent(with_channels(x), v_first)


@interpreter
@pytest.mark.parametrize("names", [["gk"], ["gv"], ["gk", "gv"]], ids="-".join)
@pytest.mark.parametrize("lengths", [None, LENGTHS])
@pytest.mark.parametrize("H, HV", [(1, 1), (2, 6)])
def test_decays_of_channels_in_batches_and_grouped_heads(no_chunks, lengths, names, H, HV):
    x = with_channels(arguments(lengths, T=5, H=H, HV=HV), names)
    compare_recurrent(x)
    compare_recurrent(x, g=None, initial_state=None)
    compare_recurrent(with_channels(x, names, torch.float16))


@interpreter
@pytest.mark.parametrize("flag", ["norm", "bias", "all"])
def test_decays_of_channels_beside_the_activations(no_chunks, flag):
    options = with_flag(flag, arguments())
    compare_recurrent(with_channels(options.pop("x")), **options)


@interpreter
@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_decays_cut_from_one_row_per_token_are_not_copied(no_chunks, monkeypatch, lengths):
    """Between them and behind them there is nothing to read."""
    x = with_channels(arguments(lengths, T=5))
    batch, T = x["v"].shape[:2]
    for name, D in (("gk", 12), ("gv", 7)):
        row = torch.full((batch, T, 4 * D + 9), math.nan)
        row[..., : 4 * D] = x[name].flatten(2)
        x[name] = row[..., : 4 * D].unflatten(-1, (4, D))
        assert not x[name].is_contiguous() and stride_of_tokens(x[name]) == 4 * D + 9
    compare_recurrent(x)
    places, run = [], host_launch.Launch.__call__

    def watched(launch, grid, tensors, numbers):
        places.extend(tensor.data_ptr() for tensor in tensors[5:7])
        run(launch, grid, tensors, numbers)

    monkeypatch.setattr(host_launch.Launch, "__call__", watched)
    compare_recurrent(x)
    assert places == [x["gk"].data_ptr(), x["gv"].data_ptr()]
    for name in ("gk", "gv"):  # heads before tokens: a copy
        x[name] = x[name].transpose(1, 2).contiguous().transpose(1, 2)
    assert stride_of_tokens(x["gk"]) is None
    compare_recurrent(x)


@interpreter
@pytest.mark.parametrize("asked", ["q", "gk", "gv", "initial_state"])
def test_no_gradient_with_decays_of_channels(no_chunks, asked):
    """The kernel runs all the same; what it cannot do is not taken for zero."""
    given = recurrent_arguments(with_channels(arguments()), False) | {"backend": "triton"}
    right = fused_recurrent_gated_delta_rule(**given)
    leaf = given[asked].clone().requires_grad_()
    with torch.no_grad():
        assert not fused_recurrent_gated_delta_rule(**given | {asked: leaf})[0].requires_grad
    found = fused_recurrent_gated_delta_rule(**given | {asked: leaf})
    for a, b in zip(found, right, strict=True):
        assert a.requires_grad and torch.equal(a.detach(), b)
        with pytest.raises(ValueError, match="^backend: Triton has no gradient with gk or gv; "):
            a.sum().backward(retain_graph=True)
    assert leaf.grad is None


@interpreter
def test_fused_recurrent_has_the_gradient_of_the_chunk_form():
    given = recurrent_arguments(arguments(), False)
    leaves = ("q", "k", "v", "g", "beta", "initial_state")
    gradients = {}
    for backend, dtype in (("triton", torch.float32), ("reference", torch.float64)):
        x = given | {name: given[name].to(dtype, copy=True).requires_grad_() for name in leaves}
        o, S = fused_recurrent_gated_delta_rule(**x, backend=backend)
        (o.square().sum() + S.square().sum()).backward()
        gradients[backend] = [x[name].grad for name in leaves]
    for a, b in zip(*gradients.values(), strict=True):
        assert_close(a, b, 1e-5)


@interpreter
def test_fused_recurrent_asks_for_the_gradient_of_the_gate(monkeypatch):
    """The gate's parameters alone want a gradient: not the kernel that has none."""
    import gdn_ref.kernels.rule as kernels

    chosen, rule_for = [], kernels.rule_for
    monkeypatch.setattr(kernels, "rule_for", lambda *x: chosen.append(x[3]) or rule_for(*x))
    monkeypatch.setattr(prepared, "_remembered", {})
    options = with_flag("bias", arguments())
    given = recurrent_arguments(options.pop("x"), False) | options
    fused_recurrent_gated_delta_rule(**given, backend="triton")
    for name in ("A_log", "dt_bias"):
        asking = given | {name: given[name].clone().requires_grad_()}
        fused_recurrent_gated_delta_rule(**asking, backend="triton")
    assert chosen == [None, 64, 64]


# `torch.compile`


def compiled(function, **options):
    torch.compiler.reset()
    return torch.compile(
        lambda x: function(**x, **options, backend="triton"), fullgraph=True, backend="aot_eager"
    )


@interpreter
@pytest.mark.parametrize("v_first", [False, True])
def test_one_graph_decodes_in_place(v_first):
    options = with_flag("all", arguments(v_first=v_first))
    x = options.pop("x")
    expected = x | {"pool": x["pool"].clone()}
    options["state_v_first"] = v_first
    right = decode(**expected, **options, backend="triton")
    found = compiled(decode, **options)(x)
    assert torch.equal(found, right)
    assert torch.equal(x["pool"].view(torch.uint8), expected["pool"].view(torch.uint8))


@interpreter
@pytest.mark.parametrize("v_first", [False, True])
def test_one_graph_runs_the_recurrent_form(no_chunks, v_first):
    options = with_flag("all", arguments(v_first=v_first))
    given = recurrent_arguments(options.pop("x"), v_first)
    right = fused_recurrent_gated_delta_rule(**given, **options, backend="triton")
    found = compiled(fused_recurrent_gated_delta_rule, **options)(given)
    for a, b in zip(found, right, strict=True):
        assert torch.equal(a, b) and a.stride() == b.stride()


@interpreter
@pytest.mark.parametrize("names", [["gk"], ["gv"], ["gk", "gv"]], ids="-".join)
def test_one_graph_has_decays_of_channels(no_chunks, names):
    given = recurrent_arguments(with_channels(arguments(), names), False)
    right = fused_recurrent_gated_delta_rule(**given, backend="triton")
    run = compiled(fused_recurrent_gated_delta_rule)
    for a, b in zip(run(given), right, strict=True):
        assert torch.equal(a, b)
    given["q"].requires_grad_()
    with pytest.raises(Exception, match="Triton has no gradient with gk or gv"):
        run(given)


@interpreter
def test_what_triton_cannot_run_is_refused_while_compiling():
    with pytest.raises(Exception, match="K <= 256"):
        compiled(decode)(arguments(K=300))


@interpreter
def test_the_operators_keep_their_promises(fenced):
    fenced.down = True  # where a result begins in its memory is compared, too
    x = arguments()
    q, k, v, g, beta = (x[name].contiguous() for name in ("q", "k", "v", "g", "beta"))
    S = x["pool"][x["slot_idx"]]
    tests = {"test_utils": ("test_schema", "test_autograd_registration", "test_faketensor")}
    operator = torch.ops.gdn_ref.recurrent_forward.default
    options = {"scale": 0.3, "norm": False, "sigmoid": True, "negative": True, "v_first": False}
    given = (q, k, v, g, beta, None, None, S, x["cu_seqlens"])
    gk, gv = (-torch.rand(1, 8, 4, d) for d in (12, 7))
    for decays in ((), (gk, None), (gk, gv)):
        torch.library.opcheck(operator, given + decays, options, **tests)
    pointers = (q, k, v, g, beta, None, None, torch.zeros(7, 4, 12, 7))
    pointers += (x["cu_seqlens"], x["slot_idx"])
    options = (0.3, False, True, True, False)
    torch.library.opcheck(torch.ops.gdn_ref.decode.default, (*pointers, *options), **tests)


# On the device


@pytest.mark.gpu
@pytest.mark.parametrize("v_first", [False, True])
@pytest.mark.parametrize(
    "K, V", [(20, 5), (60, 100), (64, 64), (100, 60), (128, 128), (128, 256), (256, 18), (256, 256)]
)
def test_every_dtype_and_layout_on_the_device(K, V, v_first):
    for dtype, kept_in in itertools.product(TOLERANCE, TOLERANCE):
        # tiles of 8 values, the widest of a warp, and those that several share
        for N, lengths, flag in ((4, LENGTHS, "all"), (300, LENGTHS, "norm"), (300, [1], "all")):
            x = arguments(
                lengths * (N // len(lengths)), K=K, V=V, dtype=dtype, kept_in=kept_in,
                v_first=v_first, slots=7 if N == 4 else 400, device="cuda",
            )  # fmt: skip
            compare(**with_flag(flag, x), state_v_first=v_first)


@pytest.mark.parametrize("packed", [False, True])
def test_a_slot_below_zero_is_left_out(monkeypatch, packed):
    """As engines pad a batch whose graph is captured, where nobody reads the slots."""
    x = arguments(None if not packed else LENGTHS)
    monkeypatch.setattr("gdn_ref.layer_validation.check_slots", lambda *slots: None)
    before = x["pool"].clone()
    right = x | {"pool": x["pool"].clone()}
    expected = decode(**right, backend="triton")
    used = x["slot_idx"].clone()
    used[1] = -1
    storage = torch.full((1, *before[:1].shape[1:]), 7.0)  # what lies before the first slot
    whole = torch.cat([storage, x["pool"]])
    o = decode(**x | {"pool": whole[1:], "slot_idx": used}, backend="triton")
    assert torch.equal(whole[0], storage[0])
    assert torch.equal(whole[1 + SLOTS[1]], before[SLOTS[1]])
    for n in (0, 2, 3):
        assert torch.equal(whole[1 + SLOTS[n]], right["pool"][SLOTS[n]])
    ours = o == expected
    left_out = o == 0
    assert (ours | left_out).all() and not ours.all() and not left_out.all()


@pytest.mark.parametrize("kept_in", [float("nan"), float("inf")])
def test_what_lies_in_the_first_slot_does_not_reach_a_slot_below_zero(monkeypatch, kept_in):
    """The kernel reads it there, for nothing."""
    x = arguments([1, 3, 2, 4])
    monkeypatch.setattr("gdn_ref.layer_validation.check_slots", lambda *slots: None)
    x["pool"][0] = kept_in
    x["slot_idx"] = torch.tensor([SLOTS[0] or SLOTS[1], -1, -2, -(2**40)])
    before = x["pool"].clone()
    o = decode(**x, backend="triton")
    ends = x["cu_seqlens"].tolist()
    assert (o[:, ends[1] :] == 0).all() and (o[:, : ends[1]] != 0).any()
    x["pool"][x["slot_idx"][0]] = before[x["slot_idx"][0]]
    assert torch.equal(x["pool"].view(torch.int32), before.view(torch.int32))


def test_nothing_is_written_for_a_slot_below_zero():
    """Not what was read, either: its owner may have written there meanwhile."""
    x = arguments([1, 3, 2, 4])
    x["slot_idx"] = torch.tensor([-1, 3, -2, -(2**40)])
    given = [x[name] for name in ("q", "k", "v", "g", "beta")] + [None, None]
    pool, cu_seqlens, slots = x["pool"], x["cu_seqlens"], x["slot_idx"]
    options = {"scale": 1.0, "state_v_first": False, "norm": False, "sigmoid": False}
    run = Decode(*given, pool, cu_seqlens, slots, **options, negative=False)
    o, written = torch.empty_like(x["v"]), torch.full_like(pool, 7.0)
    run.tokens(*given, None, None, pool, o, written, cu_seqlens, slots)
    assert (written == 7).flatten(1).all(1).tolist() == [slot != 3 for slot in range(len(pool))]


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_a_pool_without_slots(monkeypatch, device):
    x = arguments([1, 3, 2, 4], device=device)
    monkeypatch.setattr("gdn_ref.layer_validation.check_slots", lambda *slots: None)
    x |= {"pool": x["pool"][:0], "slot_idx": torch.full_like(x["slot_idx"], -1)}
    assert (decode(**x, backend="triton") == 0).all()


@pytest.mark.gpu
@pytest.mark.parametrize("kept_in", [torch.float16, torch.bfloat16])
def test_a_sequence_without_tokens_keeps_its_slot_to_the_bit(kept_in):
    """On a device, for the interpreter rounds a NaN to the NaN that it was."""
    x = arguments(kept_in=kept_in, device="cuda")
    x["pool"][SLOTS[2]] = torch.tensor(0x7FC1, dtype=torch.int16).view(kept_in).cuda()
    kept = x["pool"][SLOTS[2]].view(torch.int16).clone()
    decode(**x)
    assert torch.equal(x["pool"][SLOTS[2]].view(torch.int16), kept)


@pytest.mark.gpu
@pytest.mark.parametrize("v_first", [False, True])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_fused_recurrent_on_the_device(no_chunks, dtype, v_first):
    """Everything inside, and raw numbers in the dtype of the vectors, as a layer has them."""
    for K, V in ((60, 100), (128, 128)):
        x = arguments(K=K, V=V, dtype=dtype, v_first=v_first, device="cuda")
        options = with_flag("all", x)
        x |= {name: x[name].to(dtype) for name in ("g", "beta")}
        compare_recurrent(**options, v_first=v_first)


@pytest.mark.gpu
@pytest.mark.parametrize("v_first", [False, True])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_decays_of_channels_on_the_device(no_chunks, dtype, v_first):
    for K, V in ((60, 100), (128, 128), (256, 18)):
        for names in (["gk"], ["gv"], ["gk", "gv"]):
            x = arguments(K=K, V=V, dtype=dtype, v_first=v_first, device="cuda")
            options = with_flag("all", with_channels(x, names, dtype))
            for _ in range(3):  # from the second on, started directly
                compare_recurrent(**options, v_first=v_first)


@pytest.mark.gpu
def test_two_runs_agree_to_the_bit_and_auto_is_triton():
    results = []
    for backend in ("auto", "triton", "triton"):
        x = arguments(K=128, V=128, dtype=torch.bfloat16, device="cuda")
        results.append((decode(**x, backend=backend), x["pool"].nan_to_num()))
    for o, pool in results[1:]:
        assert torch.equal(o, results[0][0]) and torch.equal(pool, results[0][1])


@pytest.mark.gpu
def test_auto_is_the_reference_for_a_pool_of_float64():
    x = arguments(kept_in=torch.float64, device="cuda")
    right = x | {"pool": x["pool"].clone()}
    assert torch.equal(decode(**x), decode(**right, backend="reference"))
    assert torch.equal(x["pool"][SLOTS], right["pool"][SLOTS])


@pytest.mark.gpu
def test_slots_beyond_two_to_the_31_numbers():
    slots = 2**31 // (4 * 128 * 128) + 100
    pool = torch.zeros(slots, 4, 128, 128, dtype=torch.float16, device="cuda")
    x = arguments(None, N=1, K=128, V=128, dtype=torch.float16, device="cuda")
    S = x["pool"][5].half()
    pool[slots - 1] = S
    used = torch.tensor([slots - 1], device="cuda")
    o = decode(**x | {"pool": pool, "slot_idx": used})
    small = S[None].clone()
    assert torch.equal(o, decode(**x | {"pool": small, "slot_idx": None}))
    assert torch.equal(pool[slots - 1], small[0])
    assert not pool[: slots - 1].any()


@pytest.mark.gpu
def test_more_than_65535_programs():
    compare(arguments(None, N=20_000, H=4, HV=4, K=16, V=16, slots=20_100, device="cuda"))


@pytest.mark.gpu
def test_a_cuda_graph_replays_with_other_slots():
    x = arguments(None, K=128, V=128, dtype=torch.bfloat16, device="cuda")
    x["pool"] = torch.randn(7, 4, 128, 128, device="cuda")
    eager = x | {"pool": x["pool"].clone()}
    graph = torch.cuda.CUDAGraph()
    decode(**x | {"pool": x["pool"].clone()})
    with torch.cuda.graph(graph):
        o = decode(**x)
    for used in (SLOTS, [1, 2, 4, 0], SLOTS):
        x["slot_idx"].copy_(torch.tensor(used))
        graph.replay()
        right = decode(**eager | {"slot_idx": torch.tensor(used, device="cuda")})
        assert torch.equal(o, right)
    assert torch.equal(x["pool"], eager["pool"])


@pytest.mark.gpu
def test_a_call_like_the_last_one_does_not_wait_for_the_device():
    x = arguments(K=128, V=128, dtype=torch.bfloat16, device="cuda")
    decode(**x)
    torch.cuda.set_sync_debug_mode("error")
    try:
        decode(**x)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.gpu
def test_prefill_then_4096_tokens_one_by_one_is_the_full_pass():
    T, prompt, H, HV, D = 4160, 64, 2, 4, 128
    q, k, v, g, beta, S = (
        torch.from_numpy(x).cuda() for x in hard_inputs(T=T, d_k=D, d_v=D, batch=(1, HV))
    )
    q, k, v, g, beta = (x.transpose(1, 2).contiguous() for x in (q[:, :H], k[:, :H], v, g, beta))
    x = {"q": q.bfloat16(), "k": k.bfloat16(), "v": v.bfloat16(), "g": g.float()}
    x["beta"] = beta.float()
    exact = {name: a.double() for name, a in x.items()}
    S = S.mT.contiguous()
    whole, last = chunk_gated_delta_rule(**exact, initial_state=S, output_final_state=True)
    first = {name: a[:, :prompt] for name, a in x.items()}
    o, state = chunk_gated_delta_rule(**first, initial_state=S.float(), output_final_state=True)
    pool = torch.full((3, HV, D, D), math.nan, device="cuda")
    pool[1] = state[0]
    slot, outputs = torch.tensor([1], device="cuda"), [o]
    for t in range(prompt, T):
        now = {name: a[:, t : t + 1] for name, a in x.items()}
        outputs.append(decode(**now, pool=pool, slot_idx=slot))
    assert relative_error(torch.cat(outputs, dim=1).double().cpu(), whole.cpu()) < 5e-3
    assert relative_error(pool[1].double().cpu(), last[0].cpu()) < 5e-3
    assert pool[[0, 2]].isnan().all()


@pytest.mark.gpu
def test_a_cuda_graph_leaves_out_a_slot_below_zero():
    x = arguments(None, K=128, V=128, dtype=torch.bfloat16, device="cuda")
    x["pool"] = torch.randn(7, 4, 128, 128, device="cuda")
    right = x | {"pool": x["pool"].clone(), "slot_idx": x["slot_idx"].clone()}
    decode(**x | {"pool": x["pool"].clone()})
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o = decode(**x)
    before = x["pool"].clone()
    x["slot_idx"].copy_(torch.tensor([SLOTS[0], -1, SLOTS[2], -1]))
    graph.replay()
    expected = decode(**right)
    assert torch.equal(o[[0, 2]], expected[[0, 2]]) and not o[[1, 3]].any()
    moved = [SLOTS[0], SLOTS[2]]
    assert torch.equal(x["pool"][moved], right["pool"][moved])
    assert torch.equal(x["pool"][[1, 2, 4, SLOTS[1], SLOTS[3]]], before[[1, 2, 4, *SLOTS[1::2]]])


def one_head(T):
    """Inputs of one sequence and one head, in float32."""
    inputs = hard_inputs(T, 8, 8, (1,))
    tensors = (torch.tensor(x).float().unsqueeze(2) for x in inputs[:5])
    return dict(zip(("q", "k", "v", "g", "beta"), tensors, strict=True))


@pytest.mark.parametrize("warm", [False, True])
def test_a_view_that_negates_its_memory_is_refused(warm):
    """PyTorch negates such numbers when it reads them, and a kernel would not."""
    x = one_head(T=1)
    negated = torch.complex(x["beta"], -x["beta"]).conj().imag
    assert negated.is_neg() and negated.is_contiguous()
    assert torch.equal(negated, x["beta"])
    pool = torch.ones(1, 1, 8, 8)
    if warm:
        decode(**x, pool=pool, slot_idx=None, backend="triton")
        fused_recurrent_gated_delta_rule(**x, backend="triton")
    before, x["beta"] = pool.clone(), negated
    for call in (
        lambda: decode(**x, pool=pool, slot_idx=None, backend="triton"),
        lambda: fused_recurrent_gated_delta_rule(**x, backend="triton"),
        lambda: chunk_gated_delta_rule(**x, backend="triton"),
    ):
        with pytest.raises(ValueError, match=r"beta: expected .* pass beta.resolve_neg\(\)"):
            call()
    assert torch.equal(pool, before)


@pytest.mark.parametrize("call", [decode, chunk_gated_delta_rule, fused_recurrent_gated_delta_rule])
def test_indices_that_negate_what_is_in_memory_are_refused(call):
    """Read on the host they are right, and a kernel would read and write outside of its tensors."""
    x = one_head(T=3)
    names = ["cu_seqlens"]
    if call is decode:
        x |= {"pool": torch.ones(2, 1, 8, 8), "slot_idx": torch.tensor([1, 0])}
        names.append("slot_idx")
    x["cu_seqlens"] = torch.tensor([0, 1, 3])
    call(**x, backend="triton")
    for name in names:
        negated = x | {name: torch._neg_view(-x[name])}
        with pytest.raises(ValueError, match=rf"^{name}: expected .* pass {name}.resolve_neg\(\)"):
            call(**negated, backend="triton")


@pytest.mark.parametrize("transform", ["vmap", "grad", "jvp"])
@pytest.mark.parametrize("rule", [chunk_gated_delta_rule, fused_recurrent_gated_delta_rule])
def test_transforms_of_functions_are_refused(rule, transform):
    q, k, v, g, beta = one_head(T=3).values()

    def f(q):
        return rule(q, k, v, g=g, beta=beta, backend="triton")[0].sum()

    f(q)  # and is remembered
    calls = {
        "vmap": lambda: torch.func.vmap(f)(torch.stack([q, q])),
        "grad": lambda: torch.func.grad(f)(q),
        "jvp": lambda: torch.func.jvp(f, (q,), (q,)),
    }
    with pytest.raises(ValueError, match="backend: Triton .* no transform of torch.func"):
        calls[transform]()
