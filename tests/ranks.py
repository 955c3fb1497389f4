"""What each process of `test_distributed` runs: cases whose expected values one process computes.

A case returns `{what: relative error}`; all ranks meet the same random numbers, for all draw them
from the case's seed.
"""

import os
import random
import time
from unittest.mock import patch

import torch
import torch.distributed as dist
from tolerances import relative_error

import gdn_ref
from gdn_ref import distributed
from gdn_ref.distributed import cost, felt, response, rule
from gdn_ref.distributed.context import LAYOUTS

F64 = {"dtype": torch.float64}
T = 28


def layout_of(seed):
    """Each in turn, of the seeds below 6."""
    return LAYOUTS[seed // 2 % len(LAYOUTS)]


def batch(seed, R, layout):
    """Random sequences and shards of T tokens, some of each empty: `cu_seqlens, lengths`."""
    draw = random.Random(seed)
    N = draw.choice([1, 2, 5])
    shards = R if layout == "contiguous" else 2 * R
    offsets = sorted(draw.choices(range(T + 1), k=N - 1))
    borders = sorted(draw.choices(range(T + 1), k=shards - 1))
    if seed % 3 == 0 and borders and N > 1:
        offsets[0] = borders[-1]  # a sequence border on a shard's
        offsets.sort()
    if seed % 3 == 2 and N > 2:
        offsets[1] = offsets[0]  # an empty sequence
    lengths = [b - a for a, b in zip([0, *borders], [*borders, T], strict=True)]
    return torch.tensor([0, *offsets, T]), lengths


def summed(gradients):
    """Of weights, over the ranks."""
    for x in gradients:
        dist.all_reduce(x)
    return gradients


def errors(names, found, expected):
    """By name; what no token is in has no error."""
    pairs = zip(names, found, expected, strict=True)
    return {name: relative_error(a.detach(), b.detach()) for name, a, b in pairs if a.numel()}


def rule_case(rank, R, seed, parallel, how="ring"):
    """`chunk_gated_delta_rule`, with everything that it takes."""
    layout = layout_of(seed)
    cu_seqlens, lengths = batch(seed, R, layout)
    torch.manual_seed(seed)
    H, K, V, N = (R if parallel == "heads" else 2), 3, 5, len(cu_seqlens) - 1
    HV, raw = 2 * H, seed % 4 == 1
    q, k = torch.randn(2, 1, T, H, K, **F64)
    v, do = torch.randn(2, 1, T, HV, V, **F64)
    g, beta = torch.rand(2, 1, T, HV, **F64)
    S, dS = torch.randn(2, N, HV, K, V, **F64)
    gate = torch.randn(2, HV, **F64)
    options = {"use_qk_l2norm_in_kernel": True, "output_final_state": True, "chunk_size": 8}
    if raw:
        options |= {"use_gate_in_kernel": True, "use_beta_sigmoid_in_kernel": True}
        options |= {"allow_neg_eigval": True, "scale": 0.7}
    elif seed == 2:  # states are forgotten within a few tokens
        g, felt.BLOCK = -20 * g, 4
    else:
        g = -0.2 * g

    def both_passes(function, tokens, do, **where):
        leaves = [x.clone().requires_grad_() for x in (*tokens, S, *gate)]
        named = {"A_log": leaves[6], "dt_bias": leaves[7]} if raw else {}
        o, S_last = function(*leaves[:5], initial_state=leaves[5], **named, **options, **where)
        wanted = leaves if raw else leaves[:6]
        return o, S_last, torch.autograd.grad([o, S_last], wanted, [do, dS])

    tokens = q, k, v, g, beta
    o, S_last, expected = both_passes(
        gdn_ref.chunk_gated_delta_rule, tokens, do, cu_seqlens=cu_seqlens
    )
    cp = distributed.build_cp_context(
        cu_seqlens, layout=layout, lengths=lengths, exchange=how, timeout_s=40
    )
    here = [cp.shard(x) for x in tokens]
    found = both_passes(
        distributed.chunk_gated_delta_rule, here, cp.shard(do), cp_context=cp, parallel=parallel
    )
    starts, ends = cp.starts_here(), cp.ends_here()
    names = ["o", "S", "S elsewhere", "dS", "dq", "dk", "dv", "dg", "dbeta"]
    elsewhere = [n for n in range(N) if n not in ends]
    got = [found[0], found[1][ends], found[1][elsewhere], found[2][5][starts], *found[2][:5]]
    rest = [cp.shard(x) for x in expected[:5]]
    want = [cp.shard(o), S_last[ends], 0 * S_last[elsewhere], expected[5][starts], *rest]
    if raw:
        names += ["dA_log", "ddt_bias"]
        got, want = [*got, *summed(found[2][6:])], [*want, *expected[6:]]
    compared = errors(names, got, want)
    if parallel != "heads":
        predicted = sum(cost.bytes_of_pass(cp, HV, K, V, 8, way) for way in (False, True))
        compared["bytes"] = abs(cp.bytes_sent - predicted)
    return compared


def conv_case(rank, R, seed):
    """`causal_conv1d`, whose halo may reach over several shards."""
    layout = layout_of(seed)
    cu_seqlens, lengths = batch(seed, R, layout)
    torch.manual_seed(seed)
    D, W, N = 3, (1, 4, 6)[seed % 3], len(cu_seqlens) - 1
    x, dy = torch.randn(2, 1, T, D, **F64)
    S, dS = torch.randn(2, N, D, W - 1, **F64)
    weight, bias = torch.randn(D, W, **F64), torch.randn(D, **F64)

    def both_passes(function, x, dy, **where):
        leaves = [y.clone().requires_grad_() for y in (x, S, weight, bias)]
        x, state, w, b = leaves
        out = function(x, w, b, initial_state=state, output_final_state=True, **where)
        return *out, torch.autograd.grad(out, leaves, [dy, dS], materialize_grads=True)

    y, S_last, expected = both_passes(gdn_ref.causal_conv1d, x, dy, cu_seqlens=cu_seqlens)
    cp = distributed.build_cp_context(cu_seqlens, layout=layout, lengths=lengths, timeout_s=40)
    found = both_passes(distributed.causal_conv1d, cp.shard(x), cp.shard(dy), cp_context=cp)
    starts, ends = cp.starts_here(), cp.ends_here()
    names = ["y", "S", "dx", "dS", "dweight", "dbias"]
    got = [found[0], found[1][ends], found[2][0], found[2][1][starts], *summed(found[2][2:])]
    want = [cp.shard(y), S_last[ends], cp.shard(expected[0]), expected[1][starts], *expected[2:]]
    return errors(names, got, want)


def layer_case(rank, R, seed):
    """The layer: its output, and the gradients of its input and of every weight."""
    layout = layout_of(seed)
    cu_seqlens, lengths = batch(seed, R, layout)
    torch.manual_seed(seed)
    layer = gdn_ref.GatedDeltaNet(8, 2, 4, num_v_heads=4, conv_bias=True, **F64)
    x, dy = torch.randn(2, 1, T, 8, **F64)
    cp = distributed.build_cp_context(cu_seqlens, layout=layout, lengths=lengths, timeout_s=40)

    def both_passes(x, dy, **where):
        x = x.clone().requires_grad_()
        y = layer(x, **where)
        return y, *torch.autograd.grad(y, [x, *layer.parameters()], dy)

    y, dx, *expected = both_passes(x, dy, cu_seqlens=cu_seqlens)
    found, dx_found, *rest = both_passes(cp.shard(x), cp.shard(dy), cp_context=cp)
    names = ["y", "dx", *(name for name, _ in layer.named_parameters())]
    want = [cp.shard(y), cp.shard(dx), *expected]
    return errors(names, [found, dx_found, *summed(rest)], want)


def transformers_case(rank, R):
    """A layer of transformers that runs with gdn_ref, in a `sharded` block; float32 inside."""
    from transformers import Qwen3NextConfig
    from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextGatedDeltaNet

    from gdn_ref.integrations.transformers import use_gdn_ref

    torch.manual_seed(0)
    config = Qwen3NextConfig(
        hidden_size=16, linear_num_key_heads=2, linear_num_value_heads=4, linear_key_head_dim=4,
        linear_value_head_dim=4,
    )  # fmt: skip
    layer = Qwen3NextGatedDeltaNet(config, 0).double()
    use_gdn_ref(layer)
    x, dy = torch.randn(2, 1, T, 16, **F64)
    cp = distributed.build_cp_context(torch.tensor([0, T]), timeout_s=40)

    def both_passes(x, dy):
        x = x.clone().requires_grad_()
        y = layer(x)
        return y, *torch.autograd.grad(y, [x, *layer.parameters()], dy)

    y, dx, *expected = both_passes(x, dy)
    with distributed.sharded(cp):
        found, dx_found, *rest = both_passes(cp.shard(x), cp.shard(dy))
    names = ["y", "dx", *(name for name, _ in layer.named_parameters())]
    return errors(names, [found, dx_found, *summed(rest)], [cp.shard(y), cp.shard(dx), *expected])


def triton_case(rank, R):
    """The kernels, interpreted: both passes against the reference, in float32."""
    torch.manual_seed(0)
    n, H, K, V = 24, 1, 16, 16
    q, k, v = torch.randn(3, 1, n, H, K)
    g, beta = -0.1 * torch.rand(1, n, H), torch.rand(1, n, H)
    do = torch.randn(1, n, H, V)
    cp = distributed.build_cp_context(torch.tensor([0, n]), timeout_s=100)
    found = []
    for backend in ("triton", "reference"):
        leaves = [cp.shard(x).requires_grad_() for x in (q, k, v, g, beta)]
        o, S = distributed.chunk_gated_delta_rule(
            *leaves, cp_context=cp, backend=backend, output_final_state=True, chunk_size=16,
            use_qk_l2norm_in_kernel=True,
        )  # fmt: skip
        found.append([o, S, *torch.autograd.grad([o, S], leaves, [cp.shard(do), S.detach()])])
    return errors(["o", "S", "dq", "dk", "dv", "dg", "dbeta"], *found)


def half_case(rank, R):
    """bfloat16: outputs beside one process's, and whether states went round in four bytes."""
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, T, 2, 8).bfloat16()
    g, beta = -0.1 * torch.rand(1, T, 2), torch.rand(1, T, 2)
    options = {"use_qk_l2norm_in_kernel": True, "output_final_state": True}
    cp = distributed.build_cp_context(torch.tensor([0, T]), timeout_s=40)
    o, S = gdn_ref.chunk_gated_delta_rule(q, k, v, g, beta, **options)
    here = [cp.shard(x) for x in (q, k, v, g, beta)]
    found, S_found = distributed.chunk_gated_delta_rule(*here, cp_context=cp, **options)
    ends = cp.ends_here()
    compared = errors(["o", "S"], [found.float(), S_found[ends]], [cp.shard(o).float(), S[ends]])
    return compared | {"bytes": abs(cp.bytes_sent - cost.bytes_of_pass(cp, 2, 8, 8, 4))}


