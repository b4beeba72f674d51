"""A scene's table of a network to train: its data, layers, loss, optimizer, and what is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from ... import params
from ...errors import ParameterError
from ...params import choice, described, file, integer, number, switch, unknown
from ..base import Fault, table_in
from ..data.footage import STILLS
from ..data.mesh_file import FORMATS
from ..data.placement import up_axis

Find = Callable[[str], Path]
P = TypeVar("P", bound=params.Params)
ACTIVATIONS = ("relu", "silu", "sigmoid", "softplus", "tanh")  # those of `learn.layers`, which takes long to import


class Classes(params.Params):
    """Labeled examples, drawn as points in a two-dimensional embedding."""

    file: Path = file(..., suffixes=[".npz"], doc="NumPy file with arrays `inputs` (n, ...) and `labels` (n,)")
    test: float = number(0.25, min=0.02, max=0.9, doc="fraction of the examples held out for testing")
    shift: int = integer(0, min=0, max=3, doc="augmentation: images are also used shifted by up to this many pixels")
    normalize: bool = switch(
        False, doc="normalize inputs to mean 0 and variance 1, with one mean and deviation for all"
    )


class Plane(params.Params):
    """An image or a two-dimensional array, learned as a function of position."""

    file: Path = file(
        ..., suffixes=[".npz", ".npy", *STILLS], doc="an image, or the first two-dimensional array in a file"
    )
    resolution: int = integer(80, min=8, max=1024, doc="samples along the longer side, for training and drawing")
    square: bool = switch(False, doc="same number of samples along both sides")


class Solid(params.Params):
    """A mesh, learned as a signed distance, negative inside."""

    file: Path = file(..., suffixes=FORMATS, doc="mesh file; the mesh must be closed")
    size: float = number(1.6, min=0.1, max=2.0, doc="longest edge of the mesh; the network's domain is -1 to 1")
    up: str = up_axis(rebuild=False)
    samples: int = integer(16384, min=64, max=1 << 20, doc="number of training samples")
    spread: float = number(0.06, min=1e-4, max=1.0, doc="typical distance of samples from the surface")


class Network(params.Params):
    """The network's layers."""

    kind: str = choice("mlp", ("mlp", "conv"), doc="mlp: linear layers; conv: convolutions of images before them")
    encoding: str = choice(
        "none", ("none", "waves", "octaves", "hash"), doc="encoding of positions; waves: Fourier features"
    )
    frequencies: int = integer(64, min=1, max=512, doc="number of waves, or octaves per coordinate")
    sharpness: float = number(
        1.0, min=0.01, max=50.0, doc="standard deviation of the Fourier features' frequencies, in periods per half side"
    )
    levels: int = integer(8, min=1, max=32, doc="hash grid: number of resolution levels")
    entries: int = integer(4096, min=16, max=1 << 22, doc="hash grid: table size of each level")
    features: int = integer(2, min=1, max=4, doc="hash grid: features per entry, 1, 2 or 4")
    coarsest: int = integer(4, min=1, max=1 << 12, doc="hash grid: cells along an axis of the coarsest level")
    finest: int = integer(64, min=1, max=1 << 16, doc="hash grid: cells along an axis of the finest level")
    width: int = integer(64, min=1, max=1024, doc="neurons of each hidden layer")
    depth: int = integer(2, min=1, max=16, doc="hidden layers; of a classifier, those before the embedding")
    head: int = integer(2, min=0, max=16, doc="classifier: hidden layers after the embedding")
    channels: int = integer(16, min=1, max=256, doc="channels of the first convolution, doubled by each further one")
    convolutions: int = integer(2, min=1, max=8, doc="number of convolutions, each followed by pooling by 2")
    activation: str = choice("silu", ACTIVATIONS, doc="activation function of the hidden layers")
    fused: str = choice(
        "auto", ("auto", "always", "never"), doc="fuse linear layers into one kernel: auto where that is faster"
    )


class Loss(params.Params):
    """The loss function."""

    kind: str = choice(
        "l2",
        ("l1", "l2", "huber", "cross_entropy"),
        doc="loss function; cross_entropy for classes, the others for values",
    )
    delta: float = number(1.0, min=1e-6, max=1e6, doc="huber: error at which the loss becomes linear")


class Optimizer(params.Params):
    """The optimizer; learning rate and weight decay are parameters of the model, changed while it trains."""

    kind: str = choice("adam_w", ("adam", "adam_w", "sgd"), doc="optimizer")
    clip: float = number(1.0, min=0.0, max=1e6, doc="gradient clipping: largest norm of all gradients together; 0: off")
    beta1: float = number(0.9, min=0.0, max=0.9999, doc="adam: decay rate of the first moment")
    beta2: float = number(0.999, min=0.0, max=0.999999, doc="adam: decay rate of the second moment")
    nesterov: bool = switch(False, doc="sgd: Nesterov momentum")


