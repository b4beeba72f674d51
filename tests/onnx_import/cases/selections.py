"""Selections, regions of images, and convolutions of other kinds."""

from __future__ import annotations

import numpy as np

from ..networks import reals
from .case import Case, case

random = np.random.default_rng(2)
_NUMBERS = np.array([2, 1, 1, 3, 4, 3, 2], np.float32)
_ROWS = np.array([[1, 0, 0], [1, 0, 0], [2, 3, 4]], np.float32)
_CORNERS = np.sort(random.uniform(0, 10, (2, 12, 2, 2)), axis=2).reshape(2, 12, 4).astype(np.float32)
_SCORES = random.uniform(0, 1, (2, 3, 12)).astype(np.float32)
_MOST = (np.array([3]), np.array([0.2], np.float32), np.array([0.3], np.float32))
_REGIONS = (reals(2, 2, 12, 12), np.array([[1, 2, 9.5, 8], [0, 0, 4, 11]], np.float32), np.array([1, 0]))
_BYTES = (
    *(random.integers(0, 256, (1, 2, 5, 6)).astype(np.uint8), np.float32(0.02), np.uint8(120)),
    *(random.integers(0, 256, (3, 2, 3, 3)).astype(np.uint8), random.uniform(0.01, 0.02, 3).astype(np.float32)),
    *(np.array([120, 130, 128], np.uint8), np.float32(0.1), np.uint8(100)),
)
_BIAS = np.array([500, -300, 40], np.int32)
_GROUPED = (*_BYTES[:3], random.integers(0, 256, (4, 1, 3, 3)).astype(np.uint8), np.float32(0.02), np.uint8(120))
_DEFORMED = (reals(1, 4, 6, 7), reals(2, 4, 3, 3, seed=1), reals(1, 18, 4, 5, seed=2))
_OFFSETS = (_DEFORMED[0], _DEFORMED[1], reals(1, 36, 4, 5, seed=2))
_COLUMNS = (reals(1, 8, 12), np.array([4, 5]), np.array([2, 2]))

CASES: list[Case] = [
    case("NonZero", np.array([[1, 0, 2], [0, 0, 3]], np.float32)),
    case("NonZero", np.zeros((2, 3), np.float32)),
    case("NonZero", np.array([True, False, True])),
    case("Unique", _NUMBERS, outputs=(0, 1, 2, 3)),
    case("Unique", _NUMBERS, outputs=(0, 1, 2, 3), sorted=0),
    case("Unique", _ROWS, outputs=(0, 1, 2, 3), axis=0),
    case("Unique", _ROWS, outputs=(0,), axis=1, sorted=0),
    case("NonMaxSuppression", _CORNERS, _SCORES, *_MOST),
    case("NonMaxSuppression", _CORNERS, _SCORES, *_MOST, center_point_box=1),
    case("NonMaxSuppression", _CORNERS, _SCORES),
    case("NonMaxSuppression", _CORNERS[..., [2, 3, 0, 1]], _SCORES, np.array([9]), np.array([0.1], np.float32)),
    case("RoiAlign", *_REGIONS, output_height=3, output_width=2),
    case("RoiAlign", *_REGIONS, output_height=3, output_width=2, sampling_ratio=3, spatial_scale=0.5),
    case("RoiAlign", *_REGIONS, output_height=3, output_width=2, mode="max"),
    case("RoiAlign", *_REGIONS, output_height=2, output_width=2, coordinate_transformation_mode="output_half_pixel"),
    case("QLinearConv", *_BYTES),
    case("QLinearConv", *_BYTES, _BIAS, strides=[2, 1], dilations=[1, 2], pads=[1, 1, 1, 1], kernel_shape=[3, 3]),
    case("QLinearConv", *_BYTES, auto_pad="SAME_UPPER"),
    case("QLinearConv", *_GROUPED, *_BYTES[6:], group=2),
    case("Col2Im", *_COLUMNS),
    case("Col2Im", reals(1, 8, 9), np.array([4, 5]), np.array([2, 2]), strides=[1, 2], pads=[0, 1, 0, 0]),
    case("Col2Im", reals(1, 8, 6), np.array([4, 5]), np.array([2, 2]), dilations=[2, 2]),
    case("DeformConv", *_DEFORMED, reference="onnx"),
    case("DeformConv", *_OFFSETS, reals(2, seed=3), reals(1, 18, 4, 5, seed=4), offset_group=2, reference="onnx"),
    case(
        "DeformConv",
        *(_DEFORMED[0], reals(2, 2, 3, 3, seed=1), reals(1, 18, 2, 2, seed=2)),
        **{"group": 2, "strides": [2, 3], "dilations": [2, 1], "pads": [1, 0, 0, 1], "kernel_shape": [3, 3]},
        reference="onnx",
    ),
]

WITHOUT_EFFECT = {(op, "kernel_shape"): "repeats the shape of the weights" for op in ("QLinearConv", "DeformConv")}
