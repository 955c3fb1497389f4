"""The figures of chapter 21: drawn, right, and the page's script is the notebook's."""

import json
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref.experiments import recall
from gdn_ref.experiments.training import IGNORED, interval
from gdn_ref.figures import ch21, ch21_record, ch21_theory
from gdn_ref.figures.ch14_model import record
from gdn_ref.proofs.ch21_recall import normal, relative_crosstalk, weights_of
from gdn_ref.proofs.data import unit

ROOT = Path(__file__).parents[1]
CHAPTER = ROOT / "chapters/21_recall.ipynb"
SCRIPT = ROOT / "book/_static/figures/recall-capacity.js"
STATIC = {
    "three_keys": 3, "capacity": 1, "untrained": 1, "by_age": 1, "trained_pairs": 1,
    "trained_sizes": 1, "overwritten": 1, "stacks": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn_on_nothing(name):
    fig = getattr(ch21, name)()
    assert isinstance(fig, Figure)
    fig.canvas.draw()
    assert len(fig.axes) == STATIC[name]
    assert fig.get_facecolor()[3] == 0


def test_every_control_of_the_widget_changes_its_picture():
    picture, *controls = ch21.capacity_widget().children
    assert picture.value.startswith("<svg")
    for control in controls:
        before = picture.value
        control.value += control.step
        assert picture.value != before, control.description


# The task


def reference(row, keys, values):
    """The answers to the questions of one sequence, by a dictionary."""
    known, wanted, at = {}, [], 0
    row = [token for token in row if token != 0]
    while at < len(row):
        key, follows = row[at], row[at + 1] if at + 1 < len(row) else 0
        if keys < follows <= keys + values:
            known[key] = follows - 1 - keys
            at += 2
        elif key > keys + values:
            at += 1
        else:
            wanted.append(known[key])
            at += 1
    return wanted


@pytest.mark.parametrize("task", [{}, {"noise": 2}, {"writes": 2}, {"known": 3, "writes": 2}])
def test_the_answers_are_those_of_a_dictionary(task):
    draw = partial(recall.recall, batch=40, names=5, keys=9, values=7, **task)
    tokens, answers = draw(np.random.default_rng(0))
    writes, noise = task.get("writes", 1), task.get("noise", 0)
    assert tokens.shape == answers.shape == (40, 5 * (writes * (2 + noise) + 1))
    sizes = set()
    for row, wanted in zip(tokens, answers, strict=True):
        wanted = [int(x) for x in wanted if x != IGNORED]
        assert wanted == reference(list(row), 9, 7)
        sizes.add(len(wanted))
    assert sizes == ({3} if "known" in task else {1, 2, 3, 4, 5})


def test_the_plan_has_every_model_once_for_each_seed():
    for part in ("rates", "sizes", "variants", "stacks", "reduced"):
        models = [json.dumps(x) for x in recall.plan(part)]
        assert len(models) == len(set(models))
    assert {x["seed"] for x in recall.plan("sizes")} == set(range(5))
    assert not {x["seed"] for x in recall.plan("rates")} & set(range(5))
    with pytest.raises(ValueError, match="part: expected one of"):
        recall.plan("all")


# The predictions


def test_the_grid_of_the_mean_is_fine_enough():
    z = np.linspace(-9, 9, 18001)
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi) * (z[1] - z[0])
    for mean, own, other, N in ((1, 0.03, 0.06, 64), (0.4, 0.2, 0.05, 64), (1, 0.5, 0.02, 512)):
        u = normal((mean + np.sqrt(own) * z) / np.sqrt(other))
        exact = density @ u ** (N - 1)
        assert ch21_theory.named(mean, own, other, N) == pytest.approx(exact, abs=1e-4)


@pytest.mark.parametrize("rule", ["sum", "delta", "best", "decay"])
def test_moments_are_those_of_random_keys(rule):
    """Mean weight and relative crosstalk behind each prediction, against many draws."""
    n, d, draws = 24, 12, 300
    options = {"decay": {"alpha": 0.95}, "delta": {"beta": 0.7}}.get(rule, {})
    own, square, length = np.zeros((3, n))
    for seed in range(draws):
        K = unit(np.random.default_rng(seed).normal(size=(n, d)))
        weights = K @ ch21_theory.memory(rule, K, np.eye(n), **options).T
        own += np.diag(weights) / draws
        square += np.diag(weights) ** 2 / draws
        length += (weights**2).sum(1) / draws
    if rule == "delta":
        means = ch21_theory.moments(n, d, beta=0.7)
        for found, said in zip((own, square, length), means, strict=True):
            np.testing.assert_allclose(found, said, atol=0.05)
    elif rule == "best":
        np.testing.assert_allclose(own, d / n, atol=0.05)
        np.testing.assert_allclose(length, own, atol=1e-9)
    else:
        faded = options.get("alpha", 1) ** np.arange(n - 1, -1, -1.0)
        np.testing.assert_allclose(own, faded, atol=1e-9)
        said = faded**2 + ((faded**2).sum() - faded**2) / d
        np.testing.assert_allclose(length, said, rtol=0.15)