def messages_case(rank, R, how, layout, *offsets):
    """Messages of each pass, step by step: `(source, target, bytes)` of those side by side.

    Each is given back with the bytes that the context has counted, for float32.
    """
    parallel = how if how in ("heads", "relay") else "sequence"
    cp = distributed.build_cp_context(
        torch.tensor(offsets), layout=layout, exchange="ring" if parallel == how else how,
        timeout_s=40,
    )  # fmt: skip
    steps, sent = [], []

    def noted(ops):
        """Write down messages, then send them."""
        steps.append([
            (rank, op.group_peer, op.tensor.nbytes) if op.op is dist.isend
            else (op.group_peer, rank, op.tensor.nbytes) for op in ops
        ])  # fmt: skip
        return batch(ops)

    batch = dist.batch_isend_irecv
    with patch.object(dist, "batch_isend_irecv", noted):
        torch.manual_seed(0)
        T, H, HV, K, V = offsets[-1], R, 2 * R, 3, 5
        q, k = torch.randn(2, 1, T, H, K)
        v, g, beta = torch.randn(1, T, HV, V), -torch.rand(1, T, HV), torch.rand(1, T, HV)
        leaves = [cp.shard(x).requires_grad_() for x in (q, k, v, g, beta)]
        o, _ = distributed.chunk_gated_delta_rule(*leaves, cp_context=cp, parallel=parallel)
        sent.append((cp.bytes_sent, list(steps)))
        steps.clear()
        torch.autograd.grad(o.sum(), leaves)
        sent.append((cp.bytes_sent - sent[0][0], list(steps)))
    return sent


