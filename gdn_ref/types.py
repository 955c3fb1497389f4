"""What the public functions take, for checkers of types such as mypy and pyright.

A result that is None unless it was asked for is `torch.Tensor | Any`: who asked for it need not
rule None out.
"""

from typing import Any, Literal, Protocol, TypeVar

Backend = Literal["auto", "reference", "triton"]


class AnyArray(Protocol):
    """An array that follows the Python array API: of NumPy, of PyTorch, of others."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def mT(self) -> Any: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...


Array = TypeVar("Array", bound=AnyArray)  # one library's: what comes back is what was passed
