"""The figures of chapter 14: drawn, right, and with the numbers of the code and the records."""

import re
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref.figures import ch14, ch14_model, ch14_records
from gdn_ref.figures.ch14_model import Shape, shape
from gdn_ref.proofs import ch14_segments
from gdn_ref.proofs.ch14_kernels import DESIGNS, heads, run

ROOT = Path(__file__).parents[1]
STATIC = {
    "data_flow": 1,
    "bytes_of_designs": 1,
    "kernels_under_the_roof": 1,
    "roofline": 2,
    "chain_of_states": 1,
    "listed_shapes": 1,
    "host_and_device": 1,
}


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn(name):
    module = ch14 if hasattr(ch14, name) else ch14_records
    fig = getattr(module, name)()
    assert isinstance(fig, Figure)
    assert len(fig.axes) == STATIC[name]
    assert all(axes.has_data() or axes.patches for axes in fig.axes)


@pytest.mark.interpreter
@pytest.mark.parametrize(
    ("size", "C"),
    [((64, 1, 2, 16, 64), 16), ((128, 2, 4, 32, 128), 16), ((128, 1, 2, 64, 64), 64),
     ((96, 1, 1, 32, 64), 32)],
)  # fmt: skip
def test_the_kernels_move_and_compute_what_the_formulas_say(size, C):
    """The Triton kernels in the interpreter, on the CPU."""
    from gdn_ref.figures.ch14_interpreted import count

    x = Shape((size[0],), *size[1:])
    counts = count(*size, chunk_size=C)
    assert sum(map(counts.distinct, counts.asked)) == ch14_model.two_kernel_bytes(x, C)
    assert counts.flops["chunk_scan_kernel"] == ch14_model.scan_flops(x, C)
    joins = counts.flops["ut_transform_kernel"] - ch14_model.overlap_flops(x, C)
    assert joins <= 2560 * x.tokens * x.H_v
    assert (joins == 2560 * x.tokens * x.H_v) == (C == 64)
    assert all(counts.asked[kernel] >= counts.distinct(kernel) for kernel in counts.asked)


@pytest.mark.parametrize("size", [(8, 1, 2, 3, 2), (8, 2, 2, 4, 4)])
def test_the_model_has_the_formulas_of_the_checks(size):
    x = Shape((size[0],), *size[1:])
    moved = {name: run(design, 2, 4, heads(*size)).moved for name, design in DESIGNS.items()}
    assert sum(moved["floor"].values()) == ch14_model.floor_bytes(x)
    assert sum(moved["two"].values()) == ch14_model.two_kernel_bytes(x, 4)
    assert sum(moved["three"].values()) == ch14_model.three_kernel_bytes(x, 4)
    assert moved["two"]["transform"] == ch14_model.transform_bytes(x, 4)


def test_segments_cost_what_the_checks_count():
    x = Shape((12,), 1, 4, 3, 2)
    counted = sum(ch14_segments.segmented(heads(12, 1, 4, 3, 2), 2, 2, 4)[2].values())
    model = ch14_model.two_kernel_bytes(x, 2) + ch14_model.segment_bytes(x, 3, 2)
    assert counted == pytest.approx(model)
    long = Shape((32768,), 16, 32, 128, 128)
    doubled = ch14_model.segment_flops(long, 1e9) / ch14_model.scan_flops(long)
    assert doubled == pytest.approx(1)


def test_the_bars_are_the_formulas():
    for group in (1, 2, 4):
        long = Shape((2**30,), 16, 16 * group, 128, 128)
        for name, model in (
            ("floor", ch14_model.floor_bytes),
            ("two kernels", ch14_model.two_kernel_bytes),
            ("three kernels", ch14_model.three_kernel_bytes),
        ):
            bar = sum(ch14.bytes_by_array(128, group)[name].values())
            assert bar == pytest.approx(model(long) / long.tokens / long.H_v, rel=1e-5)


def test_the_points_are_the_formulas():
    points = ch14.kernels_on_the_roof()
    two = [points[name] for name in ("transform", "scan")]
    three = [points[name] for name in ("prepare", "states", "outputs")]
    parts = ch14.bytes_by_array()
    assert sum(moved for _, moved, _ in two) == sum(parts["two kernels"].values())
    assert sum(moved for _, moved, _ in three) == sum(parts["three kernels"].values())
    assert sum(x[0] for x in two) == sum(x[0] for x in three)  # the draw of the chapter
    intensities = [round(flops / moved) for flops, moved, _ in points.values()]
    assert intensities == [19, 182, 42, 46, 51]


