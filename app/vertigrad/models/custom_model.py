"""`CustomModel`: base class of small models in a Python file next to a scene.

A subclass declares tensors, their initial values and a step; the rest of the model interface is implemented here.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import InputError, ShaderError
from ..params import unknown
from .base import Comparison, OutputSpec
from .differentiable_params import DifferentiableParams, require_constants
from .model_bases import PartsModel

if TYPE_CHECKING:
    from ..gpu import Kernel, Plan
    from ..tensor import Tensor
    from .parts import Parts
    from .replayed import ReplayedStep

TIME = "a replayed step cannot use self.time: count it in a tensor (self.clock += dt), or omit replayed"
VALUES = "values that are read back have no gradient; calculate with tensor operations instead"
SETS = "a replayed step sets it only when recorded; make it a tensor, or omit replayed"
Shape = tuple[int | str, ...]


class CustomModel(PartsModel):
    """A model with `tensors`, each with its shape: {"position": ("count", 3), "cell": ("count", "u32")}.

    A size may be the name of an integer parameter; a dtype other than f32 comes last. All tensors are outputs and
    attributes: `self.position`. Assignments, `self.position = self.position + dt * self.velocity`, write into the
    tensor. Outputs of other models, named in `inputs`, are attributes too. `self.params` are the parameters,
    `self.time` [s] is the time since the start, `self.dt` [s] the time step.

    With `replayed` a step is recorded once and replayed, which takes much less CPU time; it is recorded again when `dt`
    or a parameter changes. `advance` must then do the same each time: it cannot use `self.time` (a tensor can count
    it), set attributes that are not tensors, read values back, or draw random numbers.

    `shader` is WGSL whose bindings have the names of tensors and inputs. The fields of its uniform struct are dt, time,
    seed, parameters, and the arguments of `run`.
    """

    tensors: ClassVar[Mapping[str, Shape]]
    replayed: ClassVar[bool] = False
    shader: str = ""
    shader_file: str = ""  # its path, if it is in a separate file
    differentiable: ClassVar[bool] = True
    shared: ClassVar[bool] = False  # whether the tensors' memory is shared with other frameworks

    @abstractmethod
    def start(self, random: np.random.Generator) -> Mapping[str, Any] | None:
        """Return initial values of the tensors, as arrays; 0 by default, of all if it returns None.

        `random` is seeded with the scene's seed.
        """

    @abstractmethod
    def advance(self, dt: float) -> None:
        """Advance by `dt` seconds, with operations on the tensors or kernels by `run`."""

    def __init__(self, name: str, params: Any, inputs: Mapping[str, Tensor], seed: int) -> None:
        from ..tensor import Tensor

        self.name, self.seed = name, seed
        self.params: Any = params
        self._advancing = False  # within `advance`, if that is replayed
        self._differentiated = False  # whether operations are recorded for gradients: then nothing is replayed
        self._time = self.dt = 0.0
        self._replayed: ReplayedStep | None = None
        self._tensors: dict[str, Tensor] = {}
        self._inputs = dict(inputs)
        self._kernels: dict[str, Kernel] = {}
        self._plans: dict[tuple[Any, ...], Plan] = {}
        with self._building() as parts:
            for key, spec in self.output_specs(params).items():
                shape = [size or 0 for size in spec.shape]
                tensor = Tensor.empty(shape, spec.dtype, f"{name}.{key}", shared=self.shared)
                self._tensors[key] = parts.enter_context(tensor)
            vars(self).update(self._attributes(parts))
            parts.callback(self.forget_kernels)
            if self.replayed:
                from .replayed import ReplayedStep

                self._replayed = ReplayedStep(f"{name}.advance")
                parts.callback(self._replayed.close)
            self.reset()

    @classmethod
    def output_specs(cls, params: Any) -> Mapping[str, OutputSpec]:
        """Specs of all tensors. Raises `InputError` for a size that is neither a number nor a parameter."""
        return {name: _spec(name, shape, params) for name, shape in cls.tensors.items()}

    def run(self, entry: str, threads: int | Sequence[int], **fields: Any) -> None:
        """Run the entry point `entry` of `shader` with `threads` invocations. Raises `InputError` if it does not fit.

        `fields` are values of the uniform struct that are not parameters, dt, time or seed.
        """
        plan, kernel = self.prepare(entry, threads), self._kernel(entry)
        fields_used = kernel.interface.uniform.fields if kernel.interface.uniform else ()
        known = {**dict(self.params), "dt": self.dt, "seed": self.seed, **fields}
        if "time" in fields_used and "time" not in known:
            known["time"] = self.time
        try:
            values = {name: known[name] for name in fields_used}
            if self._differentiated:
                require_constants(f"{self.name}: {entry}", {**values, **self._bound(kernel)})
            if kernel.gpu.recording is None:
                plan.update(**values)
            else:
                kernel(threads, **self._bound(kernel), **values)
        except KeyError as error:
            raise InputError(f"{entry}: {unknown('field', str(error.args[0]), known)}") from None
        except ShaderError as error:
            raise InputError(f"{entry}: {error}") from error

    def prepare(self, entry: str, threads: int | Sequence[int]) -> Plan:
        """The plan that `run` replays, created on first use. Raises `InputError` if it does not fit the tensors."""
        shape = tuple(threads) if isinstance(threads, Sequence) else (threads,)
        plan = self._plans.get((entry, shape))
        if plan is None:
            plan = self._plans[entry, shape] = self._planned(entry, shape)
        return plan

    @property
    def time(self) -> float:
        """Time since the start [s]. Raises `InputError` in a step that is replayed."""
        if self._advancing:
            raise InputError(f"{self.name}: {TIME}")
        return self._time

    def step(self, dt: float) -> None:
        self.dt = dt
        if self._replayed is None or self._differentiated:
            with self._without_reading("advance"):
                self.advance(dt)
        else:
            self._replayed.take((dt, dict(self.params)), self._advance_alike)
        self._time += dt

    def outputs(self) -> dict[str, Tensor]:
        return dict(self._tensors)

    def diagnostics(self) -> dict[str, Tensor]:
        return {}

    def compare_with_reference(self) -> list[Comparison]:
        """An empty list: there is no reference implementation."""
        return []

    def reset(self) -> None:
        self._time = self.dt = 0.0
        if self._replayed is not None:
            self._replayed.close()  # `start` may set what `advance` uses
        with self._without_reading("start"):
            first = dict(self.start(np.random.default_rng(self.seed)) or {})
        if strange := sorted(first.keys() - self._tensors.keys()):
            raise InputError(f"start: {unknown('tensor', strange[0], self._tensors)}")
        for name, tensor in self._tensors.items():
            tensor[...] = _fitted(name, first[name], tensor) if name in first else 0

    def differentiate(self, names: Collection[str]) -> Mapping[str, Tensor]:
        """The parameters become tensors, and every step is calculated anew. Kernels of `run` have no gradients."""
        self.params = found = DifferentiableParams(self.name, self.params, names)
        self._differentiated = True
        for leaf in found.leaves.values():
            self._parts.callback(leaf.close)
        return found.leaves

    def state(self) -> dict[str, Tensor]:
        return dict(self._tensors)

    def scalar_state(self) -> dict[str, float]:
        return {"time": self._time}

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        self._time = scalars["time"]

    def forget_kernels(self) -> None:
        """Compile the shader again on next use."""
        for plan in self._plans.values():
            plan.close()
        self._plans.clear()
        self._kernels.clear()

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__.get("_tensors", ()):
            if name != "_advancing" and self.__dict__.get("_advancing"):
                raise InputError(f"{self.name}: self.{name} = ...: {SETS}")
            super().__setattr__(name, value)
        elif value is not self.__dict__.get(name):  # as after `self.position += …`, which wrote it already
            self._assign(name, value)

    def _without_reading(self, method: str) -> AbstractContextManager[None]:
        """A context for a method of the subclass; where gradients are needed, it must not read values back."""
        if not self._differentiated:
            return nullcontext()
        from .replayed import no_reading

        return no_reading(f"{self.name}.{method}: {VALUES}")

    def _attributes(self, parts: Parts) -> Mapping[str, Any]:
        """What the names of tensors and inputs are in `advance`."""
        return {**self._tensors, **self._inputs}

    def _assign(self, name: str, value: Any) -> None:
        """Write `value` into the tensor `name`."""
        from ..ops import assign

        assign(self._tensors[name], value)

    def _advance_alike(self) -> None:
        """`advance`, with operations forbidden that a replay could not repeat."""
        self._advancing = True
        try:
            self.advance(self.dt)
        finally:
            self._advancing = False

    def _kernel(self, entry: str) -> Kernel:
        from ..gpu import Kernel

        if entry not in self._kernels:
            if not self.shader:
                raise InputError(f"{entry}: the model has no shader")
            try:
                self._kernels[entry] = Kernel(self.shader, entry, self.name)
            except ShaderError as error:
                raise InputError(_placed(str(error), entry, self.shader, self.shader_file)) from error
        return self._kernels[entry]

    def _planned(self, entry: str, threads: tuple[int, ...]) -> Plan:
        from ..gpu import Plan

        kernel = self._kernel(entry)
        plan = Plan(f"{self.name}.{entry}.step")
        try:
            with plan.recording():
                bound = self._bound(kernel)
            plan.dispatch(kernel, threads, **bound)
        except BaseException:
            plan.close()
            raise
        return plan

    def _bound(self, kernel: Kernel) -> dict[str, Any]:
        """The tensors of the kernel's bindings; an input with gaps between its rows is packed.

        Raises `InputError` if one does not fit.
        """
        known, entry = {**self._inputs, **self._tensors}, kernel.entry
        bound = {}
        for binding in kernel.bindings:
            if binding.name not in known:
                raise InputError(f"{entry}: {unknown('tensor', binding.name, known)}")
            tensor = known[binding.name]
            bound[binding.name] = tensor.contiguous() if binding.name in self._inputs else tensor
            if "vec3" in binding.type and tensor.shape[-1:] == (3,):
                problem = f"rows of {binding.name} have 12 bytes, those of {binding.type} 16"
                raise InputError(f"{entry}: {problem}; bind array<f32> and read element 3 * row, or give it 4 columns")
        return bound


def _placed(error: str, entry: str, text: str, file: str) -> str:
    """The compiler's message for an entry point, with the line of the WGSL `text` that it is about."""
    from ..gpu.shader import parse_message

    message, line = parse_message(error)
    if line is None:
        return f"{file or entry}: {error}"
    lines = text.splitlines()
    line = min(line, len(lines))  # what is missing at the end is said to be on the line after it
    where = f"{file}:{line}" if file else f"{entry}: line {line} of the shader"
    return f"{where}: {message}\n{line} | {lines[line - 1].strip()}"


