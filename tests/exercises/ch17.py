"""Answers to the exercises of chapter 17: right ones, and wrong ones with the hint they get."""

import math

import numpy as np
import torch

from gdn_ref import decode, fused_recurrent_gated_delta_rule

S = np.array([[1.0, 6.0], [2.0, 2.0]])
KEY = np.array([0.6, 0.8])


def slots_of(cu_seqlens, C):
    """The slots that a sequence has a chunk for."""
    for n, begin in enumerate(cu_seqlens[:-1]):
        for token in range(begin, cu_seqlens[n + 1], C):
            yield begin // C + n + (token - begin) // C


def idle(cu_seqlens, C, more=0):
    slots = range(cu_seqlens[-1] // C + len(cu_seqlens) - 1 + more)
    return [slot for slot in slots if slot not in set(slots_of(cu_seqlens, C))]


def idle_from_the_gaps(cu_seqlens, C):
    """Between the last chunk of a sequence and the first slot of the next."""
    N, found = len(cu_seqlens) - 1, np.array([], dtype=int)
    for n, (begin, end) in enumerate(zip(cu_seqlens, cu_seqlens[1:], strict=False)):
        used = begin // C + n + math.ceil((end - begin) / C)
        found = np.append(found, np.arange(used, end // C + n + 1))
    return found[found < cu_seqlens[-1] // C + N]


def keep(q, k, v, g, beta, S, accepted):
    x = [a[:, :accepted] for a in (q, k, v, g, beta)]
    return run(*x, S)


def run(q, k, v, g, beta, S):
    return fused_recurrent_gated_delta_rule(
        q, k, v, g=g, beta=beta, initial_state=S, output_final_state=True
    )[1]


def keep_with_idle_drafts(q, k, v, g, beta, S, accepted):
    """All five tokens, the refused ones without decay and without strength."""
    g[:, accepted:] = 0.0
    beta[:, accepted:] = 0.0
    return run(q, k, v, g, beta, S)


def keep_by_decoding(q, k, v, g, beta, S, accepted):
    pool = S.clone()
    for t in range(accepted):
        x = [a[:, t : t + 1] for a in (q, k, v, g, beta)]
        decode(*x[:3], g=x[3], beta=x[4], pool=pool, slot_idx=torch.tensor([0]))
    return pool


def keep_in_place(q, k, v, g, beta, S, accepted):
    S.copy_(keep(q, k, v, g, beta, S, accepted))
    return S


def fill(pool, slot):
    pool[slot].fill_(0)


def by_a_new_tensor(pool, slot):
    pool[slot] = torch.zeros_like(pool[slot])
    return pool


def ready_all(pool, slot):
    pool.zero_()


def by_multiplying(pool, slot):
    pool[slot] *= 0.0


def next_slot(pool, slot):
    pool[(slot + 1) % len(pool)] = 0.0


def on_a_copy(pool, slot):
    pool = pool.clone()
    pool[slot] = 0.0
    return pool


def longest(bits, n, more=1, calls=1):
    return n**calls * math.log(0.5) / math.log1p(-(2.0 ** -(bits + more)))


RIGHT = {
    "17-leak": [
        0.5 * (S - np.outer(S @ KEY, KEY)),
        [[-1.12, 0.84], [0.16, -0.12]],
        torch.tensor(S) @ (torch.eye(2) - torch.outer(torch.tensor(KEY), torch.tensor(KEY))) / 2,
    ],
    "17-slots": [idle, idle_from_the_gaps, lambda *x: tuple(reversed(idle(*x)))],
    "17-drafts": [
        keep_by_decoding,
        keep_with_idle_drafts,
        lambda *x: keep(*x) if x[-1] else x[-2],
    ],
    "17-reuse": [
        fill,
        by_a_new_tensor,
        lambda pool, slot: pool.index_fill_(0, torch.tensor([slot]), 0),
    ],
    "17-safe": [
        longest,
        lambda bits, n: -n / math.log2(1 - 0.5 ** (bits + 1)),
        lambda bits, n: np.float64(n) / np.log2(2 ** (bits + 1) / (2 ** (bits + 1) - 1)),
    ],
}

WRONG = {
    "17-leak": [
        (0.5 * S, "the state faded"),
        (S - np.outer(S @ KEY, KEY), "the transition of token 3"),
        (0.5 * (S - np.outer(KEY, KEY @ S)), "the transition of token 3"),
        (0.5 * np.outer(S @ KEY, KEY), "the transition of token 3"),
        (0.5 * (S @ KEY), "expected a 2 x 2 matrix"),
    ],
    "17-slots": [
        (lambda cu_seqlens, C: [], "more than []"),
        (lambda *x: idle(*x, more=1), "fewer than"),
        (lambda *x: [slot + 1 for slot in idle(*x)], "others than"),
        (lambda *x: sorted(set(slots_of(*x))), "than [0, 1"),
        (lambda *x: len(idle(*x)), "something of type int"),
    ],
    "17-drafts": [
        (keep_in_place, "the state of before the drafts is to stay as it is"),
        (lambda q, k, v, g, beta, S, n: run(q, k, v, g, beta, S), "0 of 5 drafts accepted"),
        (lambda *x: keep(*x[:-1], x[-1] + 1), "0 of 5 drafts accepted"),
        (lambda *x: keep(*x[:5], 0 * x[5], x[6]), "0 of 5 drafts accepted"),
        (lambda *x: x[5], "2 of 5 drafts accepted"),
        (lambda *x: keep(*x).mT, "expected a state of shape"),
    ],
    "17-reuse": [
        (by_multiplying, "what did the slot hold"),
        (ready_all, "another slot has changed"),
        (next_slot, "another slot has changed"),
        (on_a_copy, "what did the slot hold"),
        (lambda pool, slot: None, "what did the slot hold"),
    ],
    "17-safe": [
        (lambda bits, n: longest(bits, n, more=0), "longer than"),
        (lambda bits, n: longest(bits, n, more=2), "shorter than"),
        (lambda bits, n: longest(bits, n, calls=0), "64 tokens a call: longer than"),
        (lambda bits, n: longest(bits, n, calls=-1), "64 tokens a call: longer than"),
        (lambda bits, n: n * 2.0 ** (bits + 1), "shorter than"),
    ],
}
