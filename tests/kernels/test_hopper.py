"""The kernels for Hopper, run on the CPU by `gluon_on_cpu`, against the reference in float64.

Whole calls, with all that the host decides: which kernels, how many programs share a sequence, how
long segments are. float16, since Triton's interpreter, which runs the other kernels of these calls,
computes bfloat16 wrongly.
"""

import importlib
import math
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from tolerances import GRADIENT_FLOAT16, KERNEL_FLOAT16, assert_close

pytest.importorskip("triton")
pytestmark = pytest.mark.interpreter

import gluon_on_cpu  # noqa: E402
from gluon_on_cpu import on_hopper  # noqa: E402
from triton.experimental.gluon._runtime import GluonJITFunction  # noqa: E402

from gdn_ref import chunk_gated_delta_rule  # noqa: E402
from gdn_ref.kernels.common import slots  # noqa: E402
from gdn_ref.kernels.common.numbers import C  # noqa: E402
from gdn_ref.kernels.forward import launches as forward  # noqa: E402
from gdn_ref.kernels.forward.hopper import launches as forward_on_hopper  # noqa: E402
from gdn_ref.kernels.forward.hopper.fused import launches as fused  # noqa: E402
from gdn_ref.kernels.host.plan import call_sizes  # noqa: E402
from gdn_ref.kernels.rule import Rule  # noqa: E402
from gdn_ref.proofs.data import hard_inputs  # noqa: E402

KERNELS = Path(__file__).parents[2] / "kernels"


def arguments(B=1, T=200, H=1, HV=2, K=64, V=64, N=None):
    q, k, v, g, beta, S = (
        torch.from_numpy(x) for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(max(B, N or B), HV))
    )
    q, k, v = (x[:B].transpose(1, 2).half().contiguous() for x in (q[:, :H], k[:, :H], v))
    g, beta = (x[:B].transpose(1, 2).float().contiguous() for x in (g, beta))
    S = S[: N or B].mT.float().contiguous()
    return {"q": q, "k": k, "v": v, "g": g, "beta": beta, "initial_state": S}


def call(inputs, multiprocessors=132, **options):
    with on_hopper(multiprocessors), torch.no_grad():
        return chunk_gated_delta_rule(
            **inputs, output_final_state=True, backend="triton", **options
        )


def exact(inputs, **options):
    inputs = {name: x if x is None else x.double() for name, x in inputs.items()}
    return chunk_gated_delta_rule(**inputs, output_final_state=True, backend="reference", **options)


def gradients(inputs, options, backend):
    """Of outputs and final states, with random gradients of their own; by name."""
    leaves = {n: x.detach().requires_grad_() for n, x in inputs.items() if x is not None}
    missing = {n: None for n, x in inputs.items() if x is None}
    results = chunk_gated_delta_rule(
        **leaves, **missing, output_final_state=True, backend=backend, **options
    )
    generator = torch.Generator().manual_seed(1)
    given = [torch.randn(x.shape, generator=generator).to(x.dtype) for x in results]
    found = torch.autograd.grad(results, list(leaves.values()), given)
    return dict(zip(leaves, found, strict=True))


def compare(found, expected, tolerance=KERNEL_FLOAT16):
    for x, y in zip(found, expected, strict=True):
        assert_close(x.double(), y, tolerance)


def compare_gradients(inputs, multiprocessors=132, **options):
    with on_hopper(multiprocessors):
        found = gradients(inputs, options, "triton")
    inputs = {name: x if x is None else x.double() for name, x in inputs.items()}
    expected = gradients(inputs, options, "reference")
    for name, x in found.items():
        try:
            assert_close(x.double(), expected[name], GRADIENT_FLOAT16)
        except AssertionError as error:
            raise AssertionError(f"{name}: {error}") from None
    return found


@pytest.mark.parametrize("K, V", [(64, 64), (64, 128), (128, 128), (256, 64)])
@pytest.mark.parametrize("T", [1, 40, 64, 65, 192, 330])
def test_whole_and_short_chunks(K, V, T, unwritten_memory_is_nan):
    inputs = arguments(T=T, K=K, V=V)
    compare(call(inputs, 1), exact(inputs))


