"""Chapter 17: a prompt in chunks, and the tokens that follow it one by one."""

from functools import cache

import numpy as np

from .ch17_packed import part
from .modular import join
from .page import on_page
from .registry import verifies
from .token_forms import chunkwise, modular_tokens, recurrence


@cache
def conversation():
    """48 tokens modulo p in chunks of 8, and both results of one pass over them."""
    tokens = modular_tokens(C=8, d_k=10, d_v=6, number_of_chunks=6)
    O, _, S = chunkwise(tokens)
    return tokens, O, S


@verifies(
    "eq-prefill-decode",
    method="modular",
    covers="48 tokens in chunks of 8, prompts of 1, 16, 29 and 47",
    mutants={
        "from an empty memory": {"handed": lambda S, x: S * 0},
        "the state before the prompt": {"handed": lambda S, x: x.S},
        "without the prompt's last token": {
            "handed": lambda S, x: (
                recurrence(part(x, 0, len(x.alpha) - 1, x.S))[2] if len(x.alpha) > 1 else x.S
            )
        },
        "the last token of the prompt again": {"again": 1},
    },
)
def prefill_then_decode(handed=lambda S, x: S, again=0):
    """A prompt by chunks, the other tokens one by one, against one pass over all."""

    def handed_on(first, prefill, decode):
        """Outputs and last state of a prompt and of what follows it."""
        O_first, S_first = prefill(first)
        O_rest, S_last = decode(handed(S_first, first))
        return join([O_first, O_rest[again:]], np.concatenate), S_last

    def printed(at):
        """With the page's functions of a state."""
        prefill, decode = (
            lambda S, cut=cut: [at(rf"\mathbf{{{x}}}_{{{cut}}}")(S) for x in "OS"]
            for cut in ("0:p", "p:T")
        )
        return handed_on(at(r"\mathbf{S}_0"), prefill, decode)

    for of in (0, 1):
        on_page("eq-prefill-decode", lambda at, of=of: printed(at)[of], of=of)
    tokens, O, S = conversation()
    residuals = []
    for prompt in (1, 16, 29, 47):
        decode = lambda S, prompt=prompt: recurrence(part(tokens, prompt - again, 48, S))[::2]
        O_all, S_last = handed_on(
            part(tokens, 0, prompt, tokens.S), lambda first: chunkwise(first)[::2], decode
        )
        residuals += [(O_all - O).residues, (S_last - S).residues]
    return residuals
