"""How long a frame of many Gaussian splats takes, and of it the sort; and whether its images are those of the formulas.

    python tests/bench/splats_frame.py --splats 6000000 --size 1920x1080 [--json FILE]

The scene is like one that was trained: flat splats on the walls of a room and on spheres in it, most of them small,
nearly clear or nearly opaque, with spherical harmonics of degree 3. The camera goes around within it.
"""

from __future__ import annotations

import argparse
import json
import runpy
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import wgpu

import vertigrad
from vertigrad.gpu import Gpu, Plan
from vertigrad.ops.sorting import argsort
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.layers import Layer, splat_tiles, types
from vertigrad.tensor import Tensor

VIEW = View(bloom=0.0, vignette=0.0, background="#000000")
REFERENCE = runpy.run_path(str(Path(__file__).parent.parent / "renderer" / "splat_reference.py"))  # in no package
ROUNDS = 3
Arrays = dict[str, np.ndarray]


def room(count: int, harmonics: int = 45, seed: int = 1) -> Arrays:
    """Splats on the walls of a room of 8 x 3 x 8, and on 60 spheres in it."""
    rng = np.random.default_rng(seed)
    walls = count * 2 // 3
    half = np.float32([4.0, 1.5, 4.0])
    position = rng.uniform(-1, 1, (count, 3)).astype(np.float32)
    normal = np.zeros_like(position)
    axis = rng.choice(3, walls, p=[0.25, 0.5, 0.25])
    side = rng.choice(np.float32([-1, 1]), walls)
    position[np.arange(walls), axis] = side
    normal[np.arange(walls), axis] = side
    position[:walls] *= half
    spheres = rng.uniform(-1, 1, (60, 3)).astype(np.float32) * (half - 0.5)
    number = rng.integers(0, 60, count - walls)
    outward = rng.normal(size=(count - walls, 3)).astype(np.float32)
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    radius = rng.uniform(0.1, 0.5, 60).astype(np.float32)[number][:, None]
    position[walls:], normal[walls:] = spheres[number] + radius * outward, outward
    spacing = (200.0 / count) ** 0.5  # of the square root of the area by the number of splats
    scale = np.exp(rng.normal(np.log(0.8 * spacing), 0.7, (count, 3))).astype(np.float32)
    scale[:, 2] *= np.float32(0.1)  # along the normal
    base = 0.5 + 0.4 * np.sin(2.0 * position + np.float32([0, 2, 4]))
    return {
        "position": position + rng.normal(0, 0.003, (count, 3)).astype(np.float32),
        "scale": scale,
        "rotation": _turned_to(normal, rng.uniform(0, 2 * np.pi, count)),
        "opacity": (1 / (1 + np.exp(-rng.normal(0.5, 2.5, count)))).astype(np.float32),
        "color": np.clip(base + rng.normal(0, 0.05, base.shape), 0, 1).astype(np.float32),
        **({"harmonics": rng.standard_normal((count, harmonics), np.float32) * np.float32(0.05)} if harmonics else {}),
    }


def _turned_to(normal: np.ndarray, angle: np.ndarray) -> np.ndarray:
    """Quaternions x, y, z, w that turn z to the normal after a turn about z."""
    q = np.stack([-normal[:, 1], normal[:, 0], 0 * normal[:, 0], 1 + normal[:, 2]], axis=1)
    q[q[:, 3] < 1e-3] = (1, 0, 0, 0)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    c, s = np.cos(0.5 * angle)[:, None], np.sin(0.5 * angle)[:, None]
    x, y, z, w = np.split(q, 4, axis=1)
    return np.concatenate([x * c + y * s, y * c - x * s, z * c + w * s, w * c - z * s], axis=1).astype(np.float32)


def camera(turn: float) -> OrbitCamera:
    """Within the room, looking across it."""
    return OrbitCamera(distance=2.5, yaw=2 * np.pi * turn, pitch=0.15, fov=60.0)