@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("lengths", [None, [0], [0, 0, 0]])
def test_no_tokens(lengths, given):
    inputs, options = arguments(T=0, N=lengths and len(lengths)), {}
    if lengths:
        options["cu_seqlens"] = torch.tensor([0, *lengths]).cumsum(0)
    if not given:
        inputs["initial_state"] = None
    compare(call(inputs, **options), exact(inputs, **options))
    with on_hopper():
        found = gradients(inputs, options, "triton")
    assert all(x.shape == inputs[name].shape for name, x in found.items())


def test_no_sequences():
    inputs = {name: x[:0] for name, x in arguments(B=1).items()}
    compare(call(inputs), exact(inputs))
    compare_gradients(inputs)


@pytest.mark.parametrize("K, V", [(64, 320), (256, 512)])
def test_wide_values(K, V):
    inputs = arguments(T=100, HV=1, K=K, V=V)
    compare(call(inputs), exact(inputs))
    compare_gradients(inputs)


@pytest.mark.parametrize("H, HV", [(1, 1), (3, 3), (2, 8)])
def test_grouped_value_heads(H, HV):
    inputs = arguments(B=2, T=130, H=H, HV=HV)
    compare(call(inputs, 1), exact(inputs))


@pytest.fixture(params=["in order", "by length"])
def turns(request, monkeypatch):
    """Packed sequences are taken by their lengths where they are long: here always, or never."""
    monkeypatch.setattr(forward_on_hopper, "LONG", 1 if request.param == "by length" else 2**20)


def test_of_long_packed_sequences_the_longest_has_the_first_turn():
    lengths = torch.randint(0, 9, (150,)) * 2048  # many are equal, and some empty
    offsets = torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])
    turn = gluon_on_cpu.with_meanings(slots.longest_first, {})
    pointer = gluon_on_cpu.Pointer(offsets)
    found = [int(turn(pointer, gluon_on_cpu.Int(slot), 150)) for slot in range(150)]
    for first in range(0, 150, 64):
        some = range(first, min(first + 64, 150))
        assert found[first : first + 64] == sorted(some, key=lambda n: -lengths[n])


def test_packed_sequences_are_taken_by_length_where_they_are_long():
    def asked(tokens, N, packed=True):
        sizes = call_sizes(1, tokens, N, C.value, packed)
        return forward_on_hopper.by_length(SimpleNamespace(packed=packed), sizes)

    assert asked(3 * 2048, 3) and not asked(3 * 1984, 3)
    assert not asked(4096, 1) and not asked(8192, 2, packed=False)


@pytest.mark.parametrize("K", [64, 128, 256])
def test_packed_sequences(K, turns, unwritten_memory_is_nan):
    """Of no token, of one, of whole chunks, of a short one at the end."""
    lengths = torch.tensor([0, 17, 0, 128, 1, 64, 100, 0])
    inputs = arguments(T=310, K=K, N=8)
    options = {"cu_seqlens": torch.cat([torch.zeros(1, dtype=torch.int64), lengths.cumsum(0)])}
    for multiprocessors in (1, 64):
        compare(call(inputs, multiprocessors, **options), exact(inputs, **options))


@pytest.mark.parametrize("K", [64, 128])
def test_a_sequence_does_not_feel_its_neighbours(K):
    """Whatever they hold: a short chunk's tile reaches into the next sequence."""
    inputs = arguments(T=300, K=K, N=3)
    options = {"cu_seqlens": torch.tensor([0, 70, 200, 300])}
    alone = call(inputs, 1, **options)
    for name in ("q", "k", "v", "g", "beta"):
        inputs[name][:, :70] = inputs[name][:, 200:] = torch.nan
    o, S = call(inputs, 1, **options)
    assert torch.equal(o[:, 70:200], alone[0][:, 70:200]) and torch.equal(S[1], alone[1][1])


@pytest.mark.parametrize("K", [64, 128, 256])
@pytest.mark.parametrize("T", [64, 300, 448])
def test_programs_that_share_a_sequence_keep_its_bits(K, T):
    inputs = arguments(T=T, HV=1, K=K)
    alone = call(inputs, 1)
    compare(alone, exact(inputs))
    for multiprocessors in (2, 3, 4):
        for x, y in zip(call(inputs, multiprocessors), alone, strict=True):
            assert torch.equal(x, y)


