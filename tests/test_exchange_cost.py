"""What exchanges cost: the package's own messages against the model of chapter 18, and the choice.

Messages of real processes are played on clocks, so that the model of time is held to what the
package does and not to how fast this machine is.
"""

from fractions import Fraction
from functools import cache

import pytest
import torch
from test_distributed import on_ranks

from gdn_ref.distributed import CPContext, cost
from gdn_ref.figures import ch18, ch18_model

LINK = {"latency": Fraction(7), "bandwidth": Fraction(3)}
EXCHANGES = {"ring": "ring", "all_gather": "all-gather", "tree": "tree"}


def context(R, rank=0, offsets=None, **options):
    return CPContext.alone(torch.tensor(offsets or [0, 4 * R]), rank, R, **options)


def last_clock(ranks, latency, bandwidth):
    """When the last message has come; `ranks` has the steps of each, steps have messages.

    Those of one step are side by side, and begin when both of their ends are done with all before.
    """
    ends = {}  # (source, target, number, bytes): the rank and step of either end
    for rank, steps in enumerate(ranks):
        count = {}
        for n, step in enumerate(steps):
            for source, target, size in step:
                count[source, target] = number = count.get((source, target), 0) + 1
                ends.setdefault((source, target, number, size), []).append((rank, n))
    assert all(len(both) == 2 for both in ends.values()), "what is sent is what is received"

    @cache
    def done(rank, n):
        here = [(both, message[-1]) for message, both in ends.items() if (rank, n) in both]
        return max(
            (max(done(p, m - 1) for p, m in both) + latency + size / bandwidth)
            for both, size in here
        ) if n >= 0 else 0  # fmt: skip

    return max(done(rank, len(steps) - 1) for rank, steps in enumerate(ranks))


