"""The figures of chapter 16: drawn, right, and one with the kernels' source."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

pytest.importorskip("triton")

from gdn_ref import backward  # noqa: E402
from gdn_ref.figures import (  # noqa: E402
    ch15_measure,
    ch16,
    ch16_curves,
    ch16_lines,
    ch16_model,
    ch16_tables,
    equation_lines,
)
from gdn_ref.figures import ch16_stages as stages  # noqa: E402
from gdn_ref.figures.ch14_model import record, shape  # noqa: E402
from gdn_ref.figures.ch15_source import lines_of  # noqa: E402
from gdn_ref.figures.ch15_widget import equation_lines_widget  # noqa: E402
from gdn_ref.proofs.data import hard_inputs, relative_error  # noqa: E402

CHAPTER = Path(__file__).parents[1] / "chapters" / "16_backward_kernel.ipynb"
STATIC = {
    "four_launches": 4,
    "bytes_of_kernels": 1,
    "groups_of_warps": 1,
    "small_gradients": 1,
    "bytes_and_times": 1,
    "waterfall": 2,
    "memory_and_time": 3,
}
BOTH = "kernels 1 and 2"
SHAPES = ("B4 T4096 H16/32 D128", "B8 T4096 H8 D64", "B1 T32768 H2/8 D128")


def prose():
    cells = json.loads(CHAPTER.read_text())["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn(name):
    fig = getattr(ch16, name)()
    assert isinstance(fig, Figure)
    assert len(fig.axes) == STATIC[name]
    assert all(axes.has_data() or axes.patches for axes in fig.axes)


def test_the_lanes_are_the_groups_that_the_kernel_has():
    source = "\n".join(lines_of("backward/hopper/chunk_gradients/kernel.py"))
    groups = re.findall(r"^            \((\w+), \(", source, re.M)
    assert sorted(groups) == sorted(ch16.GROUPS) == sorted(ch16.WORK)


class TestEquationLines:
    def test_the_figure_holds_the_kernels_as_they_are(self):
        """If this fails: `python -m gdn_ref.figures.ch16_lines`."""
        source = ch16_lines.BACKWARD
        assert source.block().search(equation_lines.FIGURE.read_text())[0] == source.script()

    def test_every_equation_has_lines_and_no_line_two(self):
        lines = ch16_lines.BACKWARD.lit_lines()
        assert {entry["eq"] for entry in lines} == set(ch16_lines.EQUATIONS)
        places = [(entry["file"], entry["line"]) for entry in lines]
        assert len(set(places)) == len(places) == len(ch16_lines.LINES)

    def test_each_line_is_found_by_words_that_no_other_line_has(self):
        for file, words, *_ in ch16_lines.LINES:
            assert sum(words in line for line in lines_of(file)) == 1, (file, words)

    def test_the_widget_follows_its_menus(self):
        menus, words, source = equation_lines_widget(ch16_lines.BACKWARD).children
        equation, line = menus.children
        before = source.value
        equation.value = "dbeta"
        assert source.value != before
        assert "2 lines" in words.value
        line.value = 0
        assert equation.value == "delta"


class TestStages:
    pytestmark = pytest.mark.interpreter

    def problem(self, T=50, weaker=1):
        tokens = [torch.from_numpy(x) for x in hard_inputs(T, 20, 24)]
        tokens[4] /= weaker
        _, _, dO, _, _, dS = (torch.from_numpy(x) for x in hard_inputs(T, 20, 24, seed=1))
        return *tokens, dO, dS

    def run(self, C=32, runs=1, weaker=1):
        q, k, v, g, beta, S, dO, dS = self.problem(weaker=weaker)
        c, T_inv = stages.inverses(k, g, beta, C)
        H = stages.chunk_states(S, k, v, beta, c, T_inv, C)
        dv, dH, dS_first = stages.state_gradients(q, k, dO, beta, c, T_inv, dS, C)
        for _ in range(runs):
            found = stages.chunk_gradients(q, k, v, beta, c, T_inv, dO, dv, H, dH, C)
        return (*found, dS_first), backward.gradients(q, k, v, g, beta, S, dO, dS, C)

    @pytest.mark.parametrize("C", [16, 32])
    def test_they_say_what_the_reference_says(self, C):
        for found, right in zip(*self.run(C), strict=True):
            assert relative_error(found, right) < 1e-6

    def test_kernel_3_must_not_run_twice(self):
        pairs = zip(*self.run(runs=2, weaker=64), strict=True)  # all strengths are small
        errors = [relative_error(x, y) for x, y in pairs]
        assert all(error < 1e-6 for error in (errors[0], errors[5]))  # dq, dS
        assert all(error > 1e-3 for error in errors[1:5])
        assert min(errors[2], errors[4]) > 0.5  # dv, dbeta

    def test_crossings(self):
        J, a, b = (torch.from_numpy(x) for x in hard_inputs(16, 16, 16)[:3])
        a, b = a[:, 0], b[:, 0]
        right = [J[r:, :r].sum() + a[r:].sum() + b[:r].sum() + 3 for r in range(16)]
        assert relative_error(stages.crossings_of(J, a, b, 3), torch.stack(right)) < 1e-6


class TestModel:
    @pytest.mark.parametrize("name", SHAPES)
    def test_the_bytes_are_those_of_the_launches(self, name):
        x = shape(name)
        launches = stages.launched(len(x.lengths), x.lengths[0], x.H_k, x.H_v, x.d_k)
        for (*_, sizes), moved in zip(launches, ch16_model.kernel_bytes(x).values(), strict=True):
            assert sum(sizes.values()) == moved

    @pytest.mark.parametrize("name", SHAPES)
    def test_memory_is_what_the_launches_hand_on(self, name):
        x = shape(name)
        launches = stages.launched(len(x.lengths), x.lengths[0], x.H_k, x.H_v, x.d_k)
        _, _, last = launches[-1]
        handed = sum(last[n] for n in ("c", "T", "states", "dstates"))
        assert handed == sum(ch16_model.memory(x).values())
        assert launches[-1][1] == ch16_model.plan(x)["programs"]

    @pytest.mark.parametrize(
        "name, room, sequences",
        [
            ("B4 T4096 H16/32 D128", None, 4),
            ("B4 T4096 H16/32 D128", 132, 2),  # the chapter's table
            ("B16 T2048 H8 D128", 132, 8),
            ("B5 T8192 H8/32 D64", 70, 2),  # the last piece is smaller
        ],
    )
    def test_what_is_alive_at_the_peak_is_what_the_package_allocates(self, name, room, sequences):
        x = shape(name)
        counted = stages.peak(len(x.lengths), x.lengths[0], x.H_k, x.H_v, x.d_k, room)
        assert counted == sum(ch16_model.at_peak(x, sequences).values())

    def test_plans(self):
        x = shape(ch16_model.TRAINING)
        full, kept = ch16_model.plan(x), ch16_model.plan(x, keep=True)
        assert full["moved"] == sum(ch16_model.kernel_bytes(x).values())
        assert sum(full["work"].values()) == sum(ch16_model.memory(x).values())
        assert full["kept"] == 0 < ch16_model.kept_inputs(x) < kept["kept"]
        parts = ch16_model.plan(x, segment=8)
        state = ch16_model.memory(x)["states"] // 64
        assert parts["work"]["states"] + parts["work"]["gradients"] == (64 // 8 + 2 * 8 - 1) * state
        assert parts["moved"] > full["moved"] > kept["moved"]

    def test_the_bars_are_the_formulas(self):
        x = shape("B1 T1048576 H64/128 D128")  # long, so that the first and last states vanish
        parts = ch16.parts_of_bytes()
        token_heads = x.tokens * x.H_v
        for name, moved in ch16_model.kernel_bytes(x).items():
            assert sum(parts[name].values()) == pytest.approx(moved / token_heads, rel=1e-3)
        assert sum(parts["floor"].values()) == pytest.approx(
            ch16_model.floor_bytes(x) / token_heads, rel=1e-3
        )
        words = re.search(r'"Five stacked bars.*', CHAPTER.read_text())[0]
        assert all(f"{sum(sizes.values()):,.0f}" in words for sizes in parts.values())

    def test_typed_numbers(self):
        x = shape(ch16_model.TRAINING)
        moved, text = ch16_model.kernel_bytes(x), prose()
        times = float(re.search(r"moves (\d\.\d) times the bytes", text)[1])
        assert times == round(sum(moved.values()) / ch16_model.floor_bytes(x), 1)
        intensity = int(re.search(r"That is (\d+) FLOPs per byte", text)[1])
        assert intensity == round(sum(ch16_model.kernel_flops(x).values()) / sum(moved.values()))
        saved = int(re.search(r"states would save (\d+) % of the bytes", text)[1])
        kept = ch16_model.plan(x, keep=True)["moved"]
        assert saved == round(100 * (1 - kept / sum(moved.values())))

    @pytest.mark.parametrize("name", ["B4 T4096 H16/32 D128", "B4 T65536 H4/8 D128"])
    def test_the_page_moves_what_the_formulas_say(self, name):
        """The sums of memory-time.js, which are Python but for `const` and `let`."""
        script = (CHAPTER.parents[1] / "book/_static/figures/memory-time.js").read_text()
        body = re.search(r"const plan = .*?\n(.*?)    const share", script, re.S)[1]
        x = shape(name)
        sums = {"B": len(x.lengths), "T": x.lengths[0], "heads": x.H_v, "d": x.d_k, "C": 64}
        for line in body.strip().splitlines():
            for one in line.strip().removeprefix("const ").removeprefix("let ").split(", "):
                exec(one.rstrip(";"), {}, sums)
        moved = ch16_model.kernel_bytes(x)
        assert sums["floor"] == ch16_model.floor_bytes(x)
        assert sums["moved"] == sum(moved.values())
        assert (sums["prepare"], sums["first"]) == (moved["inverses"], moved["chunk_states"])

    def test_the_widget_follows_its_sliders(self):
        picture, *sliders = ch16.memory_and_time_widget().children
        for slider in sliders:
            before = picture.value
            options = getattr(slider, "options", (True, 7))
            slider.value = next(value for value in options if value != slider.value)
            assert picture.value != before, slider.description


class TestRecords:
    def test_bars_are_as_long_as_the_record_says(self):
        panels = zip(ch16.waterfall().axes, ("state_gradients", "chunk_gradients"), strict=True)
        for axes, kernel in panels:
            times = [us for _, us in ch16_model.history(kernel)]
            np.testing.assert_allclose([bar.get_width() for bar in axes.patches], times)

    def test_the_last_step_is_the_kernel(self):
        for kernel in ("state_gradients", "chunk_gradients"):
            assert ch16_model.history(kernel)[-1][1] == ch16_model.times()[kernel]

    def test_no_kernel_is_faster_than_its_bytes(self):
        for name in SHAPES[:2]:
            assert all(us > by for by, _, us in ch16_model.limits(name).values())

    def test_what_the_chapter_says_of_the_peers(self):
        text, us = prose(), {}
        for row in ch16_model.side_by_side():
            us[row["shape"]] = {name: found["device_us"] for name, found in row["runs"].items()}
        assert len(us) == 5
        mean, least = ch16_model.times_ours("fla")
        assert f"takes {mean:.1f} times our time on the device, {least:.1f} times at least" in text
        mean, least = ch16_model.times_ours("fla", "memory_bytes")
        assert round(mean) == 2 == round(least)  # "about twice the memory"
        close = [100 * (x["flash-qla"] / x["gdn_ref"] - 1) for x in us.values() if len(x) == 3]
        assert [round(x) for x in close] == [13, -6, 9]
        assert "13 % longer on the first shape, 6 % less on the second, and 9 % longer" in text
        sizes = [
            found["flash-qla"]["memory_bytes"] / found["gdn_ref"]["memory_bytes"]
            for found in (row["runs"] for row in ch16_model.side_by_side())
            if "flash-qla" in found
        ]
        assert sizes == pytest.approx([1.26, 1, 0.95], abs=0.01)
        for peer in ("fla", "flash-qla"):
            assert min(ch16_model.errors_beside(peer).values()) > 1
        late = [
            found["eager_us"] > 1.3 * found["device_us"]
            for found in (row["runs"]["gdn_ref"] for row in ch16_model.side_by_side())
        ]
        assert late == [False, True, False, True, False]

    def test_what_the_chapter_says_of_spans(self):
        rows = ch16_model.record("spans_h100")["rows"]
        rows = {(row["shape"], row["span"], row["kept"]): row for row in rows}
        first, second = "B4 T4096 H16/32 D128", "B16 T2048 H8 D128"
        us = {key: f"{min(row['both_us']):,.0f}" for key, row in rows.items()}
        found = [(second, span, False) for span in (1, 2, 4, 8)]
        said = "both passes took {}, {}, {} and {} microseconds, and {}, {}, {} and {} MB"
        megabytes = [rows[key]["memory_bytes"] // 10**6 for key in found]
        assert said.format(*map(us.get, found), *megabytes) in prose()
        said = "brings the second shape to {} microseconds and the first from {} to {}"
        keys = (second, 8, True), (first, 1, False), (first, 8, True)
        assert said.format(*map(us.get, keys)) in prose()
        grown = {
            (batch, data): {
                x: rows[batch, 8, True][data][x] / error
                for x, error in rows[batch, 1, False][data].items()
            }
            for batch in (first, second)
            for data in ("errors", "errors, slow decays")
        }
        assert max(max(grown[batch, "errors"].values()) for batch in (first, second)) < 1.01
        assert "grows by more than 1 %" in prose()
        for batch, said in ((second, "17 and 24 %"), (first, "17 and 28 %")):
            more = grown[batch, "errors, slow decays"]
            assert "{:.0f} and {:.0f} %".format(*(100 * more[x] - 100 for x in "qg")) == said
            assert sorted(more, key=more.get)[-2:] == ["q", "g"] and said in prose()

    def test_what_states_take_between_the_passes(self):
        """A state of eight chunks, of each value head, in 16 bits."""
        taken = [
            B * T // 512 * HV * 128**2 * 2 / 1e6 for B, T, HV in ((16, 2048, 8), (4, 4096, 32))
        ]
        assert "{:.0f} and {:.0f} MB more".format(*taken) in prose()

    def test_what_the_chapter_says_of_dv(self):
        row = ch16_model.side_by_side()[0]
        assert row["shape"] == ch16_model.TRAINING
        assert f"fell from 3.9e-3 to {1e3 * row['errors']['gdn_ref']['dv']:.1f}e-3" in prose()

    def test_what_the_chapter_says_of_limits(self):
        """Of the recorded times over those of the bytes, in the figure's alt text."""
        times = {name: us / by for name, (by, _, us) in ch16_model.limits().items()}
        assert 1.55 < times.pop("inverses") < 1.65
        assert all(1.16 < x < 1.42 for x in times.values())
        assert "a sixth to two fifths longer" in CHAPTER.read_text()
        shares = [by_flops / by for by, by_flops, _ in ch16_model.limits().values() if by_flops]
        assert all(0.25 < x < 0.4 for x in shares)

    def test_what_the_chapter_says_of_beta_in_the_forward_scan(self):
        """Before the strengths were written head by head; from the log."""
        log = (CHAPTER.parents[1] / "kernels/bench/NOTES.md").read_text()
        without = int(
            re.search(r"At 1x32768 the transform takes 124 and the scan (\d+) us", log)[1]
        )
        longer = ch15_measure.numbers_ahead()["before"]["B1"] / without - 1
        assert longer == pytest.approx(1 / 6, abs=0.02) and "up to a sixth longer" in prose()

    def test_the_recorded_memory_is_the_count(self):
        """Of the shapes that keep nothing else: no R of heads of 256."""
        pieces = {"B4 T4096 H16/32 D128": 2, "B1 T32768 H16/32 D128": 1}
        for row in ch16_model.side_by_side():
            if sequences := pieces.get(row["shape"]):
                counted = sum(ch16_model.at_peak(shape(row["shape"]), sequences).values())
                found = row["runs"]["gdn_ref"]["memory_bytes"]
                assert found == pytest.approx(counted, rel=0.001)

    def test_what_the_chapter_says_of_spills(self):
        (_, before), (_, after) = ch16_model.history("state_gradients", "B8 T2048 H6 D256")[-2:]
        assert f"{100 * (1 - after / before):.0f} % of the time is saved" in prose()

    def test_kernels_side_by_side_take_longer_than_alone(self):
        for name in ("B8 T4096 H8 D64", "B1 T32768 H16/32 D128"):
            one_after_the_other, together = (x for _, x in ch16_model.history(BOTH, name))
            assert together < one_after_the_other
            us = ch16_model.times(name)
            assert us["chunk_states"] + us["state_gradients"] > one_after_the_other

    def test_no_measured_time_is_typed(self):
        record = ch16_model.backward_record()
        times = {f"{row['us']:g}" for row in (*record["kernels"], *record["steps"])}
        for row in ch16_model.side_by_side():
            for found in row["runs"].values():
                times |= {f"{found[what]:.0f}" for what in ("device_us", "eager_us")}
        typed = set(re.findall(r"\d+(?:\.\d+)?", prose().replace(",", "")))
        assert not {time for time in times if float(time) > 100} & typed


