"""Sequences of different lengths in one row, without padding, and without seeing each other.

    python examples/packed_batch.py

Packs paragraphs of the book one behind the other, runs a small model over the row with
`cu_seqlens`, and compares with one run per paragraph and with a padded batch.
"""

import time

import torch
from small_model import LanguageModel, arguments, book_text, count, device


def paragraphs(most):
    """The first paragraphs of the book's text, as bytes."""
    text = bytes(book_text().tolist())
    found = [p for p in text.split(b"\n\n") if p.strip()]
    return [torch.tensor(list(p)) for p in found[:most]]


def pack(sequences):
    """One row `[1, T]` and the offsets `[N + 1]` at which its sequences begin and end."""
    lengths = torch.tensor([0] + [len(s) for s in sequences])
    return torch.cat(sequences)[None], lengths.cumsum(0)


def timed(call):
    """Result and milliseconds of the second of two calls."""
    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    call()
    wait()
    start = time.perf_counter()
    result = call()
    wait()
    return result, 1e3 * (time.perf_counter() - start)


@torch.no_grad()
def compare(most):
    """Prints the three times; returns the largest relative error of a packed sequence."""
    torch.manual_seed(0)
    model = LanguageModel().to(device())
    sequences = paragraphs(most)
    row, cu_seqlens = (x.to(device()) for x in pack(sequences))
    sequences = [s.to(device()) for s in sequences]
    padded = torch.nn.utils.rnn.pad_sequence(sequences, batch_first=True)

    packed, packed_ms = timed(lambda: model(row, cu_seqlens=cu_seqlens))
    alone, alone_ms = timed(lambda: [model(s[None]) for s in sequences])
    _, padded_ms = timed(lambda: model(padded))

    lengths = [len(s) for s in sequences]
    print(
        f"{len(lengths)} paragraphs, {min(lengths)} to {max(lengths)} bytes, {sum(lengths)} in all"
    )
    print(f"packed  {row.numel():7d} tokens {packed_ms:8.1f} ms")
    print(f"alone   {row.numel():7d} tokens {alone_ms:8.1f} ms")
    print(f"padded  {padded.numel():7d} tokens {padded_ms:8.1f} ms")
    parts = packed.split(lengths, dim=1)
    pairs = zip(parts, alone, strict=True)
    error = max(((a - b).norm() / b.norm()).item() for a, b in pairs)
    print(f"largest relative difference, packed against alone: {error:.0e}")
    return error


if __name__ == "__main__":
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--count", type=count, default=32, help="paragraphs to pack")
    compare(parser.parse_args().count)
