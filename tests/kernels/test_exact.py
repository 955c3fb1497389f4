"""The kernels without a tolerance: to the last bit what the token loop finds in whole numbers.

On the data of `exact_data` nothing is rounded but what is stored in 16 bits at the end, and that
once, from an exact number. So a float32 kernel, one in tf32 and one in float16 have the same right
answer, and whatever differs from it is a mistake, however small. (Zeros may have either sign.)
`test_exact_data` proves it of every case, and `test_exact_conv` has the convolution.

Operands take up to all of bfloat16's 8 bits, the transform 6 of 11, and partial sums 22 of 24, or
all 24 in "many chunks", which is for a device.

Not exact, and left to the tolerances: norms (a root), the gate (softplus and exp), the sigmoid, and
SiLU, which no data make dyadic. They are `activations`, and those parts of `recurrent` and
`causal_conv`. bfloat16 is for the device: Triton's interpreter computes it wrongly.
"""

from contextlib import nullcontext

import exact_data
import pytest
import torch
from exact_cases import (
    CASES,
    COMPILED,
    EVERYWHERE,
    FOR_HOPPER,
    INTERPRETED,
    OF_16_BITS,
    ONCE,
    case,
    same,
)

pytest.importorskip("triton")
from gluon_on_cpu import on_hopper  # noqa: E402

from gdn_ref import (  # noqa: E402
    chunk_gated_delta_rule,
    decode,
    fused_recurrent_gated_delta_rule,
)
from gdn_ref.kernels.forward import launches as forward  # noqa: E402
from gdn_ref.kernels.forward.hopper import launches as forward_on_hopper  # noqa: E402

pytestmark = [
    pytest.mark.usefixtures("unwritten_memory_is_nan", "fenced"),
    # decays of tokens that pad a short chunk after a reset, which nobody reads
    pytest.mark.filterwarnings("ignore:overflow encountered in exp2"),
    pytest.mark.filterwarnings("ignore:invalid value encountered in multiply"),
]
IN_TWO_DTYPES = [("packed", 16), ("delta rule", 32), ("two chunks", 64)]  # in the interpreter
PASSES = [*IN_TWO_DTYPES, ("padded", 16), ("widest", 32), ("wide", 64)]
POOLS = [(torch.float32, False), (torch.float16, True), (torch.bfloat16, False)]


def check(name, device, dtype, v_first=False, gradient=True, rule=None, **options):
    """A call without a gradient, and one with all of them, as the case is packed or padded."""
    x, o_, last_, derivatives = case(name)
    B = CASES[name][0]
    if B == 0:
        options["cu_seqlens"] = exact_data.packed(x, device)
    given = exact_data.arguments(x, B or 1, dtype, device, v_first)
    if not x.halvings.any():
        given["g"] = None
    options |= {"scale": 2.0**-x.shift, "state_v_first": v_first}
    options |= {"output_final_state": True, "backend": "triton"}
    rule = rule or chunk_gated_delta_rule
    o = exact_data.tensor(exact_data.in_float(o_, exact_data.UNIT), B or 1)
    S = exact_data.state(last_, v_first)
    for asked in (False, True)[: 1 + gradient]:
        leaves = {n: a.requires_grad_(asked) for n, a in given.items() if a is not None}
        found = rule(**given, **options)
        same(found[0], o, dtype)
        same(found[1], S, torch.float32)
    if gradient:
        do = exact_data.tensor(x.do, B or 1).to(device, dtype)
        dS = exact_data.state(x.dS_, v_first).to(device)
        gradients = torch.autograd.grad(found, list(leaves.values()), (do, dS))
        for (n, a), d in zip(leaves.items(), gradients, strict=True):
            right = torch.from_numpy(derivatives[n])
            if n == "initial_state":
                right = right if v_first else right.mT
            same(d, right.reshape(a.shape), a.dtype)


def as_on_hopper(device):
    return on_hopper() if device == "cpu" else nullcontext()


