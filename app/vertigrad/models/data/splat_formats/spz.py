"""`.spz` files (Niantic): a gzip stream of a header of 16 bytes and the attributes one after the other.

Versions 2 and 3, which differ in how rotations are written. A splat has its position in three numbers of 24 bits, with
`fractional_bits` of them behind the point; its opacity; its color, the first harmonic times 0.15 around the middle;
logarithms of its scales in sixteenths above -10; its rotation; and its harmonics, in 128ths from -1 to 1.
"""

from __future__ import annotations

import gzip
import logging
import math
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ....errors import InputError
from .packing import ROOT, from_smallest_three, smallest_three, to_bytes
from .values import FIRST_HARMONIC, HARMONICS, Splats, log_scale, require_count

SUFFIX = ".spz"
MAGIC = 0x5053474E
HEADER = np.dtype([("magic", "<u4"), ("version", "<u4"), ("count", "<u4"), *((n, "u1") for n in "dbfr")])
VERSIONS = (2, 3)
FRACTIONAL_BITS = 12  # as Niantic writes; fewer for scenes that are larger than 2048
MOST_RATIO = 1040  # more than the 1032 to 1 that deflate can reach
MOST_SKIPPED, PIECE = 1 << 26, 1 << 16  # bytes of extensions behind the splats
DEGREES = (*HARMONICS, 72)  # values by degree; those of degree 4 are not drawn
COLOR_SCALE = 0.15
ANTIALIASED = 1  # a flag
MAGNITUDE = 511  # 9 bits, of the components of rotations in version 3
STEPS = 8, 16  # to which harmonics of degree 1, and of higher degrees, are rounded, lest the file grows

_log = logging.getLogger("vertigrad")


class _Header(NamedTuple):
    version: int
    count: int
    degree: int
    fractional_bits: int
    flags: int

    @property
    def sections(self) -> tuple[int, ...]:
        """Bytes a splat of positions, opacities, colors, scales, rotations and harmonics."""
        return 9, 1, 3, 3, 4 if self.version == 3 else 3, DEGREES[self.degree]


def read(path: Path) -> Splats:
    """The splats of a file. Raises `InputError`; no more is decompressed than the header says."""
    content = path.read_bytes()
    stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
    try:
        start = stream.decompress(content, HEADER.itemsize)
        head = _header(path, start)
        needed = head.count * sum(head.sections)
        if needed > MOST_RATIO * len(content):
            raise InputError(f"{path}: {len(content):,} bytes cannot hold {head.count:,} splats; the file is truncated")
        body = stream.decompress(stream.unconsumed_tail, needed)
        if len(body) == needed:
            _finish(path, stream)
    except zlib.error as error:
        raise InputError(f"{path}: not a .spz file, or damaged: {error}") from None
    if len(body) < needed:
        raise InputError(f"{path}: ends after {len(body):,} of {needed:,} bytes of its splats; the file is truncated")
    return _splats(path, head, body)


