"""A head replayed: its record is the model, and what the chapter says of it is so."""

import numpy as np
import pytest
import torch

from gdn_ref import gated_delta_rule
from gdn_ref.experiments import one_head
from gdn_ref.experiments.models import Model
from gdn_ref.figures import ch21_replay as replay
from gdn_ref.figures.ch14_model import record

ASKED = np.flatnonzero(replay.head()["tokens"] == one_head.QUESTION)


def test_every_answer_of_the_stream_is_the_newest_note_since_the_bar():
    tokens, answers = one_head.notes(np.random.default_rng(3), 40)
    for row, wanted in zip(tokens, answers, strict=True):
        noted = {}
        for t, token in enumerate(row):
            if token == one_head.BAR:
                noted = {}
            elif one_head.NAMES <= token < one_head.QUESTION:
                noted[row[t - 1]] = token - one_head.NAMES
            expected = one_head.IGNORED
            if token == one_head.QUESTION:
                expected = noted.get(row[t - 1], one_head.NONE)
            assert wanted[t] == expected


def test_the_stream_has_what_its_docstring_says():
    tokens, answers = one_head.held_out()
    wanted = answers[answers != one_head.IGNORED]
    statements = (tokens == one_head.BAR).sum() + (tokens < one_head.NAMES).sum()
    assert (tokens == one_head.BAR).sum() / statements == pytest.approx(1 / 16, abs=0.01)
    assert (wanted != one_head.NONE).mean() == pytest.approx(0.61, abs=0.06)


def test_the_record_replays_any_model():
    """An untrained one with a gate that is open: its logits from the record alone."""
    torch.manual_seed(21)
    net = Model(**(one_head.MODEL | {"mixers": ["gated"], "half_life": 3.0}))
    with torch.no_grad():
        for x in (net.norm.weight, net.blocks[0].mixer.o_norm.weight, net.readout.bias):
            x.normal_()
        logits = net(torch.from_numpy(one_head.held_out()[0][:1]))[0, ASKED]
    found = {name: np.array(x) for name, x in one_head.recorded(net).items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replay, "head", lambda: found)
        named = replay.named(replay.reads("gated", *replay.gates())[0])
    np.testing.assert_allclose(named, torch.softmax(logits, -1), atol=2e-3)


def test_the_recorded_stream_is_the_first_that_is_held_out():
    tokens, answers = one_head.held_out()
    np.testing.assert_array_equal(replay.head()["tokens"], tokens[0])
    np.testing.assert_array_equal(replay.head()["answers"], answers[0])


def test_the_gated_rule_is_the_package_s():
    h, (alpha, beta) = replay.head(), replay.gates()
    k, q = replay.unit(h["k"]), np.zeros_like(h["k"])
    q[ASKED] = replay.unit(h["q"]) * 12**-0.5
    O, S = gated_delta_rule.recurrent(q, k, h["v"], np.log(alpha), beta, np.zeros((12, 12)))
    read, states = replay.reads("gated", alpha, beta)
    np.testing.assert_allclose(read, O[ASKED], atol=1e-9)
    np.testing.assert_allclose(states[-1], S, atol=1e-9)
    ones = np.ones_like(alpha)
    for rule, same in (("delta", "gated"), ("linear", "linear")):
        np.testing.assert_array_equal(
            replay.reads(rule, alpha, beta)[0], replay.reads(same, ones, beta)[0]
        )


def test_the_figure_has_the_record():
    """`python -m gdn_ref.figures.ch21_replay` writes it."""
    assert replay.BLOCK.search(replay.FIGURE.read_text("utf-8"))[0] == replay.script()


def answered(rule, *choice):
    """Token (from 1) -> the answer of a rule."""
    named = replay.named(replay.reads(rule, *replay.gates(*choice))[0])
    return dict(zip((ASKED + 1).tolist(), map(replay.answer, named.argmax(-1)), strict=True))


def test_what_the_chapter_says():
    h, kinds = replay.head(), replay.kinds()
    assert h["alpha"][kinds["bar"]].max() < 0.0055 and h["alpha"][~kinds["bar"]].min() > 0.999
    words = "".join(map(replay.word, h["tokens"]))
    assert words[28:30] == "i?" and words[5:7] == "i8" and words[19] == "|"
    assert "|" not in words[7:19] and "|" not in words[20:30]
    assert answered("gated")[30] == "none"
    assert answered("gated", "recorded", (("alpha", 19, 1.0),))[30] == "8"
    assert replay.right("gated").all() and len(ASKED) == 36
    assert replay.right("gated", "beta").all()
    wrong = ~replay.right("gated", "alpha")
    assert wrong.sum() == 8 and (replay.wanted()[wrong] == one_head.NONE).all()
    assert answered("gated", "alpha") == answered("delta")
    told = {rule: list(answered(rule).values()).count("none") for rule in ("linear", "attention")}
    assert told == {"linear": 34, "attention": 35}
    own = record("one_head_cpu")["accuracy"]
    assert (round(own["delta"], 3), round(own["gated"], 3)) == (0.992, 0.998)


def test_tables_and_the_notebook_s_figure():
    assert "bar" in repr(replay.gates_table())
    assert "gated delta rule" in repr(replay.rules_table())
    picture, token, gates = replay.head_replay_widget().children
    before = picture.value
    gates.value = "alpha"
    assert "<svg" in before and picture.value != before


def test_a_short_training_learns(tmp_path):
    short = {"seed": 1, "steps": 60, "learning_rate": 1e-2}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(one_head, "TRAINING", short)
        patch.setattr(one_head, "RULES", ("gated",))
        patch.setattr(one_head, "HELD_OUT", 16)
        one_head.main(["--json", str(tmp_path / "record.json")])
    text = (tmp_path / "record.json").read_text()
    assert '"gated": 0.' in text and "residual" in text
