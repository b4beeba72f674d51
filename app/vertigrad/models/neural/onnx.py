"""`Onnx`: a network from a file, its inputs fed by sliders, constants, other models, time, or its own outputs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import create_model

from ... import ops, params
from ...errors import InputError, ParameterError
from ...params import file
from ...tensor import Tensor
from ..base import Comparison, Fault, Model, OutputSpec, compare, table_in
from ..inside import InnerTensor, Inside
from ..model_bases import PartsModel
from ..parts import Parts
from .feeds import Clock, Feed, Fixed, Noise, Recurrent, Slider
from .onnx_graph import inner_tensors
from .onnx_outputs import without_batch, without_room
from .onnx_program import RunningNetwork
from .onnx_table import declared_dims, declared_feeds, declared_outputs, fixed, parameter, size_parameter
from .output_diagnostics import SPECS, output_diagnostics

if TYPE_CHECKING:
    from ...onnx_import import Network

_log = logging.getLogger("vertigrad")
REFERENCE_ELEMENTS = 1 << 22  # of all inputs together: beyond that, ONNX's reference in NumPy takes too long
_KEYS = ("file", "inputs", "outputs", "dims")


class Params(params.Params):
    """Which network. A scene's sliders and sizes are added to these."""

    file: Path = file(..., suffixes=[".onnx"], doc="ONNX file")


class Onnx(PartsModel):
    """An ONNX network as a model: each step runs it once. Inputs can be fed back from outputs of the previous step.

    The class of a scene's model is created by `declare`, since inputs, sliders and outputs depend on the file.
    """

    Params = Params
    tables = frozenset({"outputs", "dims"})
    feeds: ClassVar[Mapping[str, Feed]] = {}
    names: ClassVar[Mapping[str, str]] = {}  # of the outputs: as the scene has them, and as the network does
    sizes: ClassVar[tuple[str, ...]] = ()  # named dimensions that are parameters
    diagnostic_specs = SPECS

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        network = _network(params.file, _dims(cls, params), cls.names.values())
        specs = network.output_specs()
        missing = sorted(set(cls.names.values()) - set(specs))
        if missing:
            raise InputError(f"{params.file} has no output {', '.join(missing)}; it has {', '.join(specs)}")
        return {
            ours: OutputSpec(without_batch(specs[theirs].shape), specs[theirs].dtype, f"output {theirs} of the network")
            for ours, theirs in cls.names.items()
        }

    def __init__(self, name: str, params: Params, inputs: Mapping[str, Tensor], seed: int):
        self.name, self._params, self._seed = name, params, seed
        self._time = self._dt = 0.0
        self._fed: dict[str, tuple[bytes, int]] = {}  # what was written into inputs last, and the revision it gave
        with self._building() as parts:
            self._network = parts.enter_context(_network(params.file, _dims(type(self), params), self.names.values()))
            self._tensors = self._own_inputs(parts)
            self._linked = {name: inputs[name] for name in self._network.inputs if name in inputs}
            self._feed_all()
            self._start_noise()
            self._running = parts.enter_context(closing(self._recorded()))
            self._report_readbacks()
            self.reset()

    @property
    def inside(self) -> Inside:
        return self._running

    @classmethod
    def inner_tensors(cls, params: Params) -> Mapping[str, InnerTensor]:
        return inner_tensors(_network(params.file, _dims(cls, params)))

    def step(self, dt: float) -> None:
        self._time, self._dt = self._time + dt, dt
        if dt:
            self._running.carry()
        self._run()

    def outputs(self) -> dict[str, Tensor]:
        return self._running.outputs

    def diagnostics(self) -> dict[str, Tensor]:
        return output_diagnostics(self.outputs())

    def compare_with_reference(self) -> list[Comparison]:
        """The network as it stands, by ONNX's reference in NumPy; its error is that of float32 sums."""
        from onnx.reference import ReferenceEvaluator

        self._run()
        arrays = {name: tensor.numpy() for name, tensor in self._tensors.items()}
        arrays |= {name: tensor.numpy() for name, tensor in self._linked.items()}
        arrays |= {name: feed.array for name, feed in self.feeds.items() if isinstance(feed, Fixed)}
        if sum(array.size for array in arrays.values()) > REFERENCE_ELEMENTS:
            raise InputError(f"{self.name}: too large for its NumPy reference; set smaller sizes for the check")
        expected = self._network.inputs
        arrays = {name: np.asarray(array).astype(expected[name][0]) for name, array in arrays.items()}
        references = ReferenceEvaluator(str(self._params.file)).run(list(self.names.values()), arrays)
        return [
            compare(ours, *without_room(tensor.numpy(), np.asarray(reference)), 1e-4)
            for (ours, tensor), reference in zip(self.outputs().items(), references, strict=True)
        ]

    def reset(self) -> None:
        self._time = self._dt = 0.0
        self._start_noise()
        self._run()

    def state(self) -> dict[str, Tensor]:
        recurrent = {f"input {n}": self._tensors[n] for n, feed in self.feeds.items() if isinstance(feed, Recurrent)}
        return self.outputs() | recurrent

    def scalar_state(self) -> dict[str, float]:
        return {"time": self._time}

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        self._time = scalars["time"]

    def _own_inputs(self, parts: Parts) -> dict[str, Tensor]:
        """A tensor for each input that is fed from here and may change."""
        tensors = {}
        for name, (dtype, sizes) in self._network.inputs.items():
            feed = self.feeds.get(name)
            if feed is None or isinstance(feed, Fixed):
                continue
            shape = fixed(sizes, _dims(type(self), self._params))
            kind = "i32" if dtype.kind in "iu" else dtype
            tensors[name] = parts.enter_context(Tensor.empty(shape, kind, f"{self.name}.{name}"))
        return tensors

    def _recorded(self) -> RunningNetwork:
        dtypes = {name: dtype for name, (dtype, _) in self._network.inputs.items()}
        constants = {
            name: feed.array.astype(dtypes[name]) for name, feed in self.feeds.items() if isinstance(feed, Fixed)
        }
        fed = {name: feed.output for name, feed in self.feeds.items() if isinstance(feed, Recurrent)}
        inputs = {**self._tensors, **self._linked}
        return RunningNetwork(self._network, self.names, inputs, constants, fed, self.observed_at_start)

    def _start_noise(self) -> None:
        random = np.random.default_rng(self._seed)
        for name, feed in self.feeds.items():
            if isinstance(feed, Noise):
                tensor = self._tensors[name]
                tensor[...] = feed.start(tensor.shape, random).astype(tensor.dtype.numpy)

    def _report_readbacks(self) -> None:
        """Say once what each step waits for; such a step is not spread over frames."""
        self.readbacks = self._running.readbacks
        self.divisible = not self.readbacks
        if self.readbacks:
            what = "; ".join(self.readbacks)
            _log.warning("%s: shapes depend on numbers of the GPU: each step waits to read back %s", self.name, what)

    def _run(self) -> None:
        self._feed_all()
        self._running.update()

    def _feed_all(self) -> None:
        """Write the inputs that follow from parameters and time."""
        for name, feed in self.feeds.items():
            if isinstance(feed, Slider):
                tensor = self._tensors[name]
                value = getattr(self._params, feed.parameter)
                self._feed(name, np.asarray(value, tensor.dtype.numpy).reshape(tensor.shape))
            elif isinstance(feed, Clock):
                self._feed(name, feed.value(self._time, self._dt))

    def _feed(self, name: str, value: float | np.ndarray) -> None:
        """Write an input, unless it holds this."""
        tensor, content = self._tensors[name], np.asarray(value).tobytes()
        if self._fed.get(name) != (content, tensor.block.revision):
            ops.assign(tensor, value)
            self._fed[name] = content, tensor.block.revision


