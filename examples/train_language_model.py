"""Train a small Gated DeltaNet language model on the text of this book.

    python examples/train_language_model.py

Under two minutes on two CPU cores, with the reference backend. On a GPU the same script takes the
Triton backend. The seed fixes the batches, so that curves of two backends lie on each other.
Writes the curve and the weights to `_build/examples/`.
"""

import json
import math
import time
from pathlib import Path

import torch
from small_model import ROOT, LanguageModel, arguments, book_text, count, device, positive
from tqdm import tqdm

HELD_OUT = 0.05  # the last part of the text is for validation


def batch(text, size, length, random):
    """`size` stretches of the text from anywhere, `[size, length + 1]`."""
    start = torch.randint(len(text) - length, (size, 1), generator=random)
    return text[start + torch.arange(length + 1)]


def loss_of(model, tokens):
    """Mean negative log-likelihood of each byte after the first, in bits."""
    tokens = tokens.to(next(model.parameters()).device)
    logits = model(tokens[:, :-1])
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    return loss / math.log(2)


@torch.no_grad()
def validate(model, text, length):
    """Bits per byte on the held-out text, in stretches of this length."""
    rows = (len(text) - 1) // length
    stretches = torch.stack([text[i * length : (i + 1) * length + 1] for i in range(rows)])
    return loss_of(model, stretches).item()


def rate_at(step, steps, warm_up=20):
    """Share of the learning rate: up in a line, then down as a cosine."""
    return min((step + 1) / warm_up, (1 + math.cos(math.pi * step / steps)) / 2)


def train(steps, size, length, batch_size, rate, seed=0, bfloat16=False, every=20):
    """Returns the model and its curve: step, training loss, validation loss, seconds."""
    torch.manual_seed(seed)
    precision = torch.autocast(device().type, torch.bfloat16, enabled=bfloat16)
    random = torch.Generator().manual_seed(seed)
    text = book_text()
    cut = int(len(text) * (1 - HELD_OUT))
    seen, held_out = text[:cut], text[cut:][: 16 * length + 1]
    if len(held_out) <= length:
        raise SystemExit(f"--length: expected less than {len(held_out)} bytes, got {length}")
    model = LanguageModel(size).to(device())
    gates = [p for name, p in model.named_parameters() if name.endswith(("A_log", "dt_bias"))]
    others = [p for name, p in model.named_parameters() if not name.endswith(("A_log", "dt_bias"))]
    groups = [{"params": others}, {"params": gates, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.95), weight_decay=0.1)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: rate_at(step, steps))
    curve, start, since = [], time.perf_counter(), []
    for step in (bar := tqdm(range(1, steps + 1), unit="step")):
        with precision:
            loss = loss_of(model, batch(seen, batch_size, length, random))
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        since.append(loss.item())
        bar.set_postfix(bits_per_byte=f"{since[-1]:.3f}")
        if step % every == 0 or step == steps:
            with precision:
                validation = validate(model, held_out, length)
            curve.append({
                "step": step,
                "training_bits": sum(since) / len(since),
                "validation_bits": validation,
                "seconds": round(time.perf_counter() - start, 1),
            })  # fmt: skip
            since = []
    return model, curve


def main():
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--steps", type=count, default=300, help="batches to learn from")
    parser.add_argument("--size", type=count, default=128, help="width of the model")
    parser.add_argument("--length", type=count, default=256, help="bytes in a stretch of text")
    parser.add_argument("--batch", type=count, default=8, help="stretches in a batch")
    parser.add_argument("--rate", type=positive, default=4e-3, help="learning rate at its highest")
    parser.add_argument("--seed", type=int, default=0, help="of first weights and batches")
    parser.add_argument("--bfloat16", action="store_true", help="round products to bfloat16")
    default = ROOT / "_build" / "examples"
    parser.add_argument("--out", type=Path, default=default, help="folder for curve and weights")
    a = parser.parse_args()
    a.out.mkdir(parents=True, exist_ok=True)  # now, not after the training
    model, curve = train(a.steps, a.size, a.length, a.batch, a.rate, a.seed, a.bfloat16)
    record = {"device": str(device()), "bfloat16": a.bfloat16, "curve": curve}
    (a.out / "language_model.json").write_text(json.dumps(record, indent=1) + "\n")
    torch.save({"size": a.size, "weights": model.state_dict()}, a.out / "language_model.pt")
    print(f"{'step':>6} {'training':>10} {'validation':>11} {'seconds':>8}   (bits per byte)")
    for row in curve:
        print(
            "{step:6d} {training_bits:10.3f} {validation_bits:11.3f} {seconds:8.1f}".format(**row)
        )
    print(f"wrote language_model.json and language_model.pt to {a.out}")


if __name__ == "__main__":
    main()
