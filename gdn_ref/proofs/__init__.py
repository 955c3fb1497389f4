"""Machine checks of the book's equations, one module per chapter; `python -m gdn_ref.proofs`."""

from .registry import definition, erratum, prove, proved, verifies

__all__ = ["definition", "erratum", "prove", "proved", "verifies"]
