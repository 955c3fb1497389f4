"""What a shard feels of the state before it, in Triton, against PyTorch in float64."""

import math

import pytest
import torch
from tolerances import KERNEL_BFLOAT16, KERNEL_FLOAT16, KERNEL_FLOAT32, assert_close

pytest.importorskip("triton")
pytestmark = [pytest.mark.interpreter, pytest.mark.usefixtures("unwritten_memory_is_nan", "fenced")]

from gdn_ref.distributed import CPContext, felt, launched, response  # noqa: E402
from gdn_ref.kernels.shards.bounds import answered  # noqa: E402

TOLERANCE = {torch.float32: KERNEL_FLOAT32, torch.float16: KERNEL_FLOAT16}
TOLERANCE[torch.bfloat16] = KERNEL_BFLOAT16
OPTIONS = {
    "scale": None, "chunk_size": 16, "use_qk_l2norm_in_kernel": True, "use_gate_in_kernel": False,
    "use_beta_sigmoid_in_kernel": False, "allow_neg_eigval": False,
}  # fmt: skip
SLOW = (-0.02, -0.1, -0.9, -1.5)  # by value head; two of them forget within a piece


def given(decays=SLOW, T=150, H=2, K=20, V=24, dtype=torch.float32, device="cpu"):
    """Of one rank, all in this dtype but decays and strengths: q, k, v, g, beta."""
    on = {"generator": torch.Generator().manual_seed(0)}
    HV = len(decays)
    q, k = torch.randn(2, 1, T, H, K, **on)
    v, beta = torch.randn(1, T, HV, V, **on), torch.rand(1, T, HV, **on)
    g = torch.tensor(decays) * (0.5 + torch.rand(1, T, HV, **on))
    return [x.to(device, dtype) for x in (q, k, v)] + [x.to(device) for x in (g, beta)]


