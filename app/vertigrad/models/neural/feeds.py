"""Sources of an ONNX network's inputs, from a scene's `inputs.NAME`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from ...errors import InputError
from ...params import described

STARTS = ("zeros", "ones", "normal", "uniform", "seed")


@dataclass(frozen=True)
class Slider:
    """`{ slider = [-2, 2] }`, with `value` for where it starts: a parameter with that range."""

    MOST: ClassVar[int] = 64

    name: str
    range: tuple[float, float]
    value: float | tuple[float, ...] | None = None

    @property
    def parameter(self) -> str:
        """The name of its parameter."""
        return "".join(c if c.isalnum() else "_" for c in self.name)

    def middle(self, count: int) -> tuple[float, ...]:
        """Where its elements start."""
        start = sum(self.range) / 2.0 if self.value is None else self.value
        return tuple(start) if isinstance(start, tuple) else (start,) * count


@dataclass(frozen=True)
class Fixed:
    """A number or an array: part of the network from now on."""

    array: np.ndarray


@dataclass(frozen=True)
class Clock:
    """`{ time = RATE }` or `{ step = RATE }`: simulated seconds so far, or those of the step, times the rate."""

    rate: float
    of_step: bool

    def value(self, time: float, dt: float) -> float:
        """The number to feed."""
        return self.rate * (dt if self.of_step else time)


@dataclass(frozen=True)
class Noise:
    """`{ start = "normal" }`: numbers drawn from the model's seed at each reset."""

    kind: str | float

    def start(self, shape: tuple[int, ...], random: np.random.Generator) -> np.ndarray:
        """The numbers."""
        if self.kind == "normal":
            return random.standard_normal(shape, np.float32)
        if self.kind == "uniform":
            return random.random(shape, np.float32)
        value = {"zeros": 0.0, "ones": 1.0, "seed": 0.0}[self.kind] if isinstance(self.kind, str) else self.kind
        array = np.full(shape, value, np.float32)
        if self.kind == "seed":  # one cell in the middle, of images (batch, channels, height, width)
            array[(..., *(n // 2 for n in shape[-2:]))] = 1.0
        return array


@dataclass(frozen=True)
class Recurrent(Noise):
    """`{ feedback = "OUTPUT", start = "zeros" }`: an output of the last step; the first time, `start`."""

    output: str


Feed: TypeAlias = Slider | Fixed | Clock | Noise


def read_feed(name: str, entry: Any, outputs: Sequence[str]) -> Feed:
    """What `inputs.NAME` describes, if it is no other model's output. Raises `InputError` if it is nothing known."""
    if _is_number(entry):
        return Fixed(np.array(entry))
    if isinstance(entry, Sequence) and not isinstance(entry, str):
        return Fixed(_array(entry))
    if not isinstance(entry, Mapping):
        raise InputError(f'expected "MODEL.OUTPUT", numbers, or a table such as {{ slider = [-1, 1] }}, got '
                         f"{described(entry)}")  # fmt: skip
    match sorted(entry):
        case ["slider"] | ["slider", "value"]:
            return Slider(name, _range(entry["slider"]), _value(entry.get("value")))
        case ["time"]:
            return Clock(_number(entry["time"], "time"), of_step=False)
        case ["step"]:
            return Clock(_number(entry["step"], "step"), of_step=True)
        case ["start"]:
            return Noise(_kind(entry["start"]))
        case ["feedback"] | ["feedback", "start"]:
            output = entry["feedback"]
            if output not in outputs:
                raise InputError(f"feedback: the network has no output {output!r}; it has {', '.join(outputs)}")
            return Recurrent(_kind(entry.get("start", "zeros")), output)
    raise InputError(
        f"expected one of slider, time, step, start, feedback; got {', '.join(sorted(entry)) or 'nothing'}"
    )


def _is_number(entry: Any) -> bool:
    return isinstance(entry, int | float) and not isinstance(entry, bool)


def _number(entry: Any, what: str) -> float:
    if not _is_number(entry):
        raise InputError(f"{what}: expected a number, got {described(entry)}")
    return float(entry)


def _range(entry: Any) -> tuple[float, float]:
    if not isinstance(entry, Sequence) or len(entry) != 2 or not all(map(_is_number, entry)) or not entry[0] < entry[1]:
        raise InputError(f"slider: expected [low, high] with low below high, got {described(entry)}")
    return float(entry[0]), float(entry[1])


def _value(entry: Any) -> float | tuple[float, ...] | None:
    if entry is None or _is_number(entry):
        return None if entry is None else float(entry)
    return tuple(float(number) for number in _array(entry).reshape(-1))


def _array(entry: Any) -> np.ndarray:
    try:
        array = np.array(entry)
    except ValueError as error:
        raise InputError("its rows differ in length") from error
    if array.dtype.kind not in "if":
        raise InputError("expected numbers in its list")
    return array


def _kind(entry: Any) -> str | float:
    if _is_number(entry):
        return float(entry)
    if entry not in STARTS:
        raise InputError(f"start: expected a number or one of {', '.join(STARTS)}; got {described(entry)}")
    return entry
