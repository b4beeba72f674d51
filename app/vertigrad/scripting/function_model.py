"""`model`: functions as models."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from .. import params as declared
from ..errors import InputError, VertigradError
from ..models.custom_model import CustomModel, name_objection
from ..models.function_params import TIMES, arguments_of, field_of
from ..models.torch_model import TorchModel, require_torch
from ..tensor import Tensor
from .checks import described

_DTYPES = {np.dtype(np.uint32): "u32", np.dtype(np.int32): "i32"}  # of arrays that are not floats


class FunctionModel(CustomModel):
    """Calls a function in each step with its tensors, inputs, parameters and times, by their names."""

    _function: ClassVar[Callable[..., Any]]
    _initial: ClassVar[Mapping[str, Any]]  # arrays, or functions of a random generator
    _arguments: ClassVar[tuple[str, ...]]

    def start(self, random: np.random.Generator) -> Mapping[str, Any]:
        return {name: value(random) if callable(value) else value for name, value in self._initial.items()}

    def advance(self, dt: float) -> None:
        found = type(self)._function(**{name: self._argument(name, dt) for name in self._arguments})
        if found is None:
            return
        if not isinstance(found, Mapping):
            raise InputError(
                f"{self.name}: returned {type(found).__name__}; return None after writing into the tensors, or new "
                "values by name: {" + ", ".join(f'"{name}": …' for name in self.tensors) + "}"
            )
        for name, value in found.items():
            if name not in self.tensors:
                raise InputError(f"{self.name}: returned {declared.unknown('tensor', str(name), self.tensors)}")
            if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
                value = value.astype(getattr(self, name).dtype.numpy)  # pyright: ignore[reportAttributeAccessIssue]
            try:
                setattr(self, name, value)
            except VertigradError as error:
                raise InputError(f"{self.name}: returned {name}: {error}") from error

    def _argument(self, name: str, dt: float) -> Any:
        if name in self.tensors or name in self.inputs:
            return getattr(self, name)
        return {"dt": dt, "time": self.time}[name] if name in TIMES else getattr(self.params, name)


class TorchFunctionModel(FunctionModel, TorchModel):
    """Calls a function that computes with PyTorch."""


def model(**tensors: Any) -> Callable[[Callable[..., Any]], type[CustomModel]]:
    """Decorator that makes a class of model of a function, for `Viewer.add_model`.

        @vg.model(position=np.zeros((500, 3)), speed=(500,))
        def rain(position, speed, dt, gravity: float = number(9.81, min=0.0, max=20.0)):
            speed -= gravity * dt
            position[:, 1] += speed * dt

    `tensors` are its state and its outputs, each an array of initial values, a shape (for zeros), or a function of a
    `numpy.random.Generator` that returns the array. In each step the function is called: arguments with the names of
    tensors are tensors, which it writes in place, `dt` and `time` are in seconds, those annotated as `vg.Tensor` are
    inputs from other models. All others are parameters in the window; their defaults are values (float, int, bool, str,
    or a `Literal` annotation) or declarations of `vertigrad.params`. The function may return new values by name.

    Raises `InputError` for an argument that is none of these.
    """
    return _decorator(FunctionModel, tensors)


def torch_model(**tensors: Any) -> Callable[[Callable[..., Any]], type[CustomModel]]:
    """As `model`, for a function that computes with PyTorch: its tensors and inputs are `torch.Tensor`s.

        @vg.torch_model(position=np.zeros((500, 3)))
        def drift(position, dt, speed: float = 1.0):
            position += speed * dt * torch.randn_like(position)

    Inputs from other models are arguments annotated as `torch.Tensor`. Where memory is shared with CUDA, what the
    function writes is drawn without a copy; `TorchModel` describes it. Raises what `model` raises, and
    `RequirementError` if PyTorch is not installed.
    """
    require_torch()
    return _decorator(TorchFunctionModel, tensors)


def _decorator(base: type[FunctionModel], tensors: Mapping[str, Any]) -> Callable[..., type[CustomModel]]:
    def decorate(function: Callable[..., Any]) -> type[CustomModel]:
        if not callable(function):
            raise InputError(f"a model is made of a function, not of {described(function)}")
        name = function.__name__
        shapes, initial = _state(name, tensors)
        fields: dict[str, tuple[Any, Any]] = {}
        inputs: dict[str, str] = {}
        arguments = arguments_of(function, name)
        if unused := sorted(shapes.keys() - {argument.name for argument in arguments}):
            raise InputError(f"{name}: has no argument for the tensor {unused[0]}")
        for argument in arguments:
            if _is_input(argument) and argument.name not in shapes:
                inputs[argument.name] = f"a tensor, argument of {name}"
            elif argument.name not in shapes and argument.name not in TIMES:
                fields[argument.name] = _field(name, argument)
        return _class(base, function, fields, inputs, shapes, initial, tuple(argument.name for argument in arguments))

    return decorate


def _class(
    base: type[FunctionModel],
    function: Callable[..., Any],
    fields: Mapping[str, tuple[Any, Any]],
    inputs: Mapping[str, str],
    shapes: Mapping[str, tuple[int | str, ...]],
    initial: Mapping[str, Any],
    arguments: tuple[str, ...],
) -> type[CustomModel]:
    body = {
        "__annotations__": {name: annotation for name, (annotation, _) in fields.items()},
        **{name: field for name, (_, field) in fields.items()},
        "__doc__": f"Parameters of {function.__name__}.",
        "__module__": __name__,
    }
    members: dict[str, Any] = {
        "__doc__": function.__doc__ or f"The function {function.__name__}.",
        "__module__": function.__module__,
        "Params": type("Params", (declared.Params,), body),
        "tensors": shapes,
        "inputs": inputs,
        "required_inputs": frozenset(inputs),
        "_function": staticmethod(function),
        "_initial": initial,
        "_arguments": arguments,
    }
    return type(function.__name__, (base,), members)


def _state(name: str, tensors: Mapping[str, Any]) -> tuple[dict[str, tuple[int | str, ...]], dict[str, Any]]:
    """Shape of each tensor, as `CustomModel.tensors` has it, and initial values of those that do not begin at 0."""
    if not tensors:
        raise InputError(f"{name}: a model needs a tensor: @vg.model(position=array), or a shape such as (500, 3)")
    shapes: dict[str, tuple[int | str, ...]] = {}
    initial = {}
    for key, value in tensors.items():
        if objection := name_objection(key):
            raise InputError(f"{name}: {objection}")
        if isinstance(value, tuple) and value and all(isinstance(size, int) for size in value):
            shapes[key] = value
            continue
        array = np.asarray(value(np.random.default_rng(0)) if callable(value) else value)
        if array.dtype.kind not in "fiub" or not array.size:
            raise InputError(f"{name}: {key}: expected an array of numbers, got {array.dtype} of shape {array.shape}")
        shapes[key] = (*array.shape, *([_DTYPES[array.dtype]] if array.dtype in _DTYPES else []))
        initial[key] = value if callable(value) else array
    return shapes, initial


def _is_input(argument: inspect.Parameter) -> bool:
    """Whether it is annotated as a tensor, one of Vertigrad or of PyTorch."""
    return isinstance(argument.annotation, type) and argument.annotation.__name__ == Tensor.__name__


def _field(function: str, argument: inspect.Parameter) -> tuple[Any, Any]:
    """Annotation and field of a parameter."""
    name, default = argument.name, argument.default
    if default is argument.empty:
        raise InputError(
            f"{function}: {name} is neither a tensor of the model nor dt or time, and has no default: give it one, "
            f"such as {name}: float = 1.0, or annotate an input of another model as vg.Tensor"
        )
    field = field_of(argument)
    if field is None:
        raise InputError(
            f"{function}: {name}: cannot become a parameter with the default {default!r}; defaults are float, int, "
            "bool, str, or a declaration of vertigrad.params, such as vector((0, 0, 0))"
        )
    return field
