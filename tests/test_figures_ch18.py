"""The figures of chapter 18: drawn, right, and the page's scripts are the notebook's."""

import json
import re
import shutil
import subprocess
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from gdn_ref.distributed import cost
from gdn_ref.distributed.felt import LEAST
from gdn_ref.figures import ch18, ch18_balance, ch18_model, ch18_processes, ch18_records
from gdn_ref.figures.ch17_serve import requests
from gdn_ref.figures.places import LOG
from gdn_ref.proofs import ch18_exchange, ch18_hybrid, ch18_orders

ROOT = Path(__file__).parents[1]
CHAPTER = ROOT / "chapters/18_across_gpus.ipynb"
SCRIPTS = ROOT / "book/_static/figures"
STATIC = {
    "exchange": 1, "sent": 1, "orders": 3, "speedups": 1, "from_zero": 1, "low_precision": 1,
    "balance": 4, "two_cards": 2,
}  # fmt: skip
HOMES = {"balance": ch18_balance, "two_cards": ch18_records}


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn_on_nothing(name):
    fig = getattr(HOMES.get(name, ch18), name)()
    assert isinstance(fig, Figure)
    fig.canvas.draw()
    assert len(fig.axes) == STATIC[name]
    assert fig.get_facecolor()[3] == 0


@pytest.mark.parametrize("how", ch18.HOW)
@pytest.mark.parametrize("R", [2, 3, 5, 8])
def test_after_all_rounds_every_rank_is_informed(how, R):
    made = ch18.rounds(how, R)
    assert ch18.informed(how, R, len(made)) == list(range(R))
    assert ch18.informed(how, R, len(made) - 1) != list(range(R))
    for step in range(len(made) + 2):
        ch18.exchange(R, step, how).canvas.draw()


@pytest.mark.parametrize("widget", [ch18.exchange_widget, ch18.sent_widget])
def test_every_control_of_a_widget_changes_its_picture(widget):
    picture, *controls = widget().children
    assert picture.value.startswith("<svg")
    for control in controls:
        before = picture.value
        control.value = control.options[-1] if hasattr(control, "options") else control.value + 1
        assert picture.value != before, control.description


def test_the_model_is_what_was_counted():
    for R in (2, 3, 8, 9):
        found = ch18_model.exchange_times(R, 50, 11, 7, 3)
        for how, t in found.items():
            counted = ch18_exchange.exchange_time(how, R, 7, 3, 50, 11)
            assert t == pytest.approx(float(counted)), (how, R)
        assert ch18_model.relay_speedup(R, 5) == pytest.approx(1 / ch18_orders.relay_time(R, 5))
    small = ch18_model.Layer(H_k=2, H_v=4, d_k=3, d_v=5, H_c=3, d_a=4)
    assert small.sent(2, 12) == {
        "ring": ch18_exchange.most_bytes("ring", 2, 4, 3, 5),
        "tree": ch18_exchange.most_bytes("tree", 2, 4, 3, 5),
        "all-gather": ch18_exchange.most_bytes("all_gather", 2, 4, 3, 5),
        "heads": ch18_exchange.heads_bytes(2, 12, 2, 4, 3, 5, 2),
        "ring attention": ch18_exchange.ring_attention_bytes(2, 12, 3, 4, 2),
    }
    assert small.again(2) == ch18_orders.row_flops(2, 3, 5)
    for R in (2, 5, 8):
        sent = ch18_exchange.rank_bytes("tree", R, 4, 3, 5)
        assert [small.tree(R, p) for p in range(R)] == sent
    assert small.halo(5) == ch18_hybrid.halo_bytes(2, 5, 2 * 2 * 3 + 4 * 5)
    assert ch18_model.causal_work(30, 6) == ch18_hybrid.shard_work(30, 6)


def test_the_assumed_link_is_that_of_the_package():
    product = ch18_model.LATENCY * ch18_model.BANDWIDTH
    assert cost.LATENCY_BYTES == pytest.approx(product, rel=0.05)


def chapter_text():
    cells = json.loads(CHAPTER.read_text())["cells"]
    return "\n".join("".join(x["source"]) for x in cells if x["cell_type"] == "markdown")


