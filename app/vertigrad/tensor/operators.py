"""Arithmetic on tensors as methods; the functions behind them are in `ops`, above, which provides them here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

if TYPE_CHECKING:
    from .tensor import Tensor

    Operand: TypeAlias = Tensor | float | int | bool
    Binary: TypeAlias = Callable[["Arithmetic", Operand], Tensor]

Method = TypeVar("Method", bound=Callable[..., Any])
_provided: dict[str, Callable[..., Any]] = {}


def provide(functions: dict[str, Callable[..., Any]]) -> None:
    """Set the functions that the methods call, by name."""
    _provided.update(functions)


def call(name: str, *arguments: Any, **options: Any) -> Any:
    """Call what `ops` provided under `name`."""
    return _provided[name](*arguments, **options)


def named(method: Method, name: str, doc: str) -> Method:
    """`method` with the name "CLASS.METHOD" and a docstring."""
    method.__name__, method.__qualname__, method.__doc__ = name.rpartition(".")[2], name, doc
    return method


def _binary(name: str) -> tuple[Binary, Binary]:
    """The operator that calls `name`, and the one for operands in the other order."""

    def method(self: Arithmetic, other: Operand) -> Tensor:
        return call(name, self, other)

    def reflected(self: Arithmetic, other: Operand) -> Tensor:
        return call(name, other, self)

    return method, reflected


def _in_place(method_name: str, name: str, doc: str) -> Binary:
    def method(self: Arithmetic, other: Operand) -> Tensor:
        return call(name, self, other, out=self)

    return named(method, f"Arithmetic.{method_name}", doc)


def _reduction(name: str, doc: str) -> Callable[..., Tensor]:
    def method(
        self: Arithmetic,
        axis: int | tuple[int, ...] | None = None,
        keepdims: bool = False,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        return call(name, self, axis, keepdims, out=out)

    return named(method, f"Arithmetic.{name}", doc)


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

    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("subtract")
    __mul__, __rmul__ = _binary("multiply")
    __truediv__, __rtruediv__ = _binary("divide")
    __mod__, __rmod__ = _binary("remainder")
    __floordiv__, __rfloordiv__ = _binary("floor_divide")
    __pow__, __rpow__ = _binary("power")
    __and__, __rand__ = _binary("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor")
    __lt__, __gt__ = _binary("less")[0], _binary("greater")[0]
    __le__, __ge__ = _binary("less_equal")[0], _binary("greater_equal")[0]

    def __invert__(self) -> Tensor:
        return call("invert", self)

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

    __hash__ = object.__hash__

    add_ = __iadd__ = _in_place("add_", "add", "Add `other` in place.")
    sub_ = __isub__ = _in_place("sub_", "subtract", "Subtract `other` in place.")
    mul_ = __imul__ = _in_place("mul_", "multiply", "Multiply by `other` in place.")
    div_ = __itruediv__ = _in_place("div_", "divide", "Divide by `other` in place; the tensor must be of a float type.")

    def fill_(self, value: float) -> Tensor:
        """Set every element to `value`."""
        return call("assign", self, value)

    def to(self, dtype: Any) -> Tensor:
        """A copy of another element type; floats are truncated towards zero when cast to integers."""
        return call("cast", self, dtype)

    sum = _reduction("sum", "Sum over `axis`, or over everything.")
    prod = _reduction("prod", "Product over `axis`, or over everything.")
    min = _reduction("min", "Smallest value along `axis`, or of everything.")
    max = _reduction("max", "Largest value along `axis`, or of everything.")
    any = _reduction("any", "Whether any element is not zero.")
    all = _reduction("all", "Whether no element is zero.")

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

    def argmin(self, axis: int | None = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
        """Index of the smallest value along `axis`, or in the flattened tensor, i32."""
        return call("argmin", self, axis, keepdims, out=out)

    def argmax(self, axis: int | None = None, keepdims: bool = False, *, out: Tensor | None = None) -> Tensor:
        """Index of the largest value along `axis`, or in the flattened tensor, i32."""
        return call("argmax", self, axis, keepdims, out=out)

    def take(self, indices: Any, axis: int | None = None) -> Tensor:
        """The elements at `indices` along `axis`; see `vertigrad.ops.take` for indices out of range."""
        return call("take", self, indices, axis)