@pytest.mark.parametrize("K, ends", [(64, None), (128, None), (128, [0, 0, 700, 1030, 1100])])
def test_segments_of_a_long_sequence(K, ends, monkeypatch):
    monkeypatch.setattr(forward_on_hopper, "cut", lambda *sizes: (1, 256))
    inputs = arguments(T=1100, HV=1, K=K, N=ends and 4)
    inputs["g"] *= 0.05  # or what comes over a segment of 256 tokens would be nothing
    options = {"cu_seqlens": torch.tensor(ends)} if ends else {}
    compare(call(inputs, **options), exact(inputs, **options))


@pytest.mark.parametrize("missing", ["g", "initial_state"])
@pytest.mark.parametrize("v_first", [False, True])
def test_what_is_left_out_and_how_states_lie(missing, v_first):
    inputs = arguments(T=150, K=128)
    inputs["initial_state"] = inputs["initial_state"].mT.contiguous() if v_first else None
    inputs[missing] = None
    options = {"state_v_first": v_first}
    compare(call(inputs, 1, **options), exact(inputs, **options))


@pytest.mark.parametrize("K", [64, 256])
def test_resets_and_strong_decays(K):
    inputs = arguments(T=260, K=K)
    inputs["g"][:, 100:] *= 30
    inputs["g"][:, [0, 63, 64, 200]] = -math.inf
    compare(call(inputs, 1), exact(inputs))
    if K == 64:
        compare_gradients(inputs)


def test_odd_heads_are_padded(monkeypatch):
    monkeypatch.setattr(forward, "pays", lambda plan, sizes: True)
    inputs = arguments(T=150, K=60, V=100)
    compare(call(inputs, 1), exact(inputs))


def module_of(path):
    parts = path.relative_to(KERNELS).with_suffix("").parts
    return importlib.import_module(".".join(["gdn_ref.kernels", *parts]))


@pytest.fixture
def fused_runs(monkeypatch):
    """How often a kernel in Gluon ran: the fused one, if no other is named."""
    counted, run = [], gluon_on_cpu.run

    def watched(kernel, *rest):
        counted.append(kernel.fn.__name__)
        run(kernel, *rest)

    monkeypatch.setattr(gluon_on_cpu, "run", watched)
    return lambda name="chunk_fused_kernel": counted.count(name)


@pytest.mark.parametrize("K, V", [(64, 128), (128, 128), (64, 384)])
@pytest.mark.parametrize("T", [1, 40, 64, 65, 192, 330])
def test_fused_whole_and_short_chunks(K, V, T, fused_runs, unwritten_memory_is_nan):
    inputs = arguments(T=T, K=K, V=V)
    compare(call(inputs, 1), exact(inputs))
    assert fused_runs() == 1


@pytest.mark.parametrize("H, HV, B", [(1, 1, 2), (3, 3, 1), (2, 8, 2), (1, 17, 1)])
def test_fused_grouped_value_heads(H, HV, B, fused_runs):
    inputs = arguments(B=B, T=100, H=H, HV=HV, V=128)
    compare(call(inputs, 1), exact(inputs))
    assert fused_runs() == 1


@pytest.mark.parametrize("missing", ["g", "initial_state", None])
@pytest.mark.parametrize("v_first", [False, True])
def test_fused_what_is_left_out_and_how_states_lie(missing, v_first, fused_runs):
    inputs = arguments(T=150, V=128)
    if v_first:
        inputs["initial_state"] = inputs["initial_state"].mT.contiguous()
    if missing:
        inputs[missing] = None
    compare(call(inputs, 1, state_v_first=v_first), exact(inputs, state_v_first=v_first))
    assert fused_runs() == 1


def test_fused_resets_and_strong_decays(fused_runs):
    inputs = arguments(T=200, V=128)
    inputs["g"][:, ::7] = -math.inf
    inputs["g"][:, 3::11] = -80.0
    compare(call(inputs, 1), exact(inputs))
    assert fused_runs() == 1


@pytest.mark.parametrize("scale", [1.0, 0.01, 3.0])
def test_fused_scales(scale, fused_runs):
    inputs = arguments(T=130, V=128)
    compare(call(inputs, 1, scale=scale), exact(inputs, scale=scale))
    assert fused_runs() == 1