def test_a_recorded_shape_is_read_right():
    assert shape("B4 T2048 H2/8 D64") == Shape((2048,) * 4, 2, 8, 64, 64)
    assert shape("packed 64 of 16/192 H4 D128").lengths == (16, 192) * 32
    assert shape("packed 15+85 H4 D100, 50% zero gates") == Shape((15, 85), 4, 4, 100, 100)
    for _, x, row, _, _ in ch14_model.listed():
        assert ch14_model.floor_bytes(x) == row["bytes"]


def test_the_rule_is_that_of_the_package():
    from gdn_ref.kernels.forward import shares
    from gdn_ref.kernels.forward.hopper import launches as on_hopper

    assert (ch14_model.SILENT, ch14_model.MOST) == (shares.SILENT, shares.MOST)
    assert on_hopper.MAPS == ch14_model.MAPS
    segmented = shared = 0
    for chunks in (*range(1, 40), *range(40, 400, 7), 512, 1024):
        for H_v, d in product((1, 2, 3, 4, 6, 8, 11, 16, 22, 32, 33, 64, 200), (64, 128, 256)):
            T = 64 * chunks - H_v % 3
            x = Shape((T,), 1, H_v, d, d)
            n, length = on_hopper.cut(T, x.programs, d, ch14_model.PROCESSORS)
            segments = 1 if length is None else -(-T // length)
            assert ch14_model.rule(x) == {"segments": segments, "n": n}
            segmented, shared = segmented + (segments > 1), shared + (n > 1)
    assert segmented > 500 and shared > 500


@pytest.mark.interpreter
@pytest.mark.parametrize(("n", "silent"), [(2, 6), (4, 5 + 7)])  # of 8 chunks, rounded
def test_silent_chunks_cost_what_the_model_says(monkeypatch, n, silent):
    """The portable scan in the interpreter, shared among programs."""
    from gdn_ref.figures.ch14_interpreted import count
    from gdn_ref.kernels.forward import launches as forward

    monkeypatch.setattr(forward, "shares", lambda *sizes: n)
    x, C = Shape((128,), 2, 4, 32, 64), 16
    counts = count(128, 2, 4, 32, 64, chunk_size=C)
    more = ch14_model.silent_flops(x, silent * C, C)
    assert counts.flops["chunk_scan_kernel"] == ch14_model.scan_flops(x, C) + more
    assert sum(map(counts.distinct, counts.asked)) == ch14_model.two_kernel_bytes(x, C)


def test_what_the_chapter_says_of_the_records():
    found = ch14_records.summary()
    assert len(found) == 27
    off = [name for name, row in found.items() if row["three"] >= 3]
    tiny = [name for name in off if found[name]["three"] > 5]
    assert all(round(found[name]["three"]) == 8 for name in tiny)
    assert tiny == ["B1 T63 H1 D64", "packed 1x15 H4 D60"]
    assert len(off) == 6 and all("D60" in name or "D100" in name for name in off if name != tiny[0])
    assert min(row["fla"] for row in found.values()) > 1
    assert min(row["FLOPs"] for row in found.values()) > 3
    assert np.median([row["three"] for row in found.values()]) == pytest.approx(1.65, abs=0.05)
    narrow = [row["three"] for name, row in found.items() if re.search("D60|D100", name)]
    assert sum(3.05 < three < 3.25 for three in narrow) == len(narrow) - 1  # all but 15 tokens
    assert max(1 / row["floor"] for row in found.values()) == pytest.approx(0.52, abs=0.005)
    assert ch14_model.copy_bandwidth() == pytest.approx(3.00e12, rel=0.002)
    by_bytes = []
    for name, x, *_ in ch14_model.listed():
        times = ch14_model.limits(x, **ch14_model.rule(x), bandwidth=ch14_model.copy_bandwidth())
        if times["bytes"] == max(times.values()):
            by_bytes.append(found[name]["three"])
    assert (round(min(by_bytes), 1), round(max(by_bytes), 1)) == (1.2, 2.3)
    narrow = shape("packed 1x8192 H4 D60")
    cut = ch14_model.links(narrow, **ch14_model.rule(narrow))
    assert 5.5 < ch14_model.links(narrow) / cut < 6.5  # "a sixth of the links"
    first = ch14_model.steps("call", "B1 T32768 H2/8 D128")[0][2]
    ratio = first / ch14_model.limits(shape("B1 T32768 H2/8 D128"))["FLOPs"]
    assert 80 < ratio < 88  # "eighty times longer"
    call = {step: us for step, _, us in ch14_model.steps("call", "B1 T32768 H2/8 D128")}
    assert round(call["three groups of warps"] / call["segments"], 1) == 2.8
    page = (ROOT / "chapters/14_bytes_and_flops.ipynb").read_text()
    most = 0
    for heads_ in (2, 4, 8, 16, 32, 64, 128):
        times = ch14_model.limits(Shape((32768,), heads_ // 2, heads_, 128, 128))
        most = heads_ if times["chain"] == max(times.values()) else most
    assert f"Up to {most} heads the chain decides" in page
    assert len(ch14_model.steps("transform", "B1 T32768 H16/32 D128")) == 6  # the last repeats
    assert "All five versions compute the same" in page


def test_the_records_alone_and_beside_the_peers_are_of_one_step():
    """Beside others a call takes about as long as alone."""
    alone = {row[1]: row[2] for row in ch14_model.steps("call") if "ahead" in row[0]}
    beside = {row[0]: row[3]["device_us"] for row in ch14_model.listed()}
    both = alone.keys() & beside.keys()
    assert len(both) == 3
    assert all(0.97 < beside[name] / alone[name] < 1.04 for name in both)


def test_links_and_rounds():
    chains = Shape((6400,), 1, 66, 128, 128)  # 132 programs of 100 chunks
    assert ch14_model.links(chains) == 100
    assert ch14_model.links(Shape((6400,), 1, 67, 128, 128)) == 200
    assert ch14_model.links(Shape((32768,), 2, 8, 128, 128), 8) == pytest.approx(1.7 * 64 + 8)
    assert ch14_model.links(Shape((32768,), 16, 32, 128, 128), n=2) == pytest.approx(512 / 1.4)
    parts = [ch14_model.first_share(p, 4) for p in range(5)]
    assert (parts[0], parts[4]) == (0, 1) and ch14_model.walk(1) == pytest.approx(1)


def test_what_the_chapter_says_of_shares():
    found = ch14_records.ways()
    assert len(found) == 13 and all(us["rule"] <= 1.03 * us["one program"] for us in found.values())
    assert found["B1 T32768 H16/32 D128"]["segments"] == 685.5
    assert (
        "0.71 of the time, three 0.64, four 0.62"
        in (ROOT / "chapters/14_bytes_and_flops.ipynb").read_text()
    )
    assert [round(ch14_model.walk(n), 2) for n in (2, 3, 4)] == [0.71, 0.64, 0.62]
    for name, us in found.items():  # the model takes what was measured to be faster, or nearly so
        way, shared = ch14_model.rule(shape(name)), min(us["2"], us.get("4", us["2"]))
        if "segments" in us:
            faster = us["segments"] if way["segments"] > 1 else shared
            assert faster <= 1.02 * min(us["segments"], shared), name


def test_the_dot_hangs_below_the_ring_where_the_chain_decides():
    axes = ch14.roofline(heads=8).axes[0]
    ring, dot = (line.get_ydata()[0] for line in axes.lines[-2:])
    assert dot < ring / 5
    assert "the chain decides" in axes.get_title()
    axes = ch14.roofline(heads=128).axes[0]
    ring, dot = (line.get_ydata()[0] for line in axes.lines[-2:])
    np.testing.assert_allclose(dot, ring)
    assert "bytes decide" in axes.get_title()


def test_the_moving_figure_has_the_recorded_link_and_the_card():
    script = (ROOT / "book/_static/figures/roofline.js").read_text()
    us, chunks = re.search(r"link = ([\de.-]+) / (\d+);", script).groups()
    assert float(us) * 1e6 / int(chunks) == pytest.approx(ch14_model.one_link())
    peak, bandwidth = re.search(r"peak = ([\d.e]+), bandwidth = ([\d.e]+)", script).groups()
    assert (float(peak), float(bandwidth)) == (ch14_model.PEAK, ch14_model.BANDWIDTH)
    assert f"processors = {ch14_model.PROCESSORS}" in script


def test_every_slider_of_the_widget_changes_its_picture():
    picture, *sliders = ch14.roofline_widget().children
    assert picture.value.startswith("<svg")
    for slider in sliders:
        before = picture.value
        slider.value = slider.options[0] if slider.description != "segments" else 8
        assert picture.value != before, slider.description


def test_the_opening_shows_the_times_that_the_text_says():
    fig = ch14_records.steps_of_a_call("B1 T32768 H2/8 D128")
    texts = [text.get_text() for text in fig.axes[0].texts]
    assert "3,702 µs, 84.0 times" in texts and "216 µs, 4.9 times" in texts
    assert any("FLOPs alone: 44 µs" in text for text in texts)
    page = (ROOT / "chapters/14_bytes_and_flops.ipynb").read_text()
    assert "The first version took 84 times as long as its FLOPs need at the peak rate." in page
