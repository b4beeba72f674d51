"""`Dispatch`: a kernel with its tensors and values, ready to be recorded once or many times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from ..errors import DtypeError, LayoutError, LimitError, ShaderError
from ..memory import Owner
from .wgsl import Binding

if TYPE_CHECKING:
    from .kernel import Kernel

_SCALAR_OF_DTYPE = {"bool": "u32", "u8": "u32"}


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


class Dispatch:
    """A kernel bound to arguments.

    `threads` is the number of invocations wanted, rounded up to whole workgroups. `arguments` gives a tensor for each
    binding and a value for each field of the uniform struct, all by name. A field NAME_offset is filled in: how many
    elements after the bound range the tensor NAME begins; a kernel without it takes only tensors at the adapter's
    offset alignment. A kernel with a field NAME_strides walks strides itself; all others take contiguous tensors only.
    Fields that are left out are `open`: they must be given when it is recorded. Tensors named in `overwrites` are
    written in full, so copy-on-write need not copy their old bytes, unless they are views of a part.

    Raises `ShaderError` for arguments that do not fit the kernel, `DtypeError`, `LayoutError`, `LimitError`.
    """

    def __init__(
        self, kernel: Kernel, threads: int | Sequence[int], overwrites: Sequence[str], arguments: Mapping[str, Any]
    ):
        self.kernel = kernel
        self.workgroups = kernel.workgroups(threads)
        values = dict(arguments)
        tensors = {b.name: values.pop(b.name, None) for b in kernel.bindings}
        self._check_names(tensors, values)
        self.entries = tuple(self._entry(b, tensors[b.name], values) for b in kernel.bindings)
        self.writes = tuple(
            (entry.owner, not (entry.binding.name in overwrites and _covers(tensors[entry.binding.name])))
            for entry in self.entries
            if entry.binding.access == "read_write"
        )
        self._check_apart()
        layout = kernel.interface.uniform
        self.image = bytearray(layout.size if layout else 0)
        self.open = tuple(name for name in (layout.fields if layout else ()) if name not in values)
        if layout:
            for name, value in values.items():
                layout.pack(self.image, 0, name, value)

    def record(self, **fields: Any) -> None:
        """Record it into the next submission, with a value for each open field."""
        gpu, layout = self.kernel.gpu, self.kernel.interface.uniform
        if set(fields) != set(self.open):
            raise ShaderError(f"kernel {self.kernel.name}: needs values for {sorted(self.open)}, got {sorted(fields)}")
        image = bytearray(self.image)
        for name, value in fields.items():
            assert layout is not None
            layout.pack(image, 0, name, value)
        with gpu.recorder.all_or_nothing():
            self.make_ready()
            group = self.kernel.bind_group(self.entries)
            if not gpu.uniforms.fits(len(image)):
                gpu.submit()
            compute = gpu.recorder.compute_pass()
            gpu.recorder.use(entry.owner.block for entry in self.entries)
            compute.set_pipeline(self.kernel.pipeline)
            compute.set_bind_group(0, group, (gpu.uniforms.push(image),) if layout else ())
            compute.dispatch_workgroups(*self.workgroups)
        gpu.recorder.dispatches += 1
        gpu.submit_if_long()

    def make_ready(self) -> None:
        """Copy what is written and shared, and upload what is borrowed."""
        gpu = self.kernel.gpu
        for owner, keep in self.writes:
            gpu.make_writable(owner, keep)
        for entry in self.entries:
            gpu.make_resident(entry.owner)

    def _check_apart(self) -> None:
        """Refuse an owner bound to read and to write; other owners of one block move apart when it is written."""
        written = {owner for owner, _ in self.writes}
        for entry in self.entries:
            if entry.binding.access == "read" and entry.owner in written:
                raise LayoutError(
                    f"kernel {self.kernel.name}: {entry.binding.name} (tensor {entry.owner.name or 'unnamed'!r}) is "
                    "read from memory that the same dispatch writes; pass a clone() of it"
                )

    def _check_names(self, tensors: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        layout = self.kernel.interface.uniform
        missing = [name for name, tensor in tensors.items() if tensor is None]
        unknown = [name for name in values if layout is None or name not in layout.fields]
        if missing or unknown:
            known = [*tensors, *(layout.fields if layout else ())]
            raise ShaderError(
                f"kernel {self.kernel.name}:{self.kernel.entry}: missing tensors {missing}, "
                f"unknown arguments {unknown}; it takes {known}"
            )

    def _entry(self, binding: Binding, tensor: Any, values: dict[str, Any]) -> Entry:
        kernel, layout = self.kernel, self.kernel.interface.uniform
        where = f"kernel {kernel.name}: {binding.name}"
        if not isinstance(tensor, Bindable):
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
            raise LimitError(
                f"{where}: tensor {tensor.name!r} spans {size:,} bytes; this adapter binds {limit:,} at most"
            )
        return Entry(binding, tensor.owner, start, size)


def _covers(tensor: Bindable) -> bool:
    """Whether a tensor is all that its owner has: then nothing is left of the old bytes once it is overwritten."""
    return tensor.is_contiguous and tensor.extent == tensor.owner.block.nbytes
