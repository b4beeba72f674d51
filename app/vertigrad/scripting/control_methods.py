"""`ControlMethods`: a method for each kind of control."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from .. import params as declared
from ..errors import InputError
from ..params import unknown
from ..session.parameters import Key
from .checks import checked_number, checked_text, described
from .content import Content
from .controls import Control
from .document import CONTROLS
from .values import plain

SCALES = ("linear", "log")


class ControlMethods(ABC):
    """Adds controls to the Parameters panel. A name is an identifier; adding it again replaces the control.

    Each method raises `InputError` for another name, and `ParameterError` for a value out of range.
    """

    _content: Content

    @abstractmethod
    def _show_gizmo(self, key: Key) -> None:
        """Show handles in the viewport for a parameter."""

    def _control(self, name: str, annotation: Any, field: Any) -> Control:
        self._content.add_control(name, annotation, field)
        return Control(self._content, name)

    def slider(
        self,
        name: str,
        value: float = 0.0,
        *,
        min: float = 0.0,
        max: float = 1.0,
        unit: str = "",
        scale: Literal["linear", "log"] = "linear",
        doc: str = "",
    ) -> Control:
        """A slider for a number, or for an integer if `value`, `min` and `max` are integers. `doc` is the tooltip."""
        value, min, max = plain(value), plain(min), plain(max)
        numbers = [checked_number(one, f"{name}: {key}") for key, one in (("value", value), ("min", min), ("max", max))]
        if not numbers[1] < numbers[2]:
            raise InputError(f"{name}: min is {min} and max is {max}; min must be below max")
        if scale not in SCALES:
            raise InputError(f"{name}: {unknown('scale', str(scale), SCALES)}")
        if scale == "log" and not numbers[1] > 0.0:
            raise InputError(f"{name}: min is {min}; a logarithmic slider needs one above 0")
        if isinstance(value, int) and isinstance(min, int) and isinstance(max, int):
            return self._control(name, int, declared.integer(value, min=min, max=max, unit=unit, scale=scale, doc=doc))
        return self._control(name, float, declared.number(value, min=min, max=max, unit=unit, scale=scale, doc=doc))

    def checkbox(self, name: str, value: bool = False, *, doc: str = "") -> Control:
        """A check box; its value is a bool."""
        return self._control(name, bool, declared.switch(plain(value), doc=doc))

    def choice(self, name: str, choices: Sequence[str], value: str | None = None, *, doc: str = "") -> Control:
        """A list of names to choose from; the first is chosen if no `value` is given."""
        if isinstance(choices, str) or not isinstance(choices, Sequence):
            raise InputError(f"{name}: choices: expected a list of texts, got {described(choices)}")
        if not choices:
            raise InputError(f"{name}: there is nothing to choose from")
        for each in choices:
            checked_text(each, f"{name}: choices")
        chosen = choices[0] if value is None else value
        return self._control(name, str, declared.choice(chosen, choices, doc=doc))

    def color(self, name: str, value: Any = "#ffffff", *, doc: str = "") -> Control:
        """A color; its value is (red, green, blue) from 0 to 1, as a screen shows them."""
        return self._control(name, tuple[float, float, float], declared.color(plain(value), doc=doc))

    def text(self, name: str, value: str = "", *, doc: str = "") -> Control:
        """A field for text."""
        return self._control(name, str, declared.text(value, doc=doc))

    def vector(
        self,
        name: str,
        value: Sequence[float] = (0.0, 0.0, 0.0),
        *,
        gizmo: bool = False,
        min: float | None = None,
        max: float | None = None,
        unit: str = "",
        doc: str = "",
    ) -> Control:
        """Numbers side by side. With `gizmo`, three numbers are a position with handles in the viewport."""
        if np.ndim(value) != 1 or not len(value):
            raise InputError(f"{name}: expected numbers such as (0, 0, 0), got {described(value)}")
        vector = tuple(checked_number(number, name) for number in value)
        if gizmo and len(vector) != 3:
            raise InputError(f"{name}: a position in the scene has 3 numbers, not {len(vector)}")
        field = declared.vector(
            vector, length=len(vector), gizmo="position" if gizmo else "", min=min, max=max, unit=unit, doc=doc
        )
        control = self._control(name, tuple[float, ...], field)
        if gizmo:
            self._show_gizmo(Key(f"models.{CONTROLS}", name))
        return control
