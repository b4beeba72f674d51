"""Tensors bound to a kernel: which bytes each binding gets, and the errors of those that do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeGuard, runtime_checkable

from ..errors import DtypeError, LayoutError, LimitError, ShaderError
from ..memory import Owner
from .wgsl import Binding

if TYPE_CHECKING:
    from .kernel import Kernel


@runtime_checkable
class Bindable(Protocol):
    """What a kernel needs of a tensor: whose bytes, which of them, and what they are.

    `offset` is the byte of the first element, `start` the lowest byte of any element (less than `offset` only with
    negative strides), `extent` the number of bytes from there to the end of the highest element.
    """

    @property
    def name(self) -> str: ...
    @property
    def owner(self) -> Owner: ...
    @property
    def offset(self) -> int: ...
    @property
    def start(self) -> int: ...
    @property
    def extent(self) -> int: ...
    @property
    def scalar(self) -> str: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def is_contiguous(self) -> bool: ...


class Entry(NamedTuple):
    """One tensor bound: the owner of its block, and the aligned range in bytes."""

    binding: Binding
    owner: Owner
    offset: int
    size: int


class Indirect(NamedTuple):
    """Where the number of workgroups is read: the owner of the block, and the byte of the first of three u32."""

    owner: Owner
    offset: int


class TensorBinding(NamedTuple):
    """The binding of a tensor, without the tensor."""

    name: str
    owner: Owner
    offset: int
    start: int
    extent: int
    scalar: str
    itemsize: int
    is_contiguous: bool

    @staticmethod
    def of(tensor: Bindable) -> TensorBinding:
        return TensorBinding(*(getattr(tensor, field) for field in TensorBinding._fields))


def bound(kernel: Kernel, binding: Binding, tensor: Any, values: dict[str, Any]) -> Entry:
    """`tensor` bound to `binding`; its offset goes into `values` if the kernel has a field for it.

    Raises `ShaderError`, `DtypeError`, `LayoutError` or `LimitError` if it does not fit.
    """
    layout = kernel.interface.uniform
    where = f"kernel {kernel.name}: {binding.name}"
    if not is_bindable(tensor):
        raise ShaderError(f"{where} must be a tensor, got {type(tensor).__name__}")
    if binding.scalar is not None and binding.scalar != tensor.scalar:
        raise DtypeError(f"{where} is {binding.type}; tensor {tensor.name!r} has {tensor.scalar}: cast it first")
    fields = layout.fields if layout else {}
    if not tensor.is_contiguous and f"{binding.name}_strides" not in fields:
        raise LayoutError(f"{where}: tensor {tensor.name!r} is not contiguous; pass {tensor.name}.contiguous()")
    nbytes = -(-tensor.extent // 4) * 4
    if tensor.is_contiguous and (nbytes % binding.element or nbytes < binding.least) and nbytes:
        raise LayoutError(
            f"{where} is {binding.type}, elements of {binding.element} bytes, {binding.least} bytes at least; "
            f"tensor {tensor.name!r} has {nbytes}: pad its rows, or declare the array by its scalars"
        )
    alignment = kernel.gpu.limits["min-storage-buffer-offset-alignment"]
    start = tensor.start // alignment * alignment
    if f"{binding.name}_offset" in fields:
        values[f"{binding.name}_offset"] = (tensor.offset - start) // tensor.itemsize
    elif tensor.offset != start:
        raise LayoutError(
            f"{where}: tensor {tensor.name!r} begins at byte {tensor.offset}, not a multiple of {alignment}; "
            "pass a contiguous copy"
        )
    size = -(-max(tensor.start - start + tensor.extent, binding.least) // 4) * 4
    limit = kernel.gpu.limits["max-storage-buffer-binding-size"]
    if size > limit:
        raise LimitError(f"{where}: tensor {tensor.name!r} spans {size:,} bytes; this adapter binds {limit:,} at most")
    return Entry(binding, tensor.owner, start, size)


def bound_indirect(kernel: Kernel, tensor: Bindable) -> Indirect:
    """Where `tensor` holds a number of workgroups. Raises `ShaderError`, `DtypeError` or `LayoutError` if it cannot."""
    where = f"kernel {kernel.name}: indirect"
    if not is_bindable(tensor):
        raise ShaderError(f"{where} must be a tensor of three u32, got {type(tensor).__name__}")
    if tensor.scalar != "u32" or tensor.itemsize != 4:
        raise DtypeError(f"{where} must be three u32; tensor {tensor.name!r} has {tensor.scalar}: cast it first")
    if not tensor.is_contiguous or tensor.extent != 12:
        raise LayoutError(f"{where} must be three u32 in a row; tensor {tensor.name!r} spans {tensor.extent} bytes")
    return Indirect(tensor.owner, tensor.offset)


def is_bindable(value: Any) -> TypeGuard[Bindable]:
    """Whether a value is a `Bindable`, asked once of each type: Python takes 20 µs to find out."""
    kind = type(value)
    if kind not in _bindable:
        _bindable[kind] = isinstance(value, Bindable)
    return _bindable[kind]


_bindable: dict[type, bool] = {}
