"""`Tensor`: element type, shape, strides and offset over a block of GPU memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..errors import DtypeError, GradientError, LayoutError, ShapeError
from ..gpu import Traffic, gpu
from ..memory import Borrow, Origin, Owner
from . import graph
from . import shape as shapes
from .differentiable import Differentiable
from .dtype import DType, dtype_of, f32
from .frameworks import FrameworkViews, is_exported
from .handle import Handle
from .methods import ArrayMethods
from .operators import Arithmetic, call
from .shape import Layout
from .transfer import Readback, blob_type, host_array, require
from .variable import Step, View


class Tensor(Handle, Arithmetic, ArrayMethods, Differentiable, FrameworkViews):
    """An n-dimensional array on the GPU; cheap to clone, slice and transpose.

    `shape` counts elements, `strides` and `offset` are bytes. A view (`x[2:8]`, `.T`, `.reshape`, `.expand`,
    `.detach`) aliases: a write through it changes the tensor it was taken of. A `clone` is independent, but shares
    the block until one of the two is written. Close tensors (`close`, or `with`); those that
    are not are closed by a finalizer, and reported as leaks. Using a closed tensor raises `UseAfterFree`.
    """

    # creation -----------------------------------------------------------------------------------------------------

    @staticmethod
    def empty(
        shape: int | Sequence[int],
        dtype: Any = f32,
        name: str = "",
        temporary: bool = False,
        shared: bool | str = False,
    ) -> Tensor:
        """A contiguous tensor whose elements are not set. Raises `DtypeError`, `LimitError`, `OutOfMemory`.

        A `temporary` one that is created while a plan records uses memory of the plan. With `shared` ("cuda", or True
        for whatever is there) frameworks see its memory without a copy: `torch()`, `jax()`, `cupy()`, DLPack. Where
        that is not possible, a warning says why, and the same calls copy through the host. Raises `ValueError` for
        another `shared`.
        """
        size = shapes.checked(shape)
        kind, origin = dtype_of(dtype), Origin.of_caller()
        require(kind)
        device, nbytes = gpu(), math.prod(size) * kind.itemsize
        results = None if device.recording is None else device.recording.results
        if temporary and results is not None and not shared:
            owner = results.reserve(nbytes, name, origin)
        else:
            exported = is_exported(shared)
            owner = Owner(device.tracker, device.pool.take(nbytes, name, origin, exported), name, origin)
            if results is not None:
                results.add(owner)
        return Tensor(owner, Layout(size, shapes.contiguous_strides(size, kind.itemsize), 0), kind, name, temporary)

    @staticmethod
    def zeros(shape: int | Sequence[int], dtype: Any = f32, name: str = "") -> Tensor:
        """A contiguous tensor of zeros; one that is created while a plan records is set to zero at each replay."""
        created = Tensor.empty(shape, dtype, name)
        with created._closed_on_error():
            if gpu().recording is not None:
                return created.fill_(0)
            gpu().recorder.encoder.clear_buffer(created.block.buffer, 0, None)
            gpu().recorder.use((created.block,))
        return created

    @staticmethod
    def ones(shape: int | Sequence[int], dtype: Any = f32, name: str = "") -> Tensor:
        """A contiguous tensor of ones."""
        return Tensor.full(shape, 1, dtype, name)

    @staticmethod
    def full(shape: int | Sequence[int], value: float, dtype: Any = f32, name: str = "") -> Tensor:
        """A contiguous tensor of `value`. Raises `DtypeError` if the value does not fit."""
        created = Tensor.empty(shape, dtype, name)
        with created._closed_on_error():
            return created.fill_(value)

    @staticmethod
    def from_numpy(array: Any, name: str = "") -> Tensor:
        """A copy of `array` on the GPU, made now; for a plan that records a constant, which it may not write.

        Python's numbers, and lists of them, become f32, i32 (u32 if too large) or bool. Raises `DtypeError` for arrays
        of 64-bit types: convert them yourself.
        """
        host, dtype = host_array(array)
        created = Tensor.empty(host.shape, dtype, name)
        with created._closed_on_error():
            if host.size:
                gpu().upload(created.block.buffer, memoryview(host.reshape(-1).view(np.uint8)), unused=True)
        return created._set_once()

    @staticmethod
    def from_blob(source: Any, dtype: Any = None, shape: Sequence[int] | None = None, name: str = "") -> Tensor:
        """Borrow `source` through the buffer protocol, without a copy: O(1) for any size.

        The export is held, so that the source can be neither resized nor closed until the tensor is closed or
        `release`d; what is borrowed is never written. It is uploaded when the GPU first needs it. `dtype` and `shape`
        default to those of the source. Raises `LayoutError`, `DtypeError`, `ShapeError`.
        """
        borrow = Borrow(source)
        try:
            kind, full = blob_type(borrow, dtype, shape)
        except BaseException:
            borrow.release()
            raise
        device, origin = gpu(), Origin.of_caller()
        block = device.pool.borrow(borrow, name, origin)
        owner = Owner(device.tracker, block, name, origin)
        layout = Layout(full, shapes.contiguous_strides(full, kind.itemsize), 0)
        return Tensor(owner, layout, kind, name, False)._set_once()

    def _set_once(self) -> Tensor:
        """Itself, a constant of the plan that records."""
        recording = gpu().recording
        if recording is not None:
            recording.results.set_once(self.owner)
        return self

    # what it is -------------------------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ShapeError(f"a tensor of shape {self.shape} is neither true nor false; ask of one element")
        return bool(self.item())

    def __repr__(self) -> str:
        state = "closed" if self._closed_in >= 0 else f"block {self._owner.block.id}"
        return f"<Tensor {self.name!r} {self.dtype} {self.shape}, {state}>"

    # views: the same bytes ----------------------------------------------------------------------------------------

    def __getitem__(self, key: Any) -> Tensor:
        if _is_index_array(key):  # a copy, as in NumPy
            return call("masked_select", self, key) if _is_mask(key) else call("take", self, key, 0)
        return self._view(shapes.index(self.layout, key), lambda base: base[key])

    @property
    def T(self) -> Tensor:
        """The axes reversed; a view."""
        return self.permute(*reversed(range(self.ndim)))

    def permute(self, *axes: int | Sequence[int]) -> Tensor:
        """The axes in another order, as numbers or as one sequence; a view."""
        axes = shapes.unpacked(axes)
        return self._view(shapes.permute(self.layout, axes), lambda base: base.permute(*axes))

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """The elements in another shape, sizes or one sequence; a view. Raises `ShapeError` where that needs a copy."""
        shape = shapes.unpacked(shape)
        return self._view(shapes.reshape(self.layout, shape, self.dtype.itemsize), lambda base: base.reshape(*shape))

    def expand(self, *shape: int | Sequence[int]) -> Tensor:
        """Axes of 1 repeated to `shape`, sizes or one sequence, with stride 0; a view."""
        shape = shapes.unpacked(shape)
        return self._view(shapes.expand(self.layout, shape), lambda base: base.expand(*shape), repeats=True)

    def detach(self) -> Tensor:
        """The same values as a new leaf of the graph of gradients; a view: it shares memory, writes included."""
        return self.as_strided(self.layout)

    def as_strided(self, layout: Layout) -> Tensor:
        """The same bytes in another layout, apart from the graph of gradients: for `ops`. Raises `LayoutError`."""
        start, extent = shapes.byte_range(*layout, self.dtype.itemsize)
        if start < 0 or start + extent > self.block.nbytes:
            raise LayoutError(f"{layout} reaches outside of the {self.block.nbytes} bytes of tensor {self.name!r}")
        return Tensor(self.owner.hold(), layout, self.dtype, self.name, temporary=True)

    def bitcast(self, dtype: DType) -> Tensor:
        """The same bytes taken for another element type of the same size, apart from the graph of gradients."""
        if dtype.itemsize != self.dtype.itemsize:
            raise DtypeError(f"elements of {self.dtype} are not as large as those of {dtype}")
        return Tensor(self.owner.hold(), self.layout, dtype, self.name, temporary=True)

    def _view(self, layout: Layout, view_function: Callable[[Tensor], Tensor], repeats: bool = False) -> Tensor:
        """A view; `view_function` takes the same view of any tensor of this shape; `repeats` if elements may occur
        twice.
        """
        view = Tensor(self.owner.hold(), layout, self.dtype, self.name, temporary=True)
        view.variable = View(self.variable, Step(self.shape, view_function, repeats), graph.enabled())
        return view

    # copies -------------------------------------------------------------------------------------------------------

    def clone(self, name: str = "") -> Tensor:
        """An independent tensor, in O(1): one more owner of the block. The first of the two to be written copies.

        While a plan records it is a copy that each replay repeats, of the values at this point of it. Inside of
        `resource` it is a copy made now, since other code may write the block.
        """
        return self._cloned(name or self.name, temporary=False)

    def retained(self) -> Tensor:
        """A temporary clone, detached from the graph of gradients: the values as they are now."""
        with graph.no_grad():
            return self._cloned(self.name, temporary=True)

    def _cloned(self, name: str, temporary: bool) -> Tensor:
        device = gpu()
        if device.recording is None and not self.owner.fixed:
            owner = self.owner.clone(name, Origin.of_caller())
            device.recorder.follow(self.owner, owner)
            clone = Tensor(owner, self.layout, self.dtype, name, temporary)
        else:
            clone = Tensor.empty(self.shape, self.dtype, name, temporary)
            with clone._closed_on_error(), graph.no_grad():
                call("assign", clone, self)
                if self.owner.fixed:
                    device.submit()  # before other code writes what was copied
        if self.node is not None and graph.enabled():
            graph.attach(clone, "clone", [self.node], lambda gradient: [gradient], [])
        return clone

    def __copy__(self) -> Tensor:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """An independent leaf with the same values, which requires gradients if this leaf does.

        Raises `GradientError` for what an operation made.
        """
        if not self.is_leaf:
            raise GradientError(
                f"tensor {self.name or 'unnamed'!r} was made by an operation; a deep copy would lose its gradients: "
                "use clone(), or detach() first"
            )
        with graph.no_grad():
            copied = memo[id(self)] = self.clone()
        copied.requires_grad = self.requires_grad
        copied.grad = None if self.grad is None else self.grad.retained()
        return copied

    def contiguous(self) -> Tensor:
        """Itself as a view if it is contiguous already, else a packed copy."""
        return self[...] if self.is_contiguous else call("copy", self)

    def __setitem__(self, key: Any, value: Any) -> None:
        if _is_index_array(key):
            call("put", self, key, value)
            return
        with self[key] as target:
            call("assign", target, value)

    # to the host -----------------------------------------------------------------------------------------------------

    def numpy(self) -> np.ndarray:
        """The values as a NumPy array; waits for the GPU. Counted as device to host."""
        return self.read_async().result()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("the values of a tensor are on the GPU: an array of them is a copy")
        values = self.numpy()
        return values if dtype is None else values.astype(dtype)

    def item(self) -> float | int | bool:
        """The value of a tensor of one element; waits for the GPU. Raises `ShapeError` if there are more."""
        if self.size != 1:
            raise ShapeError(f"item() of a tensor of shape {self.shape}")
        return self.numpy().item()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def read_async(self, traffic: Traffic = Traffic.GEOMETRY) -> Readback:
        """Start reading the values back; they arrive with a later frame, which does not wait for them. Counted."""
        return Readback(self, traffic)


def _is_index_array(key: Any) -> bool:
    """Whether an index is an array, a list or a tensor, of indices or of booleans: it selects a copy."""
    return isinstance(key, Tensor | list) or (isinstance(key, np.ndarray) and key.ndim > 0)


def _is_mask(key: Any) -> bool:
    return (key if isinstance(key, Tensor) else np.asarray(key)).dtype.name == "bool"