def kept(inputs, **options):
    """What the forward pass keeps: `c`, and `T_inv` with room after it; maybe some states."""
    tensors = (*inputs.values(), None)
    options |= {"scale": 0.1, "v_first": False, "chunk_size": 64, "keep": True}
    with on_hopper(1), torch.no_grad():
        return forward.Forward(*tensors, **options)(*tensors)[2:]


@pytest.mark.parametrize("K, T", [(64, 1), (64, 64), (128, 100), (64, 330)])
def test_fused_keeps_what_two_kernels_keep(K, T, fused_runs, unwritten_memory_is_nan):
    """And writes nothing else: another sequence's, another head's and the room have their own."""
    inputs = arguments(B=2, T=T, HV=3, K=K, V=128)
    inputs["g"][:, ::7] = -math.inf
    *found, states = kept(inputs)
    *expected, none = kept(inputs, batch_invariant=True)
    assert fused_runs() == 1 and states is None and none is None
    rows = 3 * 2 * T
    for x, y in zip(found, expected, strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype
        assert x[rows:].isnan().all() and y[rows:].isnan().all()
        compare([x[:rows]], [y[:rows].double()])


@pytest.mark.parametrize("K, V", [(64, 128), (128, 128), (64, 256)])
@pytest.mark.parametrize("T", [1, 64, 200])
def test_fused_gradients(K, V, T, fused_runs, unwritten_memory_is_nan):
    """Of what it has kept: the backward pass finds no inverse again."""
    compare_gradients(arguments(B=2, T=T, K=K, V=V), 1)
    assert fused_runs() == 1 and fused_runs("ut_transform_16bit_kernel") == 0


@pytest.mark.parametrize("missing", ["g", "initial_state"])
@pytest.mark.parametrize("H, HV", [(3, 3), (1, 4)])
def test_fused_gradients_where_something_is_left_out(missing, H, HV, fused_runs):
    compare_gradients({**arguments(T=150, H=H, HV=HV, V=128), missing: None}, 1)
    assert fused_runs() == 1


def test_fused_gradients_with_what_a_rank_has_found_before(fused_runs):
    """What is kept serves them as well as an inverse that is found again."""
    q, k, v, g, beta, S = arguments(B=2, T=100, V=128).values()
    tensors = (q, k, v, g, beta, None, None, S.mT.contiguous(), None)
    options = {"scale": 0.1, "v_first": True, "norm": False, "sigmoid": False, "negative": False}
    with on_hopper(1), torch.no_grad():
        rule = Rule(tensors, torch.float16, 64, True, **options)
        o, S, *kept = rule.forward(*tensors)
        given = torch.randn_like(o), torch.randn_like(S)
        found = rule.backward(*given, *tensors, kept=kept, again=rule.again(*tensors))
        assert fused_runs() == 1 and fused_runs("ut_transform_16bit_kernel") == 0
        expected = rule.backward(*given, *tensors)
    assert fused_runs("ut_transform_16bit_kernel") == 1
    pairs = [(x, y.double()) for x, y in zip(found, expected, strict=True) if x is not None]
    assert len(pairs) == 6
    compare(*zip(*pairs, strict=True), GRADIENT_FLOAT16)


def test_fused_gradients_of_tokens_that_write_nothing(fused_runs):
    inputs = arguments(T=192, V=128)
    inputs["beta"][:, ::3] = 0.0
    inputs["beta"][:, 1::3] = 1 / 16
    compare_gradients(inputs, 1)
    assert fused_runs() == 1


def test_who_does_not_take_the_fused_kernel(fused_runs):
    """It divides by the scale; knows sequences of one length; rounds as it does; and few do not."""
    inputs = arguments(T=130, V=128)
    for options in (
        {"scale": 0.0}, {"scale": -0.5}, {"batch_invariant": True},
        {"cu_seqlens": torch.tensor([0, 130])},
    ):  # fmt: skip
        compare(call(inputs, 1, **options), exact(inputs, **options))
    compare_gradients(inputs, 1, batch_invariant=True)
    compare_gradients(inputs)
    compare(call(arguments(T=130, V=64), 1), exact(arguments(T=130, V=64)))
    assert fused_runs() == 0


def test_batches_that_fill_a_gpu():
    """Twice its rounds at most those of the scan, whose programs have half of the values."""
    chosen = [n for n in range(1, 400) if fused.fills(n, 132)]
    assert chosen == [*range(67, 133), *range(199, 265), *range(331, 397)]


def test_calls_that_look_alike_do_what_their_sizes_and_addresses_ask(monkeypatch):
    """The copy engine reads at multiples of 16 bytes alone: other calls take the portable scan."""
    ran, run = [], gluon_on_cpu.run

    def watched(kernel, *rest):
        ran.append(kernel.fn.__name__)
        run(kernel, *rest)

    monkeypatch.setattr(gluon_on_cpu, "run", watched)
    with on_hopper(1), torch.no_grad():
        for T, moved in ((70, False), (70, True), (70, False), (130, False)):
            inputs = arguments(T=T)
            x = inputs["v"]
            if moved:
                inputs["v"] = x.new_empty(x.numel() + 1)[1:].view(x.shape).copy_(x)
            ran.clear()
            found = chunk_gated_delta_rule(**inputs, output_final_state=True, backend="triton")
            assert ("chunk_scan_hopper_kernel" in ran) != moved
            compare(found, exact(inputs))


def test_these_calls_run_every_kernel_in_gluon(monkeypatch):
    ran, run = set(), gluon_on_cpu.run

    def watched(kernel, *rest):
        ran.add(kernel.fn.__name__)
        run(kernel, *rest)

    monkeypatch.setattr(gluon_on_cpu, "run", watched)
    monkeypatch.setattr(forward_on_hopper, "cut", lambda *sizes: (1, 128))
    compare_gradients(arguments(T=192))
    call(arguments(T=64, V=128), 1)
    there = {
        name
        for path in KERNELS.rglob("*.py")
        if path.parent.name != "bench"
        for name, x in vars(module_of(path)).items()
        if isinstance(x, GluonJITFunction) and name.endswith("_kernel")
    }
    assert ran == there


def test_a_chunk_takes_40_tensor_core_instructions(monkeypatch):
    """Of 64 x 64 x 16, as chapter 15 counts them, for 128 key dimensions and 64 values."""
    counted, start = [], gluon_on_cpu.start

    def counting(a, b, *rest, **options):
        (m, k), n = a.shape, b.shape[1]
        counted.append(m * n * k // (64 * 64 * 16))
        return start(a, b, *rest, **options)

    monkeypatch.setitem(gluon_on_cpu.MEANINGS, "warpgroup_mma", counting)
    totals = []
    for T in (192, 256):
        counted.clear()
        call(arguments(T=T, HV=1, K=128, V=64), 1)
        totals.append(sum(counted))
    assert totals[1] - totals[0] == 40


@pytest.mark.parametrize("K", [64, 256])
def test_what_a_training_call_returns(K):
    """Its scan has beta apart from the matrix."""
    inputs = arguments(T=200, K=K)
    with on_hopper(1):
        leaves = {name: x.clone().requires_grad_() for name, x in inputs.items()}
        found = chunk_gated_delta_rule(**leaves, output_final_state=True, backend="triton")
    compare([x.detach() for x in found], exact(inputs))


@pytest.mark.parametrize("K, V", [(64, 64), (128, 128), (256, 128)])
@pytest.mark.parametrize("T", [1, 64, 200, 256])
def test_gradients(K, V, T, unwritten_memory_is_nan):
    compare_gradients(arguments(B=2, T=T, K=K, V=V))


@pytest.mark.parametrize("H, HV", [(3, 3), (1, 4)])
def test_gradients_of_grouped_value_heads(H, HV):
    compare_gradients(arguments(T=192, H=H, HV=HV))


@pytest.mark.parametrize("K, V, H, HV", [(64, 128, 2, 2), (128, 128, 1, 1), (128, 64, 1, 2)])
@pytest.mark.parametrize("chunks, span", [(4, 4), (8, 8), (7, 4), (15, 8)])
def test_gradients_where_few_states_are_kept(
    K, V, H, HV, chunks, span, monkeypatch, spans, unwritten_memory_is_nan
):
    monkeypatch.setattr(fused, "fills", lambda *batch: False)
    inputs = arguments(B=2, T=64 * chunks, K=K, V=V, H=H, HV=HV)
    multiprocessors = 2 * H * -(-chunks // span)  # as many as spans
    compare_gradients(inputs, multiprocessors)
    compare_gradients(inputs, multiprocessors, batch_invariant=True)
    assert spans == [span, 1]


@pytest.mark.parametrize("missing", ["g", "initial_state", None])
@pytest.mark.parametrize("K, H, HV", [(64, 2, 2), (128, 1, 1), (64, 1, 2), (128, 1, 2)])
@pytest.mark.parametrize("chunks", [8, 15])
def test_gradients_where_the_forward_pass_keeps_states(
    K, H, HV, chunks, missing, monkeypatch, spans, fused_runs, unwritten_memory_is_nan
):
    """One of eight chunks, so that none is found again."""
    monkeypatch.setattr(fused, "fills", lambda *batch: True)
    inputs = {**arguments(B=2, T=64 * chunks, K=K, V=128, H=H, HV=HV), missing: None}
    inputs.pop(None, None)
    compare_gradients(inputs, 2 * H * -(-chunks // 8))  # as many multiprocessors as spans
    assert fused_runs() == 1 and spans == []


def test_the_forward_pass_keeps_the_states_that_are_found_again():
    inputs = arguments(B=2, T=64 * 16, K=128, V=128, HV=2)
    *_, states = kept(inputs)
    assert states.shape == (2, 2, 2, 128, 128) and states.dtype == torch.float16
    for n, first in enumerate((0, 512)):
        before = {name: x[:, :first] for name, x in inputs.items() if name != "initial_state"}
        before["initial_state"] = inputs["initial_state"]
        S = exact(before)[1].mT if first else inputs["initial_state"].mT.double()
        compare([states[:, n]], [S])


def test_gradients_of_many_chunks_of_256_dimensions():
    compare_gradients(arguments(T=1024, HV=1, K=256, V=64))


def test_gradients_of_packed_sequences(turns):
    options = {"cu_seqlens": torch.tensor([0, 0, 17, 145, 209, 300])}
    compare_gradients(arguments(T=300, N=5), **options)


@pytest.mark.parametrize("missing", ["g", "initial_state"])
def test_gradients_where_something_is_left_out(missing):
    compare_gradients({**arguments(T=150), missing: None})


def test_gradients_of_tokens_that_write_nothing():
    """Whose Z is no multiple of dV."""
    inputs = arguments(T=192)
    inputs["beta"][:, ::3] = 0.0
    inputs["beta"][:, 1::3] = 1 / 16
    compare_gradients(inputs)


def test_a_wait_in_vain_is_found(monkeypatch):
    monkeypatch.setattr(gluon_on_cpu, "PATIENCE", 0.5)
    monkeypatch.setitem(gluon_on_cpu.MEANINGS["mbarrier"].__dict__, "arrive", gluon_on_cpu.nothing)
    with pytest.raises(AssertionError, match="in vain"):
        call(arguments(T=64), 1)


@pytest.mark.parametrize("waits", [True, False])
def test_bytes_that_nobody_announced_are_found(monkeypatch, waits):
    """Also those that come when nobody waits any more."""
    barriers, expect = gluon_on_cpu.MEANINGS["mbarrier"].__dict__, gluon_on_cpu.expect
    monkeypatch.setitem(barriers, "expect", lambda at, bytes, **given: expect(at, 16, **given))
    if not waits:
        monkeypatch.setitem(barriers, "wait", gluon_on_cpu.nothing)
        copy = gluon_on_cpu.Program.copy

        def late(program):
            time.sleep(0.5)
            copy(program)

        monkeypatch.setattr(gluon_on_cpu.Program, "copy", late)
    with pytest.raises(AssertionError, match="more bytes than were announced"):
        call(arguments(T=64), 1)


def test_no_thread_is_left_behind():
    before = threading.active_count()
    call(arguments(T=64), 1)
    end = time.monotonic() + 10  # those of programs that have ended may be about to end
    while threading.active_count() > before and time.monotonic() < end:
        time.sleep(0.01)
    assert threading.active_count() <= before
