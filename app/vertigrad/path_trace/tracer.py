"""`PathTracer`: adds samples to an image of a scene, as many in a submission as it has time for."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..errors import InputError
from ..gpu import Gpu, Kernel
from ..renderer.camera import OrbitCamera
from ..renderer.lens import focus_distance
from ..renderer.view import View
from ..renderer.view_uniforms import clip_planes
from ..tensor import Tensor
from . import reflectance, volumes
from .details import detailed
from .floor import floor
from .gather import Gathered
from .lamps import lamps
from .light import light
from .shapes import Scene, concatenated
from .tables import Tables
from .tree import NOWHERE

SHADER = "path_trace/trace.wgsl"
BOUNCES = 8  # of light at surfaces, by default
SCATTERINGS = 8  # in volumes, for each bounce
MOST_BOUNCES = 1024
SUBMISSION = 0.15  # seconds: drivers reset a GPU that is busy for two
TILE = 8  # rows of a workgroup
MOST_SAMPLES = 64  # of a pixel in one submission


class PathTracer:
    """The image of `size` = (width, height) pixels that `camera` has of what was gathered, in the light of `view`.

    `sums` f32 (height, width, 4) are those of linear light and of coverage over all samples of a pixel; `samples` is
    how many each pixel has, and the first `ahead` rows have one more. They depend on `seed` and on nothing else: not
    on how the work was split. Raises `InputError` for an image of light that cannot be read, `LimitError` for more
    bytes than this GPU can bind. With `count_rays` there is the number of rays instead of light.
    """

    def __init__(
        self,
        gpu: Gpu,
        gathered: Gathered,
        view: View,
        camera: OrbitCamera,
        size: tuple[int, int],
        bounces: int = BOUNCES,
        seed: int = 0,
        count_rays: bool = False,
    ):
        if not 0 <= bounces <= MOST_BOUNCES:
            raise InputError(f"bounces: {bounces}; expected a number from 0 to {MOST_BOUNCES:,}")
        self._gpu, self._view, self.size = gpu, view, size
        self.samples = self.ahead = 0
        self._rate = 0.0  # samples of a pixel in a second
        self._counts_rays = count_rays
        self._fixed: dict[str, Any] = floor(gpu, gathered.layers, view, camera, size) | {
            **{"size": size, "key": (seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF)},
            **{"bounces": bounces, "scatterings": SCATTERINGS * (bounces + 1)},
            **dict(zip(("clip_0", "clip_1", "clip_2"), _clips(view), strict=True)),
        }
        self._scene, self._held = ExitStack(), ExitStack()
        self._held.callback(self._scene.close)
        self.sums = Tensor.zeros((size[1], size[0], 4), name="sums")
        self._held.callback(self.sums.close)
        self.move(gathered, camera)

    def move(self, gathered: Gathered, camera: OrbitCamera) -> None:
        """Go on with another scene and camera: the image is the mean over all. Raises `LimitError`."""
        gpu, view, size = self._gpu, self._view, self.size
        tables = Tables()
        tubes = [one.tubes(camera, size) for one in gathered.lines]
        found = detailed([*gathered.shapes, *tubes], tables)
        scene = concatenated(found.shapes)
        self._kernel = Kernel.load(
            SHADER, defines={"COUNT": self._counts_rays, "TUBES": len(tubes) > 0, **found.defines}
        )
        rows = [scene.materials, *(volumes.words(one, tables) for one in gathered.volumes)]
        reflected = tables.add(reflectance.table())
        values = light(gpu, view, camera, tables) | _eye(view, camera, size, _corners(scene, gathered))
        values |= lamps(gathered.lights, gathered.asset_lights, tables)
        nodes = np.zeros((1, 4), np.uint32) if scene.tree is None else scene.tree.nodes.reshape(-1, 4)
        arrays = {
            **{"nodes": nodes, "primitives": scene.primitives, "corners": scene.corners},
            **{"materials": np.concatenate(rows), "tables": tables.concatenated()},
        }
        if found.defines["MAPS"]:
            arrays["texels"] = found.texels
        self._scene.close()
        self._tensors = {name: Tensor.from_numpy(array, name=name) for name, array in arrays.items()}
        for tensor in self._tensors.values():
            self._scene.callback(tensor.close)
        self._values: dict[str, Any] = (
            self._fixed
            | values
            | {
                **{"reflectance": reflected, "has_tree": int(scene.tree is not None)},
                **{"first_volume": len(scene.materials), "volume_count": len(gathered.volumes)},
            }
        )

    @property
    def done(self) -> float:
        """How many samples a pixel has on average."""
        return self.samples + self.ahead / self.size[1]

    def advance(self, limit: int) -> None:
        """Trace some more, in one submission; waits for it. No pixel gets more than `limit` samples."""
        width, height = self.size
        pixels = max(int(self._rate * SUBMISSION), width * TILE)
        rows, count = height - self.ahead, 1
        if self.ahead == 0 and pixels >= width * height:
            count = min(pixels // (width * height), limit - self.samples, MOST_SAMPLES)
        else:
            rows = min(rows, max(pixels // (width * TILE), 1) * TILE)
        if self.samples + max(count, 1) > limit:
            return
        begun = time.perf_counter()
        self._kernel(
            (width, rows),
            sums=self.sums,
            first_row=self.ahead,
            rows=rows,
            first_sample=self.samples,
            samples=count,
            **self._tensors,
            **self._values,
        )
        self._gpu.sync()
        self._rate = width * rows * count / max(time.perf_counter() - begun, 1e-6)
        self.ahead += rows
        if self.ahead >= height:
            self.samples, self.ahead = self.samples + count, 0

    def light(self) -> np.ndarray:
        """Linear light and coverage, f32 (height, width, 4), of the samples so far; waits for the GPU."""
        counts = np.full((self.size[1], 1, 1), self.samples, np.float32)
        counts[: self.ahead] += 1.0
        return self.sums.numpy() / np.maximum(counts, 1.0)

    def close(self) -> None:
        """Release the memory. Idempotent."""
        self._held.close()


def _corners(scene: Scene, gathered: Gathered) -> np.ndarray:
    """Corners of boxes (n, 3) that everything is in."""
    boxes = [np.array(one.box) for one in gathered.volumes]
    if scene.tree is not None:
        numbers = scene.tree.nodes[0].view(np.float32)[:, :3]
        boxes += [pair for pair in (numbers[:2], numbers[2:]) if (pair < NOWHERE).all()]
    grids = [np.stack(np.meshgrid(*box.T), axis=-1).reshape(-1, 3) for box in boxes]
    return np.concatenate(grids) if grids else np.zeros((1, 3))


def _eye(view: View, camera: OrbitCamera, size: tuple[int, int], corners: np.ndarray) -> dict[str, Any]:
    """The parameters of the lines of sight. Those of an orthographic camera begin behind everything."""
    right, above, back = camera.rotation().T
    half = camera.half_height if camera.orthographic else camera.half_height / camera.distance
    start = np.array(camera.position)
    if camera.orthographic:
        start = start + back * (1.01 * max(float(((corners - start) @ back).max()), 0.0) + camera.distance)
    focus = focus_distance(view, camera)
    return {
        "lens": 0.0 if camera.orthographic else 0.5 * view.aperture * focus,
        "focus": focus,
        "eye": tuple(start),
        "parallel": float(camera.orthographic),
        "right": tuple(right * half * size[0] / size[1]),
        "above": tuple(above * half),
        "forward": tuple(-back),
    }


def _clips(view: View) -> Sequence[tuple[float, ...]]:
    """The clip planes in world space."""
    at_origin = OrbitCamera(distance=1.0)
    planes = np.frombuffer(clip_planes(view, at_origin), "<f4").reshape(3, 4)
    return [tuple(float(value) for value in plane) for plane in planes @ at_origin.view()]