def name_objection(name: str) -> str:
    """What is wrong with the name of a tensor; empty if nothing is."""
    if hasattr(CustomModel, name) or name in ("name", "params", "seed", "time", "dt"):
        return (
            f"a tensor cannot be called {name}: self.{name} is an attribute of every CustomModel; choose another name"
        )
    return "" if name.isidentifier() else f"a tensor cannot be called {name}: not a Python identifier"


def _spec(name: str, shape: Shape, params: Any) -> OutputSpec:
    if objection := name_objection(name):
        raise InputError(f"tensors: {objection}")
    sizes, dtype = list(shape), "f32"
    if sizes and isinstance(sizes[-1], str) and sizes[-1] not in type(params).model_fields:
        dtype = str(sizes.pop())
    try:
        return OutputSpec(tuple(_size(name, size, params) for size in sizes), dtype)
    except ValueError as error:
        names = ", ".join(type(params).model_fields)
        raise InputError(f"tensors: {name}: {error}; sizes may be one of the parameters: {names}") from None


def _size(name: str, size: int | str, params: Any) -> int:
    found = getattr(params, size, None) if isinstance(size, str) else size
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise InputError(f"tensors: {name}: {size!r} is neither an integer from 1 nor a parameter that is one")
    return found


def _fitted(name: str, value: Any, tensor: Tensor) -> Any:
    from ..tensor import Tensor

    if isinstance(value, Tensor):
        return value
    array = np.asarray(value.numpy(force=True) if type(value).__module__ == "torch" else value)
    try:
        filled = np.broadcast_to(array, tensor.shape)
    except ValueError:
        raise InputError(f"start: expected {name} of shape {tensor.shape}, got {array.shape}") from None
    try:
        return np.ascontiguousarray(filled, dtype=tensor.dtype.numpy)
    except (TypeError, ValueError):
        raise InputError(f"start: expected {name} of {tensor.dtype}, got {array.dtype}") from None