class Images:
    """Draws splats into a texture of `size`."""

    def __init__(self, gpu: Gpu, arrays: Arrays, size: tuple[int, int]):
        self.gpu, self.size = gpu, size
        self.tensors = {name: Tensor.from_numpy(array, name=name) for name, array in arrays.items()}
        kind = types()["splats"]
        self.layer: Layer = kind(gpu, "splats", kind.Style())
        self.layer.bind(self.tensors)
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
        self._texture = gpu.device.create_texture(size=(*size, 1), format="rgba8unorm", usage=usage)
        self._renderer, self._target = Renderer(gpu, "rgba8unorm"), self._texture.create_view()

    def draw(self, turn: float) -> None:
        self._renderer.draw([self.layer], camera(turn), VIEW, self._target, self.size)
        self.gpu.submit()

    def image(self, turn: float) -> np.ndarray:
        for _ in range(3):  # the first ones may be drawn another way
            self.draw(turn)
            self.gpu.sync()
        width, height = self.size
        data = self.gpu.device.queue.read_texture(
            {"texture": self._texture}, {"bytes_per_row": 4 * width, "rows_per_image": height}, (width, height, 1)
        )
        return np.frombuffer(data, np.uint8).reshape(height, width, 4)[..., :3]

    def close(self) -> None:
        self.layer.close()
        for tensor in self.tensors.values():
            tensor.close()


def milliseconds(gpu: Gpu, work: Callable[[int], None], times: int) -> float:
    """Of one call, by the wall clock with the GPU idle before and after; the fastest round."""
    found = []
    for _ in range(ROUNDS):
        gpu.sync()
        begin = time.perf_counter()
        for number in range(times):
            work(number)
        gpu.sync()
        found.append((time.perf_counter() - begin) / times * 1e3)
    return min(found)


def sort_time(gpu: Gpu, count: int, times: int) -> float:
    """A sort of as many keys as there are splats, as the layer does it."""
    keys = Tensor.from_numpy(np.random.default_rng(2).integers(0, 1 << 32, count, dtype=np.uint32))
    order, plan = Tensor.empty(count, "i32"), Plan("sort")
    with plan.recording():
        argsort(keys, out=order)

    def once(_: int) -> None:
        plan.replay()
        gpu.submit()

    found = milliseconds(gpu, once, times)
    for each in (plan, keys, order):
        each.close()
    return found


def measured(gpu: Gpu, count: int, size: tuple[int, int], frames: int) -> dict[str, Any]:
    images = Images(gpu, room(count), size)
    for turn in np.linspace(0, 1, 12):
        images.draw(turn)
        gpu.sync()
    around = milliseconds(gpu, lambda number: images.draw(number / frames), frames)
    slowest = max(milliseconds(gpu, lambda _, turn=turn: images.draw(turn), 5) for turn in np.linspace(0, 1, 8))
    gpu.timer.enabled = True
    images.draw(0.1)
    gpu.sync()
    gpu.poll()
    groups = {name: round(value, 3) for name, value in gpu.timer.latest.items()}
    gpu.timer.enabled = False
    tiles = getattr(images.layer.drawing, "tiles", None)
    report = tiles.report() if tiles else {}
    images.close()
    sort = sort_time(gpu, count, frames)
    return {"splats": count, "frame_ms": around, "slowest_view_ms": slowest, "sort_ms": sort, "groups": groups} | report


def compared(gpu: Gpu, count: int = 1500, size: tuple[int, int] = (200, 150)) -> dict[str, float]:
    """The mean and largest difference of images from the published formulas, of 255, for degree 0 to 3."""
    found = {}
    for degree, values in enumerate((0, 9, 24, 45)):
        arrays = room(count, values, seed=degree)
        images = Images(gpu, arrays, size)
        for turn in (0.0, 0.4):
            expected = 255 * np.clip(REFERENCE["image"](camera(turn), size, arrays)[0], 0, 1)
            difference = np.abs(images.image(turn) - expected)
            found[f"degree {degree}, turn {turn}"] = (round(difference.mean(), 4), round(difference.max(), 2))
        images.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splats", type=int, nargs="+", default=[1_000_000, 6_000_000])
    parser.add_argument("--size", default="1920x1080")
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--quads", action="store_true", help="rasterized quads instead of tiles")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    splat_tiles.MANY = 1 << 40 if options.quads else splat_tiles.MANY
    width, height = map(int, options.size.split("x"))
    gpu = vertigrad.gpu()
    results: dict[str, Any] = {"gpu": gpu.adapter.name, "size": options.size, "of 255: mean, max": compared(gpu)}
    print(json.dumps(results, indent=1), flush=True)
    for count in options.splats:
        found = measured(gpu, count, (width, height), options.frames)
        print(json.dumps(found, indent=1), flush=True)
        results[str(count)] = found
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
