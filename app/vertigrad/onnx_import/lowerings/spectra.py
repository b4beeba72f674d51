"""Discrete Fourier transforms, as products with a table of what each number of the input adds to the spectrum."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from ... import ops
from ...errors import InputError
from ...tensor import Tensor
from .. import fold
from ..node import Node, Refused
from ..registry import lowers
from ..values import Value
from .shaping import reshaped

MOST_IN_TABLE = 1 << 24  # numbers: 64 MiB


@lowers("DFT")
def dft(node: Node) -> Tensor:
    """Along an attribute `axis` in opset 17, along that of an input since."""
    x = node.tensor(0)
    axis = node.attribute("axis", 1) if node.version < 20 else node.ints(2)[0] if node.has(2) else -2
    if not -x.ndim <= axis < x.ndim or axis % x.ndim == x.ndim - 1:
        raise InputError(f"{node}: axis {axis} of a signal of shape {x.shape}")
    inverse, onesided = bool(node.attribute("inverse", 0)), bool(node.attribute("onesided", 0))
    count = x.shape[axis]
    length = node.ints(1)[0] if node.has(1) else 2 * (count - 1) if inverse and onesided else count
    return _transformed(node, x, axis % x.ndim, length, inverse, onesided)


@lowers("STFT")
def stft(node: Node) -> Tensor:
    """The spectra of windows that begin every few samples."""
    signal, step = node.tensor(0), node.ints(1)[0]
    window = node.optional(2)
    length = node.ints(3)[0] if node.has(3) else window.size if window is not None else signal.shape[1]
    if step < 1 or not 0 < length <= signal.shape[1] or (window is not None and window.size != length):
        size = "none" if window is None else window.size
        raise InputError(f"{node}: windows of {size} for frames of {length}, every {step} of {signal.shape[1]} samples")
    starts = np.arange(0, signal.shape[1] - length + 1, step, dtype=np.int32)
    frames = ops.take(signal, starts[:, None] + np.arange(length, dtype=np.int32), axis=1)
    if window is not None:
        frames = ops.multiply(frames, window.reshape(length, 1))
    return _transformed(node, frames, 2, length, inverse=False, onesided=bool(node.attribute("onesided", 1)))


def _transformed(node: Node, x: Tensor, axis: int, length: int, inverse: bool, onesided: bool) -> Tensor:
    """`x` of shape (..., count, ..., parts) with `axis` transformed; `parts` is 1, or 2 for complex numbers."""
    count, parts = x.shape[axis], x.shape[-1]
    if parts not in (1, 2) or length < 1:
        raise InputError(f"{node}: a transform of length {length} of a signal of shape {x.shape}")
    if onesided and parts != 1 + inverse:
        raise InputError(f"{node}: onesided, a {'spectrum' if inverse else 'signal'} of {parts} parts")
    if parts * count * 2 * length > MOST_IN_TABLE:
        raise Refused(f"a transform of {count:,} numbers of {length:,}; its table would be too large")
    table = _table(count, length, parts, inverse, onesided)
    others = [a for a in range(x.ndim - 1) if a != axis]
    rows = reshaped(x.permute(*others, x.ndim - 1, axis), (*(x.shape[a] for a in others), parts * count))
    spectrum = ops.matmul(rows, node.upload(table.reshape(parts * count, -1).astype(x.dtype.numpy)))
    spectrum = (
        ops.divide(spectrum, float(length)) if inverse else spectrum
    )  # last: in the table, each number would be rounded
    spectrum = spectrum.reshape(*spectrum.shape[:-1], *table.shape[2:])
    back = [*range(x.ndim)]  # the new axis, now last, to where it was; parts, now before it, to the end
    back[axis : x.ndim - 1] = [x.ndim - 1, *range(axis, x.ndim - 2)]
    back[-1] = x.ndim - 2
    return spectrum.permute(*back)


def _table(count: int, length: int, parts: int, inverse: bool, onesided: bool) -> np.ndarray:
    """What each input adds to each output, of shape (parts, count, parts of the result, numbers of the result).

    An inverse transform lacks its factor of 1 / `length`.
    """
    units = np.eye(count)[None] * np.array([1, 1j])[:parts, None, None]
    if inverse and onesided:
        return np.fft.irfft(units, length, norm="forward")[:, :, None]
    spectrum = np.fft.ifft(units, length, norm="forward") if inverse else np.fft.fft(units, length)
    spectrum = spectrum[..., : length // 2 + 1] if onesided else spectrum
    return np.stack([spectrum.real, spectrum.imag], axis=2)


@lowers("MelWeightMatrix")
def mel_weights(node: Node) -> Value:
    """Computed on the host: its inputs are a few numbers, which decide its shape."""
    arrays = [node.host(index) for index in range(5)]
    computed = fold.evaluate(node.proto, arrays, node.version, str(node))
    assert computed is not None
    return Value(node.attribute("output_datatype", TensorProto.FLOAT), host=computed[0], sources=node.sources)
