r"""Which cases the data of worlds contain, in words: found in their values, not declared.

Keys, strengths and decays are looked up under their letters, as a matrix or one by one; lengths of
sequences, packed or padded, as `L_n` or by their beginnings `b_n`.
"""

from itertools import pairwise

import numpy as np

from .arithmetic import eliminated
from .values import Depends, Family, Refused, counts, is_exact, is_number

MOST = 100  # members of a family that has an end


def contained(worlds):
    """Those of all these worlds, each once; the numbers of tokens and the lengths come first."""
    keys = [list(_rows(world, "K")) for world in worlds]
    tokens = sorted({len(K) for found in keys for K in found})
    lengths = [_lengths(world) for world in worlds]
    words = [f"{', '.join(map(str, tokens))} tokens"] if tokens else []
    if several := [length for found in lengths for length in found]:
        most = max(map(len, lengths))
        words.append(f"up to {most} lengths, of {min(several)} to {max(several)} tokens")
    for world, found, of in zip(worlds, keys, lengths, strict=True):
        words += [case for K in found for case in _of_keys(K, world)]
        words += [*_of_strengths(world), *_of_decays(world), *_of_lengths(world, of)]
    return list(dict.fromkeys(words))


def _values(world, letter):
    """What a letter stands for, and each value through which it runs."""
    return [x for x in (world.letters.get(letter), *world.ranges.get(letter, ())) if x is not None]


def members(world, letter):
    """The values of a letter under the indices 0, 1, 2, ..., or 1, 2, ..., if it has such."""
    family, found = world.letters.get(f"{letter}_"), []
    for n in range(MOST) if isinstance(family, Family) else ():
        try:
            found.append(family[(n,)])
        except Refused:
            if n:
                return found
    return []  # a function of any index


def _rows(world, letter):
    """Matrices with a row for each token."""
    found = [x for x in _values(world, rf"\mathbf{{{letter}}}") if np.ndim(x) == 2]
    columns = members(world, rf"\boldsymbol{{{letter.lower()}}}")
    if not found and columns and all(isinstance(x, np.ndarray) for x in columns):
        found = [np.hstack(columns).T]
    return found


def _numbers(world, letter):
    found = (*_values(world, letter), *members(world, letter))
    return [x for x in found if is_number(x) and not isinstance(x, Depends)]


def _lengths(world):
    """Of sequences, packed or padded, or of parts of one; bits are called b, too."""
    begins = members(world, "b")
    cuts = begins and all(map(counts, begins)) and begins[-1] > 1
    found = members(world, "L") or [int(b - a) for a, b in pairwise(begins) if cuts]
    return [x for x in found if counts(x)]


def _of_keys(K, world):
    for V in _rows(world, "V"):
        if V.shape[1] != K.shape[1]:
            yield "d_v below d_k" if V.shape[1] < K.shape[1] else "d_v above d_k"
    rank = eliminated(K)[1] if is_exact(K) else np.linalg.matrix_rank(K)
    if rank < min(K.shape):
        yield "keys of a rank below both sizes"
    elif rank < len(K):
        yield "dependent keys"
    overlaps = K @ K.T
    unit = [i for i in range(len(K)) if _is_zero(overlaps[i, i] - 1)]
    if len(unit) > 1 and not _is_zero(overlaps[unit[0], unit[1]]):
        yield "keys of length 1 that are not orthogonal"
    apart = np.vectorize(_is_zero)(overlaps - np.eye(len(K), dtype=int))
    if rank == len(K) and not apart.all() and _is_zero(_determinant(overlaps) - 1):
        yield "a Gram matrix of determinant 1 that is not the identity"
    for Q in _rows(world, "Q"):
        zero = np.vectorize(_is_zero)(Q @ K.T) if Q.shape[1] == K.shape[1] else K[:0]
        if any(row.any() and not row.all() for row in zero):
            yield "queries orthogonal to some keys"


def _determinant(square):
    return eliminated(square)[0] if is_exact(square) else np.linalg.det(square)


def _of_strengths(world):
    diagonals = [np.diag(B) for B in _values(world, r"\mathbf{B}") if np.ndim(B) == 2]
    numbers = [*_numbers(world, r"\beta"), *(x for diagonal in diagonals for x in diagonal)]
    yield from (f"a strength of {n}" for n in range(3) if any(_is_zero(x - n) for x in numbers))
    if any(0 < x < 2 and not _is_zero(x - 1) for x in numbers if not is_exact(x)):
        yield "strengths between"


def _of_decays(world):
    numbers = _numbers(world, r"\alpha")
    yield from (f"a decay of {n}" for n in range(2) if any(_is_zero(x - n) for x in numbers))


def _of_lengths(world, lengths):
    for C in _values(world, "C") if lengths else ():
        for words, more in ((" less one", -1), ("", 0), (" and one more", 1)):
            if C + more in lengths:
                yield f"a chunk{words}"


def _is_zero(x):
    """Whether a number is zero, or as good as zero in float64."""
    return x == 0 if is_exact(x) else abs(x) < 1e-12
