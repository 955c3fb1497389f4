"""The figures of chapter 20: drawn, right, and with the numbers of the published models."""

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from gdn_ref.figures import ch14_model, ch20, ch20_swap
from gdn_ref.figures.ch20_models import LOG, LOGGED, MODELS, NEXT
from gdn_ref.integrations.transformers import use_gdn_ref
from gdn_ref.proofs import ch20_model as cost
from gdn_ref.proofs.ch20_model import with_share

ROOT = Path(__file__).parents[1]
STATIC = {
    "stack": 3,
    "memory_against_context": 4,
    "recall": 1,
    "flops_against_context": 1,
    "decode_parts": 1,
    "hybrid_cost": 2,
}
CONFIGS = {  # name -> folder, configuration class, model class
    "Qwen3-Next 80B-A3B": ("qwen3_next", "Qwen3NextConfig", "Qwen3NextForCausalLM"),
    "Qwen3.5 9B": ("qwen3_5", "Qwen3_5TextConfig", "Qwen3_5ForCausalLM"),
    "Qwen3.5 35B-A3B": ("qwen3_5_moe", "Qwen3_5MoeTextConfig", "Qwen3_5MoeForCausalLM"),
    "Olmo-Hybrid 7B": ("olmo_hybrid", "OlmoHybridConfig", "OlmoHybridForCausalLM"),
}


@pytest.mark.parametrize("name", STATIC)
def test_each_figure_is_drawn(name):
    fig = getattr(ch20, name)()
    assert isinstance(fig, Figure)
    assert len(fig.axes) == STATIC[name]
    assert all(axes.has_data() for axes in fig.axes)


@pytest.fixture(scope="module")
def published():
    """`published(name)`: the configuration of a model and the model, on the meta device."""
    pytest.importorskip("transformers", reason="transformers is not installed")
    import torch

    def load(name):
        folder, config, model = CONFIGS[name]
        home = f"transformers.models.{folder}"
        config = getattr(importlib.import_module(f"{home}.configuration_{folder}"), config)()
        with torch.device("meta"):
            return config, getattr(importlib.import_module(f"{home}.modeling_{folder}"), model)(
                config
            )

    return load


@pytest.mark.parametrize("name", MODELS)
def test_the_table_is_that_of_transformers(name, published):
    config, model = published(name)
    x = MODELS[name]
    kinds = config.layer_types
    assert (x.full, x.linear) == tuple(map(kinds.count, ("full_attention", "linear_attention")))
    assert kinds == x.full * (3 * ["linear_attention"] + ["full_attention"])
    head = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    dense = getattr(config, "intermediate_size", None)
    experts = getattr(config, "num_experts", 0)
    sizes = {
        "width": config.hidden_size,
        "q_heads": config.num_attention_heads,
        "kv_heads": config.num_key_value_heads,
        "head": head,
        "key_heads": config.linear_num_key_heads,
        "value_heads": config.linear_num_value_heads,
        "d_k": config.linear_key_head_dim,
        "d_v": config.linear_value_head_dim,
        "taps": config.linear_conv_kernel_dim,
        "vocab": config.vocab_size,
        "ffn": config.moe_intermediate_size if experts else dense,
        "experts": experts,
        "chosen": config.num_experts_per_tok if experts else 0,
        "shared": config.shared_expert_intermediate_size if experts else 0,
    }
    assert {key: getattr(x, key) for key in sizes} == sizes
    assert cost.total_weights(x) == sum(p.numel() for p in model.parameters() if p.ndim > 1)
    rows = {"linear_attn": cost.linear_weights(x), "self_attn": cost.full_weights(x)}
    for part, entries in rows.items():
        layer = next(m for key, m in model.named_modules() if key.endswith(part))
        assert entries == sum(p.numel() for p in layer.parameters() if p.ndim > 1)


def test_the_bytes_are_those_of_a_cache_of_transformers():
    """A pass of a small model, and every tensor that its cache then holds."""
    pytest.importorskip("transformers", reason="transformers is not installed")
    import torch

    model = ch20_swap.small_model().bfloat16()
    x, T, n = small(model.config), 70, 2
    with torch.no_grad(), use_gdn_ref(model):  # transformers' own operators may need a GPU
        tokens = torch.randint(1, 256, (n, T))
        kept = model.model(tokens, use_cache=True).past_key_values
    held = []
    for layer in kept.layers:
        if hasattr(layer, "recurrent_states"):
            held += [*layer.recurrent_states.values(), *layer.conv_states.values()]
        else:
            held += [layer.keys, layer.values]
    assert sum(y.nbytes for y in held) == n * cost.kept_bytes(x, T)


def small(config):
    return cost.Hybrid(
        linear=3, full=1, width=config.hidden_size, q_heads=4, kv_heads=2, head=16, key_heads=2,
        value_heads=4, d_k=16, d_v=16, ffn=32, vocab=256,
    )  # fmt: skip


