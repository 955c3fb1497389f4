"""Experiments of chapters 21 and 22: small models, trained many times over, each from one command.

`models` builds a model from the names of its mixers, `training` trains it from a seed and runs
many such jobs side by side, and one module for each experiment says which jobs, draws the batches
and writes the record. Every random number comes from a seed that the record holds.
"""
