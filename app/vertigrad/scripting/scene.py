"""`Scene`: a scene file as an object: parameters, steps, images and outputs, without a window."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..errors import InputError
from ..gpu import gpu
from ..headless.outputs import require_writable
from ..headless.path_trace import path_trace
from ..models.stepping import no_dropped_time
from ..params import unknown
from ..path_trace import BOUNCES
from ..scene.packaged import scene_path
from ..session import Session, saving
from ..session.parameters import Key, values_of
from ..tensor import Tensor
from .checks import checked_integer
from .image_methods import ImageMethods
from .keyframe_methods import KeyframeMethods, camera_values, camera_with
from .shooting import Camera, Recording
from .values import plain

_log = logging.getLogger("vertigrad")

SIZE = 1280, 720


class Scene(KeyframeMethods, ImageMethods):
    """A scene that a script steps and draws. Close it, or use it with `with`.

    `size` of images is (width, height) in pixels, by default (1280, 720). All calls come from the thread that loaded
    it. Everything raises `InputError` once it is closed.
    """

    def __init__(self, session: Session):
        self.session = session
        self._camera = Camera(session)
        self._recordings: list[Recording] = []
        self._closed = False

    @classmethod
    def load(cls, path: str | Path, *, sets: Sequence[str] = (), seed: int | None = None) -> Self:
        """The scene of a file, or one that comes with Vertigrad, by its name: `Scene.load("nbody")`.

        `sets` are entries such as "galaxy.softening=0.1" that replace the file's, `seed` that of every model. Raises
        `SceneError`, `InputError`, and what a model raises.
        """
        if isinstance(sets, str):
            raise InputError(f"sets: expected a list of texts, such as [{sets!r}], got a text")
        return cls(Session(gpu(), scene_path(str(path)), sets, seed))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Every parameter by its path, such as "models.galaxy.softening", "layers.stars.size" or "view.exposure"."""
        return {
            ".".join(map(str, key.path)): value
            for key, value in values_of(self._open_session().running.parameters()).items()
        }

    def set(self, values: Mapping[str, Any] | None = None, **others: Any) -> None:
        """Set parameters by their paths, all or none of them. A model may be left out: "galaxy.softening".

        Raises `ParameterError`, and what a model raises that is built again.
        """
        named = {**(values or {}), **others}
        self._open_session().running.assign({self._key(path): plain(value) for path, value in named.items()})

    @property
    def outputs(self) -> Mapping[str, Tensor]:
        """The outputs of all models, such as "galaxy.position": tensors that are the models' own, not to be closed."""
        return {
            f"{name}.{key}": tensor
            for name, instance in self._open_session().stage.instances.items()
            for key, tensor in instance.outputs.items()
        }

    @property
    def time(self) -> float:
        """The simulated time [s]."""
        return self._open_session().clock.time

    def step(self, count: int = 1) -> None:
        """Advance by `count` frames of 1/60 s; recordings get every one of them. Raises what a model raises."""
        session, count = self._open_session(), checked_integer(count, "count")
        with no_dropped_time():
            for _ in range(count):
                with session.gpu.frames.frame():
                    session.apply()
                    session.advance()
                for recording in self._recordings:
                    if not recording.closed:
                        recording.add()

    def reset(self) -> None:
        """Reset every model to its initial state."""
        self._open_session().running.reset()

    def camera(self, **values: Any) -> dict[str, Any]:
        """Place the camera: `position`, `target`, `fov` [degrees], `orthographic`; with `fit=True` so that all is seen.

        What is not given stays as it is now. Where there are keyframes, each step takes their view. Returns all values.
        Raises `InputError`, `ParameterError`.
        """
        session, fit = self._open_session(), values.pop("fit", False)
        session.cameras.jump(camera_with(session, values, "camera"))
        if fit:
            session.running.fit()
        return camera_values(session.camera)

    def render(self, size: tuple[int, int] = SIZE) -> np.ndarray:
        """The scene as it is now, (height, width, 3) u8, as `image(size)`. Raises `InputError`, `OutOfMemory`."""
        return self.image(size)

    def path_trace(
        self,
        path: str | Path,
        samples: int = 64,
        size: tuple[int, int] | None = None,
        *,
        bounces: int = BOUNCES,
        seed: int = 0,
        transparent: bool = False,
    ) -> Path:
        """Write a path-traced image of the scene as it is now, a .png or an .exr of linear light; returns its path.

        Each pixel is the mean of so many `samples`, whose light bounces up to `bounces` times off surfaces. The same
        `seed` gives the same image. What is not traced is logged as a warning. Raises `InputError`, `LimitError`.
        """
        session, path = self._open_session(), Path(path)
        count, size = checked_integer(samples, "samples", 1), self._size_or(size)
        require_writable(path)
        path_trace(session, count, size, [path], warn=_log.warning, bounces=bounces, seed=seed, transparent=transparent)
        return path

    def save(self, path: str | Path | None = None, overwrite: bool = False) -> Path:
        """Write parameters and camera keyframes that were changed into the scene's file, or into a copy of it.

        Returns its path. Raises `InputError` if another file is there, unless `overwrite`, or if the scene's own one
        was changed by another program, and for a scene that comes with Vertigrad if no path is given.
        """
        session = self._open_session()
        saving.save_scene(session, None if path is None else Path(path), overwrite)
        return session.source.path

    def close(self) -> None:
        """Finish recordings, and release the memory. Idempotent."""
        if self._closed:
            return
        self._closed = True
        with ExitStack() as stack:  # each is closed, also if another fails
            stack.callback(self.session.close)
            for recording in reversed(self._recordings):
                stack.callback(recording.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open_session(self) -> Session:
        if self._closed:
            raise InputError("the scene is closed")
        return self.session

    def _shooting(self) -> Camera:
        self._open_session()
        return self._camera

    def _image_size(self) -> tuple[int, int]:
        return SIZE

    def _key(self, path: str) -> Key:
        owners = self.session.running.parameters()
        owner, _, name = path.rpartition(".")
        for known in (owner, f"models.{owner}"):
            if known in owners:
                return Key(known, name)
        if not owner:
            raise InputError(f"{path}: expected the path of a parameter, such as {next(iter(self.parameters), path)!r}")
        raise InputError(f"{path}: {unknown('owner of parameters', owner, owners)}")
