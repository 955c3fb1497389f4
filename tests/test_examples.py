"""The example scripts run as they are, small, and do what they say."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
MOST_LINES = 120


@pytest.fixture(autouse=True)
def beside_the_examples(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)


def start(script, *arguments, cwd=EXAMPLES):
    return subprocess.run(
        [sys.executable, EXAMPLES / script, *map(str, arguments)],
        cwd=cwd, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip


def run(script, *arguments, **options):
    """What the script prints."""
    done = start(script, *arguments, **options)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_the_examples_are_small():
    scripts = sorted(EXAMPLES.glob("*.py"))
    assert len(scripts) >= 4
    for script in scripts:
        assert len(script.read_text().splitlines()) <= MOST_LINES, script.name


def test_training_then_streaming(tmp_path):
    small = ["--steps", 6, "--size", 32, "--length", 48, "--batch", 4, "--out", "weights"]
    printed = run("train_language_model.py", *small, cwd=tmp_path)
    tmp_path /= "weights"
    assert "wrote language_model.json and language_model.pt to weights\n" in printed
    record = json.loads((tmp_path / "language_model.json").read_text())
    assert record["device"] in ("cpu", "cuda") and record["curve"][-1]["step"] == 6
    assert f"{record['curve'][-1]['validation_bits']:.3f}" in printed
    weights = tmp_path / "language_model.pt"
    printed = run("stream_tokens.py", "--weights", weights, "--count", 12, "--prompt", "A state")
    assert "A state" in printed and "untrained" not in printed and "12 bytes," in printed


def test_a_seed_fixes_the_curve_and_the_model_learns():
    from train_language_model import train

    small = {"size": 32, "length": 64, "batch_size": 4, "rate": 1e-2, "every": 20}
    (_, first), (_, second) = (train(40, **small) for _ in range(2))
    for a, b in zip(first, second, strict=True):
        assert (a["training_bits"], a["validation_bits"]) == (
            b["training_bits"], b["validation_bits"],
        )  # fmt: skip
    assert first[-1]["validation_bits"] < first[0]["validation_bits"] < 8.5
    assert first[-1]["validation_bits"] < 6


def test_curves_of_seeds_and_backends(monkeypatch):
    pytest.importorskip("triton")
    monkeypatch.syspath_prepend(ROOT / "kernels" / "bench")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    from training_curves import RUNS, curve, most_apart

    small = ("--steps", "2", "--size", "32", "--length", "48", "--batch", "2")
    small += ("--rate", "1e-30")  # weights stay: each loss is rounded for itself
    rows = [curve("CPU", 0, *small), curve("CPU", 0, *small), curve("CPU", 1, *small)]
    rows.append(curve("CPU", 0, *small, *RUNS["GPU, bfloat16"]))
    assert [row["device"] for row in rows] == ["cpu"] * 4
    for name in ("training_bits", "validation_bits"):
        first, again, other, rounded = ([x[name] for x in row["curve"]] for row in rows)
        assert first == again != other
        assert rounded != first == pytest.approx(rounded, abs=0.05)
    losses = {
        ("CPU", 0): [5, 4], ("GPU", 0): [5.1, 4], ("GPU, bfloat16", 0): [5.5, 4],
        ("CPU", 1): [5, 3], ("GPU", 1): [5, 3.2], ("GPU, bfloat16", 1): [5, 3.1],
    }  # fmt: skip
    rows = [
        {"on": on, "seed": seed, "curve": [{"validation_bits": x} for x in bits]}
        for (on, seed), bits in losses.items()
    ]
    assert most_apart(rows) == pytest.approx({"backend": 0.2, "bfloat16": 0.4, "seed": 1})
    with pytest.raises(SystemExit, match="at least 1, got 0"):
        curve("CPU", 0, "--steps", "0")


def test_streaming_is_greedy_decoding_of_the_full_pass():
    import stream_tokens
    from small_model import LanguageModel, as_bytes

    torch.manual_seed(0)
    model, prompt = LanguageModel(32).eval(), as_bytes("A prompt of some length, in bytes")
    steps = list(stream_tokens.stream(model, prompt, 10, temperature=1e-9))
    text = prompt.tolist()
    with torch.no_grad():
        for byte, _ in steps:
            assert byte == model(torch.tensor([text]))[0, -1].argmax().item()
            text.append(byte)
    sizes = {stream_tokens.state_bytes(caches) for _, caches in steps}
    assert len(sizes) == 1


def test_packed_paragraphs():
    import packed_batch

    assert packed_batch.compare(5) < 1e-5
    row, offsets = packed_batch.pack([torch.tensor([1, 2]), torch.tensor([3])])
    assert row.tolist() == [[1, 2, 3]] and offsets.tolist() == [0, 2, 3]


def test_packed_script_prints_its_comparison():
    assert "packed against alone" in run("packed_batch.py", "--count", 3)


REFUSED = [
    ("packed_batch.py", "--count", "-3", "at least 1, got -3"),
    ("train_language_model.py", "--steps", "0", "at least 1, got 0"),
    ("train_language_model.py", "--length", "1000000", "expected less than "),
    ("stream_tokens.py", "--count", "0", "at least 1, got 0"),
    ("stream_tokens.py", "--prompt", "", "at least one character"),
    ("stream_tokens.py", "--temperature", "0", "a finite number above 0, got 0"),
    ("train_language_model.py", "--rate", "nan", "a finite number above 0, got nan"),
    ("train_language_model.py", "--rate", "inf", "a finite number above 0, got inf"),
    ("swap_into_qwen3_next.py", "--new-tokens", "0", "at least 1, got 0"),
    ("stream_tokens.py", "--weights", "nowhere.pt", "no such file: nowhere.pt"),
    ("swap_into_qwen3_next.py", "path", "nowhere", "no such folder: nowhere"),
]


@pytest.mark.parametrize("script, option, value, message", REFUSED)
def test_a_wrong_argument_is_named(script, option, value, message, tmp_path):
    if script.startswith("swap"):
        pytest.importorskip("transformers", reason="transformers is not installed")
    given = [value] if option == "path" else [option, value]
    extra = ["--out", tmp_path] if script.startswith("train") else []
    done = start(script, *given, *extra, cwd=tmp_path)
    assert done.returncode != 0 and "Traceback" not in done.stderr
    last = done.stderr.splitlines()[-1]
    assert option in last and message in last


def test_the_readme_lists_every_script():
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"| `{script.name}` |" in listed for script in EXAMPLES.glob("*.py"))
