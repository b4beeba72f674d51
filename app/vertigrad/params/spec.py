"""`ParamSpec`: limits, unit and GUI hints of a parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["number", "integer", "switch", "choice", "text", "color", "vector", "interval", "angle", "file", "ends"]
Scale = Literal["linear", "log"]
Gizmo = Literal["", "position"]


class Auto(int):
    """An integer chosen by the program where a scene says "auto".

    It can be used as that integer; `same` distinguishes it from an integer that the user chose.
    """


def same(one: Any, other: Any) -> bool:
    """Whether two values of a parameter are equal; all integers chosen by the program are."""
    if isinstance(one, Auto) or isinstance(other, Auto):
        return isinstance(one, Auto) and isinstance(other, Auto)
    return one == other


@dataclass(frozen=True, kw_only=True)
class ParamSpec:
    """One parameter of a model or of a layer's style, as declared with `number(...)`, `choice(...)` etc.

    Values beyond `min` and `max` are rejected; `slider_min` and `slider_max` are only the range of a slider.
    A change of a `rebuild` parameter reshapes tensors. `length` is the number of elements of a
    vector, `words` are allowed instead of a value (such as "auto"), `suffixes` are the allowed endings of a
    file's name. An `auto` integer is chosen to fit the GPU where a scene says "auto". A vector whose `gizmo` is
    "position" is a position in the scene, which can be moved with a gizmo. A text that is a `curve` has points, as
    "0:0 1:1", and is edited with the mouse.
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
    curve: bool = False
    doc: str = ""

    @property
    def optional(self) -> bool:
        """Whether None is allowed, for a value that is not given."""
        return not self.required and self.default is None

    @property
    def label(self) -> str:
        """The name for display: `seed_spread` is "seed spread"."""
        return self.name.replace("_", " ")
