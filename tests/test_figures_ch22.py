"""The figures of chapter 22: drawn, right, and the page's script is the notebook's."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from gdn_ref import delta_rule
from gdn_ref.experiments import by_hand, permutations, state_tracking, training
from gdn_ref.figures import ch22
from gdn_ref.figures.ch14_model import record

ROOT = Path(__file__).parents[1]
CHAPTER = ROOT / "chapters/22_state_tracking.ipynb"
SCRIPT = ROOT / "book/_static/figures/state-walk.js"
STATIC = {"state_walk": 1, "repeated_token": 1, "steps_needed": 3, "curves": 4, "lengths": 4}


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn_on_nothing(name):
    fig = getattr(ch22, name)()
    assert isinstance(fig, Figure)
    fig.canvas.draw()
    assert len(fig.axes) == STATIC[name]
    assert fig.get_facecolor()[3] == 0


def test_every_control_of_the_widget_changes_its_picture():
    picture, word, strength = ch22.walk_widget().children
    assert picture.value.startswith("<svg")
    before = picture.value
    word.value = "abXca"  # what is no swap is left out
    assert picture.value != before
    before = picture.value
    strength.value -= strength.step
    assert picture.value != before


def test_the_walk_is_the_delta_rules():
    for beta in (0.0, 0.7, 1.0, 2.0):
        word = "abccab"
        k = np.zeros((6, 3))
        for row, letter in zip(k, word, strict=True):
            row[list(ch22.SWAPS[letter])] = np.sqrt(0.5), -np.sqrt(0.5)
        rows = ch22.walk(word, beta)
        S = np.array([ch22.START])
        for t in range(6):
            _, S = delta_rule.step(S, k[t], k[t], np.zeros(1), np.asarray(beta))
            np.testing.assert_allclose(rows[t + 1], S[0], atol=1e-12)
    with pytest.raises(ValueError, match="word: expected letters of a, b, c, got 'd'"):
        ch22.walk("ad", 2.0)


def test_strength_2_permutes_and_less_never_crosses():
    for word in ("ab", "ba", "abcab"):
        assert sorted(ch22.walk(word, 2.0)[-1].round(9)) == [1, 2, 3]
    for letter, (i, j) in ch22.SWAPS.items():
        row = ch22.walk(letter, 1.0)[-1]
        assert row[i] == pytest.approx(row[j])  # on the line
        below = ch22.walk(letter, 0.9)[-1]
        assert (below[j] - below[i]) * (ch22.START[j] - ch22.START[i]) > 0


def test_a_repeated_token_answers_as_the_rule_does():
    for beta in (0.3, 1.0, 1.9, 2.0):
        k, v = np.ones((9, 1)), np.full((9, 1), 0.5)
        S, found = np.zeros((1, 1)), [0.0]
        for t in range(9):
            _, S = delta_rule.step(S, k[t], k[t], v[t], np.asarray(beta))
            found.append(S[0, 0])
        np.testing.assert_allclose(ch22.answers_of(beta, 9), found, atol=1e-14)


def test_the_steps_are_those_of_the_theorem():
    counts = {3: [1, 3, 2], 4: [1, 6, 11, 6], 5: [1, 10, 35, 50, 24]}  # Stirling's numbers
    for boxes, right in counts.items():
        found = [permutations.fewest_steps(p) for p in permutations.all_of(boxes)]
        assert [found.count(n) for n in range(boxes)] == right


def test_the_keys_of_a_permutation_apply_it():
    rng = np.random.default_rng(0)
    for _ in range(20):
        p = tuple(map(int, rng.permutation(6)))
        S = np.arange(6)[None]
        for k in permutations.keys_of(p, 5):
            S = S - (S @ k)[:, None] * k
        np.testing.assert_array_equal(S[0], np.arange(6) @ permutations.matrix(p))
    with pytest.raises(ValueError, match="steps: expected at least 4 for"):
        permutations.keys_of((1, 2, 3, 4, 0), 3)


def test_words_are_products_and_their_answers_are_wanted_where_they_should_be():
    rng = np.random.default_rng(0)
    for name in ("Z2", "Z5", "S3", "S5", "S5 swaps", "S5 graded"):
        elements, tokens = state_tracking.group(name)
        x, y = state_tracking.words(rng, name, 3, 20)
        for row, answers in zip(x, y, strict=True):
            at = elements[0]
            for token, answer in zip(row, answers, strict=True):
                at = permutations.after(at, elements[tokens[token]])
                assert elements[answer] == at
    steps = [permutations.fewest_steps(elements[t]) for t in tokens]
    assert steps == [0, 1, 2, 3, 4]  # of the last, graded
    _, y = state_tracking.words(rng, "Z2", 4, 20, last=5)
    np.testing.assert_array_equal((y != training.IGNORED).sum(1), 5)
    asked = {
        (state_tracking.words(rng, "Z2", 4, 20, upto=(2, 7))[1] != training.IGNORED).sum(1)[0]
        for _ in range(40)
    }
    assert asked == {2, 7}


def test_the_layer_by_hand_tells_parity_and_only_with_strength_2():
    bits = torch.randint(2, (3000,), generator=torch.Generator().manual_seed(1))
    odd = bits.cumsum(0) % 2 == 1
    assert bool((by_hand.says_odd(by_hand.parity_layer(2), bits) == odd).all())
    wrong = by_hand.says_odd(by_hand.parity_layer(1), bits) != odd
    assert 0.4 < wrong.double().mean() < 0.6


def test_the_life_is_the_formulas():
    for b in (1.0, 5.0, 8.0):
        rho = 2 / (1 + np.exp(-b)) - 1
        assert rho ** ch22.life(b) == pytest.approx(0.5, rel=1e-9)


def text():
    cells = json.loads(CHAPTER.read_text())["cells"]
    return "\n".join("".join(x["source"]) for x in cells if x["cell_type"] == "markdown")


def accuracies(found, length):
    """`{(task, mixers): values of all seeds}` at this length."""
    return {(r["task"], r["mixers"]): r["accuracy"][str(length)] for r in found["rows"]}


def said(values):
    """A mean and its interval as the text writes them."""
    mean, low, high = training.interval(values)
    bounds = (f"{min(x, 1):.2f}".replace("1.00", "1") for x in (low, high))
    return f"{mean:.2f} ({' to '.join(bounds)})"


def test_what_the_text_says_of_the_training():
    words, found = text(), record("state_tracking_h100")
    at = {n: accuracies(found, n) for n in found["lengths"]}
    for rule in ("gated-2", "delta-2"):
        assert at[40]["Z2", rule] == [1.0] * 5 == at[80]["Z2", rule]
    settled = {}
    for row in found["rows"]:
        right = (np.array(row["curves"]) >= 0.99).all(0)
        settled[row["task"], row["mixers"]] = [
            step for step, good in zip(row["steps"], right, strict=True) if good
        ]
    assert max(settled["Z2", rule][0] for rule in ("gated-2", "delta-2")) <= 100
    for rule in ("attention", "decay", "gated", "delta"):
        assert max(at[40]["Z2", rule]) < 0.53
    assert at[40]["S3", "delta-2x2"] == at[40]["S3", "gated-2x2"] == [1.0] * 5
    for name, length, task, mixers in (
        ("One step stays at", 40, "S3", "delta-2"), ("Two steps come to", 40, "Z5", "delta-2x2"),
        ("two layers to", 40, "Z5", "delta-2 delta-2"), ("one step to", 40, "Z5", "delta-2"),
        ("boxes still have", 160, "S3", "delta-2x2"), ("and", 640, "S3", "delta-2x2"),
        ("has", 640, "Z2", "delta-2"), ("five seeds,", 40, "Z2", "delta"),
    ):  # fmt: skip
        assert f"{name} {said(at[length][task, mixers])}" in words, (name, length, task, mixers)
    for rule in ("attention", "delta-1x2"):  # at guessing
        assert abs(np.mean(at[40]["S3", rule]) - 1 / 6) < 0.01
    low, high = training.interval(at[40]["Z2", "delta"])[1:]
    mean = np.mean(at[40]["Z2", "delta"])
    assert f"{100 * mean:.0f} ({100 * low:.0f} to {100 * high:.0f}) with strengths to 1" in words
    graded = {m: at[40]["S5 graded", m] for m in ("delta-2", "delta-2x2", "delta-2x3", "delta-2x4")}
    assert max(max(graded[m]) for m in graded if m != "delta-2x4") < 0.05
    assert sorted(x == 1 for x in graded["delta-2x4"]) == [False, False, True, True, True]
    mean, low, _ = training.interval(at[40]["S5 swaps", "delta-2"])
    assert f"{mean:.3f} ({low:.3f} to 1)" in words and max(at[40]["S5 swaps", "delta"]) < 0.02
    assert max(max(x) for (task, _), x in at[40].items() if task == "S5") < 0.02
    assert training.interval(at[160]["Z5", "delta-2"])[1] < 0.2
    assert "99 % right answers, where one step has 30 %" in words
    assert [round(100 * np.mean(at[160]["S3", m])) for m in ("delta-2x2", "delta-2")] == [99, 30]
    lives = 2 * ch22.life(ch22.trained_logits(found))
    assert 345 < lives.min() and lives.max() < 855
    sizes = [row["parameters"] for row in found["rows"]]
    assert [round(x, -3) for x in (min(sizes), max(sizes))] == [38_000, 79_000]


def test_the_reduced_run_has_the_order_of_the_record():
    """It runs with the book: strengths to 2 above strengths to 1, two steps above one."""
    small, full = state_tracking.run(reduced=True), record("state_tracking_h100")
    for task, less, more in (("Z2", "delta", "delta-2"), ("S3 graded", "delta-2", "delta-2x2")):
        found = accuracies(small, small["lengths"][0])
        assert max(found[task, less]) < min(found[task, more])
        found = accuracies(full, full["lengths"][0])
        assert max(found[task[:2], less]) < min(found[task[:2], more])


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_script_walks_as_the_notebook_does():
    body = SCRIPT.read_text().split("(host) => {", 1)[1].split("const width")[0]
    cases = [("abcab", 2), ("", 1), ("ccba", 0.7), ("bab", 1.95)]
    asked = ", ".join(f"walk({json.dumps(w)}, {b})" for w, b in cases)
    places = f"walk('ab', 2).map(place), {asked}"
    ran = subprocess.run(
        ["node", "-e", f"{body}; console.log(JSON.stringify([{places}]));"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    spots, *found = json.loads(ran.stdout)
    np.testing.assert_allclose(spots, ch22.place(ch22.walk("ab", 2)), atol=1e-12)
    for (word, beta), rows in zip(cases, found, strict=True):
        np.testing.assert_allclose(rows, ch22.walk(word, beta), atol=1e-12)


def test_the_script_starts_where_the_widget_does():
    start = re.search(r"const state = (\{.*\});", SCRIPT.read_text())[1]
    start = json.loads(re.sub(r"(\w+):", r'"\1":', start))
    _, word, strength = ch22.walk_widget().children
    assert start == {"word": word.value, "beta": strength.value}