class TestTrainingCurves:
    def test_the_figure_shows_each_run_and_each_change(self):
        above, below = ch16_curves.training_curves().axes
        assert len(above.lines) == 9 and len(below.lines) == 3
        assert [line.get_label() for line in below.lines] == ["seed", "bfloat16", "backend"]

    def test_differences_are_those_of_the_record(self):
        found = {what: max(steps) for what, steps in ch16_curves.apart().items()}
        assert found == record("training_curves_h100")["most_apart"]

    def test_every_run_was_where_it_says(self):
        rows = record("training_curves_h100")["rows"]
        assert {(row["on"], row["seed"]) for row in rows} == {
            (on, seed) for on in ("CPU", "GPU", "GPU, bfloat16") for seed in range(3)
        }
        assert all(row["device"] == ("cpu" if row["on"] == "CPU" else "cuda") for row in rows)
        assert {row["curve"][-1]["step"] for row in rows} == {300}

    def test_what_the_readme_says(self):
        found = record("training_curves_h100")["most_apart"]
        row = re.search(r"\| training \|.*", (CHAPTER.parents[1] / "README.md").read_text())[0]
        said = re.search(
            r"at most (\S+) bits a byte apart, .* bfloat16 (\S+), another seed (\S+) ", row
        )
        for text, what in zip(said.groups(), ("backend", "bfloat16", "seed"), strict=True):
            assert float(text) == pytest.approx(found[what], rel=0.06)

    def test_what_the_chapter_says(self):
        apart = ch16_curves.apart()
        assert "by a thirtieth of what a seed does" in prose()
        assert 25 < max(apart["seed"]) / max(apart["bfloat16"]) < 35
        assert max(apart["backend"]) < 5 * np.spacing(np.float32(2.2))
        assert apart["backend"][0] == 0
        _, losses = ch16_curves.curves()
        moved = [(losses["GPU, bfloat16", n] - losses["GPU", n])[-1] for n in range(3)]
        assert min(moved) < 0 < max(moved)
        for row in record("training_curves_h100")["rows"]:
            first, last = (row["curve"][n]["seconds"] for n in (0, -1))
            if row["on"] == "CPU":
                assert 25 < last < 35
            else:
                assert first > last - first


