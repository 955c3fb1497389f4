"""A small language model over bytes: Gated DeltaNet layers and MLPs, and the book as its text.

The examples beside this file import it.
"""

import argparse
import json
import math
from pathlib import Path

import torch
from torch import nn

from gdn_ref import GatedDeltaNet, GatedDeltaNetCache

ROOT = Path(__file__).parents[1]
BYTES = 256


class Block(nn.Module):
    """`x + layer(norm(x))`, then the same with an MLP."""

    def __init__(self, size, heads):
        super().__init__()
        self.layer_norm, self.mlp_norm = nn.RMSNorm(size), nn.RMSNorm(size)
        self.layer = GatedDeltaNet(size, heads, size // heads, head_v_dim=size // heads)
        self.mlp = nn.Sequential(nn.Linear(size, 3 * size), nn.SiLU(), nn.Linear(3 * size, size))

    def forward(self, x, cache, cu_seqlens):
        x = x + self.layer(self.layer_norm(x), cache, cu_seqlens)
        return x + self.mlp(self.mlp_norm(x))


class LanguageModel(nn.Module):
    """Bytes `[B, T]` to logits `[B, T, 256]` for the next byte."""

    def __init__(self, size=128, heads=2, depth=2):
        super().__init__()
        self.embedding = nn.Embedding(BYTES, size)
        self.blocks = nn.ModuleList(Block(size, heads) for _ in range(depth))
        self.norm, self.head = nn.RMSNorm(size), nn.Linear(size, BYTES, bias=False)

    def forward(self, tokens, caches=None, cu_seqlens=None):
        x = self.embedding(tokens)
        for block, cache in zip(self.blocks, caches or [None] * len(self.blocks), strict=True):
            x = block(x, cache, cu_seqlens)
        return self.head(self.norm(x))

    def empty_caches(self):
        """What the model remembers, before it has seen anything: one cache per layer."""
        return [GatedDeltaNetCache() for _ in self.blocks]


def book_text():
    """The prose of the chapters, in order, as bytes `[T]`."""
    text = []
    for path in sorted(ROOT.glob("chapters/*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        text += ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
    return as_bytes("\n\n".join(text))


def as_bytes(text):
    """A string as UTF-8 bytes, `[T]`."""
    return torch.tensor(list(text.encode()), dtype=torch.long)


def device():
    """The GPU if there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def arguments(description):
    """A command line whose help says each default."""
    return argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )


def count(text):
    """A number of things on the command line, at least one."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, got {number}")
    return number


def positive(text):
    """A finite number above 0 on the command line."""
    number = float(text)
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"expected a finite number above 0, got {text}")
    return number