def call(cp, n=None, **changes):
    """A small call on this rank, of its own tokens or of n."""
    n = cp.length if n is None else n
    given = {"q": torch.ones(1, n, 2, 3), "k": torch.ones(1, n, 2, 3), "v": torch.ones(1, n, 2, 4)}
    given |= {"g": torch.zeros(1, n, 2), "beta": torch.ones(1, n, 2)} | changes
    return distributed.chunk_gated_delta_rule(**given, cp_context=cp)


def refused_case(rank, R, name):
    """Wrong or different arguments on the last rank: what every rank raises."""
    last = rank == R - 1

    def context(**changes):
        given = {"cu_seqlens": torch.tensor([0, 12]), "timeout_s": 40} | changes
        return distributed.build_cp_context(**given)

    n = 12 // R
    attempts = {
        "sum": lambda: context(lengths=[12] * R),
        "layout": lambda: context(layout="striped"),
        "exchange": lambda: context(exchange="star"),
        "exchanges": lambda: context(exchange="tree" if last else "ring"),
        "offsets": lambda: context(cu_seqlens=torch.tensor([0, 5 if last else 6, 12])),
        "lengths": lambda: context(lengths=[12, *[0] * (R - 1)] if last else [*[0] * (R - 1), 12]),
        "length": lambda: call(context(), n=n + last),
        "heads": lambda: call(context(), **({"v": torch.ones(1, n, 3, 4)} if last else {})),
        "option": lambda: call(context(), chunk_size=32 if last else 64),
        "dtype": lambda: call(context(), **({"g": torch.zeros(1, n, 2).double()} if last else {})),
        "gradient": lambda: call(context(), v=torch.ones(1, n, 2, 4, requires_grad=last)),
        "gradient of x": lambda: distributed.causal_conv1d(
            torch.ones(1, n, 2, requires_grad=last), torch.ones(2, 3), cp_context=context()
        ),
        "ulysses": lambda: call(context(), parallel="heads"),
        "parallel": lambda: call(context(), parallel="rings"),
        "function": lambda: (
            distributed.causal_conv1d(torch.ones(1, n, 2), torch.ones(2, 3), cp_context=context())
            if last else call(context())
        ),
    }  # fmt: skip
    try:
        attempts[name]()
    except (TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}"
    return "nothing was raised"


