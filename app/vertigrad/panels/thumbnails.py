"""The scenes that the gallery shows, and their thumbnails on the GPU."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import wgpu
from imgui_bundle import imgui
from wgpu.utils.imgui import ImguiWgpuBackend

from .. import resources
from ..gpu import Direction, Gpu, Traffic

DESCRIBED = 64 << 10  # bytes of a scene file that are searched for title and description


@dataclass(frozen=True)
class SceneEntry:
    """A scene file as the gallery shows it."""

    path: Path
    title: str
    description: str

    def fits(self, search: str) -> bool:
        """Whether all words of the search are in title, description or file name."""
        text = f"{self.title} {self.description} {self.path.name}".lower()
        return all(word in text for word in search.lower().split())


def packaged() -> list[SceneEntry]:
    """The scenes that come with Vertigrad, by file name."""
    return [entry(path) for path in resources.scenes()]


def existing(files: Iterable[Path]) -> list[SceneEntry]:
    """Those of the files that exist."""
    return [entry(path) for path in files if path.is_file()]


def entry(path: Path) -> SceneEntry:
    """Title and description of a file; its name alone if it cannot be read: opening it reports the error."""
    try:
        with path.open("rb") as file:
            head = file.read(DESCRIBED).decode()
        heading = tomllib.loads(head[: head.find("\n[") + 1] or head)
    except (OSError, ValueError):
        heading = {}
    title, description = (heading.get(key) for key in ("title", "description"))
    return SceneEntry(
        path.resolve(),
        title if isinstance(title, str) and title else path.stem,
        description if isinstance(description, str) else "",
    )


class Thumbnails:
    """The PNG next to each scene, as a texture of `size` pixels that ImGui can draw; loaded on first use."""

    def __init__(self, gpu: Gpu, backend: ImguiWgpuBackend):
        self._gpu, self._backend = gpu, backend
        self._loaded: dict[Path, imgui.ImTextureRef | None] = {}
        self._views: list[wgpu.GPUTextureView] = []  # the backend knows them by their address
        self.size: tuple[int, int] = (0, 0)

    def resize(self, size: tuple[int, int]) -> None:
        """Set the size; drop thumbnails of another size."""
        if size != self.size:
            self.forget()
            self.size = size

    def of(self, scene: Path, load: bool) -> imgui.ImTextureRef | None:
        """The thumbnail; None if there is none, or if it is not loaded yet and `load` is false."""
        if scene not in self._loaded:
            if not load:
                return None
            self._loaded[scene] = self._load(scene.with_suffix(".png"))
        return self._loaded[scene]

    def knows(self, scene: Path) -> bool:
        """Whether it was loaded, or is known to be missing."""
        return scene in self._loaded

    def forget(self) -> None:
        """Drop all of them."""
        for texture in self._loaded.values():
            if texture is not None:
                self._backend.unregister_texture(texture)
        self._loaded.clear()
        self._views.clear()

    def _load(self, file: Path) -> imgui.ImTextureRef | None:
        pixels = _read(file, self.size)
        if pixels is None:
            return None
        usage = wgpu.TextureUsage.COPY_DST | wgpu.TextureUsage.TEXTURE_BINDING
        width, height = self.size
        texture = self._gpu.create_texture(size=(width, height, 1), format="rgba8unorm", usage=usage)
        layout = {"offset": 0, "bytes_per_row": width * 4}
        self._gpu.queue.write_texture({"texture": texture}, pixels, layout, (width, height, 1))
        self._gpu.meter.count(Direction.HOST_TO_DEVICE, pixels.nbytes, Traffic.IMAGE)
        self._views.append(texture.create_view())
        return self._backend.register_texture(self._views[-1])


def _read(file: Path, size: tuple[int, int]) -> np.ndarray | None:
    """The image, cropped and resized to `size`, uint8, (height, width, 4)."""
    from PIL import Image, ImageOps  # takes a while, and most sessions need none

    try:
        with Image.open(file, formats=["PNG"]) as image:
            return np.asarray(ImageOps.fit(image.convert("RGBA"), size, Image.Resampling.LANCZOS))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):  # missing, or not an image
        return None