def test_no_trained_or_untrained_gate_is_below_the_floor():
    rng = np.random.default_rng(5)
    for n, d in ((32, 16), (32, 8), (12, 3)):
        K, Q = unit(rng.normal(size=(2, n, d)))
        W = weights_of(Q, K, -rng.uniform(0, 0.1, n), rng.uniform(0, 1, n))
        assert relative_crosstalk(W).mean() >= n / d - 1


def test_predictions_are_too_high_and_in_order():
    for n in (16, 32, 48):
        said = [ch21_theory.predicted(rule, n, 16) for rule in ("delta", "sum", "best")]
        found = [ch21_theory.measured(rule, n, 16).mean() for rule in ("delta", "sum", "best")]
        assert said == sorted(said) and found == sorted(found)
        off = np.subtract(said, found)
        assert off.min() > -0.01 and off.max() < 0.1


# The record and the text


def text():
    cells = json.loads(CHAPTER.read_text())["cells"]
    return "\n".join("".join(x["source"]) for x in cells if x["cell_type"] == "markdown")


def test_the_record_has_every_model_of_the_plan():
    found = record("recall_h100")
    for run in found["runs"]:
        asked = [x for part in run["parts"] for x in recall.plan(part)]
        if run["parts"] != ["rates"]:
            keys = ("task", "mixers", "d_k", "seed", "rate", "half_life")
            assert [{key: row[key] for key in keys} for row in run["rows"]] == asked
        assert run["task"] == recall.FULL and run["model"] == recall.SIZES
    assert {part for run in found["runs"] for part in run["parts"]} == {
        "rates", "sizes", "variants", "stacks",
    }  # fmt: skip


def test_rates_are_the_best_of_those_tried():
    tried = {}
    for row in ch21_record.rows():
        if row["part"] == "rates":
            rule, mean = row["mixers"][0], np.mean(list(row["accuracy"].values()))
            tried.setdefault(rule, {}).setdefault(row["rate"], []).append(mean)
    for rule, rates in tried.items():
        best = max(rates, key=lambda rate: np.mean(rates[rate]))
        off = np.mean(rates[best]) - np.mean(rates[recall.RATES[rule]])
        assert off < 0.01, (rule, rates)


def test_a_model_without_rows_is_refused():
    with pytest.raises(ValueError, match="asked: no row"):
        ch21_record.accuracies("sizes", "plain", "linear", 7)


def means(part, task, rule, d_k=16, **more):
    return interval(ch21_record.accuracies(part, task, rule, d_k, **more))


def test_what_stands_beside_published_results():
    def row(part, task, rule, *sizes):
        found = (interval(ch21_record.accuracies(part, task, rule, d)) for d in sizes)
        return ", ".join(said(100 * mean, 100 * (high - mean)) for mean, _, high in found)

    def said(mean, half):
        return f"{mean:.1f} ± {half:.1f}" if half < 1 else f"{mean:.0f} ± {half:.0f}"

    words = text()
    for name, rule in (("gated rule", "gated"), ("decay alone", "decay")):
        assert f"{name} {row('sizes', 'plain', rule, 8, 16, 32)}" in words
    for name, rule in (
        ("delta rule", "delta"),
        ("attention", "attention"),
        ("decay alone", "decay"),
    ):
        assert f"{name} {row('variants', 'plain', rule, 16)}" in words


def test_what_the_text_says_of_sizes():
    words = text()
    for d_k, said in ((8, 0.64), (16, 0.92), (32, 0.998)):
        expected = ch21_theory.by_crosstalk(ch21_theory.from_a_table(32, d_k))
        assert expected == pytest.approx(said, abs=0.0051)
        mean, low, high = means("sizes", "plain", "linear", d_k)
        assert low < expected < high or d_k == 32 and expected - high < 1e-4
    assert "64 %, 92 % and 99.8 % are expected" in words
    plain = [np.array(ch21_record.accuracies("sizes", "plain", rule, 32))
             for rule in ("delta", "linear")]  # fmt: skip
    mean, low, high = interval(plain[0] - plain[1])
    assert high < 0 and mean == pytest.approx(-0.005, abs=0.001)
    few = [ch21_record.accuracies("sizes", "plain", rule, 8)
           for rule in ("linear", "decay", "delta", "gated")]  # fmt: skip
    assert [round(100 * max(x)) for x in few] == [72, 71, 66, 68]
    assert [round(100 * min(x)) for x in few] == [44, 33, 10, 22]
    for rule in ("decay", "gated"):
        own = ch21_record.accuracies("sizes", "plain", rule, half_life=None)
        slow = ch21_record.accuracies("sizes", "plain", rule)
        assert sum(x < 0.05 for x in own) == 2 and min(slow) > 0.5
    assert "two of five seeds stayed at chance" in words


