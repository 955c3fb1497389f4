"""The Triton kernels of a checkout: this package looks for its modules in `kernels/`, at the top.

They have no `__init__.py` there, for a root package called `kernels` would shadow the one that
transformers imports. `setup.py` puts them here in a wheel, and leaves this file out.
"""

from pathlib import Path

_FOLDER = Path(__file__).parents[2] / "kernels"
if not (_FOLDER / "rule.py").is_file():
    raise ImportError(
        f"gdn_ref.kernels: expected the Triton kernels in {_FOLDER}, found no rule.py there; "
        "take the whole repository, or install gdn_ref from it",
        name=__name__,
    )
__path__ = [str(_FOLDER)]
