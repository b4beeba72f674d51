"""`Dispatch`: a kernel with its tensors and values, ready to be recorded once or many times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from ..errors import LayoutError, ShaderError
from ..memory import Owner
from .binding import Bindable, TensorBinding, bound, bound_indirect, is_bindable
from .native import DispatchList, Size
from .wgsl import FIRST

if TYPE_CHECKING:
    from .kernel import Kernel


class Dispatch:
    """A kernel bound to arguments.

    `threads` is the number of invocations, rounded up to whole workgroups. `arguments` gives a tensor for each
    binding and a value for each field of the uniform struct, all by name. A field NAME_offset is filled in: how many
    elements after the bound range the tensor NAME begins; a kernel without it takes only tensors at the adapter's
    offset alignment. A kernel with a field NAME_strides walks strides itself; all others take contiguous tensors only.
    Where the kernel has no binding NAME, its NAME_offset and NAME_strides are 0: None says so for one that its source
    does not declare.
    A field first_workgroup is filled in as well: 0, or where a part of a split dispatch begins. Other
    fields that are left out are `open`: they must be given when it is recorded. Tensors named in `overwrites` are
    written in full, so copy-on-write need not copy their old bytes, unless they are views of a part.

    `indirect` is a tensor of three u32, the workgroups along x, y and z: they are read on the GPU when the dispatch
    runs, and `threads` is their maximum, for planning the GPU's time. A dispatch may not write its own size.

    Raises `ShaderError` for arguments that do not fit the kernel, `DtypeError`, `LayoutError`, `LimitError`.
    """

    def __init__(
        self,
        kernel: Kernel,
        threads: int | Sequence[int],
        overwrites: Sequence[str],
        arguments: Mapping[str, Any],
        indirect: Bindable | None = None,
    ):
        self.kernel = kernel
        self._arguments = threads, overwrites, arguments, indirect
        self.indirect = None if indirect is None else bound_indirect(kernel, indirect)
        self.workgroups = kernel.workgroups(threads)
        values = dict(arguments)
        tensors = {b.name: values.pop(b.name, None) for b in kernel.bindings}
        absent = self._drop_absent(tensors, values)
        self.entries = tuple(bound(kernel, b, tensors[b.name], values) for b in kernel.bindings)
        self.writes = tuple(
            (entry.owner, not (entry.binding.name in overwrites and _covers(tensors[entry.binding.name])))
            for entry in self.entries
            if entry.binding.access == "read_write"
        )
        self.owners = tuple(entry.owner for entry in self.entries) + ((self.indirect.owner,) if self.indirect else ())
        self._check_aliasing()
        layout = kernel.interface.uniform
        if layout and FIRST in layout.fields:
            values.setdefault(FIRST, 0)
        self.image = bytearray(layout.size if layout else 0)
        self.open = tuple(name for name in kernel.interface.fields if name not in values)
        if absent:
            zero = {f"{name}_{what}" for name in absent for what in ("offset", "strides")}
            self.open = tuple(name for name in self.open if name not in zero)
        if layout:
            for name, value in values.items():
                layout.pack(self.image, 0, name, value)

    def record(self, **fields: Any) -> None:
        """Record it into the next submission, with a value for each open field."""
        gpu, layout = self.kernel.gpu, self.kernel.interface.uniform
        if set(fields) != set(self.open):
            raise ShaderError(f"kernel {self.kernel.name}: needs values for {sorted(self.open)}, got {sorted(fields)}")
        self._require_values()
        self.note_writes()
        image = bytearray(self.image)
        for name, value in fields.items():
            assert layout is not None
            layout.pack(image, 0, name, value)
        with gpu.recorder.atomic_recording():
            self.make_ready()
            group = self.kernel.bind_group(self.entries)
            if gpu.recorder.deferred is not None:
                gpu.recorder.use(owner.block for owner in self.owners)
                ready = DispatchList([(self.kernel.pipeline, group, self.size)], [0 if layout else None])
                gpu.recorder.deferred.add("compute", (self,), ready, (0,), bytes(image))
                return
            if not gpu.uniforms.fits(len(image)):
                gpu.submit()
            with gpu.recorder.kernel(self.kernel.label) if gpu.timer.times_kernels else nullcontext():
                compute = gpu.recorder.compute_pass()
                gpu.recorder.use(owner.block for owner in self.owners)
                compute.set_pipeline(self.kernel.pipeline)
                compute.set_bind_group(0, group, (gpu.uniforms.push(image),) if layout else ())
                if self.indirect is None:
                    compute.dispatch_workgroups(*self.workgroups)
                else:
                    compute.dispatch_workgroups_indirect(self.indirect.owner.block.buffer, self.indirect.offset)
        gpu.recorder.dispatches += 1
        gpu.submit_if_long()

    def compile(self) -> None:
        """Have the driver compile the kernel, by a dispatch of no workgroups, and wait: some do it at the first one."""
        gpu, layout = self.kernel.gpu, self.kernel.interface.uniform
        with gpu.recorder.atomic_recording():
            group = self.kernel.bind_group(self.entries)
            if not gpu.uniforms.fits(len(self.image)):
                gpu.submit()
            compute = gpu.recorder.compute_pass()
            gpu.recorder.use(owner.block for owner in self.owners)
            compute.set_pipeline(self.kernel.pipeline)
            compute.set_bind_group(0, group, (gpu.uniforms.push(bytearray(self.image)),) if layout else ())
            compute.dispatch_workgroups(0, 0, 0)
        gpu.wait(gpu.submit())

    @property
    def reads(self) -> list[Owner]:
        """The tensors whose bytes decide what it writes, and how much."""
        overwrites = self._arguments[1]
        found = [
            entry.owner
            for entry in self.entries
            if entry.binding.access == "read" or entry.binding.name not in overwrites
        ]
        return found if self.indirect is None else [*found, self.indirect.owner]

    @property
    def size(self) -> Size:
        """How many workgroups, or the buffer and the byte where the GPU finds it, as blocks are now."""
        if self.indirect is None:
            return self.workgroups
        return self.indirect.owner.block.buffer, self.indirect.offset

    def keep(self) -> None:
        """Release the tensors; keep their bindings, which is all that `rebuilt` needs."""

        def detached(value: Any) -> Any:
            return TensorBinding.of(value) if is_bindable(value) else value

        threads, overwrites, arguments, indirect = self._arguments
        arguments = {name: detached(value) for name, value in arguments.items()}
        self._arguments = threads, tuple(overwrites), arguments, detached(indirect)

    def move(self, owners: Mapping[Owner, Owner]) -> None:
        """Replace some owners by others; offsets into the block stay the same."""

        def now(binding: Any) -> Any:
            if not hasattr(binding, "owner"):
                return binding
            return binding._replace(owner=owners.get(binding.owner, binding.owner))

        self.entries = tuple(now(entry) for entry in self.entries)
        self.indirect = None if self.indirect is None else now(self.indirect)
        self.writes = tuple((owners.get(owner, owner), keep) for owner, keep in self.writes)
        self.owners = tuple(owners.get(owner, owner) for owner in self.owners)
        threads, overwrites, arguments, indirect = self._arguments
        self._arguments = threads, overwrites, {name: now(value) for name, value in arguments.items()}, now(indirect)

    def rebuilt(self, kernel: Kernel) -> Dispatch:
        """The same with another kernel. Raises as the constructor, and `ShaderError` if it leaves other fields open."""
        dispatch = Dispatch(kernel, *self._arguments)
        dispatch.keep()
        if set(dispatch.open) != set(self.open):
            raise ShaderError(
                f"kernel {kernel.name}:{kernel.entry}: its model gives it {sorted(self.open)} at each step; "
                f"it has {sorted(dispatch.open)}"
            )
        return dispatch

    def note_writes(self) -> None:
        """Increase the version of every tensor that it writes."""
        for owner, _ in self.writes:
            owner.version += 1

    def _require_values(self) -> None:
        """Raise `StillInUse` if it reads what has no values yet; what it overwrites has some then."""
        if any([owner.unset for owner in self.owners]):
            overwritten = {owner for owner, keep in self.writes if not keep}
            for owner in self.owners:
                if owner in overwritten:
                    owner.unset = ""
                owner.require_values()

    def make_ready(self) -> None:
        """Copy what is written and shared, and upload what is borrowed."""
        gpu = self.kernel.gpu
        for owner, keep in self.writes:
            gpu.make_writable(owner, keep)
        for owner in self.owners:
            gpu.make_resident(owner)

    def _check_aliasing(self) -> None:
        """Refuse an owner bound to read and to write; other owners of the block are copied when it is written."""
        written = {owner for owner, _ in self.writes}
        for entry in self.entries:
            if entry.binding.access == "read" and entry.owner in written:
                raise LayoutError(
                    f"kernel {self.kernel.name}: {entry.binding.name} (tensor {entry.owner.name or 'unnamed'!r}) is "
                    "read from memory that the same dispatch writes; pass a clone() of it"
                )
        if self.indirect is not None and self.indirect.owner in written:
            raise LayoutError(
                f"kernel {self.kernel.name}: its size is read from tensor {self.indirect.owner.name or 'unnamed'!r}, "
                "which the same dispatch writes; pass a clone() of it"
            )

    def _drop_absent(self, tensors: Mapping[str, Any], values: dict[str, Any]) -> list[str]:
        """Remove the names of tensors that are None from `values`, and return them. Raises if others are unknown."""
        layout = self.kernel.interface.uniform
        missing = [name for name, tensor in tensors.items() if tensor is None]
        unknown = [name for name in values if layout is None or name not in layout.fields]
        absent = [name for name in unknown if values[name] is None]
        unknown = [name for name in unknown if name not in absent]
        if missing or unknown:
            known = [*tensors, *(layout.fields if layout else ())]
            raise ShaderError(
                f"kernel {self.kernel.name}:{self.kernel.entry}: missing tensors {missing}, "
                f"unknown arguments {unknown}; it takes {known}"
            )
        for name in absent:
            del values[name]
        return absent


def _covers(tensor: Bindable) -> bool:
    """Whether a tensor is all that its owner has: then nothing is left of the old bytes once it is overwritten."""
    return tensor.is_contiguous and tensor.extent == tensor.owner.block.nbytes
