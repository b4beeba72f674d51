"""200 damaged files of COLMAP in text, and 200 binary ones: an error each, that names the file, without much memory."""

from __future__ import annotations

import random
import struct
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.models.colmap_files import Reconstruction, binary_files, text_files, write

from vertigrad.errors import InputError
from vertigrad.models.data import colmap

EACH = 17
MOST_BYTES = 4 << 20
COUNT = 20
HUGE = (COUNT + 1, 1 << 20, (1 << 31) - 1, 1 << 32, 1 << 61, (1 << 64) - 1)
OTHERS = (b"hello\n" * 99, b"\x89PNG\r\n\x1a\n" + bytes(64), b"PK\3\4" + bytes(92), b"\xff" * 3200)
MODEL = Reconstruction(
    {number: ("OPENCV", 40, 30, (35.0, 35.0, 20.0, 15.0, 0.1, 0.0, 0.0, 0.0)) for number in range(1, COUNT + 1)},
    [((1.0, 0.1, 0.2, 0.3), (0.0, 0.5, 4.0), number, f"{number}.png") for number in range(1, COUNT + 1)],
    np.random.default_rng(1).normal(size=(COUNT, 3)),
    np.full((COUNT, 3), 99, np.uint8),
)
FILES = binary_files(MODEL) | text_files(MODEL)
NUMBERS = {"cameras": range(4, 12), "images": range(1, 8), "points3D": range(1, 4)}  # words of a line, not integers
INTEGERS = {"cameras": (0, 2, 3), "images": (0, 8), "points3D": (4, 5, 6)}
LAYOUTS = {"cameras": (24, 64), "images": (4, 56), "points3D": (8, 24)}  # of a row of f64: its start and bytes

Damage = Callable[[str, bytes, random.Random], bytes]


def truncated(name: str, data: bytes, chance: random.Random) -> bytes:
    """Ended anywhere; of text, without a word of a line."""
    if name.endswith(".bin"):
        return data[: chance.randrange(len(data))]
    return changed_words(data, chance, lambda words: words.pop(chance.randrange(len(words))))


def counted(name: str, data: bytes, chance: random.Random) -> bytes:
    """With a count of rows that is too large; of text, with an integer that is none."""
    if name.endswith(".bin"):
        return struct.pack("<Q", chance.choice(HUGE)) + data[8:]
    at = chance.choice(INTEGERS[Path(name).stem])
    return changed_words(
        data, chance, lambda words: words.__setitem__(at, chance.choice(("x", "1.5", "1e9", "9" * 5000)))
    )


def not_a_number(name: str, data: bytes, chance: random.Random) -> bytes:
    """With NaN or infinity in every row, of binary images in the first."""
    stem, value = Path(name).stem, chance.choice((float("nan"), float("inf"), -float("inf")))
    if name.endswith(".bin"):
        start, size = LAYOUTS[stem]
        row = (len(data) - 8) // COUNT
        at = 8 + start + 8 * chance.randrange(size // 8)
        found = bytearray(data)
        for number in range(1 if stem == "images" else COUNT):  # rows of images differ in size
            found[at + number * row : at + number * row + 8] = struct.pack("<d", value)
        return bytes(found)
    at = chance.choice(NUMBERS[stem])
    return b"\n".join(with_word(line, at, f"{value}") for line in data.split(b"\n"))


def other(name: str, data: bytes, chance: random.Random) -> bytes:
    """Another kind of file, or with bytes after its end."""
    return chance.choice((*OTHERS, chance.randbytes(300), data + b"\1 2 3" + chance.randbytes(8)))


def with_word(line: bytes, at: int, word: str) -> bytes:
    words = line.split()
    if len(words) < 8 or line.startswith(b"#"):
        return line
    words[at] = word.encode()
    return b" ".join(words)


def changed_words(data: bytes, chance: random.Random, change: Callable[[list[str]], object]) -> bytes:
    """With another line of eight words or more."""
    lines = data.decode().split("\n")
    at = chance.choice([number for number, line in enumerate(lines) if len(line.split()) >= 8])
    words = lines[at].split()
    change(words)
    lines[at] = " ".join(words)
    return "\n".join(lines).encode()


@pytest.mark.parametrize("name", FILES)
def test_damaged_files(name: str, tmp_path: Path) -> None:
    chance, same = random.Random(name), {n: data for n, data in FILES.items() if n.endswith(name[-4:])}
    write(tmp_path, same)
    file = tmp_path / f"cameras{name[-4:]}"
    colmap.read(file)
    kinds: list[Damage] = [truncated, counted, not_a_number, other]
    tracemalloc.start()
    try:
        for number in range(len(kinds) * EACH):
            (tmp_path / name).write_bytes(kinds[number % len(kinds)](name, FILES[name], chance))
            tracemalloc.reset_peak()
            with pytest.raises(InputError, match=name):
                colmap.read.__wrapped__(file)
            assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
    finally:
        tracemalloc.stop()
