"""`Viewer`: a window, or images without one, that shows what a script computes."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from ..errors import InputError, SceneError
from ..export import write_layers
from ..gpu import gpu
from ..models.custom_model import CustomModel
from ..params import unknown
from ..renderer.layers import types as layer_types
from ..scene.viewpoints import home
from ..session import FPS, STEP, Session
from ..session.parameters import Key
from ..session.running import SceneSource
from .arrays import as_tensor
from .control_methods import ControlMethods
from .controls import Control
from .data_model import controls_model, data_model
from .document import CONTROLS, Document
from .layer import LayerHandle, is_data
from .layer_methods import LayerMethods
from .shooting import Camera, Recording

if TYPE_CHECKING:
    from ..models import Model
    from ..tensor import Tensor
    from ..viewer import Viewer as Window

SIZE = 1280, 800


class Step(NamedTuple):
    """One turn of a script's loop: `number` counts from 0, `dt` and `time` are in seconds of the simulation.

    `dt` is 0 while the user has paused.
    """

    number: int
    dt: float
    time: float


class Viewer(LayerMethods, ControlMethods):
    """A window that shows what a script computes; with `offscreen` no window, only images.

    `size` is (width, height): of the window in logical pixels, of images in pixels. Layers draw `Tensor`s from the GPU
    buffers they are computed in. Close it, or use it with `with`; it is closed when the program ends. Raises
    `InputError` if there is no display, or if another window is open.
    """

    def __init__(self, title: str = "Vertigrad", size: tuple[int, int] | None = None, offscreen: bool = False):
        if not offscreen and any(viewer._window is not None for viewer in _open):
            raise InputError("a window is open already; close that viewer first, or pass offscreen=True")
        self._document = Document(title)
        self._controls: dict[str, tuple[Any, Any]] = {}
        self._layers: dict[str, LayerHandle] = {}
        self._recordings: list[Recording] = []
        self._size = size or SIZE
        self._frames, self._camera_set, self._closed = 0, False, False
        self._put_controls()
        self.session = Session(gpu(), SceneSource(Path(f"{title}.toml").absolute(), memory=self._document))
        self._camera = Camera(self.session)
        self._window: Window | None = None
        try:
            if not offscreen:
                self._open_window(size)
        except BaseException:
            self.session.close()
            raise
        _open.add(self)

    # layers -----------------------------------------------------------------------------------------------------

    def add(self, layer_type: str, name: str, **values: Any) -> LayerHandle:
        """Add a layer of a type such as "points" or "image"; a layer of that name is replaced.

        `values` are its attributes and its style, by the names of the scene format. An attribute is an array-like, a
        `Tensor` (drawn without a copy), or one constant for all rows. Raises `InputError` with the name of what does
        not fit.
        """
        if layer_type not in layer_types():
            raise InputError(unknown("type of layer", layer_type, layer_types()))
        return self.put_layer(layer_type, name, values)

    def remove(self, name: str) -> None:
        """Take out a layer, or a model. Raises `InputError` if there is none of that name."""
        self._require_open()
        if name not in self._layers and name not in self._document.values["models"]:
            raise InputError(unknown("layer", name, self._layers))
        with self._document.changing():
            self._document.remove("layers", name)
            self._document.remove("models", name)
            self._read_again(name)
        if name in self._layers:
            self._layers.pop(name).release()

    # models and scenes ------------------------------------------------------------------------------------------

    def add_model(self, kind: type[CustomModel] | type[Model], name: str | None = None, **values: Any) -> None:
        """Add a model: a class such as those in Python files beside scenes. `values` are parameters, and `inputs`.

        Its outputs are drawn by layers whose attributes name them: `position="swarm.position"`. It steps in each frame.
        The name is that of the class in lower case if none is given. Raises `InputError`, and what the model raises.
        """
        self._require_open()
        name = name or kind.__name__.lower()
        with self._document.changing():
            self._document.put_model(name, kind, values)
            self._read_again(name)

    # what is shown ----------------------------------------------------------------------------------------------

    def camera(self, **values: Any) -> None:
        """Place the camera: `position`, `target`, `fov` [degrees], `up` ("y" or "z"), `orthographic`.

        Raises `InputError`.
        """
        self._require_open()
        with self._document.changing():
            self._document.values["camera"] |= {key: _plain(value) for key, value in values.items()}
            self._document.values["camera"]["fit"] = False
            self._read_again("camera")
        self._camera_set = True
        self.session.cameras.jump(home(self.session.scene))

    def view(self, **values: Any) -> None:
        """Change the view: `background`, `axes`, `theme`, `exposure` and whatever a scene has under [view].

        Raises `ParameterError`.
        """
        self._require_open()
        self.session.running.assign({Key("view", key): _plain(value) for key, value in values.items()})

    def image(self, size: tuple[int, int] | None = None) -> np.ndarray:
        """What is shown now, without panels, (height, width, 3) u8. Waits for the GPU. Raises `InputError`."""
        return self._shooting().image(size or self._image_size())[..., :3].copy()

    def screenshot(self, path: str | Path, size: tuple[int, int] | None = None) -> Path:
        """Write what is shown now as a PNG file. Raises `InputError`."""
        path = Path(path)
        if path.suffix.lower() != ".png":
            raise InputError(f"{path}: a screenshot is a .png file; `record` writes videos")
        with Recording(self._shooting(), path, size or self._image_size(), FPS) as recording:
            recording.add()
        return path

    def export(self, path: str | Path, *layers: str) -> Path:
        """Write what these layers draw now, by default all with geometry, as .ply (one layer), .obj or .glb.

        Waits for the GPU. Raises `InputError`.
        """
        self._require_open()
        write_layers(Path(path), self.session.stage.layers, layers, self.session.scene.camera.up)
        return Path(path)

    def record(self, path: str | Path, size: tuple[int, int] | None = None, fps: int = FPS) -> Recording:
        """Write every frame from now on, until the recording or the viewer is closed.

        To .mp4 (H.264, an even width and height), or to .png with a number such as %04d in the name.
        """
        width, height = size or self._image_size()
        if Path(path).suffix.lower() == ".mp4" and size is None:
            width, height = width - width % 2, height - height % 2
        self._recordings.append(Recording(self._shooting(), Path(path), (width, height), fps))
        return self._recordings[-1]

    # the loop ---------------------------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether the viewer, or its window, was closed."""
        return self._closed or (self._window is not None and self._window.closed)

    def frames(self, count: int | None = None) -> Iterator[Step]:
        """Steps of your own loop: what the loop writes into tensors is shown at its end, without a copy.

        Ends when the window is closed, or after `count` steps.
        """
        number = 0
        while not self.closed and (count is None or number < count):
            clock = self.session.clock
            with self._writing():
                yield Step(number, STEP * clock.speed if clock.moves else 0.0, clock.time)
            if self._closed:
                return
            self.update()
            number += 1

    def update(self) -> None:
        """Show the next frame, in a loop that does not use `frames`. Raises `InputError` if the viewer is closed."""
        self._require_open()
        self._fit()
        self._frames += 1
        if self._window is not None:
            self._window.frame()
        else:
            with self.session.gpu.frames.frame():
                self.session.apply()
                self.session.advance()
                self._camera.draw(self._image_size())
        for recording in self._recordings:
            if not recording.closed:
                recording.add()

    def close(self) -> None:
        """Close the window, finish recordings, and release the memory. Idempotent."""
        if self._closed:
            return
        self._closed = True
        _open.discard(self)
        try:
            for recording in self._recordings:
                recording.close()
        finally:
            if self._window is not None:
                self._window.__exit__(None, None, None)
            self.session.close()
            for handle in self._layers.values():
                handle.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # for handles ------------------------------------------------------------------------------------------------

    def put_layer(
        self, layer_type: str, name: str, values: Mapping[str, Any], handle: LayerHandle | None = None
    ) -> LayerHandle:
        """Add a layer, or change which of its attributes are constants. Raises `InputError`."""
        self._require_open()
        if name == CONTROLS:
            raise InputError(f"{name!r} is the name of the viewer's controls; choose another for the layer")
        layer = layer_types()[layer_type]
        tensors: dict[str, Tensor] = {}
        created: set[str] = set()
        table: dict[str, Any] = {"type": layer_type}
        try:
            for key, value in values.items():
                if key in layer.ATTRIBUTES and is_data(value, layer.ATTRIBUTES[key]):
                    tensors[key], new = as_tensor(value, key, f"{name}.{key}")
                    created |= {key} if new else set()
                    table[key] = f"{name}.{key}"
                else:
                    table[key] = _plain(value)
            with self._document.changing():
                self._document.remove("models", name)
                if tensors:
                    self._document.put_model(name, data_model(tensors))
                self._document.values["layers"][name] = table
                self._read_again(name)
        except BaseException:
            for key in created:
                tensors[key].close()
            raise
        if handle is None:
            if name in self._layers:
                self._layers[name].release()
            handle = self._layers[name] = LayerHandle(self, name, layer_type, layer)
        handle.take(tensors, created)
        return handle

    def publish(self) -> None:
        """Mark the tensors of all layers as drawn, and the image as changed."""
        for instance in self.session.stage.instances.values():
            instance.publish()
        self.session.running.changes += 1

    # inside -----------------------------------------------------------------------------------------------------

    def _open_window(self, size: tuple[int, int] | None) -> None:
        from ..viewer import Viewer as Window

        self._window = Window(self.session, size or SIZE).__enter__()

    def _control(self, name: str, annotation: Any, field: Any) -> Control:
        self._require_open()
        if not name.isidentifier() or name.startswith("_"):
            raise InputError(f"{name!r} cannot be the name of a control: use letters, digits and underscores")
        before = dict(self._controls)
        self._controls[name] = annotation, field
        try:
            with self._document.changing():
                self._put_controls()
                self._read_again(CONTROLS)
        except BaseException:
            self._controls = before
            raise
        return Control(self, name)

    def _put_controls(self) -> None:
        self._document.put_model(CONTROLS, controls_model(self._controls))

    def _read_again(self, name: str) -> None:
        """Take over what the document says now. Raises `InputError` that names what does not fit."""
        try:
            self.session.running.read_again()
        except SceneError as error:
            lines = [f"{problem.key.rpartition('.')[2]}: {problem.message}" for problem in error.problems]
            raise InputError(f"{name!r}: " + "; ".join(lines)) from error

    def _shooting(self) -> Camera:
        self._require_open()
        self._fit()
        return self._camera

    def _image_size(self) -> tuple[int, int]:
        return self._size if self._window is None or self._frames == 0 else self.session.viewport_size

    def _fit(self) -> None:
        """Before the first frame, unless the script placed the camera: everything is seen."""
        if self._frames == 0 and not self._camera_set and self._layers:
            self.session.running.fit()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """For what writes into tensors that are drawn: in place, without a copy of what is drawn."""
        for instance in self.session.stage.instances.values():
            instance.publication.withdraw()
        try:
            yield
        finally:
            if not self._closed:
                self.publish()

    def _require_open(self) -> None:
        if self._closed:
            raise InputError("the viewer is closed")


_open: weakref.WeakSet[Viewer] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for viewer in list(_open):
        viewer.close()


def _plain(value: Any) -> Any:
    """A value as TOML has it."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, Path):
        return str(value)
    return value
