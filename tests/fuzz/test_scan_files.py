"""200 damaged files of each format of points: an error for each, that names the file, and no large allocation."""

from __future__ import annotations

import io
import random
import re
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from vertigrad.errors import InputError
from vertigrad.models.data import point_file

from . import scans
from .test_splat_files import HUGE as HUGE_COUNTS
from .test_splat_files import MOST_BYTES, OTHERS

EACH = 50
HUGE = (scans.COUNT + 1, *HUGE_COUNTS[1:])
Damage = Callable[[bytes, random.Random], bytes]
NAN = np.full_like(scans.XYZ, np.nan)


def truncated(name: str) -> Damage:
    """Ended anywhere; of a CSV, within a row: whole rows are a file of their own."""

    def csv(data: bytes, chance: random.Random) -> bytes:
        lines = data.split(b"\n")
        last = chance.randrange(2, len(lines) - 2)
        return b"\n".join([*lines[:last], lines[last][: lines[last].rindex(b",")]])

    return csv if name.endswith("csv") else lambda data, chance: data[: chance.randrange(len(data))]


def counted(name: str) -> Damage:
    """With more rows claimed than there are; a CSV claims none, but a row may have too many values."""

    def las(data: bytes, chance: random.Random) -> bytes:
        count = min(chance.choice(HUGE), 2**64 - 1)
        return data[:247] + struct.pack("<Q", count) + data[255:]

    def numpy(data: bytes, chance: random.Random) -> bytes:
        file = io.BytesIO()
        array = np.lib.format.read_array(io.BytesIO(data)) if name.endswith("npy") else np.zeros((300, 3))
        np.lib.format.write_array(file, array)
        shape = re.search(rb"'shape': \((\d+),", file.getvalue())
        assert shape is not None
        fresh, text = file.getvalue(), str(chance.choice(HUGE)).encode()
        head = fresh[: shape.start(1)] + text + fresh[shape.end(1) :].replace(b" " * (len(text) - 3), b"", 1)
        if name.endswith("npy"):
            return head
        import zipfile

        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr("points.npy", head)
        return packed.getvalue()

    def ply(data: bytes, chance: random.Random) -> bytes:
        return data.replace(b"vertex %d" % scans.COUNT, b"vertex %d" % chance.choice(HUGE))

    def csv(data: bytes, chance: random.Random) -> bytes:
        lines = data.split(b"\n")
        lines[chance.randrange(1, len(lines) - 1)] += b",1" * chance.randrange(1, 1000)
        return b"\n".join(lines)

    def parquet(data: bytes, chance: random.Random) -> bytes:
        length = chance.choice([0, 1, len(data), 2**31 - 1, 2**32 - 1])  # of the metadata at the end
        return data[:-8] + struct.pack("<I", length) + data[-4:]

    kinds = {"ply": ply, "las": las, "laz": las, "npy": numpy, "npz": numpy, "csv": csv, "parquet": parquet}
    return kinds[name.rpartition(".")[2]]


def not_a_number(name: str) -> Damage:
    """Without a finite coordinate; those of LAS are integers, but their scales may be NaN."""

    def las(data: bytes, chance: random.Random) -> bytes:
        at = 131 + 8 * chance.randrange(6)
        return data[:at] + struct.pack("<d", chance.choice((np.nan, np.inf, -np.inf))) + data[at + 8 :]

    def others(data: bytes, chance: random.Random) -> bytes:
        xyz = scans.XYZ.copy()
        xyz[:, chance.randrange(3)] = chance.choice((np.nan, np.inf, -np.inf, 1e31))
        return scans.point_file(name, xyz)

    return las if name[-3:] in ("las", "laz") else others


def typed(name: str) -> Damage:
    """With another type or name of a column, or as a file of another kind."""

    def las(data: bytes, chance: random.Random) -> bytes:
        at, value = chance.choice([(104, 99), (104, 0x7F), (24, 9), (94, 7), (95, 255), (99, 255), (103, 255)])
        return data[:at] + bytes([value]) + data[at + 1 :]

    def parquet(data: bytes, chance: random.Random) -> bytes:
        columns = dict(scans.table())
        columns[chance.choice("xyz")] = chance.choice([["a"] * scans.COUNT, [None] * scans.COUNT, [b"1"] * scans.COUNT])
        file = io.BytesIO()
        pyarrow.parquet.write_table(pa.table(columns), file)
        return file.getvalue()

    def words(data: bytes, chance: random.Random) -> bytes:
        lines = data.split(b"\n")
        column = chance.randrange(3)
        number = chance.randrange(1, len(lines) - 2)
        parts = lines[number].split(b",")
        parts[column] = chance.choice([b"abc", b"1e", b"--1", b'"', b"0x"])
        return b"\n".join([*lines[:number], b",".join(parts), *lines[number + 1 :]])

    def numpy(data: bytes, chance: random.Random) -> bytes:
        file = io.BytesIO()
        kind = chance.choice(["U3", "c16", "M8[s]", "S4"])
        array = np.zeros(chance.choice([(9,), (9, 3), (9, 6)]), kind)
        np.save(file, array) if name.endswith("npy") else np.savez(file, points=array)
        return file.getvalue()

    def ply(data: bytes, chance: random.Random) -> bytes:
        kind = chance.choice([b"list uchar int", b"string", b"float128"])
        return data.replace(b"property float64 " + chance.choice([b"x", b"y", b"z"]), b"property %s x" % kind, 1)

    kinds = {"las": las, "laz": las, "parquet": parquet, "csv": words, "npy": numpy, "npz": numpy, "ply": ply}

    def damage(data: bytes, chance: random.Random) -> bytes:
        if chance.random() < 0.2:
            return chance.choice((*OTHERS, chance.randbytes(3000)))
        return kinds[name.rpartition(".")[2]](data, chance)

    return damage


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", scans.POINT_NAMES)
def test_200_damaged_files(name: str, tmp_path: Path) -> None:
    data, chance = scans.point_files()[name], random.Random(name)
    kinds = [truncated(name), counted(name), not_a_number(name), typed(name)]
    (tmp_path / name).write_bytes(data)
    assert len(point_file.read(tmp_path / name, 2.0, "z").positions) == scans.COUNT
    tracemalloc.start()
    try:
        for number in range(len(kinds) * EACH):
            path = tmp_path / f"{number}_{name}"
            path.write_bytes(kinds[number % len(kinds)](data, chance))
            tracemalloc.reset_peak()
            before = pa.total_allocated_bytes()
            with pytest.raises(InputError, match=path.name):
                point_file.read(path, 2.0, "z")
            assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
            assert pa.total_allocated_bytes() - before < MOST_BYTES
            path.unlink()
    finally:
        tracemalloc.stop()
