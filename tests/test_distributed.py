"""Sequences on many ranks against one process: values, all gradients, bytes, and errors."""

import multiprocessing
import queue
import time
from unittest.mock import Mock, patch

import pytest
import ranks
import torch
from tolerances import FORMS, KERNEL_BFLOAT16, KERNEL_FLOAT32

from gdn_ref.distributed import CPContext, context, cost, messages

SECONDS = 100  # for the processes of one test
PRELOADED = ["ranks", "gdn_ref.distributed", "transformers.models.qwen3_next.modeling_qwen3_next"]
SIZES = [1, 2, 3, 4, 8]


def on_ranks(R, jobs, tmp_path, survivors=None):
    """Run the jobs on R processes; `{(rank, job): result}`."""
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(PRELOADED)
    results = processes.Queue()
    workers = [
        processes.Process(target=ranks.work, args=(r, R, tmp_path / "store", jobs, results))
        for r in range(R)
    ]
    for worker in workers:
        worker.start()
    found, wanted = {}, len(jobs) * (R if survivors is None else survivors)
    end = time.monotonic() + SECONDS
    try:
        while len(found) < wanted and time.monotonic() < end:
            try:
                rank, job, result = results.get(timeout=0.5)
                found[rank, job] = result
            except queue.Empty:
                if not any(worker.is_alive() for worker in workers):
                    break
    finally:
        for worker in workers:
            worker.join(5)
            worker.kill()
    assert len(found) == wanted, f"{len(found)} of {wanted} results came"
    return found


@pytest.mark.parametrize("R", SIZES)
def test_ranks_give_what_one_process_gives(R, tmp_path):
    seeds = range(6)
    ways = ("ring", "all_gather", "tree")
    jobs = [("rule_case", seed, "sequence", how) for seed in seeds for how in ways]
    jobs += [("rule_case", seed, "sequence", "auto") for seed in (1, 2)]
    jobs += [("rule_case", seed, "heads") for seed in (0, 1, 5)]
    jobs += [("rule_case", seed, "relay") for seed in (1, 2, 4)]
    jobs += [("conv_case", seed) for seed in seeds] + [("layer_case", seed) for seed in (1, 4)]
    found = on_ranks(R, jobs, tmp_path)
    wrong = {
        (rank, job): {what: error for what, error in result.items() if not error <= FORMS}
        for (rank, job), result in found.items()
    }
    assert not any(wrong.values()), {at: what for at, what in wrong.items() if what}


def test_halves_are_those_of_one_shard():
    """So attention, which sees no pieces, has the same tokens; and one state crosses a border."""
    for T, R in ((28, 2), (29, 3), (31, 4)):
        for rank in range(R):
            one, two = (
                context.CPContext.alone(torch.tensor([0, T]), rank, R, layout)
                for layout in ("contiguous", "halves")
            )
            assert torch.equal(one.tokens(), two.tokens()) and len(two.mine) == 2
        assert [cost.crossed(*cp.chains) for cp in (one, two)] == [R - 1, R - 1]


def test_the_random_batches_have_what_they_should():
    """Empty shards, empty sequences, borders on borders, sequences over three shards."""
    seen = set()
    for R in SIZES:
        for seed in range(6):
            layout = ranks.layout_of(seed)
            cu_seqlens, lengths = ranks.batch(seed, R, layout)
            lengths, owners = context.shards(ranks.T, R, layout, lengths)
            pieces = context.cut(cu_seqlens.tolist(), lengths, owners)
            seen.add(("empty shard", 0 in lengths))
            seen.add(("empty sequence", bool((cu_seqlens.diff() == 0).any())))
            seen.add(("passes through", any(p.before and p.after for p in pieces)))
            seen.add(("same rank", any(p.before and p.before.rank == p.rank for p in pieces)))
            held = [p for p in pieces if p.begin < p.end]
            assert sum(p.end - p.begin for p in held) == ranks.T
    assert {what for what, is_seen in seen if is_seen} == {what for what, _ in seen}


def test_a_layer_of_transformers_on_two_ranks(tmp_path):
    pytest.importorskip("transformers", reason="transformers is not installed")
    for result in on_ranks(2, [("transformers_case",)], tmp_path).values():
        assert max(result.values()) < 1e-5, result


@pytest.mark.interpreter
def test_kernels_on_two_ranks(tmp_path):
    pytest.importorskip("triton", reason="triton is not installed")
    for result in on_ranks(2, [("triton_case",)], tmp_path).values():
        assert max(result.values()) < KERNEL_FLOAT32, result