def test_what_the_chapter_says_of_the_models():
    assert [round(cost.crossover(x), 6) for x in MODELS.values()] == [1056, 528, 1056, 150]
    assert cost.kept_bytes(NEXT, 256) > cost.kept_bytes(with_share(NEXT, 48), 256)
    far = 2**30
    ratio = cost.kept_bytes(MODELS["Olmo-Hybrid 7B"], far) / cost.kept_bytes(NEXT, far)
    assert ratio == pytest.approx(5, rel=1e-3)
    weights = [cost.total_weights(x) for x in (MODELS["Olmo-Hybrid 7B"], NEXT)]
    assert weights[0] / weights[1] == pytest.approx(0.1, abs=0.01)
    assert cost.kept_bytes(with_share(NEXT, 0), 2**20) / 2**20 == 99
    assert round(cost.linear_weights(NEXT) / 1e6) == 34
    assert round(cost.full_weights(NEXT) / 1e6) == 27
    shares = [cost.step_flops(x) / 2 / cost.active_weights(x) for x in MODELS.values()]
    assert max(shares) == pytest.approx(0.021, abs=5e-4)
    assert round(2 * cost.total_weights(NEXT) / 1e9) == 159
    window = 2 * NEXT.taps * NEXT.channels / cost.layer_state_bytes(NEXT)
    assert window == pytest.approx(0.03, abs=0.001)
    assert round(cost.experts_read(NEXT, 64)) == 367


def test_what_the_chapter_says_of_decoding():
    everywhere = with_share(NEXT, 48)
    for n, hybrid, attention in ((1, 8.09, 9.88), (8, 4.30, 6.50), (64, 2.76, 5.01),
                                 (512, 1.27, 3.53)):  # fmt: skip
        here, there = (ch20.step_parts(x, 32768, n) for x in (NEXT, everywhere))
        assert round(sum(here.values()), 2) == hybrid
        assert round(sum(there.values()), 2) == attention
    assert sum(there.values()) / sum(here.values()) == pytest.approx(2.8, abs=0.05)
    assert here["states"] == pytest.approx(0.16, abs=0.005)
    assert here["states"] / sum(here.values()) == pytest.approx(1 / 8, abs=0.005)
    assert cost.decode_bytes(NEXT, 32768, 1) / ch14_model.BANDWIDTH * 1e3 == pytest.approx(
        2.4, abs=0.05
    )


def test_the_log_is_met():
    assert cost.cache_bytes(LOGGED, LOG["tokens"]) == LOG["cache_mib"] * 2**20
    assert LOG["sequences"] * cost.state_bytes(LOGGED, b=4) == LOG["states_mib"] * 2**20
    share = LOG["states_mib"] / (LOG["states_mib"] + LOG["cache_mib"])
    assert share == pytest.approx(0.035, abs=5e-4)


def test_the_layers_add_up():
    for x in MODELS.values():
        assert ch20.layer_bytes(x, 1000).sum() == cost.kept_bytes(x, 1000)


def test_a_state_forgets_and_a_cache_does_not():
    errors = [ch20.recall_errors(n) for n in (4, 64, 2048)]
    assert [e[0] for e in errors] == sorted(e[0] for e in errors)
    assert errors[0][0] < 0.2 < 1 < errors[2][0]
    assert all(cache < 0.01 for _, cache, _ in errors)


def test_the_record_is_what_the_swap_gives():
    pytest.importorskip("transformers", reason="transformers is not installed")
    code = "import json; from gdn_ref.figures import ch20_swap as swap; "
    code += "print(json.dumps(swap.result() if swap.can_run() else None))"
    # in a process like a reader's, which does not see the peers of the tests
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    if (found := json.loads(done.stdout.splitlines()[-1])) is None:
        pytest.skip("transformers' own operators cannot run on this machine")
    source, rows = found
    record = json.loads(ch20_swap.RECORD.read_text())
    assert source.startswith("run here")
    assert [row["mode"] for row in rows] == [row["mode"] for row in record["rows"]]
    for row in (*rows, *record["rows"]):
        assert row["same_tokens"] is True and 0 < row["largest"] < 1e-4


def test_without_transformers_the_record_is_shown(monkeypatch):
    monkeypatch.setattr(ch20_swap, "can_run", lambda: False)
    source, rows = ch20_swap.result()
    assert source == "recorded with transformers 5.17.0"
    assert len(rows) == len(ch20_swap.MODES)


def test_the_moving_figure_has_the_models():
    script = (ROOT / "book/_static/figures/hybrid-cost.js").read_text()
    found = re.findall(r"\{ (name: .*?) \}", script, re.S)
    names = {"q": "q_heads", "kv": "kv_heads", "hk": "key_heads", "hv": "value_heads"}
    names |= {"dk": "d_k", "dv": "d_v"}
    assert len(found) == len(MODELS)
    for text, (name, x) in zip(found, MODELS.items(), strict=True):
        sizes = dict(re.findall(r"(\w+): \"?([^,\"]+)", text))
        assert sizes.pop("name") == name
        for key, value in sizes.items():
            assert int(value) == getattr(x, names.get(key, key)), (name, key)
    assert f"taps = {NEXT.taps}" in script
    assert float(re.search(r"bandwidth = ([\d.e]+)", script)[1]) == ch14_model.BANDWIDTH


def test_the_moving_figures_curves_turn_about_one_point():
    for name, x in MODELS.items():
        at = cost.crossover(x)
        kept = [ch20.cost(name, at, eighths, 8)[1]["kept"] for eighths in range(9)]
        np.testing.assert_allclose(kept, kept[0])


def test_every_slider_of_the_widget_changes_its_picture():
    picture, *sliders = ch20.hybrid_cost_widget().children
    assert picture.value.startswith("<svg")
    for slider in sliders:
        before = picture.value
        slider.value = 5 if slider.description == "eighths" else slider.options[-1]
        assert picture.value != before, slider.description
