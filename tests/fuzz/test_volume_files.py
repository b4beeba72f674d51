"""200 damaged files of each format of volumes: an error for each, that names the file, and no large allocation."""

from __future__ import annotations

import gzip
import json
import random
import re
import struct
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.models.data import volume_file
from vertigrad.models.data.volume_formats import zarr_volume

from . import scans
from .damage import bounded
from .test_splat_files import MOST_BYTES, OTHERS

EACH = 50
HUGE = (100, 1000, 30_000, 32_767)  # along an axis
NUMBERS = (float("nan"), float("inf"), -float("inf"), 1e38)
Damage = Callable[[bytes, random.Random], bytes]


def packed(name: str, change: Damage) -> Damage:
    """A change of what is compressed."""
    if not name.endswith("gz"):
        return change
    return lambda data, chance: gzip.compress(change(gzip.decompress(data), chance), 1)


def truncated(name: str) -> Damage:
    return lambda data, chance: data[: chance.randrange(len(data) - (12 if name.endswith("gz") else 1))]  # a checksum


def counted(name: str) -> Damage:
    def nrrd(data: bytes, chance: random.Random) -> bytes:
        sizes = [5, 6, 7]
        sizes[chance.randrange(3)] = chance.choice((*HUGE, 10**9, 2**40, 10**30, -1, 1, 0))
        return data.replace(b"sizes: 5 6 7", b"sizes: %d %d %d" % tuple(sizes))

    def nifti(data: bytes, chance: random.Random) -> bytes:
        at = 40 + 2 * chance.randrange(1, 4)
        return data[:at] + struct.pack("<h", chance.choice((*HUGE, -1))) + data[at + 2 :]

    def dicom(data: bytes, chance: random.Random) -> bytes:
        tag = chance.choice([b"\x28\0\x10\0US\2\0", b"\x28\0\x11\0US\2\0"])  # Rows, Columns
        at = data.index(tag) + len(tag)
        return data[:at] + struct.pack("<H", chance.choice((*HUGE, 65_535))) + data[at + 2 :]

    return nrrd if name.endswith("nrrd") else dicom if name.endswith("dcm") else packed(name, nifti)


def not_a_number(name: str) -> Damage:
    """In the spacing, the directions or the origin; values of a scan may be NaN."""

    def nrrd(data: bytes, chance: random.Random) -> bytes:
        word = chance.choice([b"nan", b"inf", b"-inf", b"1e400"])
        line = re.search(rb"space directions: .*\n", data)
        assert line is not None
        numbers = list(re.finditer(rb"-?[\d.]+", line[0]))
        one = numbers[chance.randrange(len(numbers))]
        return data.replace(line[0], line[0][: one.start()] + word + line[0][one.end() :])

    def nifti(data: bytes, chance: random.Random) -> bytes:
        at = 280 + 4 * chance.randrange(12)
        return data[:at] + struct.pack("<f", chance.choice(NUMBERS[:3])) + data[at + 4 :]

    def dicom(data: bytes, chance: random.Random) -> bytes:
        word = chance.choice([b"nan", b"inf", b"-1e999", b"abc"])
        old = chance.choice([b"0.8\\0.5 ", b"1.0\\0.0\\0.0\\0.0\\1.0\\0.0 "])
        assert old in data
        return data.replace(old, word.ljust(len(old) - 2)[: len(old) - 2] + b"\\0")

    return nrrd if name.endswith("nrrd") else dicom if name.endswith("dcm") else packed(name, nifti)


def typed(name: str) -> Damage:
    def nrrd(data: bytes, chance: random.Random) -> bytes:
        old, new = chance.choice(
            (
                *((b"type: int16", b"type: block"), (b"type: int16", b"type: string"), (b"NRRD000", b"NRRD999")),
                *((b"dimension: 3", b"dimension: 99"), (b"encoding:", b"encoding: hex\n#"), (b"sizes:", b"#sizes:")),
            )
        )
        return data.replace(old, new, 1)

    def nifti(data: bytes, chance: random.Random) -> bytes:
        at, value = chance.choice([(70, 128), (70, 32), (70, 1792), (70, 9999), (344, 0)])
        return data[:at] + struct.pack("<h", value) + data[at + 2 :]

    def dicom(data: bytes, chance: random.Random) -> bytes:
        tags = [(b"\x28\0\0\1US\2\0", 7), (b"\x28\0\2\0US\2\0", 3), (b"\x28\0\2\0US\2\0", 0)]
        tag, value = chance.choice(tags)  # BitsAllocated, SamplesPerPixel
        at = data.index(tag) + len(tag)
        return data[:at] + struct.pack("<H", value) + data[at + 2 :]

    change = nrrd if name.endswith("nrrd") else dicom if name.endswith("dcm") else packed(name, nifti)

    def damage(data: bytes, chance: random.Random) -> bytes:
        if chance.random() < 0.2:
            return chance.choice((*OTHERS, chance.randbytes(3000)))
        return change(data, chance)

    return damage


