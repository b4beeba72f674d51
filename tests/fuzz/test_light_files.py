"""200 damaged images of light, Radiance and OpenEXR: an error that names the file, or an image of the size it says."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.renderer import environment_image

from .damage import bounded

EACH = 50
MOST_BYTES = 4 << 20  # for images of 16 x 32 pixels
ROWS, COLUMNS = 16, 32
HUGE = (10_000, 1 << 14, 1 << 20, (1 << 31) - 1, 10**12)
OTHERS = (
    *(b"", b"hello\n" * 99, b"\x89PNG\r\n\x1a\n" + bytes(64), b"\xff" * 3200),
    b"ffconcat version 1.0\nfile other.hdr\n",  # lists of FFmpeg, which name other files
    b"#EXTM3U\n#EXT-X-TARGETDURATION:9\n#EXTINF:9,\nother.hdr\n#EXT-X-ENDLIST\n",
)
Damage = Callable[[bytes, random.Random], bytes]
_light = np.random.default_rng(2).uniform(0, 1, (ROWS, COLUMNS, 3)).astype(np.float32)


def hdr() -> bytes:
    """RGBE without run lengths."""
    mantissa, exponent = np.frexp(_light.max(axis=2))
    scale = np.where(_light.max(axis=2) > 0, mantissa * 256 / np.maximum(_light.max(axis=2), 1e-30), 0)
    rgbe = np.concatenate([_light * scale[..., None], (exponent + 128)[..., None]], axis=2).astype(np.uint8)
    return b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y %d +X %d\n" % (ROWS, COLUMNS) + rgbe.tobytes()


def exr() -> bytes:
    """OpenEXR without compression: its header, an offset of each row, the rows by channel."""
    channels = b"".join(b"%c\0" % name + struct.pack("<i4x2i", 2, 1, 1) for name in b"BGR") + b"\0"
    window = struct.pack("<4i", 0, 0, COLUMNS - 1, ROWS - 1)
    attributes = {
        **{b"channels\0chlist": channels, b"compression\0compression": b"\0", b"dataWindow\0box2i": window},
        **{b"displayWindow\0box2i": window, b"lineOrder\0lineOrder": b"\0"},
        **{b"pixelAspectRatio\0float": struct.pack("<f", 1), b"screenWindowCenter\0v2f": bytes(8)},
        b"screenWindowWidth\0float": struct.pack("<f", 1),
    }
    head = b"\x76\x2f\x31\x01\2\0\0\0"
    head += b"".join(name + b"\0" + struct.pack("<i", len(value)) + value for name, value in attributes.items()) + b"\0"
    rows = [struct.pack("<2i", at, COLUMNS * 12) + _light[at, :, ::-1].T.astype("<f4").tobytes() for at in range(ROWS)]
    first = len(head) + 8 * ROWS
    return head + struct.pack(f"<{ROWS}Q", *(first + at * len(rows[0]) for at in range(ROWS))) + b"".join(rows)


def flipped(data: bytes, chance: random.Random) -> bytes:
    found = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    return bytes(found)


def truncated(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def counted(data: bytes, chance: random.Random) -> bytes:
    """With a size for which there are no bytes, or none at all."""
    huge = chance.choice((*HUGE, 0, -5, 1))
    if data.startswith(b"#?"):
        return data.replace(*chance.choice(((b"-Y %d" % ROWS, b"-Y %d" % huge), (b"+X %d" % COLUMNS, b"+X %d" % huge))))
    for window in (b"dataWindow", b"displayWindow") if chance.random() < 0.7 else (b"displayWindow",):
        at = data.index(window) + len(window) + 11 + chance.choice((8, 12))
        data = data[:at] + struct.pack("<i", max(-6, min(huge, (1 << 31) - 1)) - 1) + data[at + 4 :]
    return data


def other(data: bytes, chance: random.Random) -> bytes:
    return chance.choice((*OTHERS, chance.randbytes(3000)))


@pytest.mark.parametrize("name", ["a.hdr", "a.exr"])
def test_200_damaged_files(name: str, tmp_path: Path) -> None:
    data, chance, path = (hdr() if name.endswith("hdr") else exr()), random.Random(name), tmp_path / name
    path.write_bytes(data)
    (tmp_path / "other.hdr").write_bytes(hdr())
    np.testing.assert_allclose(environment_image.read(path), _light, atol=0.01)
    kinds: dict[Damage, bool] = {flipped: False, truncated: False, counted: True, other: True}
    errors = 0
    for damage, is_error in kinds.items():
        for number in range(EACH):
            path = tmp_path / f"{number}_{name}"
            path.write_bytes(damage(data, chance))
            with bounded(tmp_path, MOST_BYTES):
                try:
                    light = environment_image.read(path)
                except InputError as error:
                    errors += 1
                    assert path.name in str(error)
                    continue
            assert not is_error, path.read_bytes()[:400]
            assert np.isfinite(light).all() and light.size < 20 * ROWS * COLUMNS
    assert errors >= 2 * EACH