REFUSED = {
    "sum": r"ValueError: lengths: expected a sum of T = 12, got 24",
    "layout": r"ValueError: layout: expected one of contiguous, zigzag, halves, got 'striped'",
    "exchange": "ValueError: exchange: expected one of auto, ring, all_gather, tree, got 'star'",
    "exchanges": "ValueError: exchange: expected the same on every rank, got ring on rank 0 and "
    "tree on rank 1",
    "offsets": "ValueError: cu_seqlens: expected the same on every rank, got [0, 6, 12] on rank 0 "
    "and [0, 5, 12] on rank 1",
    "lengths": "ValueError: lengths: expected the same on every rank, got [0, 12] on rank 0",
    "length": "q: expected B = 1 and T = 6, the tokens of rank 1 in cp_context, got shape "
    "[1, 7, 2, 3]",
    "heads": "v: expected HV a multiple of H = 2, got HV = 3",
    "option": "ValueError: chunk_size: expected the same on every rank, got 64 on rank 0 and 32",
    "dtype": "ValueError: g: expected the same on every rank, got ('torch.float32', [2]) on rank 0",
    "gradient": "ValueError: requires_grad of any argument: expected the same on every rank, got "
    "False on rank 0 and True on rank 1",
    "gradient of x": "ValueError: requires_grad of x: expected the same on every rank, got False "
    "on rank 0 and True on rank 1",
    "parallel": "ValueError: parallel: expected one of sequence, relay, heads, got 'rings'",
    "function": "expected the same call on every rank, got chunk_gated_delta_rule on 0, "
    "causal_conv1d on 1",
}


def test_wrong_or_different_arguments_raise_on_every_rank(tmp_path):
    found = on_ranks(2, [("refused_case", name) for name in REFUSED], tmp_path)
    for (rank, (_, name)), text in found.items():
        assert REFUSED[name] in text, (rank, name, text)
        assert text.startswith("ValueError"), (rank, name, text)


def test_more_ranks_than_heads_are_refused(tmp_path):
    for text in on_ranks(3, [("refused_case", "ulysses")], tmp_path).values():
        assert "q: expected H a multiple of the 3 ranks with parallel='heads', got H = 2" in text


def test_states_go_round_in_four_bytes_for_two_byte_inputs(tmp_path):
    for result in on_ranks(2, [("half_case",)], tmp_path).values():
        assert result.pop("bytes") == 0
        assert result.get("S", 0) < 1e-6, result
        assert result["o"] < KERNEL_BFLOAT16, result


@pytest.mark.parametrize("works", ["each", "all"])
def test_what_arrives_is_waited_for(works):
    """Gloo has a work for each message, NCCL one for all: either way, what arrives is there."""
    cp = CPContext.alone(torch.tensor([0, 8]), 0, 2)
    works = [Mock(), Mock()] if works == "each" else [Mock()]
    fake = {"P2POp": Mock(), "batch_isend_irecv": Mock(return_value=works)}
    x = torch.zeros(3)
    with patch.multiple(messages.dist, **fake):
        late = messages.side_by_side(cp, [(x, 1)], [(x.clone(), 1)])
    assert cp.bytes_sent == x.nbytes
    assert len(fake["batch_isend_irecv"].call_args.args[0]) == 2, "one batch"
    works[-1].wait.assert_called_once()
    assert late == works[:-1] and not any(work.wait.called for work in late)


def test_all_ranks_meet_once_before_a_first_message():
    cp = CPContext.alone(torch.tensor([0, 8]), 0, 2)
    with patch.object(messages.dist, "all_reduce") as met:
        messages.meet(cp, torch.device("cpu"))
        assert not met.called, "alone"
        cp.group = "two ranks"
        messages.meet(cp, torch.device("cpu"))
        messages.meet(cp, torch.device("cpu"))
    met.assert_called_once()


@pytest.mark.parametrize(
    ("when", "how"),
    [("before the call", "ring"), ("late", "ring")]
    + [("in mid-call", how) for how in ("ring", "all_gather", "tree")],
)
def test_a_rank_that_ends_is_an_error_of_the_others(when, how, tmp_path):
    start = time.monotonic()
    found = on_ranks(3, [("ended_case", when, how)], tmp_path, survivors=2)
    assert {rank for rank, _ in found} == {0, 2}
    for text in found.values():
        assert f"did not answer within {1 if when == 'late' else 4} s, or has ended" in text, text
    assert time.monotonic() - start < 40
