"""Arithmetic on tensors as methods; the functions behind them are in `ops`, above, which provides them here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from .tensor import Tensor

    Operand: TypeAlias = Tensor | float | int | bool

_provided: dict[str, Callable[..., Any]] = {}


def provide(functions: dict[str, Callable[..., Any]]) -> None:
    """Set the functions that the methods call, by name."""
    _provided.update(functions)


def call(name: str, *arguments: Any, **options: Any) -> Any:
    """Call what `ops` provided under `name`."""
    return _provided[name](*arguments, **options)


class Arithmetic:
    """The operators of a tensor. Each result is a new tensor; names ending in _ write in place and return self."""

    __slots__ = ()

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **options: Any) -> Tensor:
        """NumPy's functions of tensors are those of `ops`, so that `array + tensor` reads nothing back."""
        if method == "__call__" and not options and ufunc.__name__ in _provided:
            return call(ufunc.__name__, *operands)
        form = ufunc.__name__ if method == "__call__" else f"{ufunc.__name__}.{method}"
        raise TypeError(
            f"numpy.{form} does not take tensors{f' with {list(options)}' if options else ''}; use the functions of "
            "vertigrad.ops, or the array that tensor.numpy() gives"
        )

    def __add__(self, other: Operand) -> Tensor:
        return call("add", self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return call("add", other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return call("subtract", self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return call("subtract", other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return call("multiply", self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return call("multiply", other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return call("divide", self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return call("divide", other, self)

    def __mod__(self, other: Operand) -> Tensor:
        return call("remainder", self, other)

    def __rmod__(self, other: Operand) -> Tensor:
        return call("remainder", other, self)

    def __floordiv__(self, other: Operand) -> Tensor:
        return call("floor_divide", self, other)

    def __rfloordiv__(self, other: Operand) -> Tensor:
        return call("floor_divide", other, self)

    def __and__(self, other: Operand) -> Tensor:
        return call("bitwise_and", self, other)

    def __rand__(self, other: Operand) -> Tensor:
        return call("bitwise_and", other, self)

    def __or__(self, other: Operand) -> Tensor:
        return call("bitwise_or", self, other)

    def __ror__(self, other: Operand) -> Tensor:
        return call("bitwise_or", other, self)

    def __xor__(self, other: Operand) -> Tensor:
        return call("bitwise_xor", self, other)

    def __rxor__(self, other: Operand) -> Tensor:
        return call("bitwise_xor", other, self)

    def __invert__(self) -> Tensor:
        return call("invert", self)

    def __pow__(self, other: Operand) -> Tensor:
        return call("power", self, other)

    def __rpow__(self, other: Operand) -> Tensor:
        return call("power", other, self)

    def __neg__(self) -> Tensor:
        return call("negative", self)

    def __abs__(self) -> Tensor:
        return call("absolute", self)

    def __matmul__(self, other: Tensor) -> Tensor:
        return call("matmul", self, other)

    def __rmatmul__(self, other: Any) -> Tensor:
        return call("matmul", other, self)

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return NotImplemented
        return call("equal", self, other)

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        if other is None or isinstance(other, str):
            return NotImplemented
        return call("not_equal", self, other)

    def __lt__(self, other: Operand) -> Tensor:
        return call("less", self, other)

    def __le__(self, other: Operand) -> Tensor:
        return call("less_equal", self, other)

    def __gt__(self, other: Operand) -> Tensor:
        return call("greater", self, other)

    def __ge__(self, other: Operand) -> Tensor:
        return call("greater_equal", self, other)

    __hash__ = object.__hash__

    def add_(self, other: Operand) -> Tensor:
        """Add `other` in place."""
        return call("add", self, other, out=self)

    def sub_(self, other: Operand) -> Tensor:
        """Subtract `other` in place."""
        return call("subtract", self, other, out=self)

    def mul_(self, other: Operand) -> Tensor:
        """Multiply by `other` in place."""
        return call("multiply", self, other, out=self)

    def div_(self, other: Operand) -> Tensor:
        """Divide by `other` in place; the tensor must be of a float type."""
        return call("divide", self, other, out=self)

    def __iadd__(self, other: Operand) -> Tensor:
        return self.add_(other)

    def __isub__(self, other: Operand) -> Tensor:
        return self.sub_(other)

    def __imul__(self, other: Operand) -> Tensor:
        return self.mul_(other)

    def __itruediv__(self, other: Operand) -> Tensor:
        return self.div_(other)

    def fill_(self, value: float) -> Tensor:
        """Set every element to `value`."""
        return call("assign", self, value)

    def to(self, dtype: Any) -> Tensor:
        """A copy of another element type; floats are truncated towards zero when cast to integers."""
        return call("cast", self, dtype)

    def sum(
        self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """Sum over `axis`, or over everything."""
        return call("sum", self, axis, keepdims, out=out)

    def mean(
        self,
        axis: int | tuple[int, ...] | None = None,
        keepdims: bool = False,
        *,
        dtype: Any = None,
        out: Tensor | None = None,
    ) -> Tensor:
        """Arithmetic mean over `axis`, or over everything; of the elements cast to `dtype` if that is given."""
        return call("mean", self if dtype is None else self.to(dtype), axis, keepdims, out=out)

    def min(
        self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """Smallest value along `axis`, or of everything."""
        return call("min", self, axis, keepdims, out=out)

    def max(
        self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """Largest value along `axis`, or of everything."""
        return call("max", self, axis, keepdims, out=out)

    def prod(
        self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """Product over `axis`, or over everything."""
        return call("prod", self, axis, keepdims, out=out)

    def any(
        self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """Whether any element is not zero."""
        return call("any", self, axis, keepdims, out=out)

    def all(
        self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False, *, out: Tensor | None = None
    ) -> Tensor:
        """Whether no element is zero."""
        return call("all", self, axis, keepdims, out=out)

    def argmin(self, axis: int | None = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
        """Index of the smallest value along `axis`, or in the flattened tensor, i32."""
        return call("argmin", self, axis, keepdims, out=out)

    def argmax(self, axis: int | None = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
        """Index of the largest value along `axis`, or in the flattened tensor, i32."""
        return call("argmax", self, axis, keepdims, out=out)

    def take(self, indices: Any, axis: int | None = None) -> Tensor:
        """The elements at `indices` along `axis`; see `vertigrad.ops.take` for indices out of range."""
        return call("take", self, indices, axis)