def test_what_the_text_says_of_the_model():
    text = chapter_text()
    layer = ch18_model.Layer()
    assert layer.state == layer.F == 2**21 and "2.1 MB per border" in text
    sent = layer.sent(2, 262144)["ring attention"]
    assert f"sends {sent / 1e6:.0f} MB for 262,144 tokens on two ranks" in text
    assert ch18_model.beyond_flops() == 1 and "**a hundred per cent**" in text
    both = ch18_model.beyond_flops(backward=True)
    assert f"Over both passes the additional work is {both:.0%}".replace("%", " %") in text
    R = 17
    assert ch18_model.relay_speedup(R) == ch18_model.shard_speedups(R, 1)[0] == R / 2
    assert "they meet at 17 ranks" in text
    T, token = 2**24, 2 * 2 * (16 + 32) * 128 + 8 * 32
    assert f"outputs are {T * token / 1e9:.0f} GB" in text
    assert f"would take {T * ch18_model.token_seconds():.1f} s" in text
    work = ch18_model.causal_work(2**18, 8)
    assert round(work[-1] / work[0]) == 15 and "15 times the work of the first" in text
    assert 1.87 < work[-1] / np.mean(work) < 1.88 and "almost twice the mean" in text


def test_what_the_text_says_of_what_is_felt():
    text, tokens = chapter_text(), ch18_records.felt_tokens()
    assert "which is $2^{-25}$" in text and LEAST * torch.finfo(torch.float32).eps == 2**-25
    assert "value head $h$ of 32" in text and len(tokens) == 32
    assert tokens == sorted(tokens, reverse=True) and tokens[0] < 2**17
    assert set(ch18_records.felt_tokens(decay=False)) == {2**17}
    assert "Without decay every head feels the earlier state" in text
    layer = ch18_model.Layer()
    assert 4 * 64 * layer.d_k / layer.forward() == 1 / 5 and "another fifth of a share" in text


