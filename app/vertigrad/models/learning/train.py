"""`Train`: a network of a scene's own that is trained while it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import create_model

from ... import ops, params
from ...errors import InputError, ShapeError
from ...gpu import Plan
from ...learn.export import to_onnx, to_safetensors
from ...learn.network import Network
from ...learn.weights import Weights
from ...params import choice, file, integer, number
from ...tensor import Tensor, f32, i32
from ...tensor.graph import no_grad
from ..base import Comparison, DiagnosticSpec, Fault, Model, OutputSpec, compare
from ..inside import InnerTensor, Inside
from ..model_bases import NamedTensorsModel
from ..parts import Parts
from .train_batch import record_choice
from .train_chain import NetworkChain, names_of
from .train_data import Examples, Kind, examples, kind_of
from .train_files import CHECKPOINT, checkpoint, read_start, restore
from .train_inside import TrainedInside
from .train_network import loss_gradient, loss_of, network_of, optimizer_of, prepared
from .train_shown import ShownNetwork
from .train_tables import NAMES, Classes, Find, Tables, read_tables
from .train_views import specs_of, view_of
from .training_model import learning_rate, train_switch

NOT_YET = 3e38  # the best loss before any was measured
COMPARED = 256  # examples that the reference works out


class Params(params.Params):
    """What can be changed while it learns."""

    learning_rate: float = learning_rate(3e-3, "the optimizer", slider_max=0.1, max=10.0)
    weight_decay: float = number(0.0, min=0.0, max=1.0, slider_max=0.1, doc="weight decay of the optimizer")
    steps: int = integer(1, min=1, max=1024, slider_max=32, doc="training steps per simulation step")
    batch_size: int = integer(
        256,
        min=0,
        max=1 << 20,
        slider_max=4096,
        rebuild=True,
        doc="examples per training step, chosen at random; 0: all",
    )
    train: bool = train_switch()
    show: str = choice(
        "newest", ("newest", "best"), doc="weights that are drawn and exported: newest, or best test_loss"
    )
    weights: Path | None = file(
        None,
        suffixes=[".safetensors", CHECKPOINT],
        doc="initial weights, or a checkpoint to resume from",
    )


class Train(NamedTensorsModel):
    """A network trained with some optimizer steps per simulation step.

    A training step is one plan: choice of the batch, forward, backward, gradient clipping and optimizer. After each
    simulation step the network is evaluated on the test examples, and the best weights so far are saved. The same seed
    gives the same bits on one GPU. The class of a scene's model is created by `declare`.
    """

    Params = Params
    tables = frozenset(NAMES)
    exports = (".safetensors", ".onnx", CHECKPOINT)
    scene_tables: ClassVar[Tables | None] = None
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {
        "loss": DiagnosticSpec("loss of the last training step"),
        "gradient_norm": DiagnosticSpec("norm of the gradient"),
        "test_loss": DiagnosticSpec("loss on the test examples"),
        "best_loss": DiagnosticSpec("lowest test_loss so far"),
        "accuracy": DiagnosticSpec("accuracy on the test examples; classification only"),
    }

    @classmethod
    def output_specs(cls, params: Params) -> Mapping[str, OutputSpec]:
        tables = _tables_of(cls)
        kind = kind_of(tables.data)
        try:
            network_of(tables, kind, np.random.default_rng(0))
        except ShapeError as error:
            raise InputError(f"the network does not fit its data: {error}") from error
        return specs_of(tables, kind)

    @classmethod
    def ablatable(cls, params: Params) -> Mapping[str, InnerTensor]:
        tables = _tables_of(cls)
        network, _ = network_of(tables, kind_of(tables.data), np.random.default_rng(0))
        return {name: InnerTensor("layer") for name in names_of(network)}

    def step(self, dt: float) -> None:
        values = self._params
        self._measure_start()
        if values.train and dt > 0.0:
            self._optimizer.lr, self._optimizer.weight_decay = values.learning_rate, values.weight_decay
            for _ in range(values.steps):
                self._step()
            self._shown.replay("evaluate")
        self._shown.replay(values.show)
        self._inside.replay()

    def diagnostics(self) -> dict[str, Tensor]:
        self._measure_start()
        found = {name: ops.copy(tensor) for name, tensor in self._statistics.items()}
        return found if isinstance(self._tables.data, Classes) else {n: found[n] for n in found if n != "accuracy"}

    def compare_with_reference(self) -> list[Comparison]:
        """What the network makes of some of the tests, and the gradients of all that is learned, in float64."""
        inputs, targets = self._tests(self._data)
        inputs, targets = inputs[:COMPARED], targets[:COMPARED]
        leaves = self._weights.leaves()
        with Tensor.from_numpy(inputs) as x, Tensor.from_numpy(targets) as target:
            result = self._network.apply(x, leaves)
            self._loss_of(result, target).backward()
            ours, found = result.numpy(), leaves.gradient().numpy()
        weights = {name: tensor.numpy() for name, tensor in self._weights.items()}
        value = self._network.reference(inputs, weights)
        by_name = self._network.gradients(inputs, weights, loss_gradient(self._tables.loss, value, targets))
        gradients = np.concatenate([by_name[name].ravel() for name in self._network.trainable(weights)])
        return [compare("result", ours, value, 1e-4), compare("gradients", found, gradients, 1e-3)]

    def reset(self) -> None:
        with no_grad():
            for name, array in self._network.trainable(self._start).items():
                self._weights[name][...] = array
                self._best[name][...] = array
            self._statistics["best_loss"].fill_(NOT_YET)
        self._optimizer.reset()
        self._is_measured = 0
        if self._file is not None and self._goes_on:
            self._measure_start()
            self._optimizer.step_count = restore(self._file, self._memory())
        self._shown.replay(self._params.show)
        self._inside.replay()

    @property
    def inside(self) -> Inside:
        return self._inside

    def state(self) -> dict[str, Tensor]:
        return self._memory() | self._views

    def scalar_state(self) -> dict[str, float]:
        return {"taken": self._optimizer.step_count, "is_measured": self._is_measured}

    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        self._optimizer.step_count, self._is_measured = int(scalars["taken"]), int(scalars["is_measured"])

    def export(self, suffix: str) -> bytes:
        if suffix == CHECKPOINT:
            return checkpoint(self._memory(), self._optimizer.step_count)
        chosen = self._best if self._params.show == "best" else self._weights
        weights = {name: tensor.numpy() for name, tensor in chosen.items()}
        if suffix == ".onnx":
            return to_onnx(self._network, weights, self.name, self._data.mean, self._data.std)
        metadata = {"steps": self._optimizer.step_count, "mean": self._data.mean, "deviation": self._data.std}
        return to_safetensors(weights, {name: str(value) for name, value in metadata.items()})

    def _create(self, parts: Parts) -> None:
        self._tables = _tables_of(type(self))
        kind, random = kind_of(self._tables.data), np.random.default_rng(self._seed)
        self._data = examples(self._tables.data, self._seed)
        count = len(self._data.inputs)
        self._network, self._cut = network_of(self._tables, kind, random)
        self._network = self._network.fused(self._tables.network.fused, self._params.batch_size or count)
        self._loss_of = loss_of(self._tables.loss)
        self._start = self._network.init(random)
        self._file = self._params.weights
        self._goes_on = self._file is not None and self._file.suffix == CHECKPOINT
        if self._file is not None and not self._goes_on:
            self._start = read_start(self._file, self._start)
        self._create_tensors(parts, kind)
        self._record(parts)
        rows = len(self._data.inputs) if self._batch is None else self._batch.size
        chain = NetworkChain(self._shown, self._weights, self._chosen, rows, self._loss_of, self._show)
        self._inside = parts.enter_context(TrainedInside(self, chain, self._measure_start))

    def _create_tensors(self, parts: Parts, kind: Kind) -> None:
        name, held = self.name, parts.enter_context
        learned = self._network.trainable(self._start)
        self._weights, self._best = (held(Weights(self._start, learned, f"{name}.{what}")) for what in ("now", "best"))
        self._statistics = {key: parts.zeros(key, 1) for key in self.diagnostic_specs}
        momentum, tables = getattr(self._params, "momentum", 0.0), self._tables
        self._optimizer = held(optimizer_of(tables.optimizer, tables.schedule, [self._weights.row], momentum))
        shown = self._data._replace(shown=prepared(self._tables, self._data.shown))
        self._view = view_of(parts, self._tables, kind, shown, self._cut)
        self._examples = parts.copied("inputs", prepared(self._tables, self._data.inputs))
        self._targets = parts.copied("targets", self._data.targets)
        size, count = self._params.batch_size, len(self._data.inputs)
        self._batch = parts.zeros("batch", size, dtype=i32) if 0 < size < count else None

    def _record(self, parts: Parts) -> None:
        self._train_step = parts.plan("train")
        self._record_training()
        self._gradients = parts.views(self._weights.parts(self._optimizer.gradients[0]))  # of the last step
        self._test_inputs, self._test_targets = (parts.copied("tests", array) for array in self._tests(self._data))
        self._shown = parts.enter_context(ShownNetwork(self.name, self._network, self._record_shown))

    def _memory(self) -> dict[str, Tensor]:
        """All that steps depend on, but for their number."""
        best = {f"best.{name}": tensor for name, tensor in self._best.items()}
        return {**self._weights, **best, **self._optimizer.state, **self._statistics}

    def _step(self) -> None:
        first = {} if self._batch is None else self._first()
        self._train_step.replay(**first, **self._optimizer.fields())

    def _measure_start(self) -> None:
        """Compute the loss, the gradient and the statistics of the tests for the first weights, unless that was done.

        The first image needs none of it, and the kernels are those of a training step.
        """
        if self._is_measured:
            return
        self._is_measured = 1
        rate, self._optimizer.lr = self._optimizer.lr, 0.0
        self._step()  # which moves nothing
        self._optimizer.lr = rate
        self._optimizer.reset()
        self._shown.replay("evaluate")

    def _record_training(self) -> None:
        with self._train_step.recording():
            if self._batch is not None:
                record_choice(self._train_step, self._batch, len(self._data.inputs), self._seed, self.name)
            inputs, targets = self._chosen()
            leaves = self._weights.leaves()
            loss = self._loss_of(self._network.apply(inputs, leaves), targets)
            loss.backward()
            self._weights.row.grad = leaves.gradient()
            with no_grad():
                ops.assign(self._statistics["loss"], loss.detach())
                norm = self._optimizer.norm()
                ops.assign(self._statistics["gradient_norm"], norm)
            self._optimizer.step(norm=norm)

    def _chosen(self, row: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Inputs and targets of the batch, or of that example of it."""
        chosen = self._batch if row is None or self._batch is None else ops.take(self._batch, row, 0)
        if chosen is None:
            chosen = row
        if chosen is None:
            return self._examples, self._targets
        return ops.take(self._examples, chosen, 0), ops.take(self._targets, chosen, 0)

    def _first(self) -> dict[str, Any]:
        assert self._batch is not None
        offset = self._optimizer.step_count * self._batch.size
        return {"first": (offset & 0xFFFFFFFF, offset >> 32)}

    def _record_shown(self, plans: Mapping[str, Plan], network: Network) -> None:
        with plans["evaluate"].recording(), no_grad():
            self._record_evaluation(network, self._test_inputs, self._test_targets)
        for which, weights in (("newest", self._weights), ("best", self._best)):
            with plans[which].recording(), no_grad():
                self._view.record(network, weights)

    def _show(self) -> None:
        """Test and draw it again."""
        self._shown.replay("evaluate")
        self._shown.replay(self._params.show)

    def _record_evaluation(self, network: Network, inputs: Tensor, targets: Tensor) -> None:
        """The loss of the tests; if it is the least so far, and of the whole network, the weights are saved."""
        result = network.apply(inputs, self._weights)
        statistics = self._statistics
        ops.assign(statistics["test_loss"], self._loss_of(result, targets))
        if not network.masks:
            is_better = ops.less(statistics["test_loss"], statistics["best_loss"])
            ops.where(is_better, self._weights.row, self._best.row, out=self._best.row)
            ops.minimum(statistics["test_loss"], statistics["best_loss"], out=statistics["best_loss"])
        if isinstance(self._tables.data, Classes):
            right = ops.equal(ops.argmax(result, axis=-1), targets)
            ops.assign(statistics["accuracy"], ops.mean(ops.cast(right, f32)))

    def _tests(self, data: Examples) -> tuple[np.ndarray, np.ndarray]:
        return prepared(self._tables, data.shown[-data.tests :]), data.shown_targets[-data.tests :]


_CLASSES: dict[str, type[Model]] = {}  # by the tables: a file that is saved with the same ones goes on learning


def declare(table: Mapping[str, Any], find: Find) -> tuple[type[Model], list[Fault]]:
    """The class of model that a scene's table describes, and what is wrong with the table."""
    faults: list[Fault] = []
    tables = read_tables(table, find, faults)
    if tables is None:
        return Train, faults
    key = repr(tables)
    if key not in _CLASSES:
        _CLASSES[key] = type(
            "Train", (Train,), {"scene_tables": tables, "Params": _params(tables), "__doc__": Train.__doc__}
        )
    return _CLASSES[key], faults


def _params(tables: Tables) -> type[params.Params]:
    if tables.optimizer.kind != "sgd":
        return Params
    momentum = number(0.9, min=0.0, max=0.999, rebuild=True, doc="momentum of sgd")
    return create_model("Params", __base__=Params, momentum=(float, momentum))  # type: ignore[call-overload]


def _tables_of(kind: type[Train]) -> Tables:
    if kind.scene_tables is None:
        raise InputError("a network to train is described by the tables of a scene; use `declare`")
    return kind.scene_tables
