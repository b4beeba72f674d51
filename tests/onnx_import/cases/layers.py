"""Layers of networks: convolutions, pools, normalizations, attention, resampling, recurrent layers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..networks import reals
from .case import FLOAT, HALF, Case, case
from .shapes import ints

X = reals(1, 4, 7, 6)
W, GROUPED, UP = reals(6, 4, 3, 2), reals(6, 2, 3, 2), reals(4, 3, 3, 2)
U8 = (np.abs(X) * 40).astype(np.uint8)
W8 = (np.abs(W) * 40).astype(np.uint8)
_LONG = [np.random.default_rng(seed).integers(200, 256, (1, 350, 2), np.uint8) for seed in range(2)]  # sums above 2²⁴
_POOLED = (reals(1, 1, 2, 2), np.array([[[[5, 7], [13, 15]]]]))
_REGION = np.array([0, 0, 0.2, 0.4, 1, 1, 0.6, 1.3], np.float32)
_EMPTY = np.zeros(0, np.float32)
_GRID = np.clip(reals(1, 5, 6, 2), -1.3, 1.3)
Q, K, V = reals(2, 4, 3, 8), reals(2, 2, 5, 8, seed=1), reals(2, 2, 5, 6, seed=2)
_CACHE = reals(2, 2, 3, 8, seed=7), reals(2, 2, 3, 6, seed=8)
_SQUARE = reals(2, 2, 6, 4), reals(2, 2, 6, 4, seed=1), reals(2, 2, 6, 4, seed=2)
_FLAT = (reals(2, 3, 32), reals(2, 5, 16, seed=1), reals(2, 5, 16, seed=2))


def _windows(op: str, inputs: tuple[Any, ...], fixed: dict[str, Any]) -> list[Case]:
    """Strides, paddings and dilations of a convolution or a pool."""
    cases = [
        {},
        {"strides": [2, 3]},
        {"pads": [1, 0, 0, 1]},
        {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
        {"strides": [2, 2], "auto_pad": "SAME_LOWER"},
        {"auto_pad": "VALID"},
        {"dilations": [2, 1]},
    ]
    return [case(op, *inputs, **fixed, **more) for more in cases]


def _pools(op: str, **more: Any) -> list[Case]:
    fixed = {"kernel_shape": [3, 2], **more}
    return [
        *_windows(op, (X,), fixed),
        case(op, X, **fixed, strides=[3, 3], ceil_mode=1),
        case(op, X, **(fixed | {"kernel_shape": [2, 3]})),
    ]


def _recurrent(op: str, gates: int) -> list[Case]:
    steps, batch, into, hidden = 4, 2, 3, 5
    x, h = reals(steps, batch, into), reals(1, batch, hidden, seed=5)
    w, r = reals(1, gates * hidden, into, seed=1) / 2, reals(1, gates * hidden, hidden, seed=2) / 2
    b = reals(1, 2 * gates * hidden, seed=3) / 2
    both = [np.concatenate([v, -v[::-1, ::-1]]) for v in (w, r, b, h)]
    lengths = np.array([4, 2], np.int32)
    last = (0, 1, 2) if op == "LSTM" else (0, 1)
    names = {"RNN": ["Relu"], "GRU": ["Tanh", "Sigmoid"], "LSTM": ["Tanh", "Sigmoid", "Relu"]}[op]
    scaled = {"RNN": ["Affine"], "GRU": ["Affine", "Affine"], "LSTM": ["HardSigmoid"] * 3}[op]
    weights, fixed = {"constants": (1, 2, 3)}, {"hidden_size": hidden}
    plain = (x, w, r, b)
    found = [
        case(op, x, w, r, outputs=last, **fixed, **weights),
        case(op, *plain, outputs=last, **fixed, **weights),
        case(op, *plain, lengths, outputs=last, **fixed, **weights),
        case(op, *plain, None, h, outputs=last, **fixed, **weights),
        case(op, x, *both[:3], lengths, both[3], outputs=last, direction="bidirectional", **fixed, **weights),
        case(op, *plain, lengths, outputs=last, direction="reverse", **fixed, **weights),
        case(op, *plain, outputs=last, clip=0.2, **fixed, **weights),
        case(op, *plain, outputs=last, activations=names, **fixed, **weights),
        *(
            case(op, *plain, outputs=last, activations=scaled, **alphas, **fixed, **weights)
            for n in [len(scaled)]
            for alphas in (
                {"activation_alpha": [0.3, 0.4, 0.5][:n], "activation_beta": [0.6, 0.7, 0.4][:n]},
                {"activation_alpha": [0.3, 0.4, 0.5][:n]},
            )
        ),
        *(case(op, *plain, outputs=(index,), **fixed, **weights) for index in last),
        case(op, x.transpose(1, 0, 2).copy(), *plain[1:], None, h.transpose(1, 0, 2).copy(), outputs=last, layout=1,
             reference="onnx", **fixed, **weights),  # onnxruntime rejects the layout
    ]  # fmt: skip
    return found


def _lstm() -> list[Case]:
    base = _recurrent("LSTM", 4)[1]
    c, p = reals(1, 2, 5, seed=6), reals(1, 15, seed=7)
    return [
        case("LSTM", *base.inputs, None, None, c, outputs=(0, 1, 2), constants=(1, 2, 3), hidden_size=5),
        case("LSTM", *base.inputs, None, None, None, p, outputs=(0, 1, 2), constants=(1, 2, 3), hidden_size=5),
        case("LSTM", *base.inputs, outputs=(0, 1, 2), constants=(1, 2, 3), hidden_size=5, input_forget=1),
    ]


def _resizes(none: np.ndarray | None, versions: tuple[int, int]) -> list[Case]:
    """`none` is used for an omitted region, scales or sizes."""
    scales = [np.array(cases, np.float32) for cases in ([1, 1, 2, 1.5], [1, 1, 0.63, 1.37])]
    sized = (X, none, none, ints(1, 4, 5, 9))
    crop = {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    cases: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((X, none, scales[0]), {}),
        *(((X, none, scales[1]), {"nearest_mode": mode}) for mode in ("ceil", "floor", "round_prefer_ceil")),
        (sized, {}),
        (sized, {"mode": "linear"}),
        (sized, {"mode": "cubic"}),
        (sized, {"mode": "cubic", "cubic_coeff_a": -0.5}),
        (sized, {"mode": "cubic", "exclude_outside": 1}),
        *(
            (sized, {"mode": "linear", "coordinate_transformation_mode": mode})
            for mode in ("align_corners", "asymmetric", "pytorch_half_pixel")
        ),
        ((X, _REGION, none, sized[3]), crop),
        ((X, _REGION, none, sized[3]), {**crop, "extrapolation_value": 3.0}),
    ]
    return [case("Resize", *inputs, **attributes, versions=versions) for inputs, attributes in cases]


CASES: list[Case] = [
    *_windows("Conv", (X, W), {"kernel_shape": [3, 2]}),
    *_windows("Conv", (X, W), {}),
    case("Conv", X, W, reals(6)),
    case("Conv", X, GROUPED, group=2),
    *_windows("ConvTranspose", (X, UP), {"kernel_shape": [3, 2]}),
    case("ConvTranspose", X, UP, reals(3)),
    case("ConvTranspose", X, UP, group=2),
    case("ConvTranspose", X, UP, strides=[2, 2], output_padding=[1, 1]),
    case("ConvTranspose", X, UP, strides=[2, 2], output_shape=[14, 12]),
    case("ConvTranspose", X, UP, strides=[2, 2], output_shape=[14, 12], auto_pad="SAME_UPPER"),
    *_windows("ConvInteger", (U8, W8), {"kernel_shape": [3, 2]}),
    case("ConvInteger", U8, W8, np.uint8(7)),
    case("ConvInteger", U8, W8, None, np.uint8(9), reference="onnx"),
    case("ConvInteger", U8, W8[:, :2].copy(), np.uint8(7), group=2),
    case("ConvInteger", *_LONG, np.uint8(2), np.uint8(3)),
    *_pools("MaxPool"),
    case("MaxPool", X, kernel_shape=[3, 2], outputs=(0, 1), versions=(8, 28)),
    case("MaxPool", X, kernel_shape=[3, 2], outputs=(0, 1), storage_order=1),
    *_pools("AveragePool"),
    case("AveragePool", X, kernel_shape=[3, 2], pads=[1, 0, 0, 1], count_include_pad=1),
    *_pools("LpPool"),
    case("LpPool", X, kernel_shape=[3, 2], p=3),
    *(case(op, X) for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")),
    case("GlobalLpPool", X, p=3),
    case("MaxUnpool", *_POOLED, kernel_shape=[2, 2], strides=[2, 2]),
    case("MaxUnpool", _POOLED[0], np.array([[[[0, 2], [4, 8]]]]), kernel_shape=[2, 2]),
    case("MaxUnpool", _POOLED[0], np.array([[[[0, 1], [3, 5]]]]), kernel_shape=[2, 2], strides=[2, 2],
         pads=[1, 0, 1, 0], reference="onnx"),
    case("MaxUnpool", *_POOLED, ints(1, 1, 4, 4), kernel_shape=[2, 2], strides=[2, 2]),
    case("MaxUnpool", *_POOLED, ints(1, 1, 5, 5), kernel_shape=[2, 2], strides=[2, 2], refused="output shape"),
    # normalizations
    case("BatchNormalization", X, *(np.abs(reals(4, seed=i)) + 0.2 for i in range(4))),
    case("BatchNormalization", X, *(np.abs(reals(4, seed=i)) + 0.2 for i in range(4)), epsilon=0.3),
    case("BatchNormalization", X, *(np.abs(reals(4, seed=i)) + 0.2 for i in range(4)), momentum=0.3),
    case("BatchNormalization", X, *(np.abs(reals(4, seed=i)) for i in range(4)), spatial=0, refused="spatial"),
    case("BatchNormalization", X, *(np.abs(reals(4, seed=i)) for i in range(4)), training_mode=1, outputs=(0, 1, 2),
         refused="training"),
    case("BatchNormalization", X, *(np.abs(reals(4, seed=i)) for i in range(4)), outputs=(0, 1, 2, 3, 4),
         versions=(7, 13), refused="training"),
    case("InstanceNormalization", X, reals(4), reals(4, seed=1)),
    case("InstanceNormalization", X, reals(4), reals(4, seed=1), epsilon=0.3),
    case("GroupNormalization", X, reals(4), reals(4, seed=1), num_groups=2),
    case("GroupNormalization", X, reals(4), reals(4, seed=1), num_groups=4),
    case("GroupNormalization", X, reals(4), reals(4, seed=1), num_groups=2, epsilon=0.3),
    *(case(op, *cases, epsilon=1e-3, stash_type=HALF, refused="stash_type") for op, cases in (
        ("LayerNormalization", (reals(2, 3), reals(3))), ("RMSNormalization", (reals(2, 3), reals(3))))),
    case("GroupNormalization", X, reals(4), reals(4, seed=1), num_groups=2, stash_type=HALF, refused="stash_type"),
    case("LayerNormalization", X, reals(6)),
    case("LayerNormalization", X, reals(6), reals(6, seed=1)),
    case("LayerNormalization", X, reals(7, 6), axis=2),
    case("LayerNormalization", X, reals(6), epsilon=0.3),
    case("LayerNormalization", X, reals(6), outputs=(0, 1, 2)),
    case("LayerNormalization", X, reals(6), outputs=(0, 2)),
    case("RMSNormalization", X, reals(6)),
    case("RMSNormalization", X, reals(7, 6), axis=2),
    case("RMSNormalization", X, reals(6), epsilon=0.3),
    case("LpNormalization", X),
    case("LpNormalization", X, axis=1),
    case("LpNormalization", X, p=1),
    case("LRN", X, size=3),
    case("LRN", X, size=5, alpha=0.3),
    case("LRN", X, size=3, alpha=0.3),
    case("LRN", X, size=3, alpha=0.3, beta=0.3),
    case("LRN", X, size=3, bias=0.3),
    *(case(op, X) for op in ("Softmax", "LogSoftmax", "Hardmax")),
    *(case(op, X, axis=axis) for op in ("Softmax", "LogSoftmax", "Hardmax") for axis in (0, 2)),
    # attention
    case("Attention", Q, K, V),
    case("Attention", Q, K, V, reals(3, 5, seed=4)),
    case("Attention", Q, K, V, reals(3, 5, seed=4) > 0),
    case("Attention", Q, K, V, scale=0.7),
    case("Attention", Q, K, V, is_causal=1),
    case("Attention", Q, K, V, softcap=0.5),
    case("Attention", Q, K, V, softmax_precision=FLOAT),
    case("Attention", Q, K, V, softmax_precision=11, refused="softmax"),
    case("Attention", Q, K, V, qk_matmul_output_mode=1),
    case("Attention", Q, K, V, outputs=(0, 3), qk_matmul_output_mode=1),
    case("Attention", *_FLAT, q_num_heads=4, kv_num_heads=2),
    case("Attention", Q, K, V, reals(3, 8, seed=4), *_CACHE, outputs=(0, 1, 2), versions=(23, 23)),
    case("Attention", Q, K, V, None, *_CACHE, outputs=(0, 1, 2), refused="a form of it"),  # ONNX cannot expand it
    case("Attention", Q, K, V, None, None, None, ints(3, 4)),
    case("Attention", *_SQUARE, is_causal=1, left_window_size=2),
    case("Attention", *_SQUARE, left_window_size=1),
    case("Attention", *_SQUARE, left_window_size=0, right_window_size=0),
    case("Attention", *_SQUARE, right_window_size=1),
    # resampling
    *(case("Resize", X, np.array([1, 1, 2, 1.5], np.float32), mode=mode, versions=(10, 10))
      for mode in ("nearest", "linear")),
    *(each for empty, opsets in ((_EMPTY, (11, 12)), (None, (13, 28))) for each in _resizes(empty, opsets)),
    case("Resize", X, None, None, ints(4, 5), mode="linear", antialias=1, axes=[2, 3]),
    case("Resize", X, None, None, ints(5, 9), axes=[2, 3]),
    case("Resize", X, None, None, ints(5, 9), axes=[2, 3], keep_aspect_ratio_policy="not_larger"),
    case("Upsample", X, scales=[1.0, 1.0, 2.0, 2.0]),
    case("Upsample", X, scales=[1.0, 1.0, 2.0, 3.0], mode="linear"),
    case("Upsample", X, np.array([1, 1, 2, 3], np.float32), mode="linear"),
    case("Upsample", X, np.array([1, 1, 2, 3], np.float32)),
    case("GridSample", X, _GRID),
    case("GridSample", X, _GRID, mode="bicubic", versions=(16, 19)),
    case("GridSample", X, _GRID, mode="nearest"),
    case("GridSample", X, _GRID, mode="cubic", versions=(20, 28)),
    case("GridSample", X, _GRID, padding_mode="border"),
    case("GridSample", X, _GRID, padding_mode="reflection"),
    case("GridSample", X, _GRID, align_corners=1),
    case("AffineGrid", reals(2, 2, 3), ints(2, 3, 4, 5)),
    case("AffineGrid", reals(2, 2, 3), ints(2, 3, 4, 5), align_corners=1),
    *(case(op, np.array(97), **cases)
      for op in ("BlackmanWindow", "HammingWindow", "HannWindow")
      for cases in ({}, {"periodic": 0}, {"output_datatype": HALF, "rtol": 2e-3})),
    # recurrent
    *_recurrent("RNN", 1),
    *_recurrent("GRU", 3),
    case("GRU", *_recurrent("GRU", 3)[1].inputs, outputs=(0, 1), constants=(1, 2, 3), hidden_size=5,
         linear_before_reset=1),
    *_recurrent("LSTM", 4),
    *_lstm(),
]  # fmt: skip

WITHOUT_EFFECT = {
    ("BatchNormalization", "momentum"): "training alone",
    ("Attention", "softmax_precision"): "float32 is what is calculated in anyway",
    ("Attention", "qk_matmul_output_mode"): "about an output that is not asked for",
    **{(op, "kernel_shape"): "repeats the shape of the weights" for op in ("Conv", "ConvTranspose", "ConvInteger")},
    **{(op, "hidden_size"): "repeats the shape of the weights" for op in ("RNN", "GRU", "LSTM")},
    ("MaxUnpool", 2): "the shape that the pool came from is the only one that is supported",
}