def test_float16_is_better_until_gradients_are_small():
    large, small = ({t: ch16_model.error_of_dv(x, t) for t in ch16_model.TYPES} for x in (1, 1e-6))
    assert 6 < large["bfloat16"] / large["float16"] < 10  # three bits
    assert small["float16"] > 10 * small["bfloat16"]
    x = np.random.default_rng(0).normal(size=100)
    np.testing.assert_array_equal(ch16_model.rounded(x, *ch16_model.TYPES["float16"]),
                                  x.astype(np.float16))  # fmt: skip
    tiny = x * 2.0**-18
    np.testing.assert_array_equal(ch16_model.rounded(tiny, *ch16_model.TYPES["float16"]),
                                  tiny.astype(np.float16))  # fmt: skip


def test_sums_lose_digits_of_dg_at_a_strong_decay_alone():
    weak, strong = (ch16_model.errors_of_dg(alpha) for alpha in (0.95, 1e-4))
    assert max(weak.values()) < 1e-5 and strong["rectangles"] < 1e-4
    assert strong["sums"] > 100 * strong["rectangles"]


def test_tables_are_made_from_the_records():
    table = ch16_tables.kernel_times(ch16_model.TRAINING)
    assert [row[1] for row in table.rows] == list(ch16_model.NAMES) and "H100" in table.note
    limits = ch16_model.limits()
    for _, kernel, us, times in table.rows:
        by_bytes, _, recorded = limits[kernel]
        assert us == f"{recorded:,}" and times == f"{recorded / by_bytes:.1f}"
    assert len(ch16_tables.orders("B8 T4096 H8 D64").rows[0]) == 3
    shown = {(shape, name): us for shape, name, us, *_ in ch16_tables.beside_peers().rows}
    for row in ch16_model.side_by_side():
        for name, run in row["runs"].items():
            assert shown[row["shape"], name] == f"{run['device_us']:,.0f}"
    assert ch16_tables.curves_end().rows[0][0] == "CPU"
