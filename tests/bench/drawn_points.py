"""Points that several programs draw in the same image, to compare how many frames a second each reaches."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
import wgpu

SIZE = (1280, 720)
RADIUS, DISTANCE, FRAMES, ROUNDS = 0.002, 4.0, 60, 5
FOV = 45.0  # degrees, vertical
BACKGROUND = "#000000"


def start(points: int) -> np.ndarray:
    return np.random.default_rng(1).uniform(-1.0, 1.0, size=(points, 3)).astype(np.float32)


def frames_a_second(frame: Callable[[], object], finish: Callable[[], object], frames: int = FRAMES) -> float:
    """Of the fastest of several rounds: clocks of a GPU rise with its load, and a neighbor can only add to a time."""
    rates = []
    for _ in range(ROUNDS):
        finish()
        begin = time.perf_counter()
        for _ in range(frames):
            frame()
        finish()
        rates.append(frames / (time.perf_counter() - begin))
    return max(rates)


class Polyscope:
    """Polyscope drawing positions of the host, without shadows and panels: flat quads ("square"), or lit "sphere"s."""

    def __init__(self, positions: np.ndarray, radius: float = RADIUS, sprite: str = "square", samples: int = 1):
        import polyscope as ps

        ps.set_allow_headless_backends(True)
        ps.set_verbosity(1)  # it names its GPU
        ps.set_window_size(*SIZE)
        ps.set_enable_vsync(False)
        ps.set_max_fps(-1)
        ps.set_SSAA_factor(math.isqrt(samples))
        ps.set_ground_plane_mode("none")
        ps.set_background_color((0.0, 0.0, 0.0))
        ps.set_build_gui(False)
        ps.init("openGL3_egl")
        mode, material = ("sphere", "clay") if sprite == "sphere" else ("quad", "flat")
        self._points = ps.register_point_cloud(
            "points", positions, point_render_mode=mode, color=(1.0, 1.0, 1.0), material=material
        )
        self._points.set_radius(radius, relative=False)
        ps.look_at((0.0, 0.0, DISTANCE), (0.0, 0.0, 0.0))
        ps.set_vertical_fov_degrees(FOV)
        self._polyscope = ps

    def upload(self, positions: np.ndarray) -> None:
        self._points.update_point_positions(positions)

    def image(self) -> np.ndarray:
        return self._polyscope.screenshot_to_buffer(transparent_bg=False, include_UI=False)


class Pygfx:
    """pygfx drawing positions of the host into a texture, without post-processing: flat "disc"s, or "square"s."""

    def __init__(self, positions: np.ndarray, radius: float = RADIUS, sprite: str = "disc", samples: int = 1):
        import pygfx as gfx

        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC | wgpu.TextureUsage.TEXTURE_BINDING
        texture = gfx.Texture(dim=2, size=(*SIZE, 1), format="rgba8unorm", usage=usage)
        self._renderer = gfx.renderers.WgpuRenderer(texture, pixel_ratio=math.isqrt(samples))
        self._renderer.ppaa = "none"
        self._positions = gfx.Buffer(positions)
        size = {"size": 2.0 * radius, "size_space": "world", "aa": False}
        square = {"marker": "square", "edge_width": 0.0}
        material = gfx.PointsMarkerMaterial(**size, **square) if sprite == "square" else gfx.PointsMaterial(**size)
        points = gfx.Points(gfx.Geometry(positions=self._positions), material)
        self._scene = gfx.Scene().add(points)
        aspect = SIZE[0] / SIZE[1]  # pygfx's field of view is that of the mean of width and height; ours is vertical
        fov = 2.0 * math.atan(math.tan(math.radians(FOV) / 2.0) * (1.0 + aspect) / 2.0)
        self._camera = gfx.PerspectiveCamera(math.degrees(fov), aspect)
        self._camera.local.z = DISTANCE
        self._device = gfx.renderers.wgpu.get_shared().device
        self._fence = self._device.create_buffer(size=4, usage=wgpu.BufferUsage.COPY_SRC | wgpu.BufferUsage.COPY_DST)

    def upload(self, positions: np.ndarray) -> None:
        self._positions.set_data(positions)  # without a copy on the host

    @property
    def gpu(self) -> str:
        return self._device.adapter.info["device"]

    def draw(self) -> None:
        self._renderer.render(self._scene, self._camera)

    def finish(self) -> None:
        self._device.queue.read_buffer(self._fence)

    def image(self) -> np.ndarray:
        self.draw()
        return self._renderer.snapshot()


def assert_same_points(ours: np.ndarray, theirs: np.ndarray) -> None:
    """Both images show points at the same pixels: of blocks of 8 x 8, those that are lit agree, edges aside."""

    def lit(drawn: np.ndarray) -> np.ndarray:
        bright = drawn[..., :3].max(axis=2) > 32
        return bright.reshape(SIZE[1] // 8, 8, SIZE[0] // 8, 8).any(axis=(1, 3))

    mine, other = lit(ours), lit(theirs)
    assert mine.mean() > 0.1
    assert (mine != other).sum() <= 0.02 * (mine | other).sum()


def misplaced(image: np.ndarray, positions: np.ndarray, radius: float) -> tuple[float, float]:
    """The fraction of the points whose pixel is dark, and of the lit pixels that are far from all points."""
    height, width = image.shape[:2]
    focal = height / 2.0 / math.tan(math.radians(FOV) / 2.0)
    away = DISTANCE - positions[:, 2:]
    column, row = np.floor(positions[:, :2] * (focal, -focal) / away + (width / 2.0, height / 2.0)).astype(int).T
    lit, near = image[..., :3].max(axis=2) > 32, np.zeros((height, width), bool)
    reach = math.ceil(radius * focal / float(away.min())) + 1
    for y in range(-reach, reach + 1):
        for x in range(-reach, reach + 1):
            near[row + y, column + x] = True
    return float((~lit[row, column]).mean()), float((lit & ~near).sum() / max(1, lit.sum()))
