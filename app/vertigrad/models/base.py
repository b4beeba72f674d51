"""`Model`, the interface of all models: parameters, inputs, outputs, and a time step."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

import numpy as np

from .. import params as declared
from ..deprecation import renamed_method
from ..errors import InputError
from .inside import HeldInside, InnerTensor, Inside, Observed
from .interaction import NO_INTERACTION, Gesture, Interaction
from .stepping import FixedStep

if TYPE_CHECKING:  # a scene is checked without a GPU, and so without tensors
    from ..tensor import Tensor

_BYTES = {"f16": 2, "f32": 4, "i32": 4, "u32": 4, "bool": 4, "u8": 1}  # bool is stored as u32
OLD_NAMES = {  # of methods, up to version 0.1
    "compare_with_twin": "compare_with_reference",
    "numbers": "scalar_state",
    "reread": "reload_file",
    "resume": "load_scalar_state",
    "touch": "interact",
}


@dataclass(frozen=True)
class OutputSpec:
    """Shape and dtype of an output, known from the parameters alone.

    `shape` has None for a size that is only known when the model runs; `dtype` is the name of a dtype. For models that
    create their tensors by name, `tensor` is the one that the output is a view of, by default that of the output's own
    name, and `columns` is what of its last axis is in the output, by default all.
    """

    shape: tuple[int | None, ...]
    dtype: str
    doc: str = ""
    tensor: str = ""
    columns: int | slice | None = None

    def __post_init__(self) -> None:
        if self.dtype not in _BYTES:
            raise ValueError(f"{self.dtype} is not the name of a dtype: {', '.join(_BYTES)}")

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return _BYTES[self.dtype]

    @property
    def nbytes(self) -> int:
        """Bytes of the output; unknown sizes count as 1."""
        return self.itemsize * math.prod(1 if size is None else size for size in self.shape)


@dataclass(frozen=True)
class Comparison:
    """A quantity computed by a model on the GPU, compared with a reference, by default one in NumPy.

    `error` is ‖model − reference‖ / ‖reference‖ over all elements, `bound` the largest that is accepted.
    """

    name: str
    error: float
    bound: float
    reference: str = "its NumPy reference"

    @property
    def holds(self) -> bool:
        """Whether the two agree."""
        return self.error <= self.bound

    def __str__(self) -> str:
        verdict = "agrees with" if self.holds else "DIFFERS FROM"
        return f"{self.name}: {verdict} {self.reference}, relative error {self.error:.1e}, bound {self.bound:.0e}"


def compare(name: str, ours: np.ndarray, reference: np.ndarray, bound: float) -> Comparison:
    """Compare two arrays of one shape in float64. Values that are not finite never agree."""
    difference = float(np.linalg.norm(ours.astype(float) - reference) / max(float(np.linalg.norm(reference)), 1e-300))
    return Comparison(name, difference if math.isfinite(difference) else math.inf, bound)


class Fault(NamedTuple):
    """An error in a scene's table that describes a model: the path of the entry, and a message.

    `in_value` is true if the value is wrong, false if the name is, or if the entry is missing.
    """

    path: tuple[str, ...]
    message: str
    in_value: bool = True


def table_in(table: Mapping[str, Any], name: str, faults: list[Fault] | None = None) -> Mapping[str, Any]:
    """The table of this name within another; empty if there is none, or if it is no table, which is a fault."""
    found = table.get(name, {})
    if isinstance(found, Mapping):
        return found
    if faults is not None:
        faults.append(Fault((name,), f"expected a table, got {declared.described(found)}"))
    return {}


class Limit(NamedTuple):
    """The bound of a diagnostic above which results are unreliable, and advice to the user."""

    bound: float
    advice: str


class ExtraState(NamedTuple):
    """A copy of some state of a model, and how many bytes it takes."""

    value: Any
    nbytes: int


class DiagnosticSpec(NamedTuple):
    """What a diagnostic measures, and its unit (empty if dimensionless)."""

    doc: str
    unit: str = ""


class PartOfData(Protocol):
    """Which rows of larger data the outputs of a model hold: `numbers`, of `count`; -1 for a row that holds none."""

    count: int
    numbers: np.ndarray
    version: int  # changes with `numbers`

    def pieces(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """All rows of the data, some at a time: their numbers (n,), and their positions (n, 3)."""
        ...

    def gathered(self, mask: np.ndarray) -> dict[str, np.ndarray]:
        """The outputs of these rows of the data, of all: a mask (count,)."""
        ...


class Viewpoint(NamedTuple):
    """What the camera sees: `world_to_clip` (4, 4), and the `height` of the image in pixels.

    `clip_per_unit` is how far x and y of clip space move by a world unit across, `w_per_unit` w by one along the view.
    """

    world_to_clip: np.ndarray
    height: int
    clip_per_unit: np.ndarray
    w_per_unit: float

    @property
    def pixels(self) -> float:
        """Pixels of a world unit where w of clip space is 1."""
        return 0.5 * self.height * float(self.clip_per_unit[1])

    def same_as(self, other: Viewpoint) -> bool:
        """Whether the image shows the same."""
        return self.height == other.height and np.array_equal(self.world_to_clip, other.world_to_clip)


class Placement(NamedTuple):
    """Where a grid is in space: `affine` (4, 4) maps indices x, y, z to positions, in `unit`.

    `quantity` is the unit of the values. Both are empty if nobody knows.
    """

    affine: np.ndarray
    unit: str = ""
    quantity: str = ""


class WrittenText(NamedTuple):
    """A text that a model writes: its beginning, what has been read back of the continuation, whether it has ended."""

    prompt: str
    continuation: str
    ended: bool


class ModelCamera(NamedTuple):
    """Where a camera of a model is: eye and target in world space, and its vertical field of view [degrees]."""

    position: tuple[float, ...]
    target: tuple[float, ...]
    fov: float


class Model(ABC):
    """A simulation or a network whose state is in tensors. Subclasses are final.

    `inputs` describes by name which other models' outputs it can take, and what each is for; those in
    `required_inputs` it cannot do without. `own_inputs` are inputs with another syntax in a scene, and `tables` keys
    of a scene's table that are neither parameters nor known to every model. `gestures` are those that `interact` takes,
    `interacts_on_surface` is whether they follow the visible surface. `diagnostic_specs` describe the diagnostics of
    built-in models by name, and `limits` are their maxima. `clocks` divide its time into physical
    steps, for models that take steps of a fixed length; they report time that was dropped.
    """

    Params: ClassVar[type[declared.Params]]
    inputs: ClassVar[Mapping[str, str]] = {}
    required_inputs: ClassVar[frozenset[str]] = frozenset()
    own_inputs: ClassVar[frozenset[str]] = frozenset()
    tables: ClassVar[frozenset[str]] = frozenset()
    gestures: ClassVar[frozenset[Gesture]] = frozenset()
    interacts_on_surface: ClassVar[bool] = False
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {}
    limits: ClassVar[Mapping[str, Limit]] = {}
    exports: ClassVar[tuple[str, ...]] = ()  # suffixes of the files that `export` makes
    code_file: ClassVar[Path | None] = None  # Python that it runs, if that is not the file of its class
    has_steps: ClassVar[bool] = True  # whether it has steps and random numbers; else seed and substeps are not shown
    differentiable: ClassVar[bool] = False  # whether gradients flow from its outputs to its parameters and inputs
    follows_camera: bool = False  # whether `look` does anything
    divisible: bool = True  # whether the work of a step can be spread over several frames, and cancelled
    readbacks: Sequence[str] = ()  # what each step reads back, and waits for
    observed_at_start: ClassVar[Observed] = Observed()  # what `inside` observes from the first step on
    clocks: tuple[FixedStep, ...] = ()
    _interaction: Interaction | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for old, new in OLD_NAMES.items():
            if old in cls.__dict__:
                warnings.warn(f"{cls.__name__}.{old} is now called {new}", FutureWarning, stacklevel=3)
                setattr(cls, new, cls.__dict__[old])
            elif new in cls.__dict__:
                setattr(cls, old, renamed_method(old, cls.__dict__[new]))  # so that `super` finds it

    @abstractmethod
    def __init__(self, name: str, params: Any, inputs: Mapping[str, Tensor], seed: int) -> None:
        """`params` is a checked `Params` of this class; `inputs` holds at least the required inputs."""

    @classmethod
    def without_effect(cls, params: Any, inputs: Collection[str]) -> Mapping[str, str]:
        """Return the parameters that change nothing while the others are as in `params`, by name, and why.

        `inputs` are the names of those that are connected. Needs no GPU.
        """
        return {}

    @classmethod
    def choices(cls, params: Any) -> Mapping[str, Sequence[str]]:
        """Return what parameters that are texts can be, by name, such as the columns of a file: for menus.

        Needs no GPU. Raises `InputError` if a file cannot be used.
        """
        return {}

    @classmethod
    @abstractmethod
    def output_specs(cls, params: Any) -> Mapping[str, OutputSpec]:
        """Specs of the outputs of a model with these parameters, by name.

        Needs no GPU. Raises `InputError` if a file that the parameters name cannot be used.
        """

    @abstractmethod
    def step(self, dt: float) -> None:
        """Record one step of `dt` seconds. Parameters are read at each call: changes act from then on."""

    def _tool(self, gesture: Gesture | None = None) -> Interaction:
        """The interaction, if its gesture is this one; else one without strength."""
        interaction = self._interaction
        return NO_INTERACTION if interaction is None or gesture not in (None, interaction.gesture) else interaction

    def interact(self, interaction: Interaction | None) -> None:
        """Set the interaction that acts in every step from the next on; None for none.

        Its gesture is one of `gestures`. Records nothing: a step is a function of the state, the parameters and this.
        """
        assert interaction is None or self.gestures, f"{type(self).__name__} has no gestures"
        self._interaction = interaction

    @abstractmethod
    def outputs(self) -> dict[str, Tensor]:
        """The output tensors by the names of `output_specs`."""

    @abstractmethod
    def diagnostics(self) -> dict[str, Tensor]:
        """Diagnostics such as the energy: tensors of one element, recorded now.

        The caller reads and closes them.
        """

    @abstractmethod
    def compare_with_reference(self) -> list[Comparison]:
        """Take a step, and compare the result with the NumPy reference. Waits for the GPU; may take seconds."""

    @abstractmethod
    def reset(self) -> None:
        """Return to the initial state, with the current parameters."""

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """Every tensor that a step changes and that is needed later, outputs included: the content of a snapshot.

        Together with `scalar_state` it is complete: with both restored, the next step gives the same bits. Of tensors
        that share memory one is enough, since the whole block is copied.
        """

    @abstractmethod
    def scalar_state(self) -> dict[str, float]:
        """Scalar state outside of tensors, such as the model's time."""

    @abstractmethod
    def load_scalar_state(self, scalars: Mapping[str, float]) -> None:
        """Restore the scalar state that `scalar_state` returned earlier; records nothing."""

    @classmethod
    def inner_tensors(cls, params: Any) -> Mapping[str, InnerTensor] | None:
        """The tensors of `inside`, known without a GPU; None if they are known only when the model runs.

        Raises `InputError` if a file that the parameters name cannot be used.
        """
        return None

    @classmethod
    def ablatable(cls, params: Any) -> Mapping[str, InnerTensor] | None:
        """Tensors inside of which units can be set to zero, known without a GPU; None for a model that has none.

        Raises as `inner_tensors`.
        """
        return cls.inner_tensors(params)

    @property
    def inside(self) -> Inside:
        """The tensors inside the model that can be drawn: by default those that it keeps from step to step."""
        return HeldInside(self)

    def placement(self) -> Placement | None:
        """Return where its grid of values is in space; None if it has none, or a place of no meaning."""
        return None

    def look(self, view: Viewpoint, wait: bool) -> bool:
        """Change outputs to what this view needs, for models that hold a part of their data; whether more comes.

        With `wait` all that is needed is there at once. Called before each image where `follows_camera`.
        """
        return False

    def part_of_data(self) -> PartOfData | None:
        """Which part of its data its outputs hold; None if they hold all."""
        return None

    def written_text(self) -> WrittenText | None:
        """Return the text that the model writes, which is shown over the viewport; None if it writes none."""
        return None

    def extra_state(self) -> ExtraState | None:
        """A copy of state that is neither in tensors nor a scalar, such as that of an optimizer of PyTorch."""
        return None

    def load_extra_state(self, state: ExtraState) -> None:
        """Restore what `extra_state` returned earlier. Raises `InputError` if it does not fit."""
        raise InputError(f"{type(self).__name__} has no extra state")

    def model_camera(self, output: str, row: int) -> ModelCamera | None:
        """The camera that a row of an output stands for; None if it stands for none."""
        return None

    @abstractmethod
    def reload_file(self, name: str) -> bool:
        """Reload the file of the parameter `name`, without a step.

        Return False, with nothing changed, if it does not fit the existing tensors: the model must be rebuilt.
        Raises `InputError` if the file cannot be used; the model is unchanged then.
        """

    def differentiate(self, names: Collection[str]) -> Mapping[str, Tensor]:
        """Compute from now on so that gradients flow to the parameters of these names; returns their tensors, f32 (1,).

        Call `reset` next. Raises `InputError` if the model has no gradients with respect to its parameters.
        """
        raise InputError(
            f"models of the type {type(self).__name__} have no gradients with respect to their parameters, since their "
            "steps are kernels; a CustomModel whose step consists of tensor operations has them"
        )

    def export(self, suffix: str) -> bytes:
        """Trained weights as a file with this suffix, one of `exports`. Waits for the GPU. Raises `InputError`."""
        raise NotImplementedError(f"{type(self).__name__} has nothing to export")

    @abstractmethod
    def close(self) -> None:
        """Release every tensor. Idempotent."""
