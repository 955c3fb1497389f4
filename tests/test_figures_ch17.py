"""Figures, formulas and text of chapter 17, against the package and against each other."""

import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure
from tolerances import FORMS, assert_close

from gdn_ref import chunk_gated_delta_rule
from gdn_ref.figures import ch17, ch17_records, ch17_serve
from gdn_ref.figures.ch17_drift import state_drift
from gdn_ref.proofs.ch17_decode import call_bytes

ROOT = Path(__file__).parents[1]
CHAPTER = ROOT / "chapters" / "17_packed_and_decoding.ipynb"
STATIC = {"ruler": 1, "padded_and_packed": 2, "leaks": 1, "bytes_a_token": 1, "fades": 1}


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn(name):
    fig = getattr(ch17, name)()
    assert isinstance(fig, Figure)
    assert len(fig.axes) == STATIC[name]
    assert all(axes.has_data() or axes.patches for axes in fig.axes)


def test_every_slider_of_the_widget_changes_its_picture():
    picture, *sliders = ch17.ruler_widget().children
    assert picture.value.startswith("<svg")
    for slider in sliders:
        before = picture.value
        slider.value = slider.options[0] if hasattr(slider, "options") else slider.value + 3
        assert picture.value != before, slider.description


@pytest.mark.parametrize("C", [4, 16, 64])
def test_tiles_are_the_chunks_of_each_sequence(C):
    cu_seqlens = [0, 113, 113, 150, 214]
    slots = ch17.tiles(cu_seqlens, C)
    assert len(slots) == 214 // C + 4
    used = [tile for tile in slots if tile is not None]
    assert used == [
        (n, start, min(start + C, end))
        for n, (begin, end) in enumerate(pairwise(cu_seqlens))
        for start in range(begin, end, C)
    ]
    assert slots.count(None) <= 4


@pytest.mark.interpreter
def test_the_kernels_agree_on_who_has_which_slot():
    from gdn_ref.figures.ch15_stages import bounds

    cu_seqlens, C = [0, 20, 20, 32, 58], 16
    kernel = list(bounds(cu_seqlens, C=C))
    for tile, (start, end) in zip(ch17.tiles(cu_seqlens, C), kernel, strict=True):
        tokens = range(start, min(start + C, end))
        assert list(tokens) == ([] if tile is None else list(range(*tile[1:])))


def test_the_leak_is_that_of_the_rule():
    """`leak` against two runs of the rule from different states."""
    T, d, alpha, beta = 40, 32, 0.97, 0.5
    rng = np.random.default_rng(0)
    D = rng.normal(size=(d, d))
    k = rng.normal(size=(T, d))
    k = torch.from_numpy(k / np.linalg.norm(k, axis=1, keepdims=True))[None, :, None]
    gates = {"g": torch.full((1, T, 1), np.log(alpha)), "beta": torch.full((1, T, 1), beta)}
    gates = {name: x.double() for name, x in gates.items()}
    S = torch.randn(1, 1, d, d, generator=torch.Generator().manual_seed(1)).double()
    last = [
        chunk_gated_delta_rule(k, k, k, **gates, initial_state=x, output_final_state=True)[1]
        for x in (S, S + torch.from_numpy(D.T))
    ]
    size = (last[1] - last[0]).norm().item() / np.linalg.norm(D)
    assert ch17.leak(alpha, beta, T, d)[-1] == pytest.approx(size)


def test_requests_of_a_pool_are_requests_alone():
    waiting = ch17_serve.requests((20, 9, 14, 30, 12), (12, 5, 8, 17, 9))
    outputs, pool, steps = ch17_serve.serve(waiting, 3)
    for x in waiting:
        assert_close(outputs[x.name], chunk_gated_delta_rule(**x.tokens)[0], FORMS)
    assert pool.isfinite().all()
    assert {name for step in steps for name, _ in step.values()} == set("ABCDE")
    assert len(steps) == 19
    fig = ch17.batching(steps, 3)
    assert len(fig.axes[0].patches) == sum(map(len, steps))


def test_a_slot_that_nobody_had_stays_poisoned():
    waiting = ch17_serve.requests((6, 5), (3, 2))
    _, pool, _ = ch17_serve.serve(waiting, 4)
    assert pool[:2].isfinite().all() and pool[2:].isnan().all()