def _finish(path: Path, stream: zlib._Decompress) -> None:
    """Read on to the end, where the checksum is; what extensions have there is skipped, in pieces."""
    for _ in range(MOST_SKIPPED // PIECE):
        if stream.eof:
            return
        if not stream.decompress(stream.unconsumed_tail, PIECE) and not stream.eof:
            break
    if not stream.eof:
        raise InputError(f"{path}: ends before its checksum; the file is truncated")


def _header(path: Path, start: bytes) -> _Header:
    if len(start) < HEADER.itemsize:
        raise InputError(f"{path}: not a .spz file: its header is truncated")
    magic, version, count, degree, bits, flags, _ = (int(value) for value in np.frombuffer(start, HEADER)[0])
    if magic != MAGIC:
        raise InputError(f"{path}: not a .spz file: it does not begin with NGSP")
    if version not in VERSIONS:
        raise InputError(f"{path}: version {version} of .spz; versions {VERSIONS[0]} and {VERSIONS[1]} can be read")
    if degree >= len(DEGREES) or bits > 23:
        raise InputError(f"{path}: its header has {degree} as degree of harmonics and {bits} fractional bits")
    require_count(path, count)
    return _Header(version, count, degree, bits, flags)


def _splats(path: Path, head: _Header, body: bytes) -> Splats:
    ends = np.cumsum([width * head.count for width in head.sections])[:-1]
    parts = np.split(np.frombuffer(body, np.uint8), ends)
    shaped = [part.reshape(head.count, width) for part, width in zip(parts, head.sections, strict=True)]
    position, opacity, color, scale, rotation, harmonics = shaped
    if head.degree == 4:
        _log.warning("%s: spherical harmonics of degree 4 are ignored", path)
        harmonics = harmonics[:, : HARMONICS[-1]]
    turn = _rotations_3(rotation) if head.version == 3 else _rotations_2(rotation)
    return Splats(
        _positions(position, head.fractional_bits),
        np.exp(scale.astype(np.float32) / 16.0 - 10.0),
        turn,
        opacity[:, 0].astype(np.float32) / 255.0,
        0.5 + np.float32(FIRST_HARMONIC / COLOR_SCALE) * (color.astype(np.float32) / 255.0 - 0.5),
        (harmonics.astype(np.float32) - 128.0) / 128.0,
        bool(head.flags & ANTIALIASED),
    )


def _positions(packed: np.ndarray, fractional_bits: int) -> np.ndarray:
    """Three little-endian numbers of 24 bits with a sign, from 9 bytes."""
    wide = np.zeros((len(packed), 3, 4), np.uint8)
    wide[:, :, 1:] = packed.reshape(-1, 3, 3)
    return (wide.view("<i4")[:, :, 0] >> 8).astype(np.float32) / np.float32(1 << fractional_bits)


def _rotations_2(packed: np.ndarray) -> np.ndarray:
    """x, y and z in a byte each; w is positive."""
    axis = packed.astype(np.float32) / 127.5 - 1.0
    w = np.sqrt(np.maximum(0.0, 1.0 - (axis * axis).sum(axis=1, keepdims=True)))
    found = np.concatenate([axis, w], axis=1)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def _rotations_3(packed: np.ndarray) -> np.ndarray:
    """The largest component's index in the upper two bits, then the others in the order x, y, z, w, each a sign and
    a magnitude.
    """
    words = np.ascontiguousarray(packed).view("<u4")[:, 0]
    others = np.stack([(words >> np.uint32(shift)) & np.uint32(0x3FF) for shift in (20, 10, 0)], axis=1)
    size = (others & np.uint32(MAGNITUDE)).astype(np.float32) * np.float32(ROOT / MAGNITUDE)
    return from_smallest_three((words >> np.uint32(30)).astype(np.intp), np.where(others > MAGNITUDE, -size, size))


def packed(splats: Splats) -> bytes:
    """The bytes of a file of version 3. Raises `InputError` for positions beyond 2^23."""
    count, degree = len(splats.position), HARMONICS.index(splats.harmonics.shape[1])
    bits = _fractional_bits(splats.position)
    head = np.array([(MAGIC, 3, count, degree, bits, ANTIALIASED * splats.antialiased, 0)], HEADER)
    fixed = np.clip(np.round(splats.position.astype(np.float64) * (1 << bits)), -(1 << 23), (1 << 23) - 1)
    fixed_bytes = np.ascontiguousarray(fixed.astype("<i4")).view(np.uint8).reshape(count, 3, 4)[:, :, :3]
    largest, others = smallest_three(splats.rotation.astype(np.float64))
    words = largest
    for column in others.T:
        magnitude = np.minimum(np.round(np.abs(column) * (MAGNITUDE / ROOT)), MAGNITUDE).astype(np.uint32)
        words = (words << np.uint32(10)) | ((column < 0.0).astype(np.uint32) << np.uint32(9)) | magnitude
    parts = [
        head,
        fixed_bytes,
        to_bytes(splats.opacity * 255.0),
        to_bytes((splats.color - 0.5) * (COLOR_SCALE / FIRST_HARMONIC * 255.0) + 127.5),
        to_bytes((log_scale(splats.scale) + 10.0) * 16.0),
        words.astype("<u4"),
        _rounded(splats.harmonics),
    ]
    # Level 9, the default, takes 13 times as long, and saves 4 %.
    return gzip.compress(b"".join(part.tobytes() for part in parts), compresslevel=6, mtime=0)


def _fractional_bits(positions: np.ndarray) -> int:
    largest = float(np.abs(positions).max(initial=0.0))
    bits = min(FRACTIONAL_BITS, math.floor(math.log2(((1 << 23) - 1) / max(largest, 1e-30))))
    if bits < 0:
        raise InputError(f"positions up to {largest:g} are too far from the origin for a .spz: at most {1 << 23:,}")
    return bits


def _rounded(harmonics: np.ndarray) -> np.ndarray:
    first, rest = STEPS
    step = np.where(np.arange(harmonics.shape[1]) < HARMONICS[1], first, rest)
    return to_bytes(np.floor((np.round(harmonics * 128.0) + 128.0 + step / 2) / step) * step)
