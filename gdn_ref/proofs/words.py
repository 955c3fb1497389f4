"""A calculus of words: letters that do not commute stand for matrices and vectors of any size.

A rule says what a row times a column is, for example `k^T k = n`. A word identity so proved holds
for every d_k and d_v. The number 1 in a word is the identity matrix.
"""

from sympy import expand


def reduce(word, rules):
    """Expand a word and apply the rules (row times column -> scalar) until none applies."""
    word, before = expand(word), None
    while word != before:
        before, word = word, expand(word.subs(rules))
    return word
