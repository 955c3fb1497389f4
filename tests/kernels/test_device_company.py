"""A sequence has one result, to the last bit, whatever it comes with: padded, packed or alone."""

import pytest
import torch

from gdn_ref import chunk_gated_delta_rule, fused_recurrent_gated_delta_rule
from gdn_ref.kernels.forward.hopper.fused.launches import VALUES, fills
from gdn_ref.kernels.forward.hopper.launches import cut
from gdn_ref.proofs.data import hard_inputs

pytestmark = pytest.mark.gpu

TOKENS = ("q", "k", "v", "g", "beta")
RAW = {"use_qk_l2norm_in_kernel": True, "use_beta_sigmoid_in_kernel": True}
HALF = torch.bfloat16
CASES = [  # K, V, H, HV, lengths, dtype, gate inside; cases of one size share what is compiled
    (64, 64, 2, 8, [1024] * 4, HALF, False),
    (64, 64, 2, 8, [63] * 3, HALF, False),
    (64, 64, 2, 8, [65, 64, 63, 1, 0, 127], HALF, True),
    (64, 128, 4, 4, [1000] * 4, HALF, True),
    (128, 128, 2, 4, [1000] * 4, HALF, False),
    (128, 128, 2, 4, [2000, 48, 2048], HALF, True),
    (128, 128, 2, 4, [512] * 3, torch.float16, True),
    (128, 128, 1, 1, [2048] * 2, HALF, False),
    (128, 64, 3, 3, [300] * 5, HALF, False),
    (128, 256, 2, 2, [700, 5, 64], HALF, False),
    (128, 512, 2, 2, [200] * 3, HALF, True),
    (256, 256, 2, 4, [700] * 3, HALF, False),
    (256, 256, 2, 4, [64, 128, 1, 0, 300], HALF, True),
    (256, 512, 4, 4, [1024] * 4, HALF, False),
    (256, 512, 4, 4, [1000, 24, 1024, 2048], HALF, False),
    (256, 512, 4, 4, [1500, 64, 5000, 2000], HALF, False),  # taken by their lengths
    (256, 512, 4, 4, [77] * 3, HALF, True),
    (256, 512, 4, 4, [2048] * 2, HALF, True),
    (256, 512, 6, 6, [1024] * 4, HALF, True),
    (256, 64, 3, 3, [128] * 4, HALF, False),
    (256, 128, 1, 2, [1, 2, 3, 64, 65], torch.float16, False),
    (100, 60, 2, 6, [1000] * 3, HALF, False),
    (100, 60, 2, 6, [15, 85, 200, 900], HALF, True),
    (60, 100, 3, 3, [500] * 3, torch.float16, False),
    (20, 5, 1, 2, [33, 70, 1], HALF, True),
    (200, 16, 2, 2, [129] * 3, HALF, False),
    (200, 512, 2, 2, [129, 64, 200], HALF, True),
    (64, 64, 2, 8, [300, 20, 64], torch.float32, True),
    (128, 128, 2, 4, [256] * 3, torch.float32, False),
    (256, 64, 3, 3, [65] * 3, torch.float32, True),
    (100, 60, 2, 6, [40, 100], torch.float32, False),
]
FULL = [  # they fill the GPU, and take one kernel for all of it, unless that is forbidden
    (128, 128, 16, 32, [2048] * 4, HALF, False),
    (64, 128, 4, 8, [300] * 12, HALF, True),
]
LONG = [  # few heads on long sequences: in segments, unless that is forbidden
    (128, 128, 2, 4, [8192] * 2, HALF, False),
    (128, 128, 2, 4, [16384, 64], HALF, False),
    (128, 128, 2, 4, [0, 3000, 64, 9000, 6000], HALF, False),
    (64, 64, 1, 1, [5000, 3000, 192], HALF, True),
    (100, 60, 1, 2, [8192] * 2, HALF, False),
    (60, 100, 1, 1, [6000, 4000], torch.float16, True),
]


