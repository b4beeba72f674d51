"""`Torch`: a function, a module or an exported program of PyTorch, whose outputs are drawn where PyTorch wrote them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import create_model

from ... import params
from ...errors import CodeError, InputError, ParameterError, RequirementError
from ...params import switch
from ...tensor import Tensor
from ..base import Comparison, Fault, OutputSpec, compare, table_in
from ..registry import SceneFiles
from ..torch_model import TorchModel, require_torch
from .feeds import Clock, Recurrent, Slider
from .output_diagnostics import SPECS, output_diagnostics
from .torch_file import SUFFIXES, WEIGHTS, TorchFile, choose, read_entry
from .torch_probe import first_values, from_numpy, probe, python_value
from .torch_table import (
    Arguments,
    Result,
    declared_arguments,
    declared_results,
    feedback_faults,
    parameters,
    reserved_faults,
)

BOUND = 2e-3  # of the relative error to PyTorch on the CPU: convolutions on CUDA have TF32's 10 bits


class Params(params.Params):
    """Which network. Sliders, and arguments of functions that have defaults, are added to these."""

    file: Path = params.file(..., suffixes=SUFFIXES, doc="Python, torch.export (.pt2), or TorchScript (.pt)")
    weights: Path | None = params.file(None, suffixes=WEIGHTS, doc="state_dict of the module")
    compile: bool = switch(False, rebuild=True, doc="compile with torch.compile")
    cuda_graph: bool = switch(False, rebuild=True, doc="replay a step as a CUDA graph, where there is CUDA")


class Torch(TorchModel):
    """A network in PyTorch: each step runs it once. Inputs can be fed back from outputs of the previous step.

    The class of a scene's model is created by `declare`, since inputs, sliders and outputs depend on the file.
    """

    Params = Params
    tables = frozenset({"entry", "outputs"})
    diagnostic_specs = SPECS
    double_buffered = True
    source: ClassVar[TorchFile]
    arguments: ClassVar[Arguments]
    results: ClassVar[Mapping[str, Result]] = {}
    _network: Any = None
    _last_dt = 0.0  # of the last step that took time

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        found = cls.results
        if any(result.spec is None for result in found.values()):
            own = _source(cls, params), params.weights, cls.arguments
            found = probe(*own, _python_values(cls, params), cls.results)
        return {name: result.spec for name, result in found.items() if result.spec is not None}

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        vars(self)["replayed"] = params.cuda_graph
        super().__init__(name, params, inputs, seed)

    def start(self, random: np.random.Generator) -> Mapping[str, Any]:
        import torch

        self._last_dt = 0.0
        if self._network is None:
            source = _source(type(self), self.params)
            network = source.network(self.device, self.params.weights, self.params.compile)
            self._network = source.checked(network)
        self._fed = {name: first_values(fed, random, self.device) for name, fed in self.arguments.fed.items()}
        self._links.begin()  # inputs from other models have values
        self._feed(0.0)
        with torch.no_grad():
            return self._run()

    def advance(self, dt: float) -> None:
        import torch

        with torch.no_grad():
            for name, value in self._run().items():
                self._assign(name, value)

    def diagnostics(self) -> dict[str, Tensor]:
        return output_diagnostics(self.outputs())

    def compare_with_reference(self) -> list[Comparison]:
        """The network as it stands, by PyTorch on the CPU, not compiled."""
        import torch

        self.step(0.0)
        source = _source(type(self), self.params)
        with torch.random.fork_rng([]):
            torch.manual_seed(self.seed)  # as in `reset`, for weights that are random
            network = source.checked(source.network("cpu", self.params.weights))
        values = {
            name: value.cpu() if isinstance(value, torch.Tensor) else value for name, value in self._values().items()
        }
        with torch.no_grad():
            found = network(**values)
        compared = [
            compare(name, self._tensors[name].numpy(), choose(found, result.key, source.file.name).numpy(), BOUND)
            for name, result in self.results.items()
        ]
        return [replace(one, reference="PyTorch on the CPU") for one in compared]

    def scalar_state(self) -> dict[str, float]:
        return super().scalar_state() | {"last_dt": self._last_dt}

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        super().load_scalar_state(scalars)
        self._last_dt = scalars["last_dt"]

    def _feed(self, dt: float) -> None:
        self._last_dt = dt or self._last_dt  # a step without time gives the same outputs again
        for name, fed in self.arguments.fed.items():
            match fed.feed:
                case Recurrent(output=output) if dt:
                    self._fed[name].copy_(self._links.views[output].reshape(fed.shape))
                case Slider() as slider:
                    value = np.asarray(getattr(self.params, slider.parameter), np.float32).reshape(fed.shape)
                    self._fed[name].copy_(from_numpy(value))
                case Clock() as clock:
                    self._fed[name].fill_(clock.value(self._time + dt, dt))

    def _values(self) -> dict[str, Any]:
        """What the network is called with."""
        times = {"dt": self._last_dt, "time": self._time + self.dt}
        return {
            **{name: self._links.views[name] for name in self.arguments.linked},
            **self._fed,
            **_python_values(type(self), self.params),
            **{name: times[name] for name in self.arguments.times},
        }

    def _run(self) -> dict[str, Any]:
        found = self._network(**self._values())
        return {name: choose(found, result.key, self.params.file.name) for name, result in self.results.items()}

    def _graph_key(self) -> Any:
        return _python_values(type(self), self.params)

    def _parts_with_state(self) -> dict[str, Any]:
        return {"inputs": _State(self._fed)}


class _State:
    """Tensors with the methods of a module's state."""

    def __init__(self, tensors: Mapping[str, Any]):
        self._tensors = tensors

    def state_dict(self) -> Mapping[str, Any]:
        return dict(self._tensors)

    def load_state_dict(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            self._tensors[name].copy_(value)


def declare(table: Mapping[str, Any], files: SceneFiles) -> tuple[type[Torch], list[Fault]]:
    """The class of model that a scene's table describes, and what is wrong with the table."""
    try:
        path = files(table["file"])
    except (ParameterError, KeyError, TypeError, AttributeError):
        return _undeclared(table), []  # left to whoever reads the parameter `file`
    try:
        require_torch()
        source = TorchFile(path, read_entry(table), files)
        arguments = declared_arguments(table, source.arguments(), faults := [])
        faults += reserved_faults(arguments)
        results = declared_results(table, faults)
        if not faults:
            results = _inferred(table, source, arguments, results, files)
            faults += feedback_faults(arguments, results)
        faults += _graph_faults(table, arguments)
    except RequirementError as error:
        return _undeclared(table), [Fault(("type",), str(error))]
    except ParameterError as error:
        return _undeclared(table), [Fault(("entry",), str(error))]
    except (InputError, CodeError) as error:
        return _undeclared(table), [Fault(("file",), str(error))]
    fields = parameters(arguments)
    own = {
        "Params": Params if faults else create_model("Params", __base__=Params, **fields),  # type: ignore[call-overload]
        "source": source,
        "arguments": arguments,
        "results": results or {},
        "inputs": arguments.linked,
        "required_inputs": frozenset(arguments.linked),
        "own_inputs": frozenset(table_in(table, "inputs")) - frozenset(arguments.linked),
        "code_file": path if path.suffix == ".py" else None,
        "__doc__": Torch.__doc__,
    }
    return _subclass(_undeclared(table) if faults else Torch, own), faults


def _inferred(
    table: Mapping[str, Any],
    source: TorchFile,
    arguments: Arguments,
    results: dict[str, Result] | None,
    files: SceneFiles,
) -> dict[str, Result]:
    """The outputs, with all of them if the scene names none. Raises `InputError` if their shapes cannot be known."""
    if results is not None and all(result.shape is not None for result in results.values()):
        return results
    if arguments.linked:
        raise InputError(
            "shapes of outputs are not known, because inputs are other models' outputs; give them: "
            "outputs.position = { output = 0, shape = [1000, 3] }"
        )
    weights = files(table["weights"]) if isinstance(table.get("weights"), str) else None
    defaults = {name: python_value(table.get(name), field.default) for name, (_, field) in arguments.fields.items()}
    found = probe(source, weights, arguments, defaults, results)
    return found if results is None else results


def _graph_faults(table: Mapping[str, Any], arguments: Arguments) -> list[Fault]:
    """What changes in each step cannot be a value of Python in a CUDA graph."""
    message = "changes in each step; with cuda_graph pass it as a tensor"
    times = arguments.times if table.get("cuda_graph") is True else ()
    return [Fault((), f"{name} {message}: inputs.{name} = {{ time = 1.0 }}", False) for name in times]


def _source(kind: type[Torch], params: Params) -> TorchFile:
    return TorchFile(params.file, kind.source.entry, kind.source.files)


def _python_values(kind: type[Torch], params: Params) -> dict[str, Any]:
    return {name: getattr(params, name) for name in kind.arguments.fields}


def _undeclared(table: Mapping[str, Any]) -> type[Torch]:
    """For a network that cannot be read: its table cannot be checked."""
    names = {
        "tables": frozenset(table),
        "own_inputs": frozenset(table_in(table, "inputs")),
        "output_specs": classmethod(lambda cls, params: {}),
    }
    return _subclass(Torch, names)


def _subclass(base: type[Torch], members: Mapping[str, Any]) -> type[Torch]:
    return type("Torch", (base,), dict(members))
