"""What the chapters need in a browser, where Python is Pyodide and NumPy may be out of reach.

Pyodide's NumPy and Matplotlib come from its distribution, over the network. Without them the
proofs by computer algebra still run: the modules import, and what needs an array says so.
"""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

NAMES = {"numpy": "NumPy", "matplotlib": "Matplotlib"}
SOURCE = "It comes from Pyodide's distribution, over the network, and could not be loaded"


async def fetch(*packages: str) -> None:
    """Load `packages` from Pyodide's distribution, say what came, and stand in for the rest.

    Outside the browser they are installed, and there is nothing to load.

    Parameters
    ----------
    packages : str
        "numpy", "matplotlib"

    Raises
    ------
    ValueError
        if a package is another one
    """
    unknown = [name for name in packages if name not in NAMES]
    if unknown:
        raise ValueError(f"packages: expected one of {', '.join(NAMES)}, got {unknown[0]!r}")
    if sys.platform == "emscripten":
        import pyodide_js

        await pyodide_js.loadPackage(list(packages), messageCallback=_quiet, errorCallback=_quiet)
    stand_in()
    absent = [NAMES[name] for name in packages if PathFinder.find_spec(name) is None]
    if absent:
        print(
            f"{' and '.join(absent)} could not be loaded: this needs a connection to the network."
            "\nProofs by computer algebra run without; a cell that computes with arrays will stop."
        )
    else:
        print(f"{' and '.join(NAMES[name] for name in packages)}: ready")


def stand_in() -> None:
    """From now on, `import numpy` succeeds where NumPy is not installed; its use raises.

    The same for Matplotlib. An installed one is found first.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(sys.meta_path.index(PathFinder) + 1, _Finder())


class Absent:
    """A name of a package that is not there: calling it or looking into it raises.

    A class may derive from one, so that its module imports; it then derives from nothing.
    """

    def __init__(self, name):
        self._name = name

    def __mro_entries__(self, bases):
        return ()

    def __call__(self, *arguments, **keywords):
        self._refuse()

    def __getattr__(self, attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        self._refuse()

    def _refuse(self):
        package = self._name.partition(".")[0]
        raise ModuleNotFoundError(f"{self._name} needs {NAMES[package]}. {SOURCE}.", name=package)


class _StandIn(ModuleType):
    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")


class _Finder(MetaPathFinder, Loader):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in NAMES:
            return ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return _StandIn(spec.name)

    def exec_module(self, module):
        pass


def _quiet(message):
    """`fetch` says in its own words what was loaded."""
