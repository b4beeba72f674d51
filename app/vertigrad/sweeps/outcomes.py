"""Outcomes: what is measured at the end of each run, chosen by name."""

from __future__ import annotations

import hashlib
import inspect
import math
import runpy
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import CodeError, InputError, ParameterError
from ..headless.still import Still
from ..headless.video import FORMATS
from ..params import unknown
from ..scene.code import PATTERN, code_error
from ..session import Session, catalog
from ..session.measurements import measured, parse_watch
from ..session.watches import Watch
from ..tensor import Tensor

EXPECTED = (
    'expected "diagnostics", a diagnostic such as galaxy.energy, a statistic such as galaxy.position:max, a function '
    f'such as file.py:function, "image", or "video" ({", ".join(f"video{suffix}" for suffix in FORMATS)})'
)


class FinishedRun:
    """A run at its end, as functions that are outcomes get it."""

    def __init__(self, session: Session, seed: int | None):
        self.session, self.seed = session, seed

    @property
    def time(self) -> float:
        """The simulated time [s]."""
        return self.session.time

    @property
    def outputs(self) -> Mapping[str, Tensor]:
        """The outputs of all models, such as "galaxy.position"; they are the models' own, not to be closed."""
        return {
            f"{name}.{key}": tensor
            for name, instance in self.session.stage.instances.items()
            for key, tensor in instance.outputs.items()
        }

    @property
    def diagnostics(self) -> Mapping[str, float]:
        """The diagnostics of all models, such as "galaxy.energy"."""
        return dict(self.session.diagnostics)

    def tensor(self, name: str) -> Tensor:
        """Any tensor of a model, as the Tensors panel names it. Raises `ParameterError` if there is none."""
        return catalog.require(self.session.stage, name)

    def image(self, size: tuple[int, int]) -> np.ndarray:
        """The scene as it is now, (height, width, 4) u8. Raises `InputError`."""
        return Still(self.session).image(size)


class Outcome(ABC):
    """Something that is measured at the end of a run; `identity` is the part of the run's key that names it."""

    @property
    @abstractmethod
    def identity(self) -> str: ...

    @abstractmethod
    def require(self, run: FinishedRun) -> None:
        """Raise `InputError` if a run of this scene does not have it."""

    @abstractmethod
    def measure(self, run: FinishedRun) -> Mapping[str, float]:
        """The numbers by name; waits for the GPU."""


@dataclass(frozen=True)
class Diagnostic(Outcome):
    """A diagnostic of a model, as "model.name"; all of them if `name` is empty."""

    name: str = ""

    @property
    def identity(self) -> str:
        return self.name or "diagnostics"

    def require(self, run: FinishedRun) -> None:
        if self.name and self.name not in run.diagnostics:
            raise InputError(f"--outcome {self.name}: {unknown('diagnostic', self.name, run.diagnostics)}")

    def measure(self, run: FinishedRun) -> Mapping[str, float]:
        self.require(run)
        return {self.name: run.diagnostics[self.name]} if self.name else run.diagnostics


@dataclass(frozen=True)
class Statistic(Outcome):
    """A statistic of a tensor, by the text of a watch; the column has that name."""

    text: str

    @property
    def identity(self) -> str:
        return self.text

    @property
    def _watch(self) -> Watch:
        return parse_watch(self.text)

    def require(self, run: FinishedRun) -> None:
        run.tensor(self._watch.tensor)

    def measure(self, run: FinishedRun) -> Mapping[str, float]:
        (value,) = measured(run.session, [self._watch]).values()
        return {self.text: value}


