"""The family: one recurrence with a diagonal plus rank one transition, and its published members.

`general_rule` has the recurrence, its chunk form and the sub-chunks of a decay per channel,
`backward` its gradients by hand, `two_gates` the rule with an erase and a write gate per channel.
Each of `MEMBERS` is one published rule: `published` runs the recurrence of its source, in the
source's names, and `general` gives the arguments with which the general rule does the same.
All states are `[..., d_v, d_k]`, also where the source keeps the transpose. A log-decay of
`-inf` is a reset where a rule decays before it reads, or erases nothing; RWKV-7 and Comba read
first.
"""

from . import (
    backward,
    comba,
    delta_product,
    deltanet,
    gated_deltanet,
    gated_deltanet_2,
    general_rule,
    gla,
    kda,
    mamba2,
    rwkv7,
    ttt,
    two_gates,
)

MEMBERS = (
    mamba2,
    gla,
    deltanet,
    gated_deltanet,
    kda,
    gated_deltanet_2,
    rwkv7,
    comba,
    delta_product,
    ttt,
)

__all__ = ["MEMBERS", "backward", "general_rule", "two_gates"]
__all__ += [member.__name__.rpartition(".")[2] for member in MEMBERS]
