"""`ImageMethods`: images, videos and files of geometry of what a script shows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..export import USD_SUFFIXES, write_layers
from ..headless.diagnostics import DiagnosticsFile
from ..headless.exr import SUFFIX as EXR
from ..headless.exr import USUAL_EXR, ExrOptions
from ..headless.offscreen import without_alpha
from ..headless.outputs import is_numbered, require_writable
from ..headless.run_files import is_run_file, open_run_file
from ..headless.video import FASTEST_GIF, VideoOptions
from ..session import FPS
from ..session.catalog import require
from ..session.measurements import is_table, parse_watch
from .checks import checked_integer, checked_number, checked_size
from .shooting import Camera, ImageRecording, Recording, RunRecording

DEPTH = ExrOptions(depth=True)


class ImageMethods(ABC):
    """Images without panels. `size` is (width, height) in pixels, by default that of the viewport."""

    _recordings: list[Recording]

    @abstractmethod
    def _shooting(self) -> Camera:
        """What takes the images. Raises `InputError` if the viewer is closed."""

    @abstractmethod
    def _image_size(self) -> tuple[int, int]:
        """The size of images by default."""

    def _size_or(self, size: tuple[int, int] | None) -> tuple[int, int]:
        return self._image_size() if size is None else checked_size(size)

    def image(
        self, size: tuple[int, int] | None = None, *, transparent: bool = False, linear: bool = False
    ) -> np.ndarray:
        """What is shown now, without panels, (height, width, 3) u8. Waits for the GPU.

        With `transparent` without background, (height, width, 4), colors not multiplied by their alpha. With `linear`
        as light before tone mapping, f16, multiplied by its alpha. Raises `InputError`, `OutOfMemory`.
        """
        camera, size = self._shooting(), self._size_or(size)
        found = camera.light(size, transparent=transparent).light if linear else camera.image(size, transparent)
        return found.copy() if transparent else without_alpha(found)

    def depth(self, size: tuple[int, int] | None = None) -> np.ndarray:
        """The distance from the camera along its direction of view, (height, width) f32, in units of the scene.

        It is that of the nearest opaque object in each pixel, and infinite where there is none. Waits for the GPU.
        Raises `InputError`, `OutOfMemory`.
        """
        found = self._shooting().light(self._size_or(size), DEPTH).depth
        assert found is not None
        return found

    def screenshot(
        self,
        path: str | Path,
        size: tuple[int, int] | None = None,
        *,
        transparent: bool = False,
        bits: int = 16,
        depth: bool = False,
    ) -> Path:
        """Write what is shown now as a .png, or as an .exr: linear light before tone mapping.

        `bits` of an .exr's floats are 16 or 32; with `depth` it has a channel Z, as `depth()` returns it. With
        `transparent` there is no background. Raises `InputError`.
        """
        path = Path(path)
        if path.suffix.lower() not in (".png", EXR):
            raise InputError(f"{path}: a screenshot is a .png or an .exr file; `record` writes videos")
        exr = _exr(path, bits, depth)
        size = self._size_or(size)
        with ImageRecording(self._shooting(), path, size, VideoOptions(), exr, transparent) as recording:
            recording.add()
        return path

    def copy_image(self, size: tuple[int, int] | None = None, *, transparent: bool = False) -> None:
        """Copy what is shown now to the clipboard, as PNG. Raises `InputError` if no program can do that."""
        from ..viewer.image_clipboard import ClipboardImage, require_clipboard

        require_clipboard()
        image = self._shooting().image(self._size_or(size), transparent)
        ClipboardImage(transparent).put(0, image)

    def export(self, path: str | Path, *layers: str) -> Path:
        """Write what these layers draw now, by default all with geometry, as .ply (one layer), .obj or .glb.

        Waits for the GPU. Raises `InputError`.
        """
        session = self._shooting().session
        write_layers(Path(path), session.stage.layers, layers, session.scene.camera.up)
        return Path(path)

    def record(
        self,
        path: str | Path,
        size: tuple[int, int] | None = None,
        fps: float | None = None,
        codec: str = "",
        quality: int = 0,
        *,
        layers: Sequence[str] = (),
        watch: Sequence[str] = (),
        transparent: bool = False,
        bits: int = 16,
        depth: bool = False,
    ) -> Recording:
        """Write every frame from now on, until the recording or the viewer is closed.

        To .mp4 (`codec` "h264", "h265" or "av1") or .webm ("vp9", "av1") with an even width and height, to .gif or
        .webp; to .png or .exr with a number such as %04d in the name; or the geometry of `layers`, by default of all
        that there are now, to .usd, .usda or .usdc, which have the camera too, or to numbered .ply, .obj or .glb.

        A .csv or .npz is a table with a row for each frame: its number, the time [s], the diagnostics of models, and
        what `watch` names, such as "galaxy.velocity:max": a tensor, and "min", "max", "mean", "std", "norm", "nan" or
        "infinite".

        `fps` is how many of these frames are shown in a second, by default 60, of a GIF 50. `quality` is from 1 to
        100, the others are those of `screenshot`. Raises `InputError`.
        """
        camera, path = self._shooting(), Path(path)
        if watch and not is_table(path):
            raise InputError(f"{path}: `watch` is of tables, .csv and .npz")
        self._recordings[:] = [recording for recording in self._recordings if not recording.closed]
        if any(recording.path.absolute() == path.absolute() for recording in self._recordings):
            raise InputError(f"{path}: is being recorded already; close that recording first")
        if is_table(path) or is_run_file(path):
            if size or codec or quality or transparent:
                raise InputError(f"{path}: size, codec, quality and transparent are of images")
            recording = _table(camera, path, watch) if is_table(path) else _run_recording(camera, path, fps, layers)
        else:
            if layers:
                raise InputError(f"{path}: an image shows all layers; `layers` are those of a file of geometry")
            size = _size_of(path, self._image_size(), size)
            video = VideoOptions(_rate(path, fps), codec, checked_integer(quality, "quality"))
            recording = ImageRecording(camera, path, size, video, _exr(path, bits, depth), transparent)
        self._recordings.append(recording)
        return recording


def _table(camera: Camera, path: Path, watch: Sequence[str]) -> RunRecording:
    watches = [parse_watch(text) for text in watch]
    for one in watches:
        require(camera.session.stage, one.tensor)
    require_writable(path)
    return RunRecording(camera, path, DiagnosticsFile(path, watches))


def _run_recording(camera: Camera, path: Path, fps: float | None, layers: Sequence[str]) -> RunRecording:
    if path.suffix.lower() not in USD_SUFFIXES and not is_numbered(path):
        raise InputError(f"{path}: needs a number such as %04d in the name for each frame; `export` writes one file")
    return RunRecording(camera, path, open_run_file(path, camera.session, layers, _rate(path, fps)))


def _rate(path: Path, fps: float | None) -> float:
    """Frames per second. Raises `InputError`."""
    if fps is None:
        return min(FPS, FASTEST_GIF) if path.suffix.lower() == ".gif" else FPS
    if not checked_number(fps, "fps") > 0.0:
        raise InputError(f"fps: expected a number above 0, got {fps}")
    return float(fps)


def _exr(path: Path, bits: int, depth: bool) -> ExrOptions:
    """The options of EXR images. Raises `InputError` if they are given for others."""
    options = ExrOptions(bits, depth)
    if options != USUAL_EXR and path.suffix.lower() != EXR:
        raise InputError(f"{path}: bits and depth are of .exr images")
    return options


def _size_of(path: Path, viewport: tuple[int, int], size: tuple[int, int] | None) -> tuple[int, int]:
    """The size of a recording: that of the viewport is made even where the format needs that."""
    if size is not None:
        return checked_size(size)
    width, height = viewport
    return (width - width % 2, height - height % 2) if path.suffix.lower() in (".mp4", ".webm") else viewport