@dataclass(frozen=True)
class Function(Outcome):
    """A function of a `FinishedRun`: `call`, or the one called `name` in the Python file `path`.

    It returns a number, or numbers by name.
    """

    name: str
    path: Path | None = None
    call: Callable[[FinishedRun], Any] | None = None

    @property
    def identity(self) -> str:
        """Its name and the digest of its source."""
        return f"{self.name}@{hashlib.sha256(self._source()).hexdigest()[:16]}"

    def require(self, run: FinishedRun) -> None:
        self._function()

    def measure(self, run: FinishedRun) -> Mapping[str, float]:
        return {name: _number(f"outcome {self.name}", value) for name, value in self.values(run).items()}

    def values(self, run: FinishedRun) -> Mapping[str, Any]:
        """What the function returns, by name. Raises `CodeError`."""
        function = self._function()
        try:
            found = function(run)
        except Exception as error:
            if self.path is not None:
                raise code_error(error, self.path) from error
            raise CodeError(f"outcome {self.name}: {type(error).__name__}: {error}") from error
        return {
            str(name): value for name, value in (found if isinstance(found, Mapping) else {self.name: found}).items()
        }

    def _function(self) -> Callable[[FinishedRun], Any]:
        if self.call is not None:
            return self.call
        assert self.path is not None
        found = _functions(self.path, self._source())
        if not callable(found.get(self.name)):
            own = [name for name, value in found.items() if inspect.isfunction(value)]
            raise CodeError(f"--outcome {self.path.name}:{self.name}: {unknown('function', self.name, own)}")
        return found[self.name]

    def _source(self) -> bytes:
        try:
            if self.path is not None:
                return self.path.read_bytes()
            return inspect.getsource(self.call).encode()  # pyright: ignore[reportArgumentType]
        except (OSError, TypeError) as error:
            if self.path is not None:
                raise InputError(f"--outcome {self.path}:{self.name}: cannot be read ({error})") from error
            return repr(getattr(self.call, "__qualname__", "")).encode()


@dataclass(frozen=True)
class File(Outcome):
    """The last image as PNG, or a video; `name` is that of the file: "image.png", "video.mp4"."""

    name: str

    @property
    def identity(self) -> str:
        return self.name

    def require(self, run: FinishedRun) -> None:
        """Every scene has it."""

    def measure(self, run: FinishedRun) -> Mapping[str, float]:
        return {}


@cache
def _functions(path: Path, source: bytes) -> Mapping[str, Any]:
    """The names that a Python file defines; it is run once for each content. Raises `CodeError`."""
    try:
        return runpy.run_path(str(path), run_name=f"vertigrad_outcomes_{path.stem}")
    except (Exception, SystemExit) as error:
        raise code_error(error, path) from error


def parse_outcome(outcome: str | Callable[[FinishedRun], Any]) -> Outcome:
    """The outcome of a name, or of a function. Raises `InputError`."""
    if not isinstance(outcome, str):
        return Function(getattr(outcome, "__name__", type(outcome).__name__), call=outcome)
    kind, dot, suffix = outcome.partition(".")
    if outcome == "diagnostics":
        return Diagnostic()
    if outcome == "image":
        return File("image.png")
    if kind == "video" and (not dot or f".{suffix}" in FORMATS):
        return File(f"video.{suffix or 'mp4'}")
    if match := PATTERN.fullmatch(outcome):
        path = Path(match[1]).absolute()
        if not path.is_file():
            raise InputError(f"--outcome {outcome}: there is no file {path}")
        return Function(match[2], path)
    if ":" in outcome:
        try:
            parse_watch(outcome)
        except ParameterError as error:
            raise InputError(f"--outcome {outcome}: {error}") from error
        return Statistic(outcome)
    if not dot or not kind or not suffix:
        raise InputError(f"--outcome {outcome}: {EXPECTED}")
    return Diagnostic(outcome)


def measure(outcomes: Sequence[Outcome], run: FinishedRun) -> dict[str, float]:
    """The numbers of all outcomes by name. Raises `InputError`, and what a function raises as `CodeError`."""
    found: dict[str, float] = {}
    for outcome in outcomes:
        found |= outcome.measure(run)
    return found


def _number(where: str, value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise CodeError(f"{where}: expected a number, or numbers by name, got {type(value).__name__}") from error
    return number if not math.isnan(number) else math.nan
