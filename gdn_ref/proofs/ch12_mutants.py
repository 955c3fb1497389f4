"""Mistakes that one makes in a backward pass, as edits of `gdn_ref.backward`'s source."""

import inspect
from functools import cache

from .. import backward

NAMES = ("q", "k", "v", "g", "beta", "S")  # in the order of `backward.gradients`

MUTANTS = {  # name -> what the source says, one plausible mistake
    "no decay to the end in ddelta": (
        "+ to_end * (k @ transpose(dS_next))",
        "+ k @ transpose(dS_next)",
    ),
    "scores not transposed": ("transpose(scores) @ dO", "scores @ dO"),
    "solve not transposed": ("wy.solve_transposed(A, ddelta)", "wy.solve(A, ddelta)"),
    "scores' gradient strict": ("dscores = Gamma *", "dscores = xp.tril(Gamma, k=-1) *"),
    "overlap's gradient inclusive": (
        "doverlap = -xp.tril(B * Gamma * (Z @ transpose(delta)), k=-1)",
        "doverlap = -xp.tril(B * Gamma * (Z @ transpose(delta)))",
    ),
    "overlap's gradient of the other sign": ("doverlap = -xp", "doverlap = xp"),
    "no write strength in the overlap": ("-xp.tril(B * Gamma * (Z", "-xp.tril(Gamma * (Z"),
    "undecayed read of the queries": ("dq = gamma * (dO @ S)", "dq = dO @ S"),
    "no write strength on dv": ("dv = B * Z", "dv = Z"),
    "undecayed read of the keys": ("- gamma * (dv @ S)", "- dv @ S"),
    "the keys' read of the state left out": ("- gamma * (dv @ S)", ""),
    "queries left out of dk": ("+ transpose(dscores) @ q", ""),
    "the next state left out of dk": ("+ to_end * (delta @ dS_next)", ""),
    "no decay to the end in dk": ("+ to_end * (delta @ dS_next)", "+ delta @ dS_next"),
    "earlier writes left out of dbeta": (" - overlap @ delta)", ")"),
    "undecayed dS": ("dS = gamma_C * dS_next", "dS = dS_next"),
    "undecayed outputs in dS": ("transpose(gamma * dO) @ q", "transpose(dO) @ q"),
    "undecayed corrections in dS": ("transpose(gamma * dv) @ k", "transpose(dv) @ k"),
    "the last state left out of dg": (" + dc_C[..., None]", ""),
    "reading and read exchanged": ("k * (dk_reading - dk_read)", "k * (dk_read - dk_reading)"),
    "cumulated forwards": (
        "after = xp.cumulative_sum(xp.flip(dc, axis=-1), axis=-1)",
        "after = xp.flip(xp.cumulative_sum(dc, axis=-1), axis=-1)",
    ),
}


@cache
def mutated(name):
    """The module's `gradients` with one mistake."""
    printed, mistake = MUTANTS[name]
    source = inspect.getsource(backward)
    assert source.count(printed) == 1, printed
    scope = {"__name__": "gdn_ref.mutated", "__package__": "gdn_ref"}
    exec(compile(source.replace(printed, mistake), name, "exec"), scope)
    return scope["gradients"]


def gradients(name, *given):
    """`backward.gradients(*given)`, with the mistake `name` unless it is None."""
    return (backward.gradients if name is None else mutated(name))(*given)
