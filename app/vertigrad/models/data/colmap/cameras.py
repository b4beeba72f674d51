"""COLMAP's camera models: those whose images can be undistorted, and how.

The models and the order of their parameters are those of COLMAP's documentation (Schönberger and Frahm 2016,
"Structure-from-Motion Revisited"); the distortion is that of Brown 1971, "Close-range camera calibration".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ....errors import InputError

READ = {  # names of parameters by model; f is fx and fy, k is k1
    "SIMPLE_PINHOLE": ("f", "cx", "cy"),
    "PINHOLE": ("fx", "fy", "cx", "cy"),
    "SIMPLE_RADIAL": ("f", "cx", "cy", "k1"),
    "RADIAL": ("f", "cx", "cy", "k1", "k2"),
    "OPENCV": ("fx", "fy", "cx", "cy", "k1", "k2", "p1", "p2"),
}
NUMBERED = (  # the models by their number in binary files, and how many parameters they have
    *(("SIMPLE_PINHOLE", 3), ("PINHOLE", 4), ("SIMPLE_RADIAL", 4), ("RADIAL", 5), ("OPENCV", 8)),
    *(("OPENCV_FISHEYE", 8), ("FULL_OPENCV", 12), ("FOV", 5), ("SIMPLE_RADIAL_FISHEYE", 4)),
    *(("RADIAL_FISHEYE", 5), ("THIN_PRISM_FISHEYE", 12), ("RAD_TAN_THIN_PRISM_FISHEYE", 16)),
)
LARGEST = 1 << 16  # pixels along a side
BORDER = 64  # rays along each side of an image by which it is decided how much of it is shown
HALVINGS = 40


class Pinhole(NamedTuple):
    """A camera without distortion: focal lengths and the principal point [pixels], from the image's upper left corner.

    The middle of the first pixel is at (0.5, 0.5), as in COLMAP.
    """

    fx: float
    fy: float
    cx: float
    cy: float

    def scaled(self, x: float, y: float) -> Pinhole:
        """The camera of the image enlarged by these factors along its rows and columns."""
        return Pinhole(self.fx * x, self.fy * y, self.cx * x, self.cy * y)


class Camera(NamedTuple):
    """A camera: its size [pixels], its projection, and its distortion k1, k2, p1, p2, without a unit."""

    width: int
    height: int
    pinhole: Pinhole
    distortion: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)

    @property
    def is_distorted(self) -> bool:
        """Whether straight lines are bent in its images."""
        return any(self.distortion)

    def distorted(self, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where on the image [pixels] rays with the slopes x and y are seen."""
        k1, k2, p1, p2 = self.distortion
        square = x * x + y * y
        radial = 1.0 + square * (k1 + k2 * square)
        bent_x = x * radial + 2.0 * p1 * x * y + p2 * (square + 2.0 * x * x)
        bent_y = y * radial + p1 * (square + 2.0 * y * y) + 2.0 * p2 * x * y
        fx, fy, cx, cy = self.pinhole
        return fx * bent_x + cx, fy * bent_y + cy

    def undistorted(self) -> Pinhole:
        """A pinhole camera of the same size, which sees as much as has a pixel in the image everywhere.

        Raises `InputError` for a distortion for which there is none.
        """
        if not self.is_distorted:
            return self.pinhole
        low, high = 1.0, 1.0
        while not self._covers(high) and high < 64.0:
            low, high = high, 2.0 * high
        if not self._covers(high):
            raise InputError(f"the distortion {', '.join(f'{one:g}' for one in self.distortion)} cannot be removed")
        while self._covers(low) and low > 1.0 / 64.0:
            low, high = 0.5 * low, low
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            low, high = (low, middle) if self._covers(middle) else (middle, high)
        return self._zoomed(high)

    def _zoomed(self, factor: float) -> Pinhole:
        fx, fy, cx, cy = self.pinhole
        return Pinhole(fx * factor, fy * factor, cx, cy)

    def _covers(self, factor: float) -> bool:
        """Whether the border of a pinhole camera with so much longer a focal length is within the image."""
        fx, fy, cx, cy = self._zoomed(factor)
        line = np.linspace(0.0, 1.0, BORDER)
        ends = np.repeat([0.0, 1.0], BORDER)
        across, down = np.concatenate([np.tile(line, 2), ends]), np.concatenate([ends, np.tile(line, 2)])
        x, y = self.distorted((across * self.width - cx) / fx, (down * self.height - cy) / fy)
        return bool(((x >= 0.0) & (x <= self.width) & (y >= 0.0) & (y <= self.height)).all())


def camera(where: str, model: str, width: int, height: int, values: tuple[float, ...]) -> Camera:
    """A camera from what a file has. Raises `InputError`, which begins with `where`, for what cannot be used."""
    if model not in READ:
        raise InputError(
            f"{where}: camera model {model} is not read, only {', '.join(READ)}: undistort the images first, with "
            "colmap image_undistorter"
        )
    names = READ[model]
    if len(values) != len(names):
        raise InputError(f"{where}: {model} has the parameters {', '.join(names)}, not {len(values)} of them")
    named = dict(zip(names, values, strict=True))
    fx, fy = named.get("fx", named.get("f", 0.0)), named.get("fy", named.get("f", 0.0))
    if not (0 < width <= LARGEST and 0 < height <= LARGEST):
        raise InputError(f"{where}: its images have {width} x {height} pixels; expected 1 to {LARGEST:,} along a side")
    if not np.isfinite(values).all() or not (1e-3 < fx < 1e9 and 1e-3 < fy < 1e9):
        raise InputError(f"{where}: its parameters {', '.join(f'{one:g}' for one in values)} are not those of a camera")
    distortion = tuple(named.get(name, 0.0) for name in ("k1", "k2", "p1", "p2"))
    return Camera(width, height, Pinhole(fx, fy, named["cx"], named["cy"]), distortion)  # pyright: ignore