def test_what_the_text_says_of_two_cards():
    """Each number beside what the records, the model or the log give, in the text's own words."""
    text, of = chapter_text(), ch18_records

    def both(batch="one sequence", way="sequence", run=of.TWO_CARDS):
        return [of.measured(way, passes, batch, run) for passes in of.PASSES]

    zigzag, single, packed, documents = map(
        both, ("zig-zag", "one sequence", "packed", "documents")
    )
    assert min(zigzag) > 1.85 and "**One sequence reached our aim, a speed-up of 1.85" in text
    said = (
        "they were {:.2f} times as fast as one in the forward pass and {:.2f} times over both "
        "passes. With one shard per rank and pairs along a ring the factors were {:.2f} and "
        "{:.2f}; with a packed batch that crosses the ranks {:.2f} and {:.2f}, and with one of 32 "
        "documents {:.2f} and {:.2f}."
    )
    assert said.format(*zigzag, *single, *packed, *documents) in text
    assert max(single[0], packed[0], *documents) < 1.85 < min(single[1], packed[1])
    later = partial(both, run=of.FEWER_BLOCKS)
    said = (
        "one shard per rank is enough, with {:.2f} and {:.2f}, and zig-zag shards gave {:.2f} and "
        "{:.2f}. The packed batch reached {:.2f} and {:.2f} and the documents {:.2f} and {:.2f},"
    )
    found = map(later, ("one sequence", "zig-zag", "packed", "documents"))
    assert said.format(*chain(*found)) in text and min(later()) > 1.85
    assert max(later("packed")[0], later("documents")[0]) < 1.85
    assert "slower, with {:.2f} and {:.2f}. The context".format(*later("packed zig-zag")) in text
    ways = of.record(of.FEWER_BLOCKS)["batches"]["one sequence"]
    fla, ring = (1e3 * ways[way]["forward_s"] for way in ("fla", "sequence, ring"))
    said = f"took {fla:.1f} ms for the forward pass of the one sequence on these two cards"
    h200 = of.record(of.FLA)["batches"]["one sequence"]
    other = [f"{1e3 * h200[way]['forward_s']:.1f}" for way in ("fla", "sequence, ring")]
    said += f", and pairs along a ring {ring:.1f} ms; on two H200s {' and '.join(other)} ms."
    assert said in text and "incorrect results" in h200["fla"]["both_refused"]
    assert "Its backward pass refused to run there" in text
    halves = partial(both, run=of.HALVES)
    one, cut = (of.record(of.HALVES)["batches"][x] for x in ("one sequence", "halves"))
    took = [f"{1e3 * x['sequence, ring']['both_s']:.1f}" for x in (cut, one)]
    assert f"then took {took[0]} ms in place of {took[1]}, {halves('halves')[1]:.2f} times" in text
    packed, whole = halves("packed halves"), halves("packed")
    said = f"wrong: {packed[0]:.2f} where whole shards gave {whole[0]:.2f}, and over both passes"
    assert f"{said} {packed[1]:.2f} with either" in text and f"{whole[1]:.2f}" == "1.86"
    took = [f"{1e3 * x['one']['forward_s']:.1f}" for x in (one, cut)]
    assert f"One card took {' and '.join(took)} ms for the same forward pass" in text
    before, after = (of.record(run)["batches"] for run in (of.IN_ORDER, of.BY_LENGTH))
    rows = (batches[x] for x in ("documents", "packed") for batches in (before, after))
    times = [1e3 * row[way]["forward_s"] for row in rows for way in ("one", "sequence, ring")]
    one, two, one_after, two_after, packed, both_cards, packed_after, both_after = times
    said = (
        f"forward pass went from {two:.2f} to {two_after:.2f} ms. One card gained nearly as much, "
        f"from {one:.2f} to {one_after:.2f} ms, and so the factor only rose from {one / two:.2f} "
        f"to {one_after / two_after:.2f}. The packed batch's went down, from "
        f"{packed / both_cards:.2f} to {packed_after / both_after:.2f}: one card took "
        f"{packed_after:.2f} ms in place of {packed:.2f}, but two still wait for a sequence of "
        f"93,622 tokens, {both_after:.2f} ms in place of {both_cards:.2f}."
    )
    assert said in text
    runs = of.TWICE, of.TWICE_AGAIN, of.THRICE, of.THRICE_AGAIN
    twice, again, thrice, thrice_again = (partial(both, run=run) for run in runs)
    row = of.record(of.TWICE)["batches"]["documents"]
    one, two = (1e3 * row[way]["forward_s"] for way in ("one", "sequence, ring"))
    said = f"one card took {one:.2f} ms forward and two took {two:.2f}, so that the factors were "
    found = *twice("documents"), *again("documents")
    said += "{:.2f} and {:.2f}, and {:.2f} and {:.2f} in a second run"
    assert said.format(*found) in text and "reached the aim in three runs of four" in text
    said = "they were {:.2f} and {:.2f} on a third pair, and {:.2f} and {:.2f} on a fifth."
    assert said.format(*thrice("documents"), *thrice_again("documents")) in text
    reached = [min(run("documents")) > 1.85 for run in (twice, again, thrice, thrice_again)]
    assert reached == [True, False, True, True]
    said = "36 % of all tokens: {:.2f} and {:.2f}, then {:.2f} and {:.2f}."
    assert said.format(*twice("packed"), *thrice("packed")) in text
    assert round(1 - 1 / 2 - 1 / 7, 2) == 0.36
    sizes = [of.record(run)["sizes"]["tokens"] for run in (*runs, of.ZIGZAG)]
    assert sizes == [524288, 524288, 786432, 786432, 262144]
    zigzag_later = *both("zig-zag", run=of.ZIGZAG), *both("zig-zag", run=of.LAST)
    said = "gave {:.2f} and {:.2f} on a fourth pair, and {:.2f} and {:.2f} on the fifth"
    assert said.format(*zigzag_later) in text
    said = (
        "Two H100s with one shard per rank were {:.2f} times as fast as one in the forward pass "
        "and {:.2f} times over both passes; two H200s with zig-zag shards {:.2f} and {:.2f} times."
    )
    assert said.format(*later(), *zigzag) in text
    other = [x for batch in ("one sequence", "packed", "documents")
             for x in both(batch, run=of.OTHER_PAIR)]  # fmt: skip
    said = "they were {:.2f} and {:.2f}, {:.2f} and {:.2f} with the packed batch, and {:.2f} and"
    assert said.format(*other) in text and f"and {other[-1]:.2f} with the documents" in text
    said = "({:.2f} and {:.2f}) and the all-to-all ({:.2f} and {:.2f})"
    assert said.format(*both(way="relay"), *both(way="heads")) in text
    alone = [of.in_turn("sequence", passes) for passes in of.PASSES]
    assert "The parts alone would allow {:.2f} and {:.2f}.".format(*alone) in text
    felt = 2 / (1 + of.beyond_felt())
    assert of.by_flops("sequence", "forward") == 1
    assert f"wrong because few tokens feel the earlier state, and that of {felt:.2f}" in text
    assert of.in_turn("relay", "forward") < 1 < of.by_flops("relay", "forward")

    run = of.record(of.TWO_CARDS)
    ring = run["batches"]["one sequence"]["sequence, ring"]
    took, assumed = (round(1e6 * ring[x]) for x in ("exchange_s", "exchange_derived_s"))
    assert f"alone took {took} µs where {assumed} were assumed" in text
    (own, *_), (later, *_) = ring["marks"]
    assert own[0] == later[0] == "shard" and own[1] < later[1], "the first rank ends first"
    seconds = run["batches"]["one sequence"]["heads"]["forward_s"]
    assert f"The all-to-all takes {1e3 * seconds:.0f} ms forward" in text
    log = LOG.read_text()
    assert "Two cards forwards 1.78 to 1.85 with equal shards" in log
    first = both(run=of.FIRST)
    assert "had given {:.2f} and {:.2f} on two H200s".format(*first) in text and first[0] < 1.78
    assert "we had predicted 1.78 to 1.85 for the forward pass" in text
    marks = of.record(of.FIRST)["batches"]["one sequence"]["sequence, ring"]["marks"][1]
    names, device, host = zip(*marks[1:6], strict=True)
    assert names == ("response", "exchange", "corrected", "product", "exchange")
    assert max(abs(a - b) for a, b in zip(device, host, strict=True)) < 0.03, "equally far"
    name, ends, now = ring["marks"][1][1]
    assert name == "response"
    said = f"{now:.1f} ms after the call, where it took {host[0]:.1f} ms"
    assert f"listed the second run {said}, while the device works for {ends:.1f} ms" in text
    apart = "from {} to {} ms forward and from {} to {} ms over both passes"
    times = [f"{1e3 * x:.1f}" for x in (5.43e-3, 3.77e-3, 15.49e-3, 14.46e-3)]
    assert apart.format(*times) in text
    assert "from 5.43 to 3.77 ms forwards and from 15.49 to 14.46 both ways" in log
    assert "of 3.75 and 13.62" in log and round(3.77 / 3.75 - 1, 2) == 0.01
    assert round(14.46 / 13.62 - 1, 2) == 0.06 and "which is 1 % and 6 % more than half" in text
    second = of.record("in_turn_h100")["ranks"]["2"][1]["sequence"]
    beyond = [f"{100 * second[f'{x}_beyond']:.0f} %" for x in of.PASSES]
    assert "in the record in turn, of the version after it, {} and {}.".format(*beyond) in text
    side = [m[0][1] for m in run["batches"]["zig-zag"]["sequence, ring"]["marks"]]
    said = "after {:.1f} and {:.1f} ms, where single shards take {:.1f} and {:.1f}"
    assert said.format(*side, own[1], later[1]) in text
    longest = 262144 - 262144 // 7 - (262144 // 2 + 1)
    assert f"one sequence of {longest:,} tokens lies on one rank" in text
    uneven = both("uneven")
    shard = f"A first shard {run['first']:.2f} times as long as the second gave"
    assert "{} {:.2f} and {:.2f}, which is better forward".format(shard, *uneven) in text
    assert uneven[0] > single[0] and uneven[1] < single[1]
    share = of.record("in_turn_h100")["one"][0] / 2
    assert "Without decay the whole shard\nfeels the state: 11.6 ms forwards" in log
    assert 3 < 11.6e-3 / share < 3.5 and "more than three times its share forward" in text


