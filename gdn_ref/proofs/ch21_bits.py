"""Chapter 21: bits that name a list, and what of two writes of a name is known."""

from itertools import combinations, product

import numpy as np

from .page import on_page
from .registry import verifies

# Bits and order.


def all_right(n, N, states):
    """Lists of n values to states, as evenly as it goes; of each state one list is read back. The
    share of lists that come back."""
    lists = N**n
    return len({place % states for place in range(lists)}) / lists


@verifies(
    "eq-recall-bits",
    method="enumeration",
    covers="1 to 3 values of 2 to 4 candidates, 0 to 6 bits, the best readout of each code",
    mutants={
        "the bits of one value": {"limit": lambda B, n, N: 2.0**B / N},
        "half as much": {"limit": lambda B, n, N: 2.0 ** (B - 1) / N**n},
        "twice as much, which no code attains": {"limit": lambda B, n, N: 2.0 ** (B + 1) / N**n},
    },
)
def a_state_names_one_list(limit=lambda B, n, N: 2.0**B / N**n):
    """A readout gives one list of answers for each state, so at most 2^B lists are right."""
    cases = product((1, 2, 3), (2, 3, 4), range(7))
    off = [abs(all_right(n, N, 2**B) - min(1.0, limit(B, n, N))) > 1e-12 for n, N, B in cases]
    on_page("eq-recall-bits", None, lambda at: limit(at("B"), at("n"), at("N")))
    return np.array(off, dtype=int)


def told(n):
    """The share of names whose order shows."""
    return (4 * n**2 + n - 6) / (n**2 * (2 * n - 1))


def shows(n):
    """Whether it shows: for every two places among 2n, the older and the newer, and every place of
    the question. Neighbours, a first write at the very beginning, and a last one at the very end if
    one of the first two questions asks for it."""
    for (older, newer), question in product(combinations(range(2 * n), 2), range(n)):
        last = newer == 2 * n - 1 and question < 2
        yield older == 0 or newer == older + 1 or last


@verifies(
    "eq-recall-order",
    method="enumeration",
    covers="2 to 5 candidates, 2 to 6 names, every order of the writes, every readout",
    mutants={
        "a half of the rest": {"guess": lambda N: 0.5},
        "as if the old one were no candidate": {"guess": lambda N: 0.5 * (1 + 1 / (N - 1))},
        "neighbours alone": {"share": lambda n: 1 / n},
        "no question sees the last pair": {"share": lambda n: (4 * n - 3) / (n * (2 * n - 1))},
        "one question sees it": {
            "share": lambda n: (4 * n**2 - n - 3) / (n**2 * (2 * n - 1)),
        },
    },
)
def the_newest_of_two(guess=lambda N: 0.5 * (1 + 1 / N), share=told):
    """The best readout of two values: with their order where it shows, without it elsewhere."""

    def claim(n, N):
        return share(n) + (1 - share(n)) * guess(N)

    off = []
    for N, n in product(range(2, 6), range(2, 7)):
        shown = float(np.mean(list(shows(n))))
        blind = N  # of two equal values either is the newest
        for old, new in combinations(range(N), 2):
            blind += max(sum(answer == last for last in (old, new)) for answer in range(N))
        best = shown + (1 - shown) * blind / N**2
        off.append(abs(best - claim(n, N)) > 1e-12)
    on_page("eq-recall-order", None, lambda at: claim(at("n"), at("N")))
    on_page("eq-recall-order", lambda at: share(at("n")), of=1)
    return np.array(off, dtype=int)
