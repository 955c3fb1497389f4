"""A store past either end of what a kernel was given is found; one inside is not."""

import pytest
import torch
from fences import Fences


@pytest.fixture
def fences():
    return Fences()


@pytest.mark.parametrize("at", [-1, 6])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int64])
def test_a_store_past_an_end_is_found(fences, at, dtype):
    x = fences.new_empty(torch.zeros(1), (2, 3), dtype=dtype)
    x.fill_(1)
    fences.check()
    beyond = x.as_strided((1,), (1,), x.storage_offset() + at)
    beyond.fill_(1)
    where = "before" if at < 0 else "after"
    with pytest.raises(AssertionError, match=f"bytes {where} a buffer of 6 .*test_fences.py"):
        fences.check()


def test_what_is_allocated_lies_as_ever(fences):
    for x in (torch.zeros(2, 3, 4), torch.zeros(2, 3, 4).mT, torch.zeros(4, 2, 3).movedim(0, 2)):
        for options in ({}, {"memory_format": torch.contiguous_format}, {"dtype": torch.int32}):
            found, expected = fences.empty_like(x, **options), torch.empty_like(x, **options)
            assert (found.shape, found.stride()) == (expected.shape, expected.stride())
            assert found.dtype == expected.dtype
    assert fences.new_empty(x, 5).shape == fences.new_empty(x, (5,)).shape == (5,)
    assert fences.new_empty(x, 0, 4).shape == (0, 4)


def test_many_buffers_are_looked_at_before_they_go(fences):
    x = fences.new_empty(torch.zeros(1), (3,))
    x.as_strided((1,), (1,), x.storage_offset() + 3).fill_(1)
    with pytest.raises(AssertionError, match="after a buffer of 3"):
        for _ in range(1000):
            fences.new_empty(x, (4,))
    assert len(fences.buffers) < 1000
