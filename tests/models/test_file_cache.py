"""Data from a file is computed once, until the file changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.models.data import array_file, mesh_file, point_file, splat_file
from vertigrad.models.data.file_cache import cached
from vertigrad.models.learning import train_data
from vertigrad.models.learning.train_tables import Plane

WHEN = 1_700_000_000_000_000_000  # ns: both versions of a file have this time


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    os.utime(path, ns=(WHEN, WHEN))


@cached(2)
def length(path: Path, times: int = 1, plus: int = 0) -> list[int]:
    """A list, so that each result is a new object."""
    return [times * len(path.read_bytes()) + plus]


def test_the_same_file_and_arguments_are_read_once(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write(file, b"abc")
    first = length(file, 2, plus=1)
    assert first == [7] and length(file, 2, plus=1) is first
    assert length(file, 3, plus=1) == [10] and length(file, 2) == [6]
    assert length(file, 2, plus=1) is not first, "only two are cached"


def test_a_file_of_another_size_or_time_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "file"
    write(file, b"abc")
    first = length(file)
    write(file, b"abcd")
    assert length(file) == [4]
    write(file, b"abc")
    os.utime(file, ns=(WHEN, WHEN + 1))
    assert length(file) == [3] and length(file) is not first


def test_a_replaced_file_is_read_again(tmp_path: Path) -> None:
    file, other = tmp_path / "file", tmp_path / "other"
    write(file, b"abc")
    write(other, b"xyz")
    first = length(file)
    other.replace(file)
    assert length(file) is not first


def test_errors_are_not_cached(tmp_path: Path) -> None:
    file = tmp_path / "file"
    with pytest.raises(InputError, match="file: cannot be read"):
        length(file)
    write(file, b"abc")
    assert length(file) == [3]


def points(count: int) -> bytes:
    rows = "\n".join(f"{i} {i * i} 1" for i in range(count))
    axes = "".join(f"property float {axis}\n" for axis in "xyz")
    return f"ply\nformat ascii 1.0\nelement vertex {count}\n{axes}end_header\n{rows}\n".encode()


def array(tmp_path: Path, count: int) -> bytes:
    np.save(tmp_path / "made.npy", np.arange(4.0 * count).reshape(count, 4))
    return (tmp_path / "made.npy").read_bytes()


def splats(count: int) -> bytes:
    ones = np.ones((count, 3), np.float32)
    turns = np.tile(np.float32([0, 0, 0, 1]), (count, 1))
    positions = np.arange(3.0 * count, dtype=np.float32).reshape(count, 3)
    none = splat_file.no_harmonics(len(ones))
    return splat_file.packed(Path("a.ply"), splat_file.Splats(positions, ones, turns, 0.5 * ones[:, 0], ones, none))


def mesh(count: int) -> bytes:
    corners = "".join(f"v {i} {i * i} 0\n" for i in range(count + 2))
    return (corners + "".join(f"f {i + 1} {i + 2} {i + 3}\n" for i in range(count))).encode()


READERS: dict[str, tuple[str, Callable[[Path, int], bytes], Callable[[Path], int]]] = {
    "points": ("it.ply", lambda _, n: points(n), lambda file: len(point_file.read(file, 1.0, "y").positions)),
    "splats": ("it.ply", lambda _, n: splats(n), lambda file: len(splat_file.read(file).position)),
    "mesh": (
        "it.obj",
        lambda _, n: mesh(n),
        lambda file: len(mesh_file.read(file, 1.0, "y", crease=40.0).index),
    ),
    "array": ("it.npy", array, lambda file: len(array_file.read(file))),
    "plane": ("it.npy", array, lambda file: train_data.plane(Plane(file=file, resolution=16, square=False)).shape[1]),
}


@pytest.mark.parametrize("reader", READERS)
def test_every_reader_of_files_detects_a_rewritten_file(tmp_path: Path, reader: str) -> None:
    name, created, count = READERS[reader]
    file, found = tmp_path / name, []
    for number in (4, 9):
        write(file, created(tmp_path, number))
        found.append(count(file))
    assert found[0] != found[1]
    file.unlink()
    with pytest.raises(InputError, match="cannot be read"):
        count(file)
