"""Chapter 20: the swap into a small random Qwen3-Next model, run here or read from its record.

`python -m gdn_ref.figures.ch20_swap` writes the record, for readers without transformers.
"""

import importlib.util
import json
import logging

import torch

from .places import DATA

RECORD = DATA / "swap_cpu.json"
MODES = {"greedy, with cache": {}, "greedy, no cache": {"use_cache": False}}
MODES |= {"3 beams": {"num_beams": 3}}


def small_model():
    """Four layers, three of them Gated DeltaNet, with random weights."""
    from transformers import AutoModelForCausalLM, Qwen3NextConfig

    torch.manual_seed(0)
    config = Qwen3NextConfig(
        vocab_size=256, hidden_size=64, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=16, linear_value_head_dim=16, num_experts=8, num_experts_per_tok=2,
        moe_intermediate_size=32, shared_expert_intermediate_size=32, initializer_range=0.1,
        pad_token_id=0,
    )  # fmt: skip
    return AutoModelForCausalLM.from_config(config).eval()


def generate(model, options, new_tokens=32):
    """Tokens after two left-padded prompts of 200 and 80, and the logits that chose them."""
    prompt = torch.randint(1, 256, (2, 200), generator=torch.Generator().manual_seed(1))
    mask = torch.ones_like(prompt)
    mask[1, :120] = 0
    out = model.generate(
        prompt * mask, attention_mask=mask, max_new_tokens=new_tokens, do_sample=False,
        return_dict_in_generate=True, output_logits=True, **options,
    )  # fmt: skip
    return out.sequences, torch.stack(out.logits)


def compare():
    """For each mode: are the tokens the same, and how far are the logits apart?"""
    from gdn_ref.integrations.transformers import use_gdn_ref

    model, rows = small_model(), []
    for mode, options in MODES.items():
        expected, theirs = generate(model, options)
        with use_gdn_ref(model):
            tokens, ours = generate(model, options)
        same, apart = torch.equal(tokens, expected), (ours - theirs).abs().max().item()
        rows.append({"mode": mode, "same_tokens": same, "largest": apart})
    return rows


def can_run():
    """transformers is there, and so are operators of its own that work on this machine."""
    fla_on_a_cpu = importlib.util.find_spec("fla") and not torch.cuda.is_available()
    return bool(importlib.util.find_spec("transformers")) and not fla_on_a_cpu


def result():
    """`(where the rows come from, rows)`."""
    if not can_run():
        record = json.loads(RECORD.read_text())
        return f"recorded with transformers {record['transformers']}", record["rows"]
    import transformers

    logging.getLogger("transformers").setLevel(logging.ERROR)  # it recommends faster operators
    return f"run here, transformers {transformers.__version__}", compare()


if __name__ == "__main__":
    source, rows = result()
    if not source.startswith("run here"):
        raise SystemExit("transformers is not installed")
    version = source.rpartition(" ")[2]
    record = {"transformers": version, "torch": torch.__version__, "rows": rows}
    RECORD.write_text(json.dumps(record, indent=1) + "\n")
    print(RECORD.read_text())