@pytest.mark.parametrize(
    "device, dtype, name, chunk_size",
    [
        pytest.param(*place.values, *sizes, marks=place.marks)
        for place in INTERPRETED + COMPILED
        for sizes in (IN_TWO_DTYPES if place is INTERPRETED[1] else PASSES)
    ],
)
def test_both_passes(device, dtype, name, chunk_size):
    check(name, device, dtype, chunk_size=chunk_size)


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["packed", "wide", "128"])
def test_one_tf32_product(name):
    torch.set_float32_matmul_precision("high")
    try:
        check(name, "cuda", torch.float32)
    finally:
        torch.set_float32_matmul_precision("highest")


@ONCE
@pytest.mark.parametrize("name", ["padded", "packed"])
def test_shares_states_that_lie_otherwise_and_pieces(name, device, dtype, monkeypatch, in_pieces):
    pieces = in_pieces(room=1)
    monkeypatch.setattr(forward, "shares", lambda *sizes: 3)
    check(name, device, dtype, v_first=True, gradient=name == "padded", chunk_size=16)
    assert pieces() == ([1, 1] if name == "padded" else [])


@OF_16_BITS
@pytest.mark.parametrize("name", FOR_HOPPER)
def test_both_passes_on_hopper(name, device, dtype):
    with as_on_hopper(device):
        check(name, device, dtype)


@OF_16_BITS
def test_a_short_chunk_of_256_dimensions(device, dtype):
    with as_on_hopper(device):
        check("256 with a short chunk", device, dtype, v_first=True, gradient=device == "cuda")


@OF_16_BITS
@pytest.mark.parametrize("name", ["64", "256 with a short chunk", "packed for Hopper"])
def test_shares_on_hopper(name, device, dtype, monkeypatch):
    with as_on_hopper(device):
        monkeypatch.setattr(forward_on_hopper, "cut", lambda *sizes: (3, None))
        monkeypatch.setattr("gdn_ref.prepared._remembered", {})
        check(name, device, dtype, gradient=False)


@OF_16_BITS
@pytest.mark.parametrize("name", ["segments", "segments of 128"])
def test_segments(name, device, dtype, monkeypatch):
    with as_on_hopper(device):
        monkeypatch.setattr(forward_on_hopper, "cut", lambda *sizes: (1, 64))
        monkeypatch.setattr("gdn_ref.prepared._remembered", {})
        check(name, device, dtype, gradient=device == "cuda")


@OF_16_BITS
def test_odd_heads_in_zeros(device, dtype, monkeypatch):
    with as_on_hopper(device):
        monkeypatch.setattr(forward, "pays", lambda plan, sizes: True)
        monkeypatch.setattr("gdn_ref.prepared._remembered", {})
        check("wide", device, dtype, gradient=False)


@pytest.mark.parametrize("device, dtype", COMPILED)
def test_many_chunks_and_heads(device, dtype):
    check("many chunks", device, dtype)


@EVERYWHERE
def test_token_by_token(device, dtype):
    check("tokens", device, dtype, gradient=False, rule=fused_recurrent_gated_delta_rule)


@pytest.mark.parametrize(
    "device, dtype, kept_in, v_first",
    [
        pytest.param(*place.values, kept_in, v_first, marks=place.marks)
        for place in INTERPRETED + COMPILED
        for kept_in, v_first in POOLS[: 2 if place in INTERPRETED else 3]
    ],
)
def test_decoding_from_a_pool(device, dtype, kept_in, v_first):
    """A state takes 8 bits after each token: a pool of 16 bits loses nothing either."""
    x, o_, last_, _ = case("tokens")
    given = exact_data.arguments(x, 1, dtype, device, v_first)
    first, slots = given.pop("initial_state"), torch.tensor([5, 0, 3, 6], device=device)
    pool = torch.full((7, *first.shape[1:]), torch.nan, device=device, dtype=kept_in)
    pool[slots] = first.to(kept_in)
    o = decode(**given, pool=pool, slot_idx=slots, cu_seqlens=exact_data.packed(x, device),
               scale=2.0**-x.shift, state_v_first=v_first, backend="triton")  # fmt: skip
    same(o, exact_data.tensor(exact_data.in_float(o_, exact_data.UNIT)), dtype)
    same(pool[slots], exact_data.state(last_, v_first).double(), kept_in)
    assert pool[[1, 2, 4]].isnan().all()
