"""What an answer computes on its way: each array operation, with what went in and came out.

Some exercises forbid a matrix, or allow few additions, and a right result does not tell. So the
answer runs once more, on arrays that write down what is done with them and with what comes of
them. Only this log counts: an answer that such arrays do not suit raises, and gets away with it.
"""

import contextlib
import warnings
from typing import NamedTuple

import numpy as np


class Operation(NamedTuple):
    """One call of a NumPy function, or of a method (`reduce`, `accumulate`) of a ufunc."""

    function: object
    method: str
    inputs: list  # arrays and numbers
    results: list


def operations(answer, *arguments):
    """The array operations of `answer(*arguments)`, in order."""
    log = []

    class Traced(np.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
            inputs = [plain(x) for x in inputs]
            if out is not None:
                options["out"] = tuple(plain(x) for x in out)
            result = getattr(ufunc, method)(*inputs, **options)
            log.append(Operation(ufunc, method, inputs, arrays(result)))
            return traced(result)

        def __array_function__(self, function, types, inputs, options):
            result = super().__array_function__(function, types, inputs, options)
            log.append(Operation(function, "", arrays(inputs), arrays(result)))
            return traced(result)

        def __getitem__(self, index):
            return traced(super().__getitem__(index))

    def traced(x):
        """An array, also of a single number, that writes down what is done with it."""
        return np.asarray(x).view(Traced) if isinstance(x, np.ndarray | np.generic) else x

    def arrays(x):
        """The arrays in `x`, in tuples and lists too."""
        if isinstance(x, tuple | list):
            return [array for part in x for array in arrays(part)]
        return [np.asarray(plain(x))] if isinstance(x, np.ndarray | np.generic) else []

    def plain(x):
        return x.view(np.ndarray) if isinstance(x, Traced) else x

    with warnings.catch_warnings(), contextlib.suppress(Exception):
        warnings.simplefilter("ignore")
        answer(*(traced(np.copy(x)) if isinstance(x, np.ndarray) else x for x in arguments))
    return log


def additions(log):
    """How many numbers were added to, or subtracted from, another one."""
    count = 0
    for function, method, inputs, results in log:
        after = sum(x.size for x in results)
        if function is np.matmul:
            count += after * (inputs[0].shape[-1] - 1)
        elif function in (np.add, np.subtract):
            before = np.size(inputs[0])
            count += {"reduce": before - after, "accumulate": before - 1}.get(method, after)
    return count


def largest(log):
    """The most numbers in one array that took part."""
    return max((np.size(x) for step in log for x in (*step.inputs, *step.results)), default=0)


def takes_part(log, array):
    """Did this array, or its transpose, go into an operation or come out of one?"""
    for step in log:
        for x in (*step.inputs, *step.results):
            for wanted in (array, array.T):
                if np.shape(x) == wanted.shape and np.abs(x - wanted).max() < 1e-9:
                    return True
    return False
