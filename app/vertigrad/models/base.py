"""What every model gives: parameters, the tensors it takes and makes, and a step forward in time."""

from __future__ import annotations

import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from .. import params as declared
from .stepping import FixedStep
from .touch import Gesture, Touch

if TYPE_CHECKING:  # a scene is checked without a GPU, and so without tensors
    from ..tensor import Tensor

_BYTES = {"f16": 2, "f32": 4, "i32": 4, "u32": 4, "bool": 4, "u8": 1}  # bool is kept as u32


@dataclass(frozen=True)
class OutputSpec:
    """What an output will be, known from the parameters alone.

    `shape` has None where a size is known only once the model runs; `dtype` is a tensor's dtype by name.
    """

    shape: tuple[int | None, ...]
    dtype: str
    doc: str = ""

    def __post_init__(self) -> None:
        if self.dtype not in _BYTES:
            raise ValueError(f"{self.dtype} is not the name of a dtype: {', '.join(_BYTES)}")

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return _BYTES[self.dtype]

    @property
    def nbytes(self) -> int:
        """Bytes of the output, sizes not known yet counted as one."""
        return self.itemsize * math.prod(1 if size is None else size for size in self.shape)


@dataclass(frozen=True)
class Comparison:
    """A quantity that a model computed on the GPU beside its NumPy reference.

    `error` is ‖model − reference‖ / ‖reference‖ over all its elements, `bound` what it may be.
    """

    name: str
    error: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the two agree."""
        return self.error <= self.bound

    def __str__(self) -> str:
        verdict = "agrees with" if self.holds else "DIFFERS FROM"
        return f"{self.name}: {verdict} its NumPy reference, relative error {self.error:.1e}, bound {self.bound:.0e}"


def compare(name: str, ours: np.ndarray, reference: np.ndarray, bound: float) -> Comparison:
    """The comparison of two arrays of one shape, in float64. Values that are not finite never agree."""
    difference = float(np.linalg.norm(ours.astype(float) - reference) / max(float(np.linalg.norm(reference)), 1e-300))
    return Comparison(name, difference if math.isfinite(difference) else math.inf, bound)


class Fault(NamedTuple):
    """Something wrong in the table of a scene that describes a model: the path of the entry, and what it is.

    `in_value` is true if its value is wrong, false if its name is, or if it is missing.
    """

    path: tuple[str, ...]
    message: str
    in_value: bool = True


class Limit(NamedTuple):
    """The bound of a diagnostic above which a model is not to be trusted, and what the user can do about it."""

    bound: float
    advice: str


class DiagnosticSpec(NamedTuple):
    """What a diagnostic measures, and its unit; empty for one without."""

    doc: str
    unit: str = ""


class Model(ABC):
    """A simulation or a network whose state lies in tensors. Subclasses are final.

    `inputs` says by name what other models' outputs it can take, and what each is for; those in
    `required_inputs` it cannot do without. `own_inputs` are inputs that a scene gives in another way, and `tables` keys
    of a scene's table that are neither parameters nor known to every model. `gestures` are those that `touch` takes,
    `touched_on_surface` is whether one that moves stays on what is seen. `diagnostic_specs` describe the diagnostics of
    built-in models by name, and `limits` say how large they may become. `clocks` are what cuts its time into physical
    steps, if anything does: they say what they drop.
    """

    Params: ClassVar[type[declared.Params]]
    inputs: ClassVar[Mapping[str, str]] = {}
    required_inputs: ClassVar[frozenset[str]] = frozenset()
    own_inputs: ClassVar[frozenset[str]] = frozenset()
    tables: ClassVar[frozenset[str]] = frozenset()
    gestures: ClassVar[frozenset[Gesture]] = frozenset()
    touched_on_surface: ClassVar[bool] = False
    diagnostic_specs: ClassVar[Mapping[str, DiagnosticSpec]] = {}
    limits: ClassVar[Mapping[str, Limit]] = {}
    exports: ClassVar[tuple[str, ...]] = ()  # suffixes of the files that `export` makes
    clocks: tuple[FixedStep, ...] = ()
    _touch: Touch | None = None

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        old = cls.__dict__.get("compare_with_twin")  # its name up to version 0.1
        if old is not None:
            warnings.warn(f"{cls.__name__}.compare_with_twin is now called compare_with_reference", FutureWarning, 2)
            cls.compare_with_reference = old

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
    @abstractmethod
    def output_specs(cls, params: Any) -> Mapping[str, OutputSpec]:
        """The outputs that a model with these parameters will have, by name.

        Needs no GPU. Raises `InputError` if a file that the parameters name cannot be used.
        """

    @abstractmethod
    def step(self, dt: float) -> None:
        """Records one step of `dt` seconds. Parameters are read at each call: a change holds from the next step on."""

    def touch(self, touch: Touch | None) -> None:
        """From the next step on this is done to it, in every step until something else is, or None: nothing.

        Its gesture is one of `gestures`. Records nothing: a step is a function of the state, the parameters and this.
        """
        assert touch is None or self.gestures, f"{type(self).__name__} has no gestures"
        self._touch = touch

    @abstractmethod
    def outputs(self) -> dict[str, Tensor]:
        """The output tensors by the names of `output_specs`."""

    @abstractmethod
    def diagnostics(self) -> dict[str, Tensor]:
        """Numbers that tell whether the model is well, such as its energy: one element each, recorded now.

        The caller reads them, when they arrive, and closes them.
        """

    @abstractmethod
    def compare_with_reference(self) -> list[Comparison]:
        """Take a step, and compare what it gave with the NumPy reference. Waits for the GPU; may take some seconds."""

    @abstractmethod
    def reset(self) -> None:
        """Back to the first state, with the parameters as they are now."""

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """Every tensor that a step changes and that is needed after it, outputs among them: what a snapshot copies.

        With `numbers` it says all: given both back, the next step gives the same bits. Of tensors that share memory one
        is enough, since the whole block is copied.
        """

    @abstractmethod
    def numbers(self) -> dict[str, float]:
        """What a step changes outside of tensors, such as a time that the model keeps."""

    @abstractmethod
    def resume(self, numbers: Mapping[str, float]) -> None:
        """Take back what `numbers` said at some earlier moment; records nothing."""

    @abstractmethod
    def reread(self, name: str) -> bool:
        """The file that the parameter `name` names was written anew: take it in, without a step.

        False, with nothing changed, if that cannot be done with the tensors there are: the model must be built anew.
        Raises `InputError` if the file cannot be used; the model goes on as it was.
        """

    def export(self, suffix: str) -> bytes:
        """What it has learned as a file of this kind, one of `exports`. Waits for the GPU. Raises `InputError`."""
        raise NotImplementedError(f"{type(self).__name__} has nothing to export")

    @abstractmethod
    def close(self) -> None:
        """Gives back every tensor. Closing twice does nothing."""