_CLASSES: dict[Any, type[Model]] = {}  # by file and tables: the network of an edited scene goes on if these are equal


def declare(table: Mapping[str, Any], find: Callable[[str], Path]) -> tuple[type[Model], list[Fault]]:
    """The class of model that a scene's table describes, and what is wrong with the table.

    `find` is how the scene's files are looked up; what it raises is left to whoever reads the parameter `file`.
    """
    try:
        path = find(table["file"])
    except (ParameterError, KeyError, TypeError, AttributeError, OSError):
        return _undeclared(table), []
    status = path.stat()
    key = path, status.st_mtime_ns, status.st_size, repr([table.get(name) for name in ("inputs", "outputs", "dims")])
    if key in _CLASSES:
        return _CLASSES[key], []
    try:
        network = _network(path)
    except InputError as error:
        return _undeclared(table), [Fault(("file",), str(error))]
    faults: list[Fault] = []
    dims = declared_dims(table, network, faults)
    feeds = declared_feeds(table, network, faults)
    names = declared_outputs(table, network, faults)
    fields = {
        feed.parameter: parameter(feed, network.inputs[name], dims, faults)
        for name, feed in feeds.items()
        if isinstance(feed, Slider)
    }
    fields |= {name: (int, size_parameter(name, size)) for name, size in dims.items()}
    taken = [name for name in fields if name in (*_KEYS, "seed", "substeps", "type", "ui")]
    faults += [Fault(("inputs",), f"{name} means something else in a scene file; rename the input") for name in taken]
    linked = {
        name: "a tensor for this input" for name, entry in table_in(table, "inputs").items() if isinstance(entry, str)
    }
    own = {
        "Params": create_model("Params", __base__=Params, **fields) if not taken else Params,  # type: ignore[call-overload]
        "feeds": feeds,
        "names": names,
        "sizes": tuple(dims),
        "inputs": linked,
        "required_inputs": frozenset(linked),
        "own_inputs": frozenset(table_in(table, "inputs")) - frozenset(linked),
        "__doc__": Onnx.__doc__,
    }
    kind = type("Onnx", (Onnx,), own)
    if not faults:
        _CLASSES[key] = kind
    return kind, faults


def _undeclared(table: Mapping[str, Any]) -> type[Model]:
    """For a network that cannot be read: its table cannot be checked."""
    return type("Onnx", (Onnx,), {"tables": frozenset(table), "own_inputs": frozenset(table_in(table, "inputs"))})


def _network(path: Path, dims: Mapping[str, int] | None = None, inside: Iterable[str] = ()) -> Network:
    """Read a file. ONNX's library is large: a scene without such a network does not load it."""
    from ...onnx_import import Network

    return Network(path, dims, list(inside))


def _dims(kind: type[Onnx], values: params.Params) -> dict[str, int]:
    return {name: getattr(values, name) for name in kind.sizes}
