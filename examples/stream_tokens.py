"""Read a prompt in one pass, then stream bytes from the state that it left.

    python examples/train_language_model.py    # once, for weights
    python examples/stream_tokens.py --prompt "The memory "

The prompt is one call of any length; each later byte is a call of one token. What the model keeps
between the calls has a fixed size, whatever the length of the text so far. Without `--weights` and
without what the first script writes, the bytes are noise, and everything else holds.
"""

import sys
import time
from pathlib import Path

import torch
from small_model import ROOT, LanguageModel, arguments, as_bytes, count, device, positive

TRAINED = ROOT / "_build" / "examples" / "language_model.pt"


def load(path):
    """The trained model, or an untrained one for None."""
    if path is None:
        print(f"{TRAINED} is not there: untrained weights, noise to come")
        torch.manual_seed(0)
        return LanguageModel().to(device()).eval()
    saved = torch.load(path, map_location=device(), weights_only=True)
    model = LanguageModel(saved["size"]).to(device())
    model.load_state_dict(saved["weights"])
    return model.eval()


@torch.no_grad()
def stream(model, prompt, length, temperature=0.7, seed=0):
    """Yield `length` bytes after the prompt, `[T]`; the caches of the layers come with each."""
    random = torch.Generator().manual_seed(seed)
    caches = model.empty_caches()
    tokens = prompt[None].to(device())
    for _ in range(length):
        logits = model(tokens, caches)[0, -1].cpu().double()  # first the prompt, then one byte
        chances = torch.softmax(logits / temperature, dim=0)
        token = torch.multinomial(chances, 1, generator=random)
        yield token.item(), caches
        tokens = token[None].to(device())


def state_bytes(caches):
    """Memory of all states."""
    states = [state for cache in caches for state in (cache.conv_state, cache.recurrent_state)]
    return sum(state.numel() * state.element_size() for state in states)


def main():
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--prompt", default="The memory ", help="what the text begins with")
    parser.add_argument("--count", type=count, default=300, help="bytes to write")
    parser.add_argument("--temperature", type=positive, default=0.7, help="small is greedy")
    trained = TRAINED if TRAINED.exists() else None
    parser.add_argument("--weights", type=Path, default=trained, help="what training wrote")
    a = parser.parse_args()
    if not a.prompt:
        parser.error("argument --prompt: expected at least one character")
    if a.weights is not None and not a.weights.is_file():
        parser.error(f"argument --weights: no such file: {a.weights}")
    model, prompt = load(a.weights), as_bytes(a.prompt)

    written, start = [], time.perf_counter()
    print(a.prompt, end="")
    for byte, caches in stream(model, prompt, a.count, a.temperature):
        written.append(byte)
        kept = state_bytes(caches)
        sys.stdout.write(chr(byte) if 32 <= byte < 127 or byte == 10 else "·")
        sys.stdout.flush()
    seconds = time.perf_counter() - start
    print(f"\n\n{a.count} bytes, {1e3 * seconds / a.count:.1f} ms each; state {kept} bytes")

    whole = torch.cat([prompt, torch.tensor(written)])[None].to(device())
    with torch.no_grad():
        caches = model.empty_caches()
        parts = [model(part, caches) for part in whole.split([len(prompt)] + [1] * a.count, dim=1)]
        full = model(whole)
    error = (torch.cat(parts, dim=1) - full).norm() / full.norm()
    print(f"logits byte by byte against one pass over all {whole.shape[1]}: {error:.0e} relative")


if __name__ == "__main__":
    main()
