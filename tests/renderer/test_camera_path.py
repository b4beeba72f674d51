"""The motion of the camera through keyframes, against SciPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.interpolate import PchipInterpolator

from vertigrad.renderer.camera import OrbitCamera
from vertigrad.renderer.camera_path import CameraPath

KEYFRAMES = {
    10: OrbitCamera((0.0, 0.0, 0.0), 5.0, 3.0, 0.2, 45.0),
    40: OrbitCamera((1.0, 0.5, 0.0), 10.0, -3.0, 0.4, 60.0),
    55: OrbitCamera((3.0, 0.6, 0.0), 11.0, -2.5, 0.5, 60.0),
    100: OrbitCamera((4.0, 0.0, -2.0), 2.0, -1.0, -0.5, 20.0),
}
FRAMES = np.linspace(10, 100, 901)


def test_it_passes_through_its_keyframes_and_rests_outside() -> None:
    path = CameraPath(KEYFRAMES)
    for frame, camera in KEYFRAMES.items():
        assert path.at(frame) == camera and path.at(frame) is not camera
    assert path.at(-5) == path.at(9.9) == KEYFRAMES[10] and path.at(1000) == KEYFRAMES[100]
    assert CameraPath({7: KEYFRAMES[10]}).at(3) == KEYFRAMES[10]


def test_between_them_it_is_a_monotone_cubic() -> None:
    path, frames = CameraPath(KEYFRAMES), [10, 40, 55, 100]
    inner = np.linspace(41, 54, 30)  # where the slopes at both ends are inner ones
    found = [path.at(frame) for frame in inner]
    for values, parts in (
        ([0.0, 1.0, 3.0, 4.0], [camera.target[0] for camera in found]),
        ([5.0, 10.0, 11.0, 2.0], None),
        ([3.0, math.tau - 3.0, math.tau - 2.5, math.tau - 1.0], [camera.yaw % math.tau for camera in found]),
        ([0.2, 0.4, 0.5, -0.5], [camera.pitch for camera in found]),
    ):
        if parts is not None:
            assert np.allclose(parts, PchipInterpolator(frames, values)(inner), atol=1e-9)
    heights = [math.log(camera.half_height) for camera in KEYFRAMES.values()]
    expected = np.exp(PchipInterpolator(frames, heights)(inner))
    assert np.allclose([camera.half_height for camera in found], expected, rtol=1e-9)


def test_it_is_smooth_and_stays_between_two_keyframes() -> None:
    path = CameraPath(KEYFRAMES)
    positions = np.array([path.at(frame).position for frame in FRAMES])
    speed = np.linalg.norm(np.diff(positions, axis=0), axis=1) * 10
    assert np.abs(np.diff(speed)).max() < 0.05, "no jump of the speed"
    assert speed[0] < 0.02 and speed[-1] < 0.02, "it starts and ends at rest"
    fovs = np.array([path.at(frame).fov for frame in FRAMES])
    assert fovs.max() <= 60.0 + 1e-9 and fovs.min() >= 20.0 - 1e-9
    assert np.allclose(fovs[(FRAMES >= 40) & (FRAMES <= 55)], 60.0)


def test_yaw_takes_the_smaller_angle() -> None:
    path = CameraPath({0: OrbitCamera(yaw=3.0), 10: OrbitCamera(yaw=-3.0)})
    assert abs(path.at(5).yaw) == pytest.approx(math.pi)


def test_it_is_orthographic_only_between_two_keyframes_that_are() -> None:
    parallel = [OrbitCamera(distance=distance, orthographic=True) for distance in (2.0, 4.0)]
    path = CameraPath({0: parallel[0], 10: parallel[1], 20: OrbitCamera()})
    assert path.at(5).orthographic and path.at(5).half_height == pytest.approx(
        math.sqrt(parallel[0].half_height * parallel[1].half_height), rel=0.05
    )
    assert not path.at(15).orthographic and 1.0 <= path.at(15).fov < 45.0
