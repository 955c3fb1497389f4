"""The kernels' own source, cut into pieces: what the chapter shows is what runs."""

import textwrap

from .places import KERNELS


def lines_of(file):
    """The lines of a kernel module."""
    return (KERNELS / file).read_text().splitlines()


def line_with(file, words, after=0):
    """The index of the first line from `after` on that contains `words`."""
    for n, line in enumerate(lines_of(file)[after:], after):
        if words in line:
            return n
    raise ValueError(f"words: no line of {file} from {after + 1} on contains {words!r}")


def piece(file, first, last, more=0):
    """The lines from the one with `first` to the next with `last`, and `more`, under a heading."""
    begin = line_with(file, first)
    end = line_with(file, last, begin) + more
    text = textwrap.dedent("\n".join(lines_of(file)[begin : end + 1]))
    return f"# {file}, lines {begin + 1} to {end + 1}\n{text}\n"