def test_what_the_records_say_of_bytes_and_errors():
    eps, of = torch.finfo(torch.bfloat16).eps, ch18_records
    for batch in of.record(of.TWO_CARDS)["batches"].values():
        for name, way in batch.items():
            assert name in ("one", "fla") or way["bytes"] == way["bytes_derived"]
            assert all(error < eps for error in way.get("errors", {}).values())
    assert "The bytes sent are those derived, for every method." in chapter_text()
    exact = [
        way["sequence, ring"]["errors"] for way in of.record("two_float32")["batches"].values()
    ]
    assert all(x < 1e-6 for errors in exact for x in errors.values()) and len(exact) == 3
    assert "those of the states included, are below $10^{-6}$" in chapter_text()
    assert "of the other rank ended in an error within a second" in chapter_text()
    assert "has ended with status 1 within .9 s of the kill" in LOG.read_text()
    assert of.table().rows[0][1:] == ["1.00", "1.76", "1.75", "1.60", "2.00"]


def test_what_the_alt_texts_say():
    heights = {(order, how): ch18.speedup(order, how) for order, how, *_ in ch18.CURVES}
    tree, ring = heights["sequence", "tree"], heights["sequence", "ring"]
    assert round(tree[-1]) == 342
    np.testing.assert_allclose(tree[1:7], ch18.RANKS[1:7] / 2, rtol=0.02)
    assert 40 < np.max(ring) < 43 and round(ring[-1]) == 14
    assert np.nanmax(heights["relay", "ring"]) < 14
    assert (heights["relay", "ring"][:5] >= tree[:5]).all()
    heads = heights["heads", ""]
    assert round(heads[4], 1) == 2.2 and np.isnan(heads[5:]).all()
    speeds = [1 / max(end for *_, end, _ in ch18.order_times(4, order, 8))
              for order in ("wait", "relay", "sequence")]  # fmt: skip
    assert [round(s, 2) for s in speeds] == [1.0, 2.91, 2.0]
    late = {alpha: ch18.lost(alpha)[-16:].mean() for alpha in (0.9, 0.99, 0.999)}
    assert late[0.9] < 1e-6 and 0.003 < late[0.99] < 0.01 and 0.04 < late[0.999] < 0.07
    assert (ch18.lost(0.9)[70:] < 2e-3).all()
    assert [round(x, 2) for x in ch18_balance.shares(4, "contiguous")] == [0.25, 0.75, 1.25, 1.75]
    assert ch18_balance.shares(4, "zigzag") == [1, 1, 1, 1]
    assert ch18_balance.owners(4, "zigzag") == [0, 1, 2, 3, 3, 2, 1, 0]
    half, tf32, full = (ch18.map_errors(bits) for bits in ch18.FORMATS.values())
    assert 2.5e-3 < min(half) and max(half) < 6e-3
    assert 3e-4 < min(tf32) and max(tf32) < 7.5e-4 and max(full) < 1e-7
    cells = json.loads(CHAPTER.read_text())["cells"]
    alt = next(x for x in cells if x["id"] == "cp-74")["metadata"]["mystnb"]["image"]["alt"]
    found = [
        x
        for passes in ch18_records.PASSES
        for way in ch18_records.WAYS
        for of in ch18_records.HOW.values()
        if (x := of(way, passes)) is not None
    ]
    assert re.findall(r"\d\.\d\d", alt) == [f"{x:.2f}" for x in found]


