"""`CameraPath`: a smooth motion of the camera through keyframes."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping

import numpy as np

from .camera import OrbitCamera
from .transition import lens_of


class CameraPath:
    """The camera at each frame, through the views of `keyframes`, by their frames; there must be at least one.

    Before the first and after the last it is at rest. In between the target, the yaw and pitch around it, and the
    logarithms of the visible height and of the lens are interpolated by piecewise cubic Hermite polynomials with the
    slopes of Fritsch and Butland 1984: they are smooth, and none leaves the range of the two keyframes around it. Yaw
    takes the smaller angle from one keyframe to the next. The motion starts and ends at speed zero.
    """

    def __init__(self, keyframes: Mapping[int, OrbitCamera]):
        self._frames = sorted(keyframes)
        self._cameras = [keyframes[frame] for frame in self._frames]
        self._values = np.array([_values(camera) for camera in self._cameras])
        self._values[:, YAW] = np.unwrap(self._values[:, YAW])
        self._slopes = _slopes(np.array(self._frames, float), self._values)

    def at(self, frame: float) -> OrbitCamera:
        """The camera at a frame, which may be between two frames of the run."""
        index = bisect_right(self._frames, frame) - 1
        if index < 0 or index == len(self._frames) - 1 or frame == self._frames[index]:
            return OrbitCamera(**vars(self._cameras[max(index, 0)]))
        start, end = self._frames[index : index + 2]
        length = float(end - start)
        t = (frame - start) / length
        begin, goal = self._values[index : index + 2]
        slopes = self._slopes[index : index + 2] * length
        found = (
            (2 * t**3 - 3 * t**2 + 1) * begin
            + (t**3 - 2 * t**2 + t) * slopes[0]
            + (3 * t**2 - 2 * t**3) * goal
            + (t**3 - t**2) * slopes[1]
        )
        return _camera(found, self._cameras[index], self._cameras[index + 1])


YAW = 3  # its place in `_values`


def _values(camera: OrbitCamera) -> list[float]:
    lens = lens_of(camera)
    return [*camera.target, camera.yaw, camera.pitch, math.log(camera.half_height), math.log(lens)]


def _camera(values: np.ndarray, start: OrbitCamera, goal: OrbitCamera) -> OrbitCamera:
    """The camera of interpolated values; orthographic only between two keyframes that are."""
    x, y, z, yaw, pitch, height, lens = values.tolist()
    return OrbitCamera(
        target=(x, y, z),
        distance=math.exp(height - lens),
        yaw=math.remainder(yaw, math.tau),
        pitch=pitch,
        fov=min(max(math.degrees(2.0 * math.atan(math.exp(lens))), 1.0), 170.0),
        up=start.up,
        orthographic=start.orthographic and goal.orthographic,
    )


def _slopes(frames: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The derivative of each value at each keyframe; 0 at both ends, and where a value turns around."""
    slopes = np.zeros_like(values)
    if len(frames) < 3:
        return slopes
    lengths = np.diff(frames)[:, None]
    secants = np.diff(values, axis=0) / lengths
    before, after = secants[:-1], secants[1:]
    first = 2 * lengths[1:] + lengths[:-1]
    second = lengths[1:] + 2 * lengths[:-1]
    same = before * after > 0.0
    safe_before, safe_after = np.where(same, before, 1.0), np.where(same, after, 1.0)
    slopes[1:-1] = np.where(same, (first + second) / (first / safe_before + second / safe_after), 0.0)
    return slopes
