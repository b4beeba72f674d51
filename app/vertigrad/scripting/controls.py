"""`Control` and `Button`: widgets of a script's viewer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..session.parameters import Key
from .document import CONTROLS
from .values import plain

if TYPE_CHECKING:
    from .content import Content


class Control:
    """A slider, a check box or another widget. `value` is what it shows now; assigning moves the widget.

    Assigning raises `ParameterError` for a value of the wrong type or out of range, `InputError` if the viewer is
    closed.
    """

    def __init__(self, content: Content, name: str):
        self.name = name
        self._content = content

    @property
    def value(self) -> Any:
        """The current value."""
        return getattr(self._content.session.stage.instances[CONTROLS].params, self.name)

    @value.setter
    def value(self, value: Any) -> None:
        self._content.require_open()
        self._content.session.running.assign({Key(f"models.{CONTROLS}", self.name): plain(value)})

    def __repr__(self) -> str:
        return f"Control({self.name!r}, value={self.value!r})"


class Button:
    """A button above the parameters. `clicks` counts how often it was clicked."""

    def __init__(self, content: Content, label: str):
        self.label, self.clicks = label, 0
        self._content = content
        self._asked = 0

    @property
    def clicked(self) -> bool:
        """Whether it was clicked since this was asked last: for loops that do without a callback."""
        asked, self._asked = self._asked, self.clicks
        return self.clicks > asked

    def press(self) -> None:
        """As if the user clicked it: it takes effect with the next frame. Raises `InputError`."""
        self._content.require_open()
        self._content.session.script.press_button(self.label)

    def remove(self) -> None:
        """Take it out of the window. Idempotent. Raises `InputError` if the viewer is closed."""
        self._content.require_open()
        self._content.session.script.buttons.pop(self.label, None)

    def __repr__(self) -> str:
        return f"Button({self.label!r}, clicks={self.clicks})"