@pytest.mark.turns(2)
@pytest.mark.parametrize("name", scans.VOLUME_NAMES)
def test_200_damaged_files(name: str, tmp_path: Path) -> None:
    data, chance = scans.volume_files()[name], random.Random(name)
    kinds = [truncated(name), counted(name), not_a_number(name), typed(name)]
    if name.endswith("dcm"):
        (tmp_path / "other.dcm").write_bytes(scans.dicom_slice(1))
    (tmp_path / name).write_bytes(data)
    assert volume_file.read(tmp_path / name).values.shape[1:] == scans.SHAPE[1:]
    (tmp_path / name).unlink()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydicom warns of what it makes of damaged values
        for number in range(len(kinds) * EACH):
            path = tmp_path / f"{number}_{name}"
            path.write_bytes(kinds[number % len(kinds)](data, chance))
            if number % len(kinds) == 1:  # counts: only they can be too large, and pydicom takes long when it is traced
                tracemalloc.start()
            try:
                with pytest.raises(InputError, match=tmp_path.name):
                    volume_file.read(path)
                assert not tracemalloc.is_tracing() or tracemalloc.get_traced_memory()[1] < MOST_BYTES
            finally:
                tracemalloc.stop()
            path.unlink()


def damaged_array(files: dict[str, bytes], number: int, chance: random.Random) -> dict[str, bytes]:
    """A chunk or the description cut off, or another shape, chunk or type in that."""
    found, described = dict(files), json.loads(files["zarr.json"])
    kind = number % 4
    if kind == 0:
        name = chance.choice(sorted(files))
        found[name] = found[name][: chance.randrange(len(found[name]) - 1)]
        return found
    if kind == 1:
        described["shape"][chance.randrange(3)] = chance.choice((*HUGE[2:], 10**9, 2**40, 10**30, -1, 1, "7", 0.5))
    elif kind == 2:
        shape = described["chunk_grid"]["configuration"]["chunk_shape"]
        shape[chance.randrange(3)] = chance.choice((10**5, 10**9, 2**40, 10**30, -1, 0, "7"))
    else:
        name, value = chance.choice(
            [
                *(("data_type", "complex64"), ("data_type", "string"), ("data_type", "no"), ("zarr_format", 2)),
                *(("node_type", "group"), ("codecs", []), ("codecs", [{"name": "no"}]), ("chunk_grid", {})),
                *(("shape", []), ("shape", [6, 5]), ("shape", 6)),
            ]
        )
        described[name] = value
    return found | {"zarr.json": json.dumps(described).encode()}


def test_200_damaged_arrays_of_zarr(tmp_path: Path) -> None:
    zarr, chance = pytest.importorskip("zarr"), random.Random(4)
    whole = tmp_path / "whole.zarr"
    array = zarr.create_array(whole, shape=(6, 5, 4), chunks=(3, 5, 4), dtype="int16", zarr_format=3)
    array[:] = scans.HOUNSFIELD[:6, :5, :4]
    assert np.array_equal(volume_file.read(whole / "zarr.json").values, scans.HOUNSFIELD[:6, :5, :4])
    files = {str(file.relative_to(whole)): file.read_bytes() for file in whole.rglob("*") if file.is_file()}
    assert len(files) == 3
    for number in range(200):
        folder = tmp_path / f"{number}.zarr"
        for name, data in damaged_array(files, number, chance).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        with bounded(folder, MOST_BYTES), pytest.raises(InputError, match=f"{number}.zarr"):
            volume_file.read(folder / "zarr.json")
    (whole / "c" / "1" / "0" / "0").unlink()
    (whole / "c" / "1" / "0" / "0").symlink_to(whole / "c" / "0" / "0" / "0")
    with pytest.raises(InputError, match="0 is a link"):
        zarr_volume.read(whole / "zarr.json")


def test_a_small_file_does_not_become_a_large_one(tmp_path: Path) -> None:
    """Zeros compress a thousand times; no more of them are decompressed than the header has values."""
    path, data = tmp_path / "b.nrrd", scans.volume_files()["b.nrrd"]
    head = data[: data.index(b"\n\n") + 2]
    path.write_bytes(head + gzip.compress(bytes(100 << 20), 1))
    tracemalloc.start()
    try:
        assert not volume_file.read(path).values.any()
        assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()