def ended_case(rank, R, when, how):
    """Rank 1 ends before its call or in the middle of one; what the others raise."""
    timeout = 1 if when == "late" else 4
    cp = distributed.build_cp_context(torch.tensor([0, 12]), exchange=how, timeout_s=timeout)
    if rank == 1:
        if when == "before the call":
            os._exit(0)
        if when == "late":
            time.sleep(3)
        rule.incoming = lambda *given, **options: os._exit(0)
    try:
        call(cp)
        call(cp)
    except RuntimeError as error:
        return str(error)
    return "nothing was raised"


CASES = {
    case.__name__: case
    for case in (
        rule_case, conv_case, layer_case, transformers_case, triton_case, half_case,
        messages_case, refused_case, ended_case,
    )
}  # fmt: skip


def work(rank, R, store, jobs, results):
    """All jobs, `(case, *arguments)`, on one rank; what they return goes to the queue."""
    torch.set_num_threads(1)
    response.block_length = lambda longest: min(longest, 5)  # several of them
    dist.init_process_group("gloo", f"file://{store}", rank=rank, world_size=R)
    for job in jobs:
        case, *arguments = job
        results.put((rank, job, CASES[case](rank, R, *arguments)))
    results.close()
    results.join_thread()
    os._exit(0)  # a group that lost a rank would wait for it
