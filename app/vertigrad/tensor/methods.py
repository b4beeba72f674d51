"""Methods of tensors by the names of NumPy and PyTorch; the functions behind them are in `ops`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ..errors import ShapeError
from .operators import call, named
from .shape import unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from .tensor import Tensor


def _elementwise(method_name: str, name: str, doc: str) -> Callable[[ArrayMethods], Tensor]:
    def method(self: ArrayMethods) -> Tensor:
        return call(name, self)

    return named(method, f"ArrayMethods.{method_name}", doc)


def _running(name: str, doc: str) -> Callable[..., Tensor]:
    def method(self: ArrayMethods, axis: int | None = None) -> Tensor:
        return call(name, self.flatten(), -1) if axis is None else call(name, self, axis)

    return named(method, f"ArrayMethods.{name}", doc)


class ArrayMethods:
    """Elementwise functions, reductions and changes of shape. Views share memory; all else gives a new tensor."""

    __slots__ = ()

    # elementwise ------------------------------------------------------------------------------------------------

    abs = _elementwise("abs", "absolute", "Absolute value.")
    exp = _elementwise("exp", "exp", "e to the power of each element.")
    log = _elementwise("log", "log", "Natural logarithm.")
    sqrt = _elementwise("sqrt", "sqrt", "Square root.")
    square = _elementwise("square", "square", "Each element times itself.")
    sin = _elementwise("sin", "sin", "Sine.")
    cos = _elementwise("cos", "cos", "Cosine.")
    tanh = _elementwise("tanh", "tanh", "Hyperbolic tangent.")
    sigmoid = _elementwise("sigmoid", "sigmoid", "1 / (1 + e⁻ˣ).")
    relu = _elementwise("relu", "relu", "Each element, or 0 if that is more.")

    def clip(self, min: float | Tensor | None = None, max: float | Tensor | None = None) -> Tensor:
        """Each element, limited to at least `min` and at most `max`; None for no limit."""
        tensor = cast("Tensor", self)
        if min is None and max is None:
            return call("copy", tensor)
        lower = tensor if min is None else call("maximum", tensor, min)
        return lower if max is None else call("minimum", lower, max)

    def astype(self, dtype: Any) -> Tensor:
        """NumPy's name of `to`."""
        return call("cast", self, dtype)

    # along axes -------------------------------------------------------------------------------------------------

    def var(self, axis: Any = None, keepdims: bool = False, *, ddof: float = 0) -> Tensor:
        """Variance over `axis`, divided by n − `ddof`."""
        return call("var", self, axis, keepdims, ddof=ddof)

    def std(self, axis: Any = None, keepdims: bool = False, *, ddof: float = 0) -> Tensor:
        """Standard deviation over `axis`."""
        return call("std", self, axis, keepdims, ddof=ddof)

    cumsum = _running("cumsum", "Running sum along `axis`, or of the flattened tensor.")
    cumprod = _running("cumprod", "Running product along `axis`, or of the flattened tensor.")

    def argsort(self, axis: int = -1, *, descending: bool = False) -> Tensor:
        """Indices (i32) along `axis` of the elements in order."""
        return call("argsort", self, axis, descending=descending)

    def masked_select(self, mask: Any) -> Tensor:
        """The elements, or rows, whose `mask` is true, as x[mask]; reads their number back, so it waits for the GPU."""
        return call("masked_select", self, mask)

    # shapes -----------------------------------------------------------------------------------------------------

    def squeeze(self, axis: int | Sequence[int] | None = None) -> Tensor:
        """A view without axes of 1: all of them, or those named. Raises `ShapeError` if one named is longer."""
        tensor = cast("Tensor", self)
        named = range(tensor.ndim) if axis is None else unpacked([axis])
        axes = {a + tensor.ndim if a < 0 else a for a in named}
        if axis is not None and any(not 0 <= a < tensor.ndim or tensor.shape[a] != 1 for a in axes):
            raise ShapeError(f"squeeze: axis {axis} of shape {tensor.shape} is not of size 1")
        return tensor[tuple(0 if a in axes and n == 1 else slice(None) for a, n in enumerate(tensor.shape))]

    def unsqueeze(self, axis: int) -> Tensor:
        """A view with a new axis of 1 at `axis`. Raises `ShapeError`."""
        tensor = cast("Tensor", self)
        if not -tensor.ndim - 1 <= axis <= tensor.ndim:
            raise ShapeError(f"unsqueeze: axis {axis} is outside of {tensor.ndim + 1} axes")
        return tensor[(*[slice(None)] * (axis % (tensor.ndim + 1)), None)]

    def flatten(self) -> Tensor:
        """The elements along one axis: a view if they are contiguous, else a copy."""
        return cast("Tensor", self).contiguous().reshape(-1)

    def transpose(self, *axes: int | Sequence[int]) -> Tensor:
        """A view with the axes permuted, reversed if none are named, as `numpy.ndarray.transpose`."""
        tensor = cast("Tensor", self)
        return tensor.permute(*axes) if axes else tensor.T

    def swapaxes(self, axis1: int, axis2: int) -> Tensor:
        """A view with two axes swapped."""
        tensor = cast("Tensor", self)
        order = list(range(tensor.ndim))
        if not all(-tensor.ndim <= axis < tensor.ndim for axis in (axis1, axis2)):
            raise ShapeError(f"swapaxes: axes {axis1} and {axis2} of {tensor.ndim} axes")
        order[axis1], order[axis2] = order[axis2], order[axis1]
        return tensor.permute(*order)

    # others -----------------------------------------------------------------------------------------------------

    def tolist(self) -> Any:
        """The values as nested lists of Python's numbers; waits for the GPU."""
        return cast("Tensor", self).numpy().tolist()

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set `requires_grad` and return the tensor."""
        tensor = cast("Tensor", self)
        tensor.requires_grad = requires_grad
        return tensor
