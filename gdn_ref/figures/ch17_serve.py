"""Chapter 17: continuous batching over a pool of states, in one loop.

Requests come and go; a slot is handed on as soon as its request is done. Their tokens are given
beforehand, as a model would hand them over one by one.
"""

from dataclasses import dataclass
from itertools import accumulate

import torch

from gdn_ref import chunk_gated_delta_rule, decode
from gdn_ref.proofs.data import hard_inputs


@dataclass
class Request:
    """Tokens `[1, T, ...]` by argument name, and how many of them are the prompt."""

    name: str
    tokens: dict
    prompt: int
    read: int = 0  # tokens that are in the state
    slot: int = -1

    @property
    def length(self):
        return self.tokens["q"].shape[1]

    def next(self, count):
        """The next tokens, which then count as read."""
        part = slice(self.read, self.read + count)
        self.read += count
        return {name: x[:, part] for name, x in self.tokens.items()}


def requests(lengths, prompts, H=2, HV=4, K=12, V=7):
    """Requests A, B, ... of hard tokens in float64."""
    made = []
    for n, (T, prompt) in enumerate(zip(lengths, prompts, strict=True)):
        arrays = hard_inputs(T=T, d_k=K, d_v=V, batch=(1, HV), seed=n)[:5]
        q, k, v, g, beta = (torch.from_numpy(x).transpose(1, 2) for x in arrays)
        tokens = {"q": q[:, :, :H], "k": k[:, :, :H], "v": v, "g": g, "beta": beta}
        made.append(Request("ABCDEFGH"[n], tokens, prompt))
    return made


def joined(parts, dim):
    return {name: torch.cat([part[name] for part in parts], dim) for name in parts[0]}


def serve(waiting, slots):
    """Run all requests; outputs by name, the pool, and who had which slot in each step.

    A step first takes in as many requests as there are free slots, their prompts packed in one
    row, then decodes one token of every request that was there before.
    """
    HV, V = waiting[0].tokens["v"].shape[2:]
    K = waiting[0].tokens["k"].shape[3]
    pool = torch.full((slots, HV, K, V), torch.nan, dtype=torch.float64)  # poisoned
    waiting, running, free = list(waiting), [], list(range(slots))
    outputs, steps = {x.name: [] for x in waiting}, []
    while waiting or running:
        new = [waiting.pop(0) for _ in range(min(len(free), len(waiting)))]
        for x in new:
            x.slot = free.pop(0)
        steps.append({x.slot: (x.name, x in new) for x in [*running, *new]})
        if running:
            slot_idx = torch.tensor([x.slot for x in running])
            o = decode(**joined([x.next(1) for x in running], 0), pool=pool, slot_idx=slot_idx)
            for x, o_x in zip(running, o.split(1), strict=True):
                outputs[x.name].append(o_x)
        if new:
            ends = torch.tensor(list(accumulate((x.prompt for x in new), initial=0)))
            o, states = chunk_gated_delta_rule(
                **joined([x.next(x.prompt) for x in new], 1), cu_seqlens=ends,
                output_final_state=True,
            )  # fmt: skip
            pool[[x.slot for x in new]] = states
            for x, o_x in zip(new, o.split([x.prompt for x in new], dim=1), strict=True):
                outputs[x.name].append(o_x)
        running += new
        free += [x.slot for x in running if x.read == x.length]
        running = [x for x in running if x.read < x.length]
    return {name: torch.cat(o, dim=1) for name, o in outputs.items()}, pool, steps