@pytest.mark.interpreter
@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize("pool", [torch.float32, torch.float16])
def test_the_kernel_moves_what_the_formula_says(n, pool):
    from gdn_ref.figures.ch17_interpreted import count

    moved, asked = count(N=3, n=n, H=2, HV=4, K=16, V=32, pool_dtype=pool)
    assert moved == call_bytes(3, n, 2, 4, 16, 32, 2, pool.itemsize) + 8 * 3
    assert asked >= moved


def test_the_plotted_bytes_are_the_formula():
    for n in (1, 2, 16):
        for b_S in (2, 4):
            formula = call_bytes(1, n, 16, 32, 128, 128, 2, b_S) / n
            assert ch17.token_bytes(n, b_S) == formula


def test_what_the_text_says_of_bytes():
    copied = ch17_records.decode_record()["copy_bytes_per_s"]
    moved, microseconds = ch17.state_time(bandwidth=copied)
    assert round(moved / 1e6) == 268
    assert microseconds == pytest.approx(1e6 * moved / copied)
    assert 2 * 2 * (32 - 16) * 128 == 8192
    flops = 8 * 128 * 128 * 32
    assert flops / call_bytes(1, 1, 16, 32, 128, 128, 2, 4) == pytest.approx(1, abs=0.01)
    assert round(ch17.padding_share((113, 37, 205, 64, 18, 90)), 2) == 0.57
    assert 113 - 64 == 49 and 64 - 49 == 15


def test_what_the_alt_texts_say():
    assert ch17.leak(0.9, 0.5)[60] < 1e-3
    shares = [ch17.leak(alpha, beta)[-1] for alpha in (0.99, 0.999) for beta in (0.5, 0.0)]
    assert [round(x, 2) for x in shares] == [0.06, 0.28, 0.19, 0.88]
    faded = [ch17.fading(alpha, torch.bfloat16)[-1] for alpha in (0.9981, 0.997, 0.98)]
    assert faded[0] == 1 and round(faded[1], 2) == 0.88 and faded[2] < 1e-3
    assert round(0.9981**1024, 2) == 0.14