def test_eight_processes_send_what_the_model_says_and_when(tmp_path):
    """Bytes to the byte, of every rank and both passes; times on clocks."""
    R, T = 8, 64
    layer = ch18_model.Layer(H_k=R, H_v=2 * R, d_k=3, d_v=5, b=4)
    jobs = {how: ("messages_case", how, "contiguous", 0, T) for how in (*EXCHANGES, "heads")}
    found = on_ranks(R, list(jobs.values()), tmp_path)
    model, times = layer.sent(R, T), ch18_model.exchange_times(R, layer.state, layer.F, **LINK)
    last = [layer.state // R] * (R - 1) + [0]  # of the last state, which the last rank returns
    expected = {
        "ring": [model["ring"]] * (R - 1) + [0],
        "all_gather": [model["all-gather"]] * R,
        "tree": [layer.tree(R, p) for p in range(R)],
        "heads": [model["heads"] + part for part in last],
    }
    for how, job in jobs.items():
        forward, backward = zip(*(found[rank, job] for rank in range(R)), strict=True)
        sent, steps = zip(*forward, strict=True)
        sent_back, steps_back = zip(*backward, strict=True)
        assert list(sent) == expected[how], how
        if how != "heads":
            assert list(sent_back[::-1]) == expected[how], how
        if how in ("ring", "tree"):
            assert last_clock(steps, **LINK) == last_clock(steps_back, **LINK) == times[how], how


def test_zigzag_on_eight_processes(tmp_path):
    """Two pieces a rank: the bytes that the package foretells, and its bound of the tree's time."""
    R, T = 8, 64
    layer = ch18_model.Layer(H_k=R, H_v=2 * R, d_k=3, d_v=5, b=4)
    jobs = {how: ("messages_case", how, "zigzag", 0, T) for how in EXCHANGES}
    found = on_ranks(R, list(jobs.values()), tmp_path)
    a = int(LINK["latency"] * LINK["bandwidth"])
    bounds = cost.costs(context(R, layout="zigzag"), layer.state, layer.F, latency=a)
    for how, job in jobs.items():
        for backward in (False, True):
            sent, steps = zip(*(found[rank, job][backward] for rank in range(R)), strict=True)
            assert list(sent) == [
                cost.bytes_of_pass(
                    context(R, p, layout="zigzag", exchange=how), 2 * R, 3, 5, 4, backward
                )
                for p in range(R)
            ], how
            if how == "all_gather":
                continue
            time = last_clock(steps, **LINK) * LINK["bandwidth"]
            assert time == bounds[how] if how == "ring" else 0.5 * bounds[how] < time <= bounds[how]


@pytest.mark.parametrize("how", ["ring", "tree", "relay"])
def test_no_rank_waits_for_itself(how, tmp_path):
    """Ranks 0 and 1 send to each other: also where a message ends only when it is received, each
    has a time, for what two ranks send to each other is side by side."""
    offsets = 0, 5, 15, 45, 55, 60  # borders of the shards are the tens
    job = ("messages_case", how, "zigzag", *offsets)
    found = on_ranks(3, [job], tmp_path)
    for backward in (False, True):
        steps = [found[rank, job][backward][1] for rank in range(3)]
        if how != "relay":
            assert sorted(steps[0][0])[0][:2] == (0, 1) and sorted(steps[0][0])[1][:2] == (1, 0)
        assert last_clock(steps, **LINK) > 0


def test_to_1024_ranks_and_sixteen_million_tokens():
    """The layout, the messages and the bytes of single ranks are the package's own."""
    R, layer = 1024, ch18_model.Layer()
    model = layer.sent(R, 2**24)
    for how, name in EXCHANGES.items():
        sent = {}
        for p in (0, 1, 300, 511, 512, 1022, 1023):
            cp = context(R, p, [0, 2**24], exchange=how)
            assert cp.length == 2**14
            sent[p] = cost.bytes_of_pass(cp, layer.H_v, layer.d_k, layer.d_v, 4)
            if how == "tree":
                assert sent[p] == layer.tree(R, p)
        assert max(sent.values()) == model[name], how


@pytest.mark.parametrize("R", [2, 3, 4, 5, 8, 33, 1024])
def test_the_costs_are_those_of_the_chapter(R):
    layer = ch18_model.Layer(d_v=64)
    found = cost.costs(context(R), layer.state, layer.F, latency=2**20)
    times = ch18_model.exchange_times(R, layer.state, layer.F, latency=2**20, bandwidth=1)
    assert found == {how: times[name] for how, name in EXCHANGES.items()}


@pytest.mark.parametrize("R", [2, 3, 5, 8])
def test_the_tree_is_that_of_the_chapter(R):
    found = [[(a.rank, b.rank) for a, b, _ in made] for made in cost.tree_rounds(context(R), False)]
    assert found == ch18.rounds("tree", R)


LATENCY = cost.LATENCY_BYTES
CHOICES = {
    "one rank": (context(1), LATENCY, LATENCY, "ring"),
    "two ranks": (context(2), 0, LATENCY, "ring"),
    "three ranks": (context(3), LATENCY, 1, "ring"),
    "four ranks, F as long as a state": (context(4), LATENCY, LATENCY, "tree"),
    "four ranks, F below the latency": (context(4), 0, LATENCY - 1, "tree"),
    "four ranks, F above latency and state": (context(4), LATENCY, 2 * LATENCY + 1, "ring"),
    "five ranks, one latency saved, two F paid": (context(5), 0, LATENCY, "ring"),
    "eight ranks, four saved": (context(8), 0, LATENCY, "tree"),
    "1,024 ranks": (context(1024), LATENCY, LATENCY, "tree"),
    "no sequence on three ranks": (
        context(8, offsets=[0, 5, 10, 15, 20, 25, 30]), LATENCY, LATENCY, "ring"
    ),
    "zig-zag, small states": (context(8, layout="zigzag"), 9, 9, "all_gather"),
    "zig-zag, large states": (context(8, layout="zigzag"), LATENCY, LATENCY, "tree"),
    "named": (context(1024, exchange="ring"), LATENCY, LATENCY, "ring"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHOICES)
def test_the_cheapest_is_taken(name):
    cp, s, f, expected = CHOICES[name]
    assert cost.chosen(cp, s, f) == expected


@pytest.mark.parametrize("R", [1, 2, 3, 8])
@pytest.mark.parametrize("beyond", [0, 0.26, 1])
def test_balanced_shards_end_together(R, beyond):
    T = 2**18
    first, *others = cost.balanced(T, R, beyond)
    assert first + sum(others) == T and not any(n % 64 for n in others)
    parts = [first] + [(1 + beyond) * n for n in others]
    assert max(parts) - min(parts) <= 64 * (R + beyond)
    assert T / max(parts) == pytest.approx(ch18_model.shard_speedups(R, beyond)[1], rel=0.02)
    assert CPContext.alone(torch.tensor([0, 10]), 0, R, lengths=cost.balanced(10, R, beyond))
