"""PLY files in the layout of the reference implementation of Kerbl et al. 2023, "3D Gaussian Splatting".

A vertex has x, y, z; f_dc_0 to 2, the first spherical harmonic of its color; f_rest_0 to 8, 23 or 44, those of degree
1 to 3, all of red first; opacity before the logistic function; scale_0 to 2, logarithms of standard deviations; rot_0
to 3, a quaternion w, x, y, z. Normals may be there and mean nothing.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ....errors import InputError
from .. import ply
from .values import (
    FIRST_HARMONIC,
    HARMONICS,
    Splats,
    in_pieces,
    log_scale,
    logit,
    no_harmonics,
    require_count,
    sigmoid,
    unit,
)

POSITION, NORMAL, COLOR = ("x", "y", "z"), ("nx", "ny", "nz"), ("f_dc_0", "f_dc_1", "f_dc_2")
SCALE, TURN = ("scale_0", "scale_1", "scale_2"), ("rot_0", "rot_1", "rot_2", "rot_3")
NEEDED = (*POSITION, *COLOR, "opacity", *SCALE, *TURN)

_log = logging.getLogger("vertigrad")


def read(path: Path, head: ply.Header) -> Splats:
    """The splats of a file. Raises `InputError`."""
    fields = head.vertex.fields
    missing = [name for name in NEEDED if name not in fields]
    rows = ply.vertices(path, head, mapped=True)
    if missing:
        raise InputError(f"{path}: not a PLY of Gaussian splats: its vertices lack {', '.join(missing)}")
    require_count(path, len(rows))
    harmonics = _harmonic_names(path, fields)
    return in_pieces(path, rows, lambda part: _converted(part, harmonics))


def _converted(rows: np.ndarray, harmonics: Sequence[str]) -> Splats:
    with np.errstate(over="ignore", invalid="ignore"):
        return Splats(
            ply.columns(rows, POSITION, np.float32),
            np.exp(ply.columns(rows, SCALE, np.float32)),
            unit(ply.columns(rows, TURN, np.float32)[:, [1, 2, 3, 0]]),
            sigmoid(ply.columns(rows, ("opacity",), np.float32)[:, 0]),
            0.5 + np.float32(FIRST_HARMONIC) * ply.columns(rows, COLOR, np.float32),
            by_harmonic(ply.columns(rows, harmonics, np.float32)) if harmonics else no_harmonics(len(rows)),
        )


def _harmonic_names(path: Path, fields: dict[str, str]) -> Sequence[str]:
    names = [name for name in fields if name.startswith("f_rest_")]
    expected = [f"f_rest_{number}" for number in range(len(names))]
    if len(names) not in HARMONICS or set(names) != set(expected):
        _log.warning("%s: f_rest (%d values a splat) is not of degree 1, 2 or 3, and is ignored", path, len(names))
        return ()
    return expected


def by_harmonic(by_channel: np.ndarray) -> np.ndarray:
    """Harmonics (n, 3 k), all of red, then all of green and blue, as red, green and blue of each."""
    count, values = by_channel.shape
    return np.ascontiguousarray(by_channel.reshape(count, 3, values // 3).transpose(0, 2, 1)).reshape(count, values)


def by_channel(by_harmonic: np.ndarray) -> np.ndarray:
    """The inverse of `by_harmonic`."""
    count, values = by_harmonic.shape
    return by_harmonic.reshape(count, values // 3, 3).transpose(0, 2, 1).reshape(count, values)


def packed(splats: Splats, comments: Sequence[str] = ()) -> bytes:
    """The bytes of a binary file: 62 properties a splat with harmonics of degree 3."""
    rest = by_channel(splats.harmonics)
    columns = {
        POSITION: splats.position,
        NORMAL: np.zeros_like(splats.position),
        COLOR: (splats.color - 0.5) / FIRST_HARMONIC,
        tuple(f"f_rest_{number}" for number in range(rest.shape[1])): rest,
        ("opacity",): logit(splats.opacity)[:, None],
        SCALE: log_scale(splats.scale),
        TURN: splats.rotation[:, [3, 0, 1, 2]],
    }
    values = np.concatenate([np.asarray(one, "<f4") for one in columns.values()], axis=1)
    dtype = np.dtype([(name, "<f4") for names in columns for name in names])
    return ply.packed({"vertex": values.view(dtype)[:, 0]}, comments)
