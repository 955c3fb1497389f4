"""Which tokens a program of the kernels in Gluon works on; as `tokens`, which is Triton's."""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl


@gluon.jit
def slot_bounds(cu_seqlens_ptr, slot, N, T, length, PACKED: gl.constexpr, SEGMENTED: gl.constexpr):
    """Sequence, number within it, first token and end of the segment in `slot`.

    Without segments a slot is a sequence. With segments of `length` tokens, sequence n owns the
    slots from `cu_seqlens[n] // length + n` on; see `tokens.chunk_bounds`. A slot that no segment
    needs comes out with an end before its first token.
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
    begin = n * T
    end = begin + T
    if PACKED:
        begin = gl.load(cu_seqlens_ptr + n).to(gl.int32)
        end = gl.load(cu_seqlens_ptr + n + 1).to(gl.int32)
    return n, index, begin + index * length, end