def test_two_processes_hand_back_what_the_chapter_prints():
    tokens = requests((12,), (1,))[0].tokens
    found = ch18_processes.on_ranks(
        2, tokens, torch.ones_like(tokens["v"]), torch.tensor([0, 12]), layout={"lengths": [7, 5]}
    )
    assert [rank["tokens"] for rank in found] == [7, 5]
    assert {f"d{name}" for name in tokens} < set(found[0])


def run(script, until, questions):
    """What the figure's script computes, by node."""
    body = (SCRIPTS / script).read_text().split("(host) => {", 1)[1].split(until)[0]
    program = f"{body}; console.log(JSON.stringify([{', '.join(questions)}]));"
    ran = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_scripts_compute_what_the_notebook_does():
    cases = [(how, R) for how in ch18.HOW for R in (2, 3, 5, 8)]
    asked = [f'rounds("{how}", {R})' for how, R in cases]
    found = run("rank-exchange.js", "const drawing", [*asked, "times(2)", "times(7)"])
    for (how, R), rounds in zip(cases, found, strict=False):
        expected = [sorted(messages) for messages in ch18.rounds(how, R)]
        assert [sorted(map(tuple, messages)) for messages in rounds] == expected
    layer = ch18_model.Layer()
    for R, times in zip((2, 7), found[-2:], strict=True):
        expected = ch18_model.exchange_times(R, layer.state, layer.F)
        assert times == pytest.approx(expected)
    sent = run("exchange-bytes.js", "const drawing", ["sent(2, 1024)", "sent(64, 16777216)"])
    for (R, T), bytes_ in zip(((2, 1024), (64, 2**24)), sent, strict=True):
        assert bytes_ == pytest.approx(layer.sent(R, T))


def test_the_scripts_start_where_the_widgets_do():
    for script, widget, names in (
        ("rank-exchange.js", ch18.exchange_widget, ("R", "step", "how")),
        ("exchange-bytes.js", ch18.sent_widget, ("tokens", "ranks")),
    ):
        start = re.search(r"const state = (\{.*\});", (SCRIPTS / script).read_text())[1]
        start = json.loads(re.sub(r"(\w+):", r'"\1":', start))
        _, *controls = widget().children
        assert start == {name: c.value for name, c in zip(names, controls, strict=True)}
