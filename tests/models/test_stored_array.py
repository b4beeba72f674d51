"""Arrays that are stored in the cache folder."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from vertigrad.models.data import stored_array as module
from vertigrad.models.data.stored_array import stored_array


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("VERTIGRAD_CACHE", str(tmp_path))
    return tmp_path / "squares"


def squares(inputs: np.ndarray, computed: list[int], version: int = 1) -> np.ndarray:
    def compute() -> np.ndarray:
        computed.append(len(inputs))
        return inputs.astype(float) ** 2

    return stored_array("squares", version, (inputs,), compute)


def test_what_was_computed_once_is_read_and_equal(folder: Path) -> None:
    computed: list[int] = []
    inputs = np.linspace(0.0, 1.0, 7)
    first, second = squares(inputs, computed), squares(inputs.copy(), computed)
    assert computed == [7] and first.dtype == np.float32 and second.flags.writeable
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, (inputs**2).astype(np.float32))


def test_other_inputs_another_type_and_another_version_are_computed(folder: Path) -> None:
    computed: list[int] = []
    inputs = np.ones(4)
    for other in (inputs, inputs * 2.0, inputs[:3], inputs.astype(np.float32), inputs.reshape(2, 2)):
        squares(other, computed)
    squares(inputs, computed, version=2)
    assert len(computed) == 6 and len(list(folder.iterdir())) == 6


@pytest.mark.parametrize("length", [0, 3, 10, 15])
def test_a_damaged_file_is_computed_again(folder: Path, length: int) -> None:
    computed: list[int] = []
    inputs = np.arange(4.0)
    expected = squares(inputs, computed)
    (file,) = folder.iterdir()
    file.write_bytes(file.read_bytes()[:length])
    np.testing.assert_array_equal(squares(inputs, computed), expected)
    np.testing.assert_array_equal(squares(inputs, computed), expected)
    assert len(computed) == 2


def test_files_that_are_not_used_are_removed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    computed: list[int] = []
    for count in (1, 2, 3):
        squares(np.ones(count), computed)
        for file in folder.iterdir():
            os.utime(file, (count, count))
    squares(np.ones(1), computed)  # is used again
    squares(np.ones(4), computed)
    assert len(list(folder.iterdir())) == 3
    squares(np.ones(1), computed)
    assert computed == [1, 2, 3, 4]


def test_without_a_folder_to_write_to_it_is_computed_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("VERTIGRAD_CACHE", str(tmp_path / "file"))
    computed: list[int] = []
    for _ in range(2):
        squares(np.ones(2), computed)
    assert computed == [2, 2]
