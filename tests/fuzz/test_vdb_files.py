"""200 damaged OpenVDB files: an error for each, that names the file, and no large allocation."""

from __future__ import annotations

import random
import re
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.models.vdb_files import vdb_file

from vertigrad.errors import InputError
from vertigrad.models.data.volume_formats import vdb

from .test_splat_files import OTHERS

MOST_BYTES = 32 << 20  # a node below the root has 32,768 values
EACH = 50
HUGE = (2**31 - 1, 2**32 - 1, 10**6, 2**24)
NUMBERS = (float("nan"), float("inf"), -float("inf"))
NAMES = ("fog", "fog_zip", "tiles")


def truncated(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data) - 8)]


def counted(data: bytes, chance: random.Random) -> bytes:
    """Lengths of texts and of values in tables."""
    last = [list(re.finditer(name, data))[-1] for name in (rb"file_bbox_max", rb"[A-Z]\w+Map")]
    found = chance.choice([*last, *re.finditer(rb"Tree_float_5_4_3|density|tiles", data)])
    at = found.start() - 4
    return data[:at] + struct.pack("<I", chance.choice(HUGE)) + data[at + 4 :]


def not_a_number(data: bytes, chance: random.Random) -> bytes:
    """In the map to space."""
    at = list(re.finditer(rb"[A-Z]\w+Map", data))[-1].end() + 8 * chance.randrange(3)
    return data[:at] + struct.pack("<d", chance.choice(NUMBERS)) + data[at + 8 :]


def typed(data: bytes, chance: random.Random) -> bytes:
    old, new = chance.choice(
        (
            *((b" BDV", b" VDB"), (b"_5_4_3", b"_5_4_2"), (b"Tree_float", b"Tree_vec3s")),
            *((struct.pack("<I", 224), struct.pack("<I", 7)), (b"Map", b"Mop")),
        )
    )
    return chance.choice((*OTHERS, chance.randbytes(3000))) if chance.random() < 0.2 else data.replace(old, new)


def read_within_bounds(path: Path) -> None:
    tracemalloc.start()
    try:
        vdb.read(path)
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MOST_BYTES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("damage", [truncated, counted, not_a_number, typed])
def test_damaged_files(name: str, damage: Callable[[bytes, random.Random], bytes], tmp_path: Path) -> None:
    data, chance = vdb_file(name), random.Random(f"{name} {damage.__name__}")
    for number in range(EACH // 3 + 1):
        damaged = damage(data, chance)
        if damaged == data:
            continue
        path = tmp_path / f"{number}_{name}.vdb"
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=tmp_path.name):
            read_within_bounds(path)
        path.unlink()


@pytest.mark.parametrize("name", NAMES)
def test_random_bytes_are_read_or_refused(name: str, tmp_path: Path) -> None:
    """A changed value is only another value; positions and masks are checked."""
    data, chance = vdb_file(name), random.Random(name)
    path, refused = tmp_path / f"{name}.vdb", 0
    for _ in range(EACH):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 3, 30))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(bytes(damaged))
        try:
            read_within_bounds(path)
        except InputError as error:
            assert tmp_path.name in str(error)
            refused += 1
    assert refused > EACH // 4