def inputs_of(K, V, H, HV, lengths, dtype, raw):
    """Hard inputs of packed sequences, and gradients of the results, as a dictionary."""
    T, N = sum(lengths), len(lengths)
    q, k, v, g, beta, _ = (torch.from_numpy(x) for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(HV,)))
    generator = torch.Generator().manual_seed(0)
    S, dS = torch.randn(2, N, HV, K, V, generator=generator).cuda()
    tokens = {"q": q[:H], "k": k[:H], "v": v, "g": g, "beta": beta}
    tokens = {name: x.transpose(0, 1)[None].cuda() for name, x in tokens.items()}
    vectors = {name: tokens[name].to(dtype).contiguous() for name in "qkv"}
    numbers = {name: tokens[name].float().contiguous() for name in ("g", "beta")}
    do = torch.randn(v.transpose(0, 1)[None].shape, generator=generator).cuda().to(dtype)
    if raw:
        numbers["g"] = numbers["g"] + 2.0
        more = {"A_log": torch.linspace(-1, 1, HV), "dt_bias": torch.linspace(0.5, -0.5, HV)}
        vectors |= {name: x.cuda() for name, x in more.items()}
    return vectors | numbers | {"initial_state": S}, do, dS


def both_passes(given, do, dS, raw, **options):
    """Outputs, last states and the gradient of every tensor, by name."""
    leaves = {name: x.detach().requires_grad_() for name, x in given.items()}
    options |= RAW | {"use_gate_in_kernel": True} if raw else {}
    results = chunk_gated_delta_rule(**leaves, output_final_state=True, **options)
    found = torch.autograd.grad(results, list(leaves.values()), (do, dS))
    return {"o": results[0], "S": results[1], **dict(zip(leaves, found, strict=True))}


def compare(case, **options):
    """The sequences packed, padded if they are of one length, and each alone: bit for bit."""
    *_, lengths, _, raw = case
    given, do, dS = inputs_of(*case)
    ends = torch.tensor([0, *lengths], device="cuda").cumsum(0)
    packed = both_passes(given, do, dS, raw, cu_seqlens=ends, **options)
    if len(set(lengths)) == 1:
        shape = (len(lengths), lengths[0])
        rows = lambda x: x.reshape(*shape, *x.shape[2:])
        batch = {name: rows(x) if name in TOKENS else x for name, x in given.items()}
        padded = both_passes(batch, rows(do), dS, raw, **options)
        for name in ("o", "S", "initial_state", *TOKENS):
            assert torch.equal(padded[name].reshape(packed[name].shape), packed[name]), name
    begin = 0
    for n, length in enumerate(lengths):
        own = slice(begin, begin + length)
        begin += length
        one = {name: x[:, own] if name in TOKENS else x for name, x in given.items()}
        one["initial_state"] = given["initial_state"][n : n + 1]
        alone = both_passes(one, do[:, own], dS[n : n + 1], raw, **options)
        for name in ("o", *TOKENS):
            assert torch.equal(alone[name], packed[name][:, own]), (n, name)
        for name in ("S", "initial_state"):
            assert torch.equal(alone[name], packed[name][n : n + 1]), (n, name)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_the_same_bits_padded_packed_and_alone(case):
    compare(case)


@pytest.mark.parametrize("case", FULL, ids=str)
def test_the_same_bits_where_the_one_kernel_is_forbidden(case):
    _, V, _, HV, lengths, *_ = case
    assert fills(len(lengths) * HV * V // VALUES, 132)
    compare(case, batch_invariant=True)


@pytest.mark.parametrize("case", LONG, ids=str)
def test_the_same_bits_where_segments_are_forbidden(case):
    K, V, _, HV, lengths, *_ = case
    if K in (64, 128):  # else it pays to be padded to that
        programs = HV * V // 64
        assert cut(max(lengths), programs, K, 132)[1] is not None
    compare(case, batch_invariant=True)


@pytest.mark.parametrize("K, V", [(64, 64), (128, 128), (100, 60), (256, 512)])
def test_the_same_bits_token_by_token(K, V):
    """Of which few states are cut into narrower tiles, unless that is forbidden."""
    case = (K, V, 2, 4, [5] * 40, HALF, False)
    given, _, _ = inputs_of(*case)
    ends = torch.arange(0, 201, 5, device="cuda")
    options = {"output_final_state": True, "batch_invariant": True}
    with torch.no_grad():
        o, S = fused_recurrent_gated_delta_rule(**given, cu_seqlens=ends, **options)
        for n in (0, 17, 39):
            own = slice(5 * n, 5 * n + 5)
            one = {name: x[:, own] if name in TOKENS else x for name, x in given.items()}
            one["initial_state"] = given["initial_state"][n : n + 1]
            alone = fused_recurrent_gated_delta_rule(**one, **options)
            assert torch.equal(alone[0], o[:, own]) and torch.equal(alone[1], S[n : n + 1])