class Schedule(params.Params):
    """The learning rate schedule: a factor of the learning rate."""

    kind: str = choice("constant", ("constant", "cosine", "exponential"), doc="schedule")
    steps: int = integer(3000, min=1, max=1 << 30, doc="length of the cosine; half-life of the exponential")
    last: float = number(0.0, min=0.0, max=1.0, doc="cosine: final factor")
    warm_up: int = integer(0, min=0, max=1 << 30, doc="steps of linear warm-up")


class Draw(params.Params):
    """What is drawn of the network."""

    resolution: int = integer(
        96, min=8, max=1024, doc="samples along each side of the landscape, or of the solid's grid"
    )
    height: float = number(0.3, min=0.0, max=10.0, doc="height of the landscape where the network is certain")
    lift: float = number(0.02, min=0.0, max=1.0, doc="height of the points above the landscape")


DATA: Mapping[str, type[params.Params]] = {"classes": Classes, "plane": Plane, "solid": Solid}
MOST_SAMPLES = 160  # along each side of a solid's box


class Tables(NamedTuple):
    """The tables of one model, checked."""

    data: Any  # one of `DATA`
    network: Network
    loss: Loss
    optimizer: Optimizer
    schedule: Schedule
    draw: Draw


NAMES = Tables._fields


def read_tables(table: Mapping[str, Any], find: Find, faults: list[Fault]) -> Tables | None:
    """The tables of a model's table; what is wrong with them is added to `faults`, and None returned."""
    before = len(faults)
    data = _data(table, find, faults)
    kinds = {"network": Network, "loss": Loss, "optimizer": Optimizer, "schedule": Schedule, "draw": Draw}
    tables = {name: dict(table_in(table, name, faults)) for name in kinds}
    if isinstance(data, Classes):
        tables["loss"].setdefault("kind", "cross_entropy")
    if isinstance(data, Solid):
        tables["draw"].setdefault("resolution", 40)
    found = {name: _read(kind, tables[name], (name,), find, faults) for name, kind in kinds.items()}
    if data is None or None in found.values() or len(faults) > before:
        return None
    tables = Tables(data, **found)  # type: ignore[arg-type]
    _check_together(tables, faults)
    return tables if len(faults) == before else None


def _data(table: Mapping[str, Any], find: Find, faults: list[Fault]) -> params.Params | None:
    if "data" not in table:
        faults.append(Fault((), f"needs a table `data` with its kind: {', '.join(DATA)}", False))
        return None
    data = dict(table_in(table, "data", faults))
    if not isinstance(table["data"], Mapping):
        return None
    kind = data.pop("kind", None)
    if kind is None:
        faults.append(Fault(("data",), f"kind must be given; known: {', '.join(DATA)}", False))
        return None
    if not isinstance(kind, str) or kind not in DATA:
        message = (
            unknown("kind of data", kind, DATA) if isinstance(kind, str) else f"expected a kind, got {described(kind)}"
        )
        faults.append(Fault(("data", "kind"), message))
        return None
    return _read(DATA[kind], data, ("data",), find, faults)


def _read(kind: type[P], table: Mapping[str, Any], path: tuple[str, ...], find: Find, faults: list[Fault]) -> P | None:
    values = dict(table)
    for spec in kind.specs():
        if spec.kind == "file" and isinstance(values.get(spec.name), str):
            try:
                values[spec.name] = find(values[spec.name])
            except ParameterError as error:
                faults.append(Fault((*path, spec.name), str(error)))
                return None
    try:
        return kind.model_validate(values)
    except ValidationError as error:
        for problem in kind.problems(error):
            is_there = problem.name in values
            message = problem.message if is_there else f"{problem.name} {problem.message}"
            faults.append(Fault((*path, problem.name) if is_there else path, message, problem.in_value and is_there))
    return None


def _check_together(tables: Tables, faults: list[Fault]) -> None:
    has_classes, loss = isinstance(tables.data, Classes), tables.loss.kind
    if has_classes and loss != "cross_entropy":
        faults.append(Fault(("loss", "kind"), f"{loss} compares values; classes are learned by cross_entropy"))
    if not has_classes and loss == "cross_entropy":
        faults.append(Fault(("loss", "kind"), "cross_entropy is for classes; values are learned by l1, l2 or huber"))
    if not has_classes and tables.network.kind == "conv":
        faults.append(Fault(("network", "kind"), "conv is for images of classes; positions need an mlp"))
    if has_classes and tables.network.encoding != "none":
        faults.append(Fault(("network", "encoding"), "is for positions; classes are learned from unencoded inputs"))
    if tables.network.features == 3:
        faults.append(Fault(("network", "features"), "an entry has 1, 2 or 4 numbers, not 3"))
    if tables.network.finest < tables.network.coarsest:
        faults.append(Fault(("network", "finest"), "the last grid must not be coarser than the first"))
    if tables.network.encoding == "octaves" and tables.network.frequencies > 16:
        faults.append(Fault(("network", "frequencies"), "the last octaves would be beyond f32; 16 are the most"))
    if isinstance(tables.data, Solid) and tables.draw.resolution > MOST_SAMPLES:
        message = f"{tables.draw.resolution} samples along each side of a box; {MOST_SAMPLES} are the most"
        faults.append(Fault(("draw", "resolution"), message))
