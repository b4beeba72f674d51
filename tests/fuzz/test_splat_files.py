"""200 damaged files of each format of splats: an error for each, that names the file, and no large allocation."""

from __future__ import annotations

import gzip
import random
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.models.data import splat_file
from vertigrad.models.data.splat_formats.antimatter import ROW
from vertigrad.models.data.splat_formats.values import MOST_SPLATS

from .splats import COUNT, NAMES, splat_files

EACH = 50
MOST_BYTES = 4 << 20  # for files of 50 KB
HUGE = (COUNT + 1, 1 << 20, (1 << 26) + 1, (1 << 31) - 1, 1 << 32, 10**12, 10**18, 10**30)
OTHERS = (b"", b"hello\n" * 99, b"\x89PNG\r\n\x1a\n" + bytes(64), b"PK\3\4" + bytes(92), bytes(3200), b"\xff" * 3200)

Damage = Callable[[bytes, random.Random], bytes]


def truncated(name: str) -> Damage:
    """Ended anywhere; of a `.splat`, not between two rows."""

    def cut(data: bytes, chance: random.Random) -> bytes:
        end = chance.randrange(len(data))
        return data[: end + (end % ROW.itemsize == 0)] if name.endswith(".splat") else data[:end]

    return cut


def counted(name: str) -> Damage:
    """With a count of rows in the header that is too large."""

    def ply(data: bytes, chance: random.Random) -> bytes:
        elements = [line for line in data.split(b"end_header")[0].split(b"\n") if line.startswith(b"element")]
        line = chance.choice(elements)
        return data.replace(line, b"%s %d" % (line.rsplit(b" ", 1)[0], chance.choice(HUGE)), 1)

    def spz(data: bytes, chance: random.Random) -> bytes:
        raw = bytearray(gzip.decompress(data))
        raw[8:12] = struct.pack("<I", min(chance.choice(HUGE), 0xFFFFFFFF))
        return gzip.compress(bytes(raw), 1)

    return spz if name.endswith(".spz") else ply


def not_a_number(name: str) -> Damage:
    """With NaN or infinity in one value of every splat or chunk; `.spz` has no such values, but bits may flip."""

    def ply(data: bytes, chance: random.Random) -> bytes:
        head, end, body = data.partition(b"end_header\n")
        columns = head.split(b"element vertex")[0 if b"chunk" in head else 1].count(b"property float")
        rows = 1 if b"chunk" in head else COUNT
        values = np.frombuffer(body, "<f4", rows * columns).reshape(rows, columns).copy()
        normals = range(3, 6) if rows > 1 else ()
        values[:, chance.choice([n for n in range(columns) if n not in normals])] = np.nan
        return head + end + values.tobytes() + body[values.nbytes :]

    def splat(data: bytes, chance: random.Random) -> bytes:
        rows = np.frombuffer(data, ROW).copy()
        rows[chance.choice(("position", "scale"))][:, chance.randrange(3)] = chance.choice((np.nan, np.inf, -np.inf))
        return rows.tobytes()

    def spz(data: bytes, chance: random.Random) -> bytes:
        at = chance.randrange(10, len(data) - 9)
        return data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1 :]

    return splat if name.endswith(".splat") else spz if name.endswith(".spz") else ply


def typed(name: str) -> Damage:
    """With another type of a property, another version, or as a file of another kind."""

    def ply(data: bytes, chance: random.Random) -> bytes:
        lines = [line for line in data.split(b"end_header")[0].split(b"\n") if line.startswith(b"property")]
        needed = [line for line in lines if not line.endswith((b" nx", b" ny", b" nz")) and b"f_rest" not in line]
        line = chance.choice(needed)
        _, kind, label = line.split()
        others = [b"list uchar int", b"string", *([b"double"] if kind == b"float" else [b"uchar", b"float"])]
        return data.replace(line + b"\n", b"property %s %s\n" % (chance.choice(others), label), 1)

    def spz(data: bytes, chance: random.Random) -> bytes:
        raw = bytearray(gzip.decompress(data))
        at, value = chance.choice([(0, 0), (4, 1), (4, 4), (4, 200), (12, 5), (12, 255), (13, 24), (13, 255)])
        raw[at] = value
        return gzip.compress(bytes(raw), 1) if chance.random() < 0.8 else bytes(raw)  # or not compressed

    def damage(data: bytes, chance: random.Random) -> bytes:
        if name.endswith(".splat") or chance.random() < 0.2:
            return chance.choice((*OTHERS, chance.randbytes(ROW.itemsize * 100)))
        return spz(data, chance) if name.endswith(".spz") else ply(data, chance)

    return damage


@pytest.mark.parametrize("name", NAMES)
def test_200_damaged_files(name: str, tmp_path: Path) -> None:
    data, chance = splat_files()[name], random.Random(name)
    kinds = [truncated(name), not_a_number(name), typed(name)]
    kinds += [truncated(name)] if name.endswith(".splat") else [counted(name)]
    (tmp_path / name).write_bytes(data)
    splat_file.read(tmp_path / name)
    tracemalloc.start()
    try:
        for number in range(len(kinds) * EACH):
            path = tmp_path / f"{number}_{name}"
            path.write_bytes(kinds[number % len(kinds)](data, chance))
            tracemalloc.reset_peak()
            with pytest.raises(InputError, match=path.name):
                splat_file.read(path)
            assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
            path.unlink()
    finally:
        tracemalloc.stop()


def test_a_huge_file_is_not_read(tmp_path: Path) -> None:
    """A `.splat` has no count: the size of the file is it."""
    path = tmp_path / "a.splat"
    with path.open("wb") as file:
        file.truncate((MOST_SPLATS + 1) * ROW.itemsize)
    with pytest.raises(InputError, match="at most"):
        splat_file.read(path)


def test_a_small_file_does_not_become_a_large_one(tmp_path: Path) -> None:
    """Zeros compress a thousand times; no more of them are decompressed than the header has splats."""
    path = tmp_path / "a.spz"
    head = struct.pack("<IIIBBBB", 0x5053474E, 3, COUNT, 0, 12, 0, 0)
    path.write_bytes(gzip.compress(head + bytes(100 << 20), 1))
    tracemalloc.start()
    try:
        with pytest.raises(InputError, match="checksum"):
            splat_file.read(path)
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()