def second(T, device="cpu", layout="contiguous"):
    """The second of three ranks: pieces that a state enters, and one that begins its sequence."""
    offsets = [0, 4 * T // 3, 3 * T - 5, 3 * T]
    return CPContext.alone(torch.tensor(offsets, device=device), 1, 3, layout)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Several of a span, the last of which end past their piece."""
    monkeypatch.setattr(response, "block_length", lambda n: min(n, 40))
    monkeypatch.setattr(felt, "BLOCK", 16)
    monkeypatch.setattr(launched, "BLOCK", 16)


def both(cp, tokens, **options):
    """By kernels, and by PyTorch in float64 from the same numbers."""
    exact = [None if x is None else x.double() for x in tokens]
    by_kernels = {**OPTIONS, "backend": "triton", **options}
    bounds = launched.Bounds(by_kernels, tokens, {}, cp, torch.float32)
    found = launched.respond(by_kernels, tokens, bounds, torch.float32)
    least = [felt.LEAST * torch.finfo(x).eps for x in (torch.float32, tokens[2].dtype)]
    with pytest.MonkeyPatch.context() as patch:
        of_bounds = felt.Bounds.answered
        patch.setattr(felt.Bounds, "answered", lambda bounds, *_: of_bounds(bounds, *least))
        by_torch = {**OPTIONS, "backend": "reference", **options}
        bounds = felt.Bounds(by_torch, exact, {}, cp, torch.float64)
        return found, response.respond(by_torch, exact, bounds, torch.float64)


def compare(cp, tokens, **options):
    """Tokens, maps, outputs that are corrected, and the product of the way back."""
    found, expected = both(cp, tokens, **options)
    dtype = tokens[2].dtype
    assert found.tokens == expected.tokens
    assert_close(found.F.double().cpu(), expected.F.cpu(), TOLERANCE[dtype])

    T, HV, V = tokens[2].shape[1:]
    on = {"generator": torch.Generator().manual_seed(1)}
    S = torch.randn(len(cp.mine), HV, V, tokens[0].shape[3], **on).to(tokens[0].device)
    o, do = (torch.randn(1, T, HV, V, **on).to(tokens[0].device, dtype) for _ in range(2))
    before, exact = o.clone(), o.double()
    found.correct(o, S)
    expected.correct(exact, S.double())
    assert_close(o.double().cpu(), exact.cpu(), TOLERANCE[dtype])
    L = found.spans.L
    touched = torch.zeros(T, HV, dtype=torch.bool)
    for p, counts in zip(cp.entered, found.tokens, strict=True):
        for h, n in enumerate(counts):
            end = min(p.end, p.begin + -(-n // L) * L)
            touched[p.begin : end, h] = True
    same = (o == before).all(3)[0].cpu()
    assert same[~touched].all() and not same[touched].all()
    M = found.product(do, torch.float32)
    exact = expected.product(do.double(), torch.float64)
    assert_close(M.double().cpu(), exact.cpu(), TOLERANCE[dtype])
    return found


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("layout", ["contiguous", "zigzag", "halves"])
def test_it_is_that_of_pytorch(layout, dtype):
    found = compare(second(150, layout=layout), given(dtype=dtype))
    assert len({n for counts in found.tokens for n in counts}) > 1


@pytest.mark.parametrize("K, V", [(16, 130), (65, 16), (128, 64)])
def test_heads_of_any_size(K, V):
    compare(second(150), given(K=K, V=V))


@pytest.mark.parametrize("decays, H", [((-0.05, -0.3, -0.01), 1), ((-0.3,) * 3, 3)])
def test_any_number_of_value_heads(decays, H):
    compare(second(150), given(decays, H=H))


def test_keys_of_any_length():
    """What may grow is in the bound, and nothing is divided by a norm."""
    q, k, v, g, beta = given((-0.3, -0.4, -0.3, -0.4))
    k[:, :40] *= 0.7
    compare(second(150), (0.2 * q, 0.2 * k, v, g, beta), use_qk_l2norm_in_kernel=False)


def test_without_decays():
    q, k, v, _, beta = given()
    found = compare(second(150), (q, k, v, None, beta))
    assert found.tokens == [[50] * 4]


def same_counts(cp, k, g, step):
    """By kernels and by PyTorch, each number answered for as long as it is felt."""
    least, longest = [1e-7, 1e-3], max(p.end - p.begin for p in cp.entered)
    bounds = felt.Bounds(OPTIONS, (None, k, None, g, step), {}, cp, torch.float32)
    found = answered(g, step, cp.places("entered", g.device), longest, least, felt.BLOCK)
    assert found.tolist() == bounds.answered(*least)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("which", ["g", "step"])
def test_numbers_that_are_none_are_felt(which, number):
    """The counts are those of PyTorch; a reset ends what is felt."""
    q, k, v, g, beta = given((-1.0,) * 4)
    (g if which == "g" else beta)[0, 20, 0] = number
    same_counts(second(150), k, g, beta)


@pytest.mark.parametrize("most", [2.5, 3.0, 6.0])
@pytest.mark.parametrize("decay", [-0.6, -1.2, -2.5])
def test_what_may_grow_is_in_the_bound(most, decay):
    """Strengths beyond 2 stretch what they erase, and most where a decay is weakest."""
    q, k, v, g, beta = given((decay,) * 4, T=600)
    same_counts(second(600), k, g, most * beta)


def test_many_blocks_of_bounds():
    """More than a program walks along at a time."""
    q, k, v, g, beta = given((-0.004, -0.02, -0.05, 0.0), T=2400)
    same_counts(second(2400), k, g, beta)


@pytest.mark.gpu
@pytest.mark.parametrize("D", [64, 128, 256])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_on_a_gpu(dtype, D):
    for V in (D, D - 4):
        tokens = given(T=5000, K=D, V=V, dtype=dtype, device="cuda")
        compare(second(5000, "cuda"), tokens)
