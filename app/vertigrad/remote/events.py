"""What a browser reports of mouse and keyboard: checked messages, and what each does to `Events`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from ..viewer import dom
from ..viewer.events import Events
from .message import Params

Coordinate = Annotated[float, Field(ge=-1e5, le=1e5, allow_inf_nan=False)]
Held: TypeAlias = Annotated[tuple[dom.Modifier, ...], Field(max_length=4)]
MOST_CHARACTERS = 10_000  # of a text that is pasted


class Pointer(Params):
    """Where the mouse is, in pixels of the image."""

    x: Coordinate
    y: Coordinate
    modifiers: Held = ()

    def happen(self, keyboard: Keyboard) -> None:
        """Pass it on."""
        keyboard.hold(self.modifiers)
        keyboard.events.move(self.x, self.y)


class Button(Pointer):
    """A button of the mouse; `button` as the DOM counts: left, middle, right."""

    button: Annotated[int, Field(ge=0, le=2)]
    pressed: bool

    def happen(self, keyboard: Keyboard) -> None:
        """Pass it on."""
        super().happen(keyboard)
        keyboard.press(dom.BUTTONS[self.button], self.pressed)


class Wheel(Pointer):
    """The wheel, in notches; up and left are positive."""

    dx: Coordinate
    dy: Coordinate

    def happen(self, keyboard: Keyboard) -> None:
        """Pass it on."""
        super().happen(keyboard)
        keyboard.events.scroll(self.dx, self.dy)


class Key(Params):
    """A key: `code` says where it is and `key` what it means, as in the DOM's `KeyboardEvent`."""

    code: Annotated[str, Field(max_length=32)]
    key: Annotated[str, Field(max_length=32)]
    action: Literal["press", "release", "repeat"]
    modifiers: Held = ()

    def happen(self, keyboard: Keyboard) -> None:
        """Pass it on, with the character that it types."""
        held = set(self.modifiers)
        keyboard.hold(self.modifiers)
        printed = self.key if len(self.key) == 1 else ""
        keyboard.events.key(dom.KEYS.get(self.code, dom.OTHER), printed, dom.ACTIONS[self.action], keyboard.bits)
        if printed.isprintable() and printed and self.action != "release" and not held & {"control", "meta"}:
            keyboard.events.character(ord(printed))


class Paste(Params):
    """A text from the browser's clipboard, for the field that has the keyboard."""

    text: Annotated[str, Field(max_length=MOST_CHARACTERS)]

    def happen(self, keyboard: Keyboard) -> None:
        """Type it."""
        for character in self.text:
            keyboard.events.character(ord(character))


class Leave(Params):
    """The mouse left the image."""

    def happen(self, keyboard: Keyboard) -> None:
        """Pass it on."""
        keyboard.events.leave()


class Focus(Params):
    """The page got the keyboard, or lost it."""

    focused: bool

    def happen(self, keyboard: Keyboard) -> None:
        """Pass it on; what was held is released."""
        if not self.focused:
            keyboard.release()
        keyboard.events.focus(self.focused)


InputEvent: TypeAlias = Pointer | Button | Wheel | Key | Paste | Leave | Focus
EVENTS: dict[str, type[InputEvent]] = {
    "pointer": Pointer,
    "button": Button,
    "wheel": Wheel,
    "key": Key,
    "paste": Paste,
    "leave": Leave,
    "focus": Focus,
}


class Keyboard:
    """Which modifiers and buttons are held at the browser, and the `events` they go to."""

    events: Events

    def __init__(self) -> None:
        self._held: tuple[dom.Modifier, ...] = ()
        self._buttons: set[int] = set()

    @property
    def bits(self) -> int:
        """GLFW's bits of the modifiers that are held."""
        return sum(dom.MODIFIERS[name][0] for name in set(self._held))

    def hold(self, modifiers: tuple[dom.Modifier, ...]) -> None:
        """These modifiers are held now, and no others."""
        self._held = modifiers

    def is_down(self, keys: Sequence[int]) -> bool:
        """Whether one of several keys is held; of modifiers only, as nothing else is asked for."""
        return any(dom.MODIFIERS[name][1] in keys for name in self._held)

    def press(self, button: int, pressed: bool) -> None:
        """A button of the mouse went down or up."""
        (self._buttons.add if pressed else self._buttons.discard)(button)
        self.events.button(button, pressed, self.bits)

    def release(self) -> None:
        """Release all that is held: the user is gone."""
        self._held = ()
        for button in sorted(self._buttons):
            self.press(button, False)
