"""The family: one recurrence with a diagonal plus rank one transition, and its published members.

`general_rule` has the recurrence, its chunk form and the sub-chunks of a decay per channel,
`backward` its gradients by hand, `two_gates` the rule with an erase and a write gate per channel.
Every other module is one published rule: `published` runs the recurrence of its source, in the
source's names, and `general` gives the arguments with which the general rule does the same.
"""
