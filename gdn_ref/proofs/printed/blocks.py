"""Matrices of matrices, and orthogonality."""

import numpy as np

from . import values as v
from .values import Multiple, Refused


def joined(blocks):
    """A matrix of matrices; zeros and identities take the size that their row and column have."""

    def size(cells, axis):
        known = {(np.shape(c) or (1, 1))[axis] for c in cells if not isinstance(c, Multiple)}
        if len(known) > 1:
            raise Refused("blocks that do not fit")
        return known.pop() if known else None

    if len({len(row) for row in blocks}) > 1:
        raise Refused("rows of different length")
    heights = [size(row, 0) for row in blocks]
    widths = [size(column, 1) for column in zip(*blocks, strict=True)]
    places = [(r, c) for r, row in enumerate(blocks) for c, _ in enumerate(row)]
    for r, c in places:
        if isinstance(blocks[r][c], Multiple) and blocks[r][c].c != 0:
            heights[r], widths[c] = heights[r] or widths[c], widths[c] or heights[r]
            if heights[r] != widths[c]:
                raise Refused("an identity that is not square")
    if None in (*heights, *widths):
        raise Refused("blocks of no known size")
    rows = [
        [cell if isinstance(cell, np.ndarray) else np.array([[cell]]) for cell in row]
        for row in blocks
    ]
    for r, c in places:
        if isinstance(blocks[r][c], Multiple):
            rows[r][c] = np.eye(heights[r], widths[c], dtype=int) * blocks[r][c].c
    try:
        return np.block(rows)
    except ValueError as error:
        raise Refused(str(error)) from None


def overlap(a, b):
    """The size of an inner product; in exact arithmetic only whether it is zero."""
    if v.shape_of(a) != v.shape_of(b) or not isinstance(a, np.ndarray):
        raise Refused(f"orthogonal things of shapes {v.shape_of(a)} and {v.shape_of(b)}")
    found = np.sum(a * b)
    return float(found != 0) if v.is_exact(found) else abs(float(found))
