"""The figures of chapter 15: drawn, right, and one with the kernels' source."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

triton = pytest.importorskip("triton")

import triton.language as tl  # noqa: E402

from gdn_ref import chunk_gated_delta_rule, wy  # noqa: E402
from gdn_ref.chunking import decay  # noqa: E402
from gdn_ref.exercises import check  # noqa: E402
from gdn_ref.figures import (  # noqa: E402
    ch14_model,
    ch15,
    ch15_lines,
    ch15_measure,
    ch15_source,
    ch15_steps,
    ch15_tables,
    ch15_widget,
    ch16_tables,
    equation_lines,  # noqa: E402
)
from gdn_ref.figures import ch15_stages as stages  # noqa: E402
from gdn_ref.figures.places import LOG  # noqa: E402
from gdn_ref.kernels.common import numbers  # noqa: E402
from gdn_ref.kernels.forward import shares, transform_mma  # noqa: E402
from gdn_ref.kernels.host import launch as host_launch  # noqa: E402
from gdn_ref.proofs import ch15_layout, ch15_transposed  # noqa: E402
from gdn_ref.proofs.data import hard_inputs, relative_error  # noqa: E402

CHAPTER = Path(__file__).parents[1] / "chapters" / "15_forward_kernel.ipynb"
STATIC = {
    "programs_and_tiles": 1,
    "two_launches": 1,
    "left_operands": 1,
    "precision_of_operands": 1,
    "thread_layout": 4,
    "waterfall": 3,
    "more_warps_and_fewer_registers": 1,
    "phases": 1,
}
STEPS = {
    "where_the_lines_are": 3,
    "ladder": 1,
    "bits_of_a_factor": 1,
    "who_waits": 1,
    "shared_and_segmented": 1,
}


def prose():
    cells = json.loads(CHAPTER.read_text())["cells"]
    return "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def texts(axes):
    return [text.get_text() for text in axes.texts]


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn(name):
    fig = getattr(ch15, name)()
    assert isinstance(fig, Figure)
    assert len(fig.axes) == STATIC[name]
    assert all(axes.has_data() or axes.patches for axes in fig.axes)


@pytest.mark.parametrize("name", STEPS)
def test_each_step_has_its_figure(name):
    fig = getattr(ch15_steps, name)()
    assert isinstance(fig, Figure)
    assert len(fig.axes) == STEPS[name]
    assert all(axes.has_data() or axes.patches for axes in fig.axes)


class TestLadder:
    def test_a_bar_is_what_the_step_leaves(self):
        steps, _ = ch15_steps.rungs()
        left = [bar.get_width() for bar in ch15_steps.ladder().axes[0].patches][1::2]
        gains = list(ch15_steps.gains().values())
        np.testing.assert_allclose(left, [1 / gain for gain in gains])
        np.testing.assert_allclose(np.prod(gains), steps[0][1] / steps[-1][1])
        assert np.prod(gains) > 500  # "more than five hundred times"

    def test_the_sections_follow_the_steps(self):
        names = list(ch15_steps.gains())
        found = re.findall(r"^## Step (\d): (.*)$", prose(), re.M)
        assert found == [(str(n), name) for n, name in enumerate(names, 1)]
        listed = re.findall(r"^(\d)\. \*\*(.*)\.\*\*", prose(), re.M)
        assert [(n, name[0].lower() + name[1:]) for n, name in listed] == found

    def test_each_step_has_a_picture(self):
        cells = json.loads(CHAPTER.read_text())["cells"]
        text = "".join(
            "FIGURE\n" if "mystnb" in c["metadata"] else "".join(c["source"]) + "\n" for c in cells
        )
        for section in re.split(r"^## ", text, flags=re.M):
            assert not section.startswith("Step") or "FIGURE" in section, section[:40]

    def test_the_errors_that_the_text_names(self):
        errors = ch15_steps.errors()
        assert f"{errors['one kernel']:.0e}" == "2e-07"
        assert f"{errors['products on tensor cores']:.0e}" == "1e-03"

    def test_each_coloured_line_of_the_first_kernel_is_one(self):
        assert len(ch15_steps.lit("first.py")) == len(ch15_steps.FIRST) == 11
        for words, _ in ch15_steps.FIRST:
            assert sum(words in line for line in ch15_source.lines_of("first.py")) == 1, words

    def test_the_first_kernel_uses_few_registers_and_spills(self):
        used = ch14_model.record("compiled")["kernels"]["sm_90 first K=128 V=128 bfloat16"]
        assert used["registers"] == 32 and "uses 32 of the 255 registers" in prose()
        assert round(used["spilled_bytes"] / 1024) == 8 and "keeps 8 KB in memory" in prose()

    def test_formats_have_the_bits_of_their_types(self):
        for name in ("float32", "float16", "bfloat16"):
            eps = torch.finfo(getattr(torch, name)).eps
            assert eps == 2.0 ** -ch15_steps.FORMATS[name][1]
            assert sum(ch15_steps.FORMATS[name]) + 1 == torch.finfo(getattr(torch, name)).bits

    def test_the_words_for_those_who_do_not_see_the_pictures(self):
        cells = {cell["id"]: cell for cell in json.loads(CHAPTER.read_text())["cells"]}
        alt = lambda name: cells[name]["metadata"]["mystnb"]["image"]["alt"]
        (_, first, _), *_, (_, last, _) = ch15_steps.rungs()[0]
        assert f"{first:,.0f} microseconds" in alt("opening") and f"{last:.0f}." in alt("opening")
        assert f"{len(ch15_steps.FIRST)} " in alt("opening").replace("eleven", "11")
        segments = 512 / 4 * (1 + ch14_model.MAPS) + 8
        ends = [bar.get_x() + bar.get_width()
                for bar in ch15_steps.shared_and_segmented().axes[0].patches]  # fmt: skip
        for end in (512, 512 * ch14_model.walk(3), segments):
            assert min(abs(x - end) for x in ends) < 1e-9
            assert f"{end:.0f}" in alt("step-5-figure")

    def test_programs_that_share_end_together(self):
        for n in (2, 3, 4):
            walks = ch15_steps.walks(512, n)
            np.testing.assert_allclose(sum(own for _, own in walks), 512)
            ends = [ch14_model.SILENT * silent + own for silent, own in walks]
            np.testing.assert_allclose(ends, 512 * ch14_model.walk(n))


class TestEquationLines:
    def test_the_figure_holds_the_kernels_as_they_are(self):
        """If this fails: `python -m gdn_ref.figures.ch15_lines`."""
        forward = ch15_lines.FORWARD
        assert forward.block().search(equation_lines.FIGURE.read_text())[0] == forward.script()

    def test_a_changed_kernel_changes_the_data(self, monkeypatch):
        before = ch15_lines.FORWARD.script()
        changed = {file: ch15_source.lines_of(file) for file in ch15_lines.FILES}
        changed["forward/scan.py"] = [
            line.replace("gamma * tl.dot(S_in, tl.trans(k)", "gamma * tl.dot(S_in, tl.trans(q)")
            for line in changed["forward/scan.py"]
        ]
        monkeypatch.setattr(equation_lines, "lines_of", changed.__getitem__)
        assert ch15_lines.FORWARD.script() != before

    def test_a_line_that_is_gone_is_an_error(self):
        with pytest.raises(ValueError, match="no line of forward/scan.py"):
            ch15_source.line_with("forward/scan.py", "tl.there_is_no_such_function")

    def test_every_equation_has_lines_and_no_line_two(self):
        lines = ch15_lines.FORWARD.lit_lines()
        assert {entry["eq"] for entry in lines} == set(ch15_lines.EQUATIONS)
        places = [(entry["file"], entry["line"]) for entry in lines]
        assert len(set(places)) == len(places) == len(ch15_lines.LINES)

    def test_each_line_is_found_by_words_that_no_other_line_has(self):
        for file, words, *_ in ch15_lines.LINES:
            found = [line for line in ch15_source.lines_of(file) if words in line]
            assert len(found) == 1, (file, words)

    def test_the_takeaway_counts_them(self):
        lit, all_lines = map(int, re.search(r"(\d+) of their (\d+) lines", prose()).groups())
        assert lit == len(ch15_lines.LINES)
        assert all_lines == sum(len(ch15_source.lines_of(file)) for file in ch15_lines.FILES)
        assert len(ch15_lines.EQUATIONS) == 13

    def test_the_widget_follows_its_menus(self):
        menus, words, source = ch15_widget.equation_lines_widget().children
        equation, line = menus.children
        before = source.value
        equation.value = "delta"
        assert source.value != before
        assert "4 lines" in words.value
        line.value = 0
        assert equation.value == "slot"
        assert words.value.startswith("Finds the program")
        equation.value = "state"
        assert line.value is None


def test_a_piece_is_cut_out_of_the_source():
    piece = ch15_source.piece("forward/scan.py", "S_in = S.to(dtype)", "delta = tl.dot")
    assert piece.startswith("# forward/scan.py, lines ")
    assert [line.split(" = ")[0] for line in piece.splitlines()[1:]] == [
        "S_in", "read", "residual", "if not case.SCALED:", "    token", "    beta",
        "    residual *= beta[None, :]", "delta",
    ]  # fmt: skip


def test_the_checked_constants_are_the_kernels():
    layout = transform_mma.ROW.value
    for bases, checked in (
        (layout.reg_bases, ch15_layout.REGISTER_BASES), (layout.lane_bases, ch15_layout.LANE_BASES)
    ):  # fmt: skip
        assert [(block, column) for block, _, column in bases] == list(checked)
    assert numbers.RESET.value == -160


def test_the_checked_lines_bear_the_names_of_the_kernel():
    source = "\n".join(ch15_source.lines_of("forward/scan.py"))
    q, k, v, g, beta, S = hard_inputs(T=8)
    for name in ch15_transposed.transposed(S, q, k, v, g, beta):
        assert re.search(rf"^ +{name} = ", source, re.M), name


class TestStages:
    pytestmark = pytest.mark.interpreter

    def test_they_say_what_the_reference_says(self):
        _, k, _, g, beta, _ = (torch.from_numpy(x) for x in hard_inputs(T=32, d_k=20))
        A = wy.interaction(k, beta, decay(g)[1])
        eye = torch.eye(16, dtype=A.dtype)
        blocks = torch.stack([A[:16, :16], A[16:, 16:]])
        X = stages.solve_rows_of(blocks)
        assert relative_error(X, torch.linalg.inv(eye + blocks)) < 1e-6
        joined = stages.join_pairs_of(X, A[None, 16:, :16])[0]
        assert relative_error(joined, wy.solve(A, torch.eye(32, dtype=A.dtype))) < 1e-6
        found = stages.overlap_of(k, late=16, early=0, n=16)
        assert relative_error(found, k[16:] @ k[:16].T) < 1e-6

    def test_tiles_that_are_not_all_there(self):
        _, k, _, g, beta, _ = (torch.from_numpy(x) for x in hard_inputs(T=20, d_k=20))
        _, UT = stages.transform(k, g, beta, C=32)
        right = wy.solve(wy.interaction(k, beta, decay(g)[1]), torch.diag(beta))
        assert relative_error(UT[:, :20], right) < 1e-6
        assert not UT[:, 20:].any()

    def test_the_slots_of_the_figure_are_the_kernels(self):
        slots = stages.bounds([0, 20, 32, 58], C=16)
        drawn = [
            text for text in texts(ch15.two_launches().axes[0]) if re.match(r"\d+ tokens", text)
        ]
        counts = [f"{min(end - start, 16)} tokens" for start, end in slots if start < end]
        assert sorted(drawn) == sorted(counts)

    def test_shares_end_together_and_leave_nothing_out(self):
        for n in (2, 3, 4):
            found = stages.shares_of(tokens=999 * 16 + 5, n=n, C=16)
            assert sum(walked - silent for walked, silent, _ in found) == 1000
            assert [end for *_, end in found] == [False] * (n - 1) + [True]
            times = [walked - (1 - shares.SILENT) * silent for walked, silent, _ in found]
            assert max(times) - min(times) < 2
            assert abs(max(times) - shares.walk(1000, n)) < 2

    def test_programs_share_where_the_chapter_says_so(self, monkeypatch):
        found, run = [], host_launch.Launch.__call__

        def counted(launch, *rest):
            found.append(getattr(launch.case, "SHARES", None))
            run(launch, *rest)

        monkeypatch.setattr(host_launch.Launch, "__call__", counted)
        q, k, v, g, beta, _ = (torch.from_numpy(x)[None] for x in hard_inputs(T=40, d_k=4, d_v=4))
        inputs = [x.float()[:, :, None] for x in (q, k, v, g, beta)]
        before = chunk_gated_delta_rule(*inputs, backend="triton")[0]
        with stages.shared_by(3):
            assert torch.equal(chunk_gated_delta_rule(*inputs, backend="triton")[0], before)
        chunk_gated_delta_rule(*inputs, backend="triton")
        assert found == [None, 1, None, 3, None, 1]


class TestRecords:
    @pytest.mark.parametrize("peer", ["fla", "flash-qla"])
    @pytest.mark.parametrize("name", ["listed", "models"])
    def test_ratios_are_those_of_the_record(self, name, peer):
        found = ch15_measure.Peer(peer, name)
        summary = ch14_model.record(f"forward_{name}_h100")["summary"]
        for what in ("device_us", "eager_us"):
            ratios, expected = found.ratios(what), summary[f"{peer} {what}"]
            assert len(ratios) == expected["shapes"]
            mean = np.exp(np.log(ratios).mean())
            np.testing.assert_allclose(
                [mean, ratios.min()], [expected["geometric_mean"], expected["least"]]
            )
        both = ch15_measure.Peer(peer, "listed", "models")
        assert len(both.rows) > len(found.rows)
        assert 0 < both.closest()[2] < 1 < both.ratios().min()
        if peer == "flash-qla":  # few heads on long sequences, batches of short ones
            close = [both.rows[i]["shape"] for i in both.ratios().argsort()[:4]]
            assert close == ["packed 24576+8192 H2/8 D128", "packed 32x128 H4 D128",
                             "B1 T32768 H2/8 D128", "B64 T64 H8 D128"]  # fmt: skip

    def test_dots_are_the_ratios(self):
        peers = [ch15_measure.Peer(name, "listed", "models") for name in ("fla", "flash-qla")]
        panels = zip(ch15.beside_the_others().axes, ("device_us", "eager_us"), strict=True)
        for axes, what in panels:
            for line, peer in zip(axes.lines[:2], peers, strict=True):
                np.testing.assert_allclose(line.get_ydata(), peer.ratios(what))
                assert line.get_label() == peer.name and line.get_ydata().min() > 1
        assert f"{len(peers[0].rows)} shapes beside" in CHAPTER.read_text()
        assert f"{len(peers[1].rows)} of them beside flash-qla" in CHAPTER.read_text()

    def test_the_summary_of_the_log_is_that_of_the_records(self):
        _, _, fla, _, _, qla = ch15_tables.peers_table().rows
        said = [
            f"| forward | {fla[2]} times ours on {fla[1].split()[-1]} shapes, least {fla[3]} "
            f"| {qla[2]} times on {qla[1].split()[-1]}, least {qla[3]} |"
        ]
        fla, qla = re.findall(
            r"([\d.]+) times our device time, at least ([\d.]+)", ch16_tables.beside_peers().note
        )
        said.append(
            f"| both passes | {fla[0]} times ours on 5 shapes, least {fla[1]} "
            f"| {qla[0]} times on 3, least {qla[1]} |"
        )
        assert all(line in LOG.read_text() for line in said), said

    def test_the_rule_is_about_the_best_of_the_log(self):
        for shape, us in ch15_measure.shared_sequences().items():
            assert us["rule"] < 1.03 * min(us.values()), shape
            assert us["2"] < us["one program"], shape

    def test_bars_are_as_long_as_the_record_says(self):
        for axes, part in zip(ch15.waterfall().axes, ("scan", "transform", "call"), strict=True):
            shape = "B1 T32768 H2/8 D128" if part == "call" else "B1 T32768 H16/32 D128"
            times = [us for _, us in ch15_measure.steps(part, shape)]
            assert len(times) == {"scan": 6, "transform": 5, "call": 7}[part]
            assert times == sorted(times, reverse=True)
            np.testing.assert_allclose([bar.get_width() for bar in axes.patches], times)

    def test_the_log_has_the_variants_that_failed(self):
        variants = ch15_measure.variants_of_the_inverse()
        shipped = next(times for name, times in variants.items() if "shipped" in name)
        limited = next(times for name, times in variants.items() if "168 registers" in name)
        assert shipped["1 warp"] < shipped["2 warps"] < shipped["4 warps"]
        assert limited["1 warp"] > shipped["1 warp"]

    def test_the_log_has_the_attempts_that_the_chapter_speaks_of(self):
        attempts = list(ch15_measure.scan_attempts().items())
        (first, shorter), (last, without) = attempts[0], attempts[-1]
        assert "does not wait" in first and "no tiles" in last
        for shape, shipped in (("1x32768", "shipped"), ("1x8192", "shipped, 1x8192")):
            assert 1.3 < shorter[shape] / shorter[shipped] < 1.4  # a third slower
        assert 0.88 < without["1x8192"] / without["shipped, 1x8192"] < 0.92  # nine tenths
        assert 0.82 < without["1x32768"] / without["shipped"] < 0.86  # five sixths

    def test_no_measured_time_is_typed(self):
        times = {f"{row['us']:g}" for row in ch15_measure.record()["steps"]}
        times |= {
            f"{us:g}" for t in ch15_measure.variants_of_the_inverse().values() for us in t.values()
        }
        typed = set(re.findall(r"\d+(?:\.\d+)?", prose().replace(",", "")))
        assert not {time for time in times if float(time) > 100} & typed


def test_rounding_one_factor_costs_what_its_bits_say():
    errors = ch15_measure.operand_errors()
    for name in ch15_measure.OPERANDS:
        ratio = errors["bfloat16"][name] / errors["float16"][name]
        assert 6 < ratio < 10, name  # three bits
    assert ch15_measure.squared_sum([3, 4]) == 5


@pytest.mark.parametrize("lane", [0, 5, 31])
def test_a_thread_holds_two_whole_columns_of_one_block(lane):
    places = [ch15_layout.held(register, lane) for register in range(2)]
    assert places == [(lane // 8, 2 * (lane % 8)), (lane // 8, 2 * (lane % 8) + 1)]


@triton.jit
def sums_of_more(x_ptr, y_ptr, out_ptr, T, C: tl.constexpr):
    """The solution of exercise 15-tail, but for the masks of its loads."""
    t = tl.program_id(0) * C + tl.arange(0, C)
    x, y = tl.load(x_ptr + t), tl.load(y_ptr + t)
    tl.store(out_ptr + t, tl.cumsum(x * y, reverse=True), mask=t < T)


def test_the_exercise_notices_loads_without_a_mask():
    verdict = check("15-tail", sums_of_more)
    assert not verdict and "behind x or y" in repr(verdict)


def test_what_the_text_says_of_racecheck():
    record = json.loads((CHAPTER.parents[1] / "book/_data/bench/sanitizer_h100.json").read_text())
    rows = [row for row in record["rows"] if row["tool"] == "racecheck"]
    kernels = [row for row in rows if row["kernels"] in ("forward", "backward")]
    wrong = [row for row in rows if row["kernels"] == "unordered"]
    assert f"silent in all {sum(row['tests'] for row in kernels)} tests" in prose()
    assert not any(row["errors"] for row in kernels)
    named = [row for row in rows if row["errors"]]
    assert [row["selection"] for row in named if row not in wrong] == ["hasty"]
    passed = [row for row in wrong if "failed" not in row["note"]]
    words = {2: "two", 3: "three", 5: "five"}
    assert f"Of {words[len(wrong)]} of our kernels" in prose() and all(
        row in named for row in wrong
    )
    assert f"given on the GPU lets {words[len(passed)]} pass" in prose()


def test_what_the_text_says_of_the_one_kernel():
    bench = CHAPTER.parents[1] / "book/_data/bench"
    forward, training = (
        {row["shape"]: row for row in json.loads((bench / f"{name}.json").read_text())["rows"]}
        for name in ("fused_h100", "fused_training_h100")
    )
    long, many = (forward[shape] for shape in ("B4 T8192 H16/32 D128", "B8 T1024 H16/32 D128"))
    one, two = ([f"{row[way]:.0f}" for row in (long, many)] for way in ("fused", "two"))
    assert f"it took {' and '.join(one)} microseconds" in prose()
    assert f"two kernels took {' and '.join(two)} in the same run" in prose()
    row = training["B4 T4096 H16/32 D128"]
    one, two = (f"{np.mean(row[way]['both']):,.0f}" for way in ("one", "two"))
    assert f"tokens took {one} microseconds in place of {two}" in prose()


def test_what_the_text_says_of_the_run_with_all_packages():
    record = json.loads(
        (CHAPTER.parents[1] / "book/_data/bench/forward_peers_h100.json").read_text()
    )
    runs = {row["shape"].removesuffix(" D128"): row["runs"] for row in record["rows"]}
    times = {
        (shape, name, what): run[what] / found["gdn_ref"][what]
        for shape, found in runs.items()
        for name, run in found.items()
        for what in ("device_us", "held_us", "memory_bytes", "error_o")
    }
    many = ("B4 T8192 H16/32", "B8 T1024 H16/32")
    assert all(f"{times[shape, 'flashinfer', 'device_us']:.2f}" == "0.95" for shape in many)
    held = ("B1 T32768 H16/32", "flash-qla", "held_us")
    assert f"{times[held]:.2f}" == "1.00"
    behind = {x for x, ratio in times.items() if ratio < 0.999 and x[2] != "memory_bytes"}
    assert {x[:2] for x in behind} == {(shape, "flashinfer") for shape in many}
    for shape in runs.keys() - set(many):
        assert 0.63 < times[shape, "flashinfer", "memory_bytes"] < 0.7
    assert len(ch15_tables.one_run_table().rows) == len(runs) == 7


def test_tables_are_made_from_the_records():
    for make, rows in (
        (ch15_tables.ladder_table, 3), (ch15_tables.kernels_table, 4),
        (ch15_tables.ahead_table, 8), (ch15_tables.shared_table, 13),
        (ch15_tables.hopper_table, 3), (ch15_tables.peers_table, 6),
        (ch15_tables.long_sequence_table, 3), (ch15_tables.attempts_table, 9),
    ):  # fmt: skip
        assert len(make().rows) == rows
    kernels = {row[0]: row for row in ch15_tables.kernels_table().rows}
    assert kernels["first"] == ["first", "32", "8,248", "53,248", "4"]
    ladder = ch15_tables.ladder_table()
    assert ladder.rows[-1][1] == "95,296" and "H100" in ladder.note
