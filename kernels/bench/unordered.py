"""Our Hopper kernels, each with one order taken away: racecheck has to name them.

Silence about right kernels says something only of a tool that is not silent about wrong ones.
"""

import shutil
from pathlib import Path

ROOT = Path(__file__).parents[2]
FULL = "        mbarrier.wait(ring.full.index(s), (j // STAGES) & 1)\n"
FREE = "    mbarrier.arrive(ring.free.index(s), count=1)\n"
SUMS_FREE = "                    wait_free(signal, SUMS_FREE, head)\n"
EDITS = {  # name: pass, file, what stands there, what stands there then
    # scores are multiplied before their tiles are there
    "no_wait_for_tiles": ("forward", "forward/hopper/scan.py", FULL + "        if left < C:",
                          "        if left < C:"),
    # a chunk's place is given back before it is read, not only after
    "free_too_early": ("backward", "forward/hopper/chain.py",
                       "    read, _ = read_state(S, s, ring.k",
                       FREE + "    read, _ = read_state(S, s, ring.k"),
    # sums of rows are read before they are written, or written before they are read
    "no_wait_for_sums": ("backward", "backward/hopper/chunk_gradients/pairs.py",
                         "                    wait(signal, SUMS, head)\n", ""),
    "no_wait_for_room": ("backward", "backward/hopper/chunk_gradients/groups.py",
                         SUMS_FREE + "                    vectors.index(A_OF_QUERY)",
                         "                    vectors.index(A_OF_QUERY)"),
    # the chain backwards takes a chunk that is still being loaded
    "no_wait_for_chunk": ("backward", "backward/hopper/state_gradients.py",
                          FULL + "        if TURNS > 1:",
                          "        if TURNS > 1:"),
}  # fmt: skip
SELECTION = "configuration and 64-64-64 and dtype0"  # of the tests that each is run in


def make(name, folder):
    """A copy of packages and tests in `folder`, with the edit; the pass that it is in."""
    kernels, file, before, after = EDITS[name]
    for part in ("gdn_ref", "kernels", "tests"):
        unwanted = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / part, folder / part, ignore=unwanted)
    shutil.copy(ROOT / "pyproject.toml", folder)
    path = folder / "kernels" / file
    text = path.read_text()
    if text.count(before) != 1:
        raise ValueError(f"{name}: expected the text once in {file}, found {text.count(before)}")
    path.write_text(text.replace(before, after))
    return kernels
