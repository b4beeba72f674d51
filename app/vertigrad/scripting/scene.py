"""`Scene`: a scene file as an object: parameters, steps, images and outputs, without a window."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ..errors import InputError
from ..export import write_layers
from ..gpu import gpu
from ..models.stepping import no_dropped_time
from ..params import unknown
from ..scene.packaged import scene_path
from ..session import Session
from ..session.parameters import Key, values_of
from ..tensor import Tensor
from .shooting import Camera

SIZE = 1280, 720


class Scene:
    """A scene that a script steps and draws. Close it, or use it with `with`."""

    def __init__(self, session: Session):
        self.session = session
        self._camera = Camera(session)

    @classmethod
    def load(cls, path: str | Path, *, sets: Sequence[str] = (), seed: int | None = None) -> Self:
        """The scene of a file, or one that comes with Vertigrad, by its name: `Scene.load("nbody")`.

        `sets` are entries such as "galaxy.softening=0.1" that replace the file's, `seed` that of every model. Raises
        `SceneError`, `InputError`, and what a model raises.
        """
        return cls(Session(gpu(), scene_path(str(path)), sets, seed))

    @property
    def parameters(self) -> Mapping[str, Any]:
        """Every parameter by its path, such as "models.galaxy.softening", "layers.stars.size" or "view.exposure"."""
        return {
            ".".join(map(str, key.path)): value for key, value in values_of(self.session.running.parameters()).items()
        }

    def set(self, values: Mapping[str, Any] | None = None, **others: Any) -> None:
        """Set parameters by their paths, all or none of them. A model may be left out: "galaxy.softening".

        Raises `ParameterError`, and what a model raises that is built again.
        """
        named = {**(values or {}), **others}
        self.session.running.assign({self._key(path): value for path, value in named.items()})

    @property
    def outputs(self) -> Mapping[str, Tensor]:
        """The outputs of all models, such as "galaxy.position": tensors that are the models' own, not to be closed."""
        return {
            f"{name}.{key}": tensor
            for name, instance in self.session.stage.instances.items()
            for key, tensor in instance.outputs.items()
        }

    @property
    def time(self) -> float:
        """The simulated time [s]."""
        return self.session.clock.time

    def step(self, count: int = 1) -> None:
        """Advance by `count` frames of 1/60 s. Raises what a model raises."""
        with no_dropped_time():
            for _ in range(count):
                with self.session.gpu.frames.frame():
                    self.session.apply()
                    self.session.advance()

    def reset(self) -> None:
        """Reset every model to its initial state."""
        self.session.running.reset()

    def render(self, size: tuple[int, int] = SIZE) -> np.ndarray:
        """The scene as it is now, (height, width, 3) u8. Raises `InputError`, `OutOfMemory`."""
        return self._camera.image(size)[..., :3].copy()

    def export(self, path: str | Path, *layers: str) -> Path:
        """Write what these layers draw now, by default all with geometry, as .ply (one layer), .obj or .glb.

        Waits for the GPU. Raises `InputError`.
        """
        write_layers(Path(path), self.session.stage.layers, layers, self.session.scene.camera.up)
        return Path(path)

    def close(self) -> None:
        """Release the memory. Idempotent."""
        self.session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _key(self, path: str) -> Key:
        owners = self.session.running.parameters()
        owner, _, name = path.rpartition(".")
        for known in (owner, f"models.{owner}"):
            if known in owners:
                return Key(known, name)
        raise InputError(f"{path}: {unknown('owner of parameters', owner, owners)}")