def rounded(part, task, rule, d_k=16, **more):
    mean, low, _ = means(part, task, rule, d_k, **more)
    return round(100 * mean), round(100 * (mean - low))


def test_what_the_text_says_of_variants():
    words, four = text(), ("linear", "decay", "delta", "gated")
    plain = [means("variants", "plain", rule)[0] for rule in four]
    assert 0.92 < min(plain) and max(plain) < 0.94 and "all between 92 and 94 %" in words
    flat = ch21_record.asked("variants", "plain", "attention")
    assert sum(row["accuracy"]["32"] > 0.98 for row in flat) == 3
    assert all(abs(row["accuracy"]["32"] - row["accuracy"]["8"]) < 0.016 for row in flat)
    found = [rounded("variants", "overwriting", rule) for rule in ("linear", "attention", "decay")]
    assert found == [(47, 4), (52, 9), (71, 14)]
    assert {rounded("variants", "overwriting", rule)[0] for rule in ("delta", "gated")} == {91}
    assert "91 ± 2 %" in words and "the sum has 47 ± 4 %, attention 52 ± 9 %" in words
    for rule in ("linear", "attention"):  # no seed is above the bound, with any number of names
        for n in ch21_record.counts("variants", "overwriting", rule):
            found = ch21_record.accuracies("variants", "overwriting", rule, names=n)
            assert max(found) < ch21.order_bound(n)
    assert round(100 * ch21.order_bound(16)) == 57 and ch21.order_bound(2) == 1
    noisy = [x for rule in four for x in ch21_record.accuracies("variants", "noisy", rule)]
    assert sum(x > 0.93 for x in noisy) == 10 and sum(x < 0.05 for x in noisy) == 2
    widths = [rounded("variants", "noisy", rule)[1] for rule in four]
    assert (min(widths), max(widths)) == (22, 50) and "reach 22 to 50 points" in words


def test_what_the_text_says_of_stacks():
    words = text()
    found = [rounded("stacks", "many", mixers, 8) for mixers in ch21.STACKS]
    assert found == [(36, 11), (97, 3), (82, 9), (99, 1)]
    assert "36 ± 11 %" in words and "97 ± 3 %" in words and "82 ± 9 %" in words
    _, last, first, both = (
        np.array(ch21_record.accuracies("stacks", "many", mixers, 8)) for mixers in ch21.STACKS
    )
    mean, low, high = interval(last - first)
    assert (round(100 * mean), round(100 * (mean - low))) == (15, 10) and low > 0
    mean, low, high = interval(both - last)
    assert (round(100 * mean), round(100 * (mean - low))) == (2, 3) and low < 0 < high


def test_the_reduced_run_has_the_order_of_the_record():
    recorded = {rule: means("variants", "overwriting", rule)[0]
                for rule in ("linear", "delta", "attention")}  # fmt: skip
    small = {}
    for row in recall.reduced(seeds=2):
        small.setdefault(row["mixers"][0], []).append(row["accuracy"]["4"])
    now = {rule: np.mean(x) for rule, x in small.items()}
    assert max(now, key=now.get) == max(recorded, key=recorded.get) == "delta"
    assert min(now, key=now.get) == min(recorded, key=recorded.get) == "linear"


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_script_computes_what_the_notebook_does():
    body = SCRIPT.read_text().split("(host) => {", 1)[1].split("const drawing")[0]
    cases = [("sum", 32, 16, 64), ("delta", 20, 16, 64), ("best", 40, 16, 64), ("best", 9, 16, 64)]
    asked = f"{json.dumps(cases)}.map((c) => [predicted(...c), tried(...c)])"
    program = f"{body}; console.log(JSON.stringify({asked}));"
    ran = subprocess.run(["node", "-e", program], capture_output=True, text=True, check=True)
    for (rule, n, d_k, N), (said, found) in zip(cases, json.loads(ran.stdout), strict=True):
        assert said == pytest.approx(ch21_theory.predicted(rule, n, d_k, N=N), abs=1e-6)
        share = ch21_theory.measured(rule, n, d_k, N=N).mean()
        assert found == pytest.approx(share, abs=0.06), rule


def test_the_script_starts_where_the_widget_does():
    start = re.search(r"const state = (\{.*\});", SCRIPT.read_text())[1]
    start = json.loads(re.sub(r"(\w+):", r'"\1":', start))
    _, *controls = ch21.capacity_widget().children
    assert start == {name: c.value for name, c in zip(("n", "d_k", "N"), controls, strict=True)}