@pytest.mark.parametrize(
    ("dtype", "n", "within"),
    [(torch.bfloat16, 1, 1.3), (torch.bfloat16, 64, 1.15), (torch.float16, 1, 1.15)],
)
def test_the_drift_is_as_predicted(dtype, n, within):
    """1,024 tokens: the mean of independent roundings, and what is measured."""
    measured = state_drift(dtype, tokens=1024, tokens_a_call=n, d=32, heads=2)[-1]
    mean = ch17.predicted(dtype, 1024 // n, n, d=32)[-1]
    assert mean / within < measured < mean * within


def test_rounding_is_as_large_as_the_significand_says():
    """Normal numbers: between the extremes of a binade, u / sqrt(12) and u / sqrt(3)."""
    for dtype, u in ch17.UNIT.items():
        assert u / 12**0.5 < ch17.rounding(dtype) < u / 3**0.5


@pytest.mark.parametrize(("dtype", "bits"), [(torch.bfloat16, 8), (torch.float16, 11)])
def test_a_slow_decay_is_rounded_away(dtype, bits):
    slow, fast = 1 - 0.99 * 2.0 ** -(bits + 1), 1 - 2.5 * 2.0 ** -(bits + 1)
    pool = torch.randn(64, 64, dtype=torch.float64).to(dtype)
    pool[pool.abs() < 2**-6] = 1  # float16 has numbers that are not normal below 2^-14
    assert torch.equal((pool.double() * slow).to(dtype), pool)
    assert not torch.equal((pool.double() * fast).to(dtype), pool)


def test_the_table_of_a_run_and_of_none():
    run = {"device_us": 100.0, "eager_us": 120.0, "fraction": 0.9}
    row = {"pool": "float32", "sequences": 64, "tokens": 1, "bytes": 270e6, "floor_us": 90.0}
    rows = [row | {"runs": {"gdn_ref": run, "fla": run}}]
    rows.append(rows[0] | {"pool": "bfloat16"})
    record = {"gpu": "H100", "date": "today", "copy_bytes_per_s": 3.00e12, "rows": rows}
    table = ch17_records.decode_table(record=record)
    assert len(table.rows) == 1 and "3.00 TB/s" in table.note and "H100" in table.note
    assert "fla, µs" in table.head and {"90%", "270.0"} < set(table.rows[0])
    assert ch17_records.decode_record(ROOT / "no such file") is None


def test_what_the_text_says_of_the_record():
    cells = json.loads(CHAPTER.read_text())["cells"]
    text = "\n".join("".join(x["source"]) for x in cells if x["cell_type"] == "markdown")
    runs = {
        (row["pool"], row["sequences"], row["tokens"]): row["runs"]
        for row in ch17_records.decode_record()["rows"]
    }
    for N, words in ((64, "reaches {} % of the"), (8, "8 sequences {} %"), (256, "256 it is {} %")):
        assert words.format(round(100 * runs["float32", N, 1]["gdn_ref"]["fraction"])) in text
    assert 3 < 1 / runs["float32", 1, 1]["gdn_ref"]["fraction"] < 4  # "more than three times"
    for what in ("device_us", "eager_us"):
        assert all(x["gdn_ref"][what] < x["fla"][what] for x in runs.values())
    half = (runs[pool, 64, 1]["gdn_ref"]["device_us"] for pool in ("bfloat16", "float32"))
    assert f"takes {100 * (1 - next(half) / next(half)):.0f} % less time" in text
    assert "at 88 % of the speed of a copy" in text
    host = [x["gdn_ref"]["eager_us"] for (_, N, _), x in runs.items() if N == 1]
    assert 1.3 < max(host) / min(host) < 1.6 and "differ by half from row to row" in text


def test_what_the_text_says_of_pieces():
    record = json.loads((ch17_records.RECORDS / "decode_tiles_h200.json").read_text())
    us = {
        (row["pool"], row["tokens"], row["values"], row["warps"]): round(row["device_us"])
        for row in record["rows"]
        if (row["sequences"], row["state"]) == (256, "[K, V]")
    }
    text = CHAPTER.read_text()
    for pool, words in (("float32", "float32 states take {} µs in place of {} then"),
                        ("bfloat16", "bfloat16 states {} in place of {}.")):  # fmt: skip
        assert words.format(us[pool, 1, 64, 2], us[pool, 1, 32, 1]) in text
    four = us["bfloat16", 4, 64, 2], us["bfloat16", 4, 32, 1]
    assert "{} µs for {} in bfloat16".format(*four) in text
    assert record["gpu"] == ch17_records.decode_record()["gpu"]


def test_the_table_reads_what_the_benchmark_writes():
    """Each field that the table shows is one that `compare_decode.py` names."""
    scripts = [ROOT / "kernels" / "bench" / f"{x}.py" for x in ("compare_decode", "compare")]
    written = "".join(x.read_text() for x in scripts)
    shown = (ROOT / "gdn_ref/figures/ch17_records.py").read_text()
    for field in re.findall(r'(?:row|run|record)\["(\w+)"\]', shown):
        assert f'"{field}"' in written, field


def test_a_contender_that_refuses_leaves_its_cells_without_times():
    record = json.loads((ch17_records.RECORDS / "decode_h200.json").read_text())
    record["rows"] = record["rows"][:2]
    record["rows"][1]["runs"]["fla"] = {"refuses": "ValueError: no"}
    served, refused = ch17_records.decode_table("float32", record).rows
    assert refused[-3:] == [""] * 3 and "" not in [*refused[:-3], *served]


def test_without_a_record_the_page_says_so(monkeypatch):
    monkeypatch.setattr(ch17_records, "decode_record", lambda: None)
    assert "No run" in ch17_records.decode_table()


def test_the_moving_figure_starts_as_its_twin():
    script = (ROOT / "book/_static/figures/cu-seqlens-ruler.js").read_text()
    cuts, C = re.search(r"cuts: \[([\d, ]+)\], C: (\d+)", script).groups()
    assert [int(x) for x in cuts.split(",")] == [20, 32, 58] and int(C) == 16
    assert f"tokens = {ch17.TOKENS}" in script
    assert "6 chunks in 8 slots, 2 idle" in ch17.ruler().axes[0].get_title()
    assert "38% of the rows empty" in ch17.ruler().axes[0].get_title()
