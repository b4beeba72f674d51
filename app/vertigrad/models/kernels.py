"""`Kernels`: the kernels of a shader file, added to plans with what a model has of their bindings and fields."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..gpu import Kernel, Plan
from ..ops.launch import element_strides
from ..tensor import Tensor


def parameters(params: Any, *names: str) -> dict[str, Any]:
    """The fields that have the names and values of parameters."""
    return {name: getattr(params, name) for name in names}


class Kernels:
    """The kernels of a shader, compiled with `defines`.

    A binding takes the tensor of its name in `tensors`, and a field the value of its name in `constants`; both may grow
    after this. Fields called NAME_shape and NAME_strides, in elements, follow from the tensor NAME. They and the offset
    of a tensor that a kernel does not bind are 0.
    """

    def __init__(
        self,
        shader: str,
        tensors: Mapping[str, Tensor],
        constants: Mapping[str, Any] | None = None,
        defines: Mapping[str, Any] | None = None,
    ):
        self._shader, self._tensors, self._constants = shader, tensors, constants or {}
        self._defines = dict(defines or {})

    def add(
        self,
        plan: Plan,
        entry: str,
        threads: int | Sequence[int],
        *overwrites: str,
        replayed: Collection[str] | None = None,
        **arguments: Any,
    ) -> None:
        """Add a dispatch of the kernel `entry`; `arguments` come before what is known by name.

        Fields without a value are given at each replay. With `replayed` only those are: all others without a value are
        ones that the kernel does not use, and are 0. Raises as `Plan.dispatch`.
        """
        kernel = Kernel.load(self._shader, entry, self._defines)
        bound = [binding.name for binding in kernel.bindings]
        fields = kernel.interface.uniform.fields if kernel.interface.uniform else {}
        known: dict[str, Any] = {name: self._tensors[name] for name in bound if name in self._tensors}
        known |= {name: self._constants[name] for name in fields if name in self._constants}
        zeros = {name: 0 if field.count == 1 else (0,) * field.count for name, field in fields.items()}
        for name in fields.keys() - known.keys():
            tensor, _, what = name.rpartition("_")
            if tensor and tensor not in bound and what in ("offset", "shape", "strides"):
                known[name] = zeros[name]
            elif tensor in known and what == "shape":
                known[name] = known[tensor].shape
            elif tensor in known and what == "strides":
                known[name] = element_strides(known[tensor])
        if replayed is not None:
            known |= {name: zeros[name] for name in fields.keys() - known.keys() - set(replayed)}
        plan.dispatch(kernel, threads, overwrites=overwrites, **(known | arguments))
