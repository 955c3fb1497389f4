"""Machine checks of the book's equations, one module per chapter; `python -m gdn_ref.proofs`."""

from .proving import prove, proved
from .registry import definition, erratum, verifies

__all__ = ["definition", "erratum", "prove", "proved", "verifies"]
