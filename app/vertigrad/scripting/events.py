"""`EventMethods`: buttons, keys and picking: functions of the script that the viewer calls between two frames."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from ..errors import InputError
from ..session.followed_row import Row
from ..session.readbacks import wait_for_readbacks
from ..session.row_values import row_index
from .checks import checked_number, checked_text
from .content import Content
from .controls import Button
from .keys import key_name

F = TypeVar("F", bound=Callable[..., Any])


class Pick(NamedTuple):
    """A row of a layer that was picked. `position` is where the row is in world space; None if its layer has none.

    Of a surface, `cell` is the triangle that was hit, and the row its nearest corner; of an image, the row is the index
    of the pixel.
    """

    layer: str
    row: int
    position: tuple[float, float, float] | None
    cell: int | None


class Events:
    """Calls the functions for what happened since the last frame. An error in one is shown like those of the program:

    the window stays open, shows the traceback and pauses; without a window it is raised.
    """

    def __init__(self, content: Content):
        self.running = False  # within a callback
        self.buttons: dict[str, tuple[Button, Callable[[], object] | None]] = {}
        self.keys: dict[str, Callable[[], object]] = {}
        self.picked: Callable[[Pick], object] | None = None
        self._content = content
        self._row: Row | None = None  # that was reported last

    def deliver(self) -> None:
        """Call what is due; further events that the functions cause are for the next frame."""
        session = self._content.session
        due = list(session.script.events)
        session.script.events.clear()
        for kind, name in due:
            if kind == "button":
                button, call = self.buttons[name]
                button.clicks += 1
                if call is not None:
                    self._call(f"callback of button {name!r}", call)
            else:
                self._call(f"callback of key {name!r}", self.keys[name])
        if not self._content.closed and session.selection.picked is not self._row:
            self._row = session.selection.picked
            if self._row is not None and self.picked is not None and self._row.layer in session.stage.layers:
                self._call("callback of picking", self.picked, self.pick_of(self._row))

    def pick_of(self, row: Row) -> Pick:
        """A row with its position, which is read now: waits for the GPU."""
        layer = self._content.session.stage.layers[row.layer]
        bound = layer.attributes.tensors.get("position")
        position = None
        if bound is not None and "position" in layer.ATTRIBUTES and row.row < layer.attributes.rows:
            with bound.tensor[row_index(bound.tensor, row.row, layer.attributes.rows)] as part:
                x, y, z = (float(value) for value in part.numpy().ravel())
            position = x, y, z
        return Pick(row.layer, row.row, position, row.cell)

    def _call(self, stage: str, call: Callable[..., object], *arguments: Any) -> None:
        if self._content.closed:
            return
        self.running = True
        try:
            call(*arguments)
        except Exception as error:
            self._content.session.fail(stage, error)
        finally:
            self.running = False


class EventMethods(ABC):
    """Functions that are called between two frames, in the thread of your loop: they may do what the loop may.

    They cannot call `frames` and `update`. Adding one again replaces it.
    """

    _content: Content
    _events: Events

    @abstractmethod
    def _picking_size(self) -> tuple[int, int]:
        """Width and height of the image in which pixels are counted."""

    def button(self, label: str, callback: Callable[[], object] | None = None, *, doc: str = "") -> Button:
        """A button above the parameters. `callback()` is called when it is clicked; or ask `button.clicked` in a loop.

        `doc` is the tooltip. Raises `InputError`.
        """
        self._content.require_open()
        checked_text(label, "label")
        _require_callable(callback, "callback")
        button = Button(self._content, label)
        self._events.buttons[label] = button, callback
        self._content.session.script.buttons[label] = doc
        return button

    def on_key(self, key: str, callback: Callable[[], object] | None = None) -> Any:
        """Call `callback()` when a key is pressed: "space", "r", "F2", "ctrl+left". Also a decorator.

        The key does then nothing else in the window. Raises `InputError` for what is no key.
        """
        self._content.require_open()
        name = key_name(key)

        def put(callback: F) -> F:
            _require_callable(callback, "callback")
            self._events.keys[name] = callback
            self._content.session.script.keys.add(name)
            return callback

        return put if callback is None else put(callback)

    def on_pick(self, callback: F) -> F:
        """Call `callback(pick)` when a row of a layer is clicked or chosen in the Selection panel. Also a decorator.

        `pick` has `layer`, `row`, `position` and `cell`.
        """
        self._content.require_open()
        _require_callable(callback, "callback")
        self._events.picked = callback
        return callback

    def press_key(self, key: str) -> None:
        """As if the user pressed a key that has a callback: it is called with the next frame. Raises `InputError`."""
        self._content.require_open()
        if (name := key_name(key)) not in self._events.keys:
            raise InputError(f"no callback was given for the key {name}")
        self._content.session.script.press_key(name)

    def pick(self, x: float, y: float) -> Pick | None:
        """What is visible at a pixel of the image, counted from its upper left, as if the user clicked there.

        Waits for the GPU. None if nothing is there. Raises `InputError`.
        """
        self._content.require_open()
        session, size = self._content.session, self._picking_size()
        x, y = checked_number(x, "x"), checked_number(y, "y")
        if not (0 <= x < size[0] and 0 <= y < size[1]):
            raise InputError(f"the pixel ({x}, {y}) is outside of the image of {size[0]} × {size[1]} pixels")
        session.selection.clear()
        with session.gpu.frames.frame():
            session.selection.pick((x, y), size)
        wait_for_readbacks(session.gpu)
        row = session.selection.row
        return None if row is None else self._events.pick_of(row)


def _require_callable(callback: object, name: str) -> None:
    if callback is not None and not callable(callback):
        raise InputError(f"{name}: expected a function, got {type(callback).__name__}")
