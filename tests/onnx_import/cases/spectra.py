"""Fourier transforms."""

from __future__ import annotations

import numpy as np

from ..networks import reals
from .case import FLOAT, HALF, Case, case

REAL, COMPLEX = reals(2, 9, 5, 1), reals(2, 9, 5, 2)
SIGNAL, PAIRS = reals(2, 50, 1), reals(2, 50, 2)
WINDOW = np.hanning(16).astype(np.float32)
_REST = {"rtol": 2e-4, "reference": "onnx"}  # sums of up to fifty terms; onnxruntime has old semantics of the axis
_MEL = (*(np.array(n) for n in (8, 16, 8192)), np.array(0.0, np.float32), np.array(4096.0, np.float32))
_ENDS = {0: (FLOAT, [2, "frames", "frequencies", 2])}


def _both(*inputs: np.ndarray | None, axis: int | None = None, **attributes: int) -> list[Case]:
    """With the axis as an attribute, and as an input."""
    at = {} if axis is None else {"axis": axis}
    last = [] if axis is None else [None] * (2 - len(inputs)) + [np.array(axis)]
    plain = case("DFT", *inputs, **at, **attributes, **_REST, versions=(17, 19))
    return [plain, case("DFT", *inputs, *last, **attributes, **_REST, versions=(20, 28))]


CASES: list[Case] = [
    *_both(REAL),
    *_both(COMPLEX),
    *_both(COMPLEX, axis=2),
    *_both(REAL, axis=0),
    *_both(REAL, np.array(12)),
    *_both(COMPLEX, np.array(6), axis=1),
    *_both(COMPLEX, inverse=1),
    *_both(REAL, onesided=1),
    *_both(COMPLEX, onesided=1, inverse=1),
    *_both(COMPLEX, np.array(15), onesided=1, inverse=1),
    case("MelWeightMatrix", *_MEL),
    case("MelWeightMatrix", *_MEL, output_datatype=HALF),
    case("STFT", SIGNAL, np.array(7), WINDOW, **_REST),
    case("STFT", SIGNAL, np.array(7), WINDOW, onesided=0, **_REST),
    case("STFT", PAIRS, np.array(7), WINDOW, onesided=0, **_REST),
    case("STFT", SIGNAL, np.array(10), None, np.array(20), **_REST),
    case("STFT", SIGNAL, np.array(7), WINDOW, np.array(16), **_REST),
]

WITHOUT_EFFECT = {("STFT", 3): "a window is as long as a frame"}
