"""Exercises of chapter 17: the leak by hand, slots, drafted tokens, a free slot, a safe decay."""

import numpy as np
import torch

from gdn_ref import chunk_gated_delta_rule, decode

from ..figures.ch17 import tiles
from ..figures.ch17_serve import requests
from . import TOLERANCE, Wrong, exercise


@exercise("17-leak")
def leak(answer):
    """What the state of the hand example holds too much, one token on: (S_2 - 0) F_3."""
    found = np.asarray(answer, dtype=float)
    if found.shape != (2, 2):
        raise Wrong(f"expected a 2 x 2 matrix, got shape {found.shape}")
    S, k = np.array([[1.0, 6.0], [2.0, 2.0]]), np.array([0.6, 0.8])
    right = 0.5 * (S - np.outer(S @ k, k))
    if np.abs(found - 0.5 * S).max() < TOLERANCE:
        raise Wrong("that is the state faded; the token also erases at its key")
    if not np.abs(found - right).max() <= TOLERANCE:  # nor if it is NaN
        raise Wrong("not the state of the other sequence times the transition of token 3")


@exercise("17-slots")
def slots(answer):
    """`answer(cu_seqlens, C)`: the numbers of the slots that no chunk has."""
    for cu_seqlens, C in (([0, 20, 32, 58], 16), ([0, 64, 128], 64), ([0, 113, 113, 150, 214], 64),
                          ([0, 5], 8), ([0, 8, 8, 8], 8)):  # fmt: skip
        right = [slot for slot, tile in enumerate(tiles(cu_seqlens, C)) if tile is None]
        found = sorted(answer(cu_seqlens, C))
        if found != right:
            side = "more" if len(found) < len(right) else "fewer"
            side = "others" if len(found) == len(right) else side
            raise Wrong(f"cu_seqlens = {cu_seqlens}, C = {C}: {side} than {found}")


@exercise("17-drafts", keeps={5: "the state of before the drafts"})
def drafts(answer):
    """`answer(q, k, v, g, beta, S, accepted)`: the state after the accepted tokens only."""
    x = requests((5,), (1,))[0].tokens
    S = torch.randn(1, 4, 12, 7, generator=torch.Generator().manual_seed(0)).double()
    for accepted in (0, 2, 5):
        kept = {name: a[:, :accepted] for name, a in x.items()}
        right = S
        if accepted:
            _, right = chunk_gated_delta_rule(**kept, initial_state=S, output_final_state=True)
        found = answer(*(x[name] for name in ("q", "k", "v", "g", "beta")), S, accepted)
        if found.shape != right.shape:
            raise Wrong(f"expected a state of shape {list(right.shape)}, got {list(found.shape)}")
        if not (found - right).norm() <= TOLERANCE * right.norm():
            raise Wrong(f"{accepted} of 5 drafts accepted: not the state after {accepted} tokens")


@exercise("17-reuse", in_place=True)
def reuse(answer):
    """`answer(pool, slot)` makes a slot ready for a request that decodes from its first token."""
    x = requests((1,), (1,))[0].tokens
    for slot in (0, 2):
        pool = torch.full((4, 4, 12, 7), torch.nan).double()
        pool[1] = 1.0
        others = pool.clone()
        answer(pool, slot)
        rest = [n for n in range(4) if n != slot]
        if not torch.equal(pool[rest].nan_to_num(7.0), others[rest].nan_to_num(7.0)):
            raise Wrong("another slot has changed")
        o = decode(**x, pool=pool, slot_idx=torch.tensor([slot]))
        right, _ = chunk_gated_delta_rule(**x)
        if not (o - right).norm() <= TOLERANCE * right.norm():  # nor if it is NaN
            raise Wrong("the first output is not that of an empty memory; what did the slot hold?")


@exercise("17-safe")
def safe(answer):
    """`answer(bits, tokens_a_call)`: the half-life beyond which decay alone is rounded away."""
    for bits, n in ((8, 1), (11, 1), (8, 64), (24, 1)):
        right = n * np.log(2) / -np.log1p(-(2.0 ** -(bits + 1)))
        found = answer(bits, n)
        if not abs(found / right - 1) <= 1e-6:
            side = "longer" if found < right else "shorter"
            raise Wrong(f"{bits} significant bits, {n} tokens a call: {side} than {found:.4g}")
