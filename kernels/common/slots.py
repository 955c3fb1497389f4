"""Which tokens a program of the kernels in Gluon works on; as `tokens`, which is Triton's."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl

TOGETHER = gl.constexpr(64)  # so many packed sequences are put in order by their lengths


@gluon.jit
def longest_first(cu_seqlens_ptr, slot, N):
    """The packed sequence of a slot: of so many after one another the longest has the first slot.

    Programs start in the order of their slots, and what starts last decides when all have ended.
    """
    lines: gl.constexpr = gl.BlockedLayout([1, 32], [16, 2], [4, 1], [1, 0])
    first = slot // TOGETHER * TOGETHER
    r = gl.arange(0, TOGETHER, gl.SliceLayout(1, lines))
    ptr = cu_seqlens_ptr + first + r
    there = first + r < N
    length = gl.load(ptr + 1, mask=there, other=-1) - gl.load(ptr, mask=there, other=0)
    length = length.to(gl.int32)
    other = gl.convert_layout(length, gl.SliceLayout(0, lines))[None, :]
    i = gl.arange(0, TOGETHER, gl.SliceLayout(0, lines))[None, :]
    longer = (other > length[:, None]) | ((other == length[:, None]) & (i < r[:, None]))
    place = gl.sum(longer.to(gl.int32), 1)
    return first + gl.sum(gl.where(place == slot - first, r, 0), 0)


@gluon.jit
def slot_bounds(
    cu_seqlens_ptr, slot, N, T, length,
    PACKED: gl.constexpr, SEGMENTED: gl.constexpr, BY_LENGTH: gl.constexpr = False,
):  # fmt: skip
    """Sequence, number within it, first token and end of the segment in `slot`.

    Without segments a slot is a sequence, `BY_LENGTH` the `longest_first`. With segments
    of `length` tokens, sequence n owns the slots from `cu_seqlens[n] // length + n` on; see
    `tokens.chunk_bounds`. A slot that no segment needs comes out with an end before its first
    token. `T` is the length of a sequence, of packed ones together.
    """
    n = slot
    index = 0
    if SEGMENTED and PACKED:
        n = 0
        after = N
        while after - n > 1:
            middle = (n + after) // 2
            owns = gl.load(cu_seqlens_ptr + middle).to(gl.int32) // length + middle <= slot
            n = gl.where(owns, middle, n)
            after = gl.where(owns, after, middle)
        index = slot - gl.load(cu_seqlens_ptr + n).to(gl.int32) // length - n
    elif SEGMENTED:
        index = slot % ((T + length - 1) // length)
        n = slot // ((T + length - 1) // length)
    elif BY_LENGTH:
        n = longest_first(cu_seqlens_ptr, slot, N)
    begin = n * T
    end = begin + T
    if PACKED:
        begin = gl.load(cu_seqlens_ptr + n).to(gl.int32)
        end = gl.load(cu_seqlens_ptr + n + 1).to(gl.int32)
    return n, index, begin + index * length, end
