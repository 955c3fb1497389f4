"""gdn_ref inside a Qwen3-Next model of transformers: one call in, one call out.

    python examples/swap_into_qwen3_next.py            # a tiny model with random weights
    python examples/swap_into_qwen3_next.py PATH       # a model on this disk, and its tokenizer

Either way the same prompt goes through the model twice: with gdn_ref's operators, then with
transformers' own. PATH may hold any model that `use_gdn_ref` knows; where accelerate is installed,
it is spread over the GPUs. Needs transformers 5.17 or newer.
"""

import argparse
import importlib.util
import logging
from pathlib import Path

import torch
from small_model import count
from transformers import AutoModelForCausalLM, AutoTokenizer, Qwen3NextConfig

from gdn_ref.integrations.transformers import use_gdn_ref

PROMPT = "A matrix can serve as a memory:"


def tiny_model():
    """Four layers, three of them Gated DeltaNet; 70 kB of random weights."""
    torch.manual_seed(0)
    config = Qwen3NextConfig(
        vocab_size=256, hidden_size=32, num_hidden_layers=4, num_attention_heads=4,
        num_key_value_heads=2, head_dim=16, linear_num_key_heads=2, linear_num_value_heads=4,
        linear_key_head_dim=16, linear_value_head_dim=8, num_experts=4, num_experts_per_tok=2,
        moe_intermediate_size=16, shared_expert_intermediate_size=16, initializer_range=0.2,
    )  # fmt: skip
    return AutoModelForCausalLM.from_config(config).eval()


def continued(model, prompt, new_tokens):
    """The most likely tokens after `prompt`, and the logits that chose them."""
    out = model.generate(
        prompt, attention_mask=torch.ones_like(prompt), max_new_tokens=new_tokens,
        do_sample=False, return_dict_in_generate=True, output_logits=True,
    )  # fmt: skip
    return out.sequences[0, prompt.shape[1] :].tolist(), torch.stack(out.logits)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("path", nargs="?", help="folder of a model and its tokenizer")
    parser.add_argument("--new-tokens", type=count, default=24, help="default: 24")
    a = parser.parse_args()
    if a.path is not None and not Path(a.path).is_dir():
        parser.error(f"argument path: no such folder: {a.path}")
    logging.getLogger("transformers").setLevel(logging.ERROR)  # it recommends faster operators

    if a.path is None:
        model, tokenizer = tiny_model(), None
        prompt = torch.tensor([list(PROMPT.encode())])
    else:
        everywhere = "auto" if importlib.util.find_spec("accelerate") else None
        model = AutoModelForCausalLM.from_pretrained(
            a.path, local_files_only=True, dtype="auto", device_map=everywhere
        ).eval()
        tokenizer = AutoTokenizer.from_pretrained(a.path, local_files_only=True)
        prompt = tokenizer(PROMPT, return_tensors="pt").input_ids.to(model.device)

    print(f"{type(model).__name__}, {sum(p.numel() for p in model.parameters()):,} weights")
    with use_gdn_ref(model):
        ours, logits = continued(model, prompt, a.new_tokens)
    print("tokens:", ours if tokenizer is None else tokenizer.decode(ours))
    try:
        theirs, expected = continued(model, prompt, a.new_tokens)
    except Exception as error:  # flash-linear-attention's kernels cannot take CPU tensors
        print(f"transformers' own operators fail here: {type(error).__name__}")
        return
    print("same tokens:", ours == theirs)
    print(f"largest difference of a logit: {(logits - expected).abs().max().item():.1e}")


if __name__ == "__main__":
    main()
