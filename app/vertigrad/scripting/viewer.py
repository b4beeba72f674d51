"""`Viewer`: a window, or images without one, that shows what a script computes."""

from __future__ import annotations

import atexit
import weakref
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from ..errors import InputError
from ..models import Model
from ..models.custom_model import CustomModel
from ..session import Session
from ..session.parameters import Key
from .checks import checked_size, checked_text
from .content import Content
from .control_methods import ControlMethods
from .event_pump import EventPump
from .events import EventMethods, Events
from .file_methods import FileMethods
from .image_methods import ImageMethods
from .kernel import cell, execution, in_notebook
from .keyframe_methods import KeyframeMethods
from .layer import LayerHandle
from .layer_methods import LayerMethods
from .loop_methods import LoopMethods
from .plot import PlotMethods
from .row_methods import RowMethods
from .saving import save
from .serving import ServeMethods
from .setting_methods import SettingMethods
from .shooting import Camera, Recording

if TYPE_CHECKING:
    from ..remote import Served
    from ..viewer import Viewer as Window
    from .notebook import Notebook

SIZE = 1280, 800
WIDGET_SIZE = 960, 600  # pixels of the browser


class Viewer(
    LoopMethods,
    LayerMethods,
    ControlMethods,
    PlotMethods,
    EventMethods,
    RowMethods,
    SettingMethods,
    FileMethods,
    KeyframeMethods,
    ImageMethods,
    ServeMethods,
):
    """A window that shows what a script computes; with `offscreen` no window, only images.

    In a Jupyter kernel it is a widget, unless `notebook` is false. `size` is (width, height): of window or widget in
    logical pixels, of images in pixels. Layers draw `Tensor`s from the GPU buffers they are computed in. Close it, or
    use it with `with`; it is closed when the program ends, a widget's also when its cell runs again. All calls come
    from the thread that opened it. Raises `InputError` if there is no display, if another window is open, or if
    what a widget needs is not installed.
    """

    def __init__(
        self,
        title: str = "Vertigrad",
        size: tuple[int, int] | None = None,
        offscreen: bool = False,
        notebook: bool | None = None,
    ):
        checked_text(title, "title")
        size = None if size is None else checked_size(size)
        as_widget = not offscreen and (in_notebook() if notebook is None else notebook)
        if not offscreen and not as_widget and any(viewer._pump is not None for viewer in _open):
            raise InputError("a window is open already; close that viewer first, or pass offscreen=True")
        self._recordings: list[Recording] = []
        self._size = size or (WIDGET_SIZE if as_widget else SIZE)
        self._cell = (cell(), execution())
        self._frames, self._camera_set, self._fitted = 0, False, False
        self._content = Content(title)
        self._events = Events(self._content)
        self._camera = Camera(self.session)
        self._window: Window | None = None
        self._pump: EventPump | None = None
        self._notebook: Notebook | None = None
        self._served: Served | None = None
        try:
            if as_widget:
                self._open_widget()
            elif not offscreen:
                self._open_window(size)
        except BaseException:
            self._content.close()
            raise
        _open.add(self)

    @property
    def session(self) -> Session:
        """The session that the window shows."""
        return self._content.session

    # layers and models ------------------------------------------------------------------------------------------

    def add(self, layer_type: str, name: str, **values: Any) -> LayerHandle:
        """Add a layer of a type such as "points" or "image"; a layer of that name is replaced.

        `values` are its attributes, its style and its `colorbar`, by the names of the scene format. An attribute is an
        array-like, a `Tensor` (drawn without a copy), or one constant for all rows. Raises `InputError` with the name
        of what does not fit.
        """
        return self._content.add_layer(layer_type, name, values)

    def remove(self, name: str) -> None:
        """Take out a layer, or a model. Raises `InputError` if there is none of that name."""
        self._content.remove(name)

    def add_model(self, kind: type[CustomModel] | type[Model] | str, name: str | None = None, **values: Any) -> None:
        """Add a model: a class, such as those in Python files beside scenes, or a type by its name, such as "nbody".

        `values` are parameters, and `inputs`. Its outputs are drawn by layers whose attributes name them:
        `position="swarm.position"`. It steps in each frame. The name is that of the class in lower case if none is
        given. Raises `InputError`, and what the model raises.
        """
        if not (isinstance(kind, str) or (isinstance(kind, type) and issubclass(kind, Model))):
            raise InputError(f"expected a class of model or the name of a type, got {kind!r}")
        found = kind.rpartition(":")[2] if isinstance(kind, str) else kind.__name__
        self._content.add_model(name or found.lower(), kind, values)

    def save(self, path: str | Path, overwrite: bool = False) -> Path:
        """Write what is shown as a scene file, which `vertigrad run` opens; arrays go into an .npz beside it.

        It has the layers as they are now, models of registered types and of Python files with their parameters, camera,
        bookmarks, camera keyframes, view, presets and animations, those set in the window too; not controls, buttons,
        plots and functions, which only the script gives a meaning. Raises `InputError` if the file exists, unless
        `overwrite`, and for layers that a scene cannot describe, with the reason: models of classes that are defined
        in the script itself, or in files outside of the scene's folder.
        """
        self._content.require_open()
        save(self.session, self._content.document.values, Path(path), overwrite)
        return Path(path)

    def close(self) -> None:
        """Close the window, finish recordings, and release the memory. Idempotent."""
        if self._content.closed:
            return
        self._content.require_thread()
        _open.discard(self)
        if self._notebook is not None:
            self._notebook.close()
        with ExitStack() as stack:  # each is closed, also if another fails
            stack.callback(self._content.close)
            if self._window is not None:
                stack.callback(self._window.__exit__, None, None, None)
            for one in (self._served, self._pump, *reversed(self._recordings)):
                if one is not None:
                    stack.callback(one.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # inside -----------------------------------------------------------------------------------------------------

    def _open_window(self, size: tuple[int, int] | None) -> None:
        from ..viewer import Viewer as Window

        self._window = Window(self.session, size or SIZE).__enter__()
        self._pump = EventPump(self._poll)

    def _open_widget(self) -> None:
        from .notebook import Notebook

        name, turn = self._cell
        for viewer in [viewer for viewer in _open if name and viewer._cell[0] == name and viewer._cell[1] != turn]:
            viewer.close()
        self._notebook = Notebook(self.session, self._size, self.update)
        self._window = self._notebook.window.__enter__()

    def _ipython_display_(self) -> None:
        """What a notebook shows of it as the value of a cell."""
        if self._notebook is not None and not self._content.closed:
            self._notebook.display()
        else:
            print(repr(self))

    def _open_session(self) -> Session:
        self._content.require_open()
        return self.session

    def _shooting(self) -> Camera:
        self._content.require_open()
        self._fit()
        return self._camera

    def _image_size(self) -> tuple[int, int]:
        offscreen = self._pump is None and self._notebook is None
        return self._size if offscreen or self._frames == 0 else self.session.viewport_size

    def _picking_size(self) -> tuple[int, int]:
        self._fit()
        return self._image_size()

    def _fit(self) -> None:
        """Before the first frame, unless the script placed the camera: everything is seen."""
        unseen = self._frames == 0 if self._notebook is None else not self._fitted
        placed = self._camera_set or self.session.scene_edits.extras.keyframes
        if unseen and not placed and self._content.layers:
            self._fitted = True
            self.session.running.fit()

    def _show_gizmo(self, key: Key | None) -> None:
        if self._window is not None:
            self._window.gui.workspace.gizmo = key

    def _plot_added(self) -> None:
        if self._window is not None:
            self._window.gui.workspace.show("Watch")


_open: weakref.WeakSet[Viewer] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    with ExitStack() as stack:
        for viewer in list(_open):
            if viewer._notebook is not None:
                viewer._notebook.forget()
            stack.callback(viewer.close)
