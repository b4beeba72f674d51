"""What is known about one parameter beyond its type: limits, unit, how a GUI shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["number", "integer", "switch", "choice", "text", "color", "vector", "interval", "angle", "file", "ends"]
Scale = Literal["linear", "log"]
Gizmo = Literal["", "position"]


class Auto(int):
    """An integer that the program chose, or is to choose, where a scene says "auto".

    It equals that number in all that is calculated with it; only what is written to files is told apart, by `same`.
    """


def same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter would be written alike."""
    if isinstance(one, Auto) or isinstance(other, Auto):
        return isinstance(one, Auto) and isinstance(other, Auto)
    return one == other


@dataclass(frozen=True, kw_only=True)
class ParamSpec:
    """One parameter of a model or of a layer's style, as declared with `number(...)`, `choice(...)` etc.

    Values beyond `min` and `max` are refused; `slider_min` and `slider_max` are only where a slider ends.
    A parameter that is `rebuild` reshapes tensors when it changes. `length` is the number of elements of a
    vector, `words` are what may stand in place of a value (such as "auto"), `suffixes` what a file's name
    may end in. An integer that is `auto` is chosen to fit the adapter where a scene says "auto". A vector whose
    `gizmo` is "position" is a place in the scene, which can be moved by hand in the picture.
    """

    name: str = ""
    kind: Kind
    default: Any = None
    required: bool = False
    min: float | None = None
    max: float | None = None
    slider_min: float | None = None
    slider_max: float | None = None
    unit: str = ""
    scale: Scale = "linear"
    rebuild: bool = False
    choices: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    length: int = 1
    suffixes: tuple[str, ...] = ()
    auto: bool = False
    gizmo: Gizmo = ""
    doc: str = ""

    @property
    def optional(self) -> bool:
        """Whether None is a value too, meaning that it was left out."""
        return not self.required and self.default is None

    @property
    def label(self) -> str:
        """The name as a person reads it: `seed_spread` is "seed spread"."""
        return self.name.replace("_", " ")
