"""200 damaged OBJ files, and 200 with a damaged MTL: an error that names the file, or what is left of a whole one."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vertigrad.errors import InputError
from vertigrad.models.data.assets import obj as obj_reader
from vertigrad.models.data.assets.reading import read

from .damage import EXTREMES, bounded, damaged

EACH = 34
MOST_BYTES = 4 << 20  # for files of 2 KB
HUGE = (b"37", b"-37", b"0", b"2147483648", b"9" * 30, b"9" * 5000)
OTHERS = (b"", b"hello\n" * 99, b"\x89PNG\r\n\x1a\n" + bytes(64), b"PK\3\4" + bytes(92), b"\xff" * 3200)
CLIMBING = (
    b"../secret.%s",
    b"/etc/passwd",
    b"sub/../../secret.%s",
    b"..\\secret.%s",
    b"file:///etc/passwd",
    b"link.%s",
)
SIDE = 6
MTL = (
    b"newmtl red\nKd 0.8 0.1 0.2\nNs 30\nd 0.5\nKe 0 0.1 0\n\nnewmtl painted\nmap_Kd a.png\nPr 0.3\nPm 1\nnorm a.png\n"
)

Damage = Callable[[bytes, random.Random], bytes]


def obj() -> bytes:
    """A square of 6 x 6 vertices, with normals and texture coordinates, of two materials."""
    lines = ["mtllib a.mtl", "vn 0 0 1"]
    for row in range(SIDE):
        lines += [f"v {row / 4} {column / 3} 0.5\nvt {row / SIDE} {column / SIDE}" for column in range(SIDE)]
    for name, rows in (("red", range(2)), ("painted", range(2, SIDE - 1))):
        lines.append(f"usemtl {name}")
        for at in (row * SIDE + column + 1 for row in rows for column in range(SIDE - 1)):
            lines.append("f " + " ".join(f"{one}/{one}/1" for one in (at, at + 1, at + SIDE + 1, at + SIDE)))
    return "\n".join(lines).encode() + b"\n"


def mixed(data: bytes, chance: random.Random) -> bytes:
    """With bytes flipped, spans cut, lines moved: most of these can be read."""
    return damaged(data, chance, text=True)


def truncated(data: bytes, chance: random.Random) -> bytes:
    return data[: chance.randrange(len(data))]


def counted(data: bytes, chance: random.Random) -> bytes:
    """With an index of a vertex that is not there."""
    return changed_line(data, b"f ", chance, lambda words: words.__setitem__(2, b"%s/1/1" % chance.choice(HUGE)))


def numbers(*starts: bytes) -> Damage:
    """With a number that is none, or not finite."""

    def damage(data: bytes, chance: random.Random) -> bytes:
        value = chance.choice((b"nan", b"inf", b"-inf", b"1e400", b"x", b"1e", b"--1", b"0x1", b'""'))
        start = chance.choice(starts)
        return changed_line(
            data, start, chance, lambda words: words.__setitem__(chance.randrange(1, len(words)), value)
        )

    return damage


def climbing(start: bytes, kind: bytes) -> Damage:
    """With the name of a file outside of the folder."""

    def damage(data: bytes, chance: random.Random) -> bytes:
        name = chance.choice(CLIMBING)
        name = name % kind if b"%" in name else name
        return changed_line(data, start, chance, lambda words: words.__setitem__(1, name))

    return damage


def other(data: bytes, chance: random.Random) -> bytes:
    return chance.choice((*OTHERS, chance.randbytes(3000), b"v %s 1 1\n" % chance.choice(EXTREMES)))


def changed_line(data: bytes, start: bytes, chance: random.Random, change: Callable[[list[bytes]], object]) -> bytes:
    lines = data.split(b"\n")
    at = chance.choice([number for number, line in enumerate(lines) if line.startswith(start)])
    words = lines[at].split()
    change(words)
    lines[at] = b" ".join(words)
    return b"\n".join(lines)


FILES: dict[str, tuple[bytes, dict[Damage, bool]]] = {  # with the kinds of damage, and whether each is an error
    "a.obj": (
        obj(),
        {mixed: False, truncated: False, counted: True, numbers(b"v ", b"vt ", b"vn "): True}
        | {climbing(b"mtllib", b"mtl"): True, other: True},
    ),
    "a.mtl": (
        MTL,
        {mixed: False, truncated: False, numbers(b"Kd", b"Ke", b"Pr", b"Pm", b"Ns", b"d "): True}
        | {climbing(b"map_Kd", b"png"): True, climbing(b"norm", b"png"): True, other: False},
    ),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", FILES)
def test_200_damaged_files(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    for kind, content in (("mtl", MTL), ("png", bytes(9))):
        (tmp_path / f"secret.{kind}").write_bytes(content)
        (folder / f"link.{kind}").symlink_to(tmp_path / f"secret.{kind}")
    for other_name, (content, _) in FILES.items():
        (folder / other_name).write_bytes(content)
    Image.new("RGB", (4, 2), (10, 200, 30)).save(folder / "a.png")
    data, kinds = FILES[name]
    assert len(read(folder / "a.obj", 2.0, "y", 64).asset.index) == 2 * (SIDE - 1) ** 2
    chance, errors = random.Random(name), 0
    for damage, is_error in kinds.items():
        for _ in range(EACH):
            (folder / name).write_bytes(damage(data, chance))
            with bounded(folder, MOST_BYTES):
                try:
                    asset = read.__wrapped__(folder / "a.obj", 2.0, "y", 64).asset
                except InputError as error:
                    errors += 1
                    assert "a.obj" in str(error)
                    continue
            assert not is_error, (folder / name).read_bytes()
            assert np.isfinite(asset.vertices).all() and asset.index.max() < len(asset.vertices)
            assert all(np.isfinite(one.floats()).all() for one in asset.materials)
    assert errors > 0.6 * EACH * len(kinds)


def written(chance: random.Random) -> str:
    """Polygons with corners of all four forms, counted from both ends, in runs of one form or mixed."""
    lines, counts = [], {"v": 0, "vt": 0, "vn": 0}
    for _ in range(12):
        for word, columns in (("v", chance.choice((3, 4, 6))), ("vt", 2), ("vn", 3)):
            for _ in range(chance.randint(1, 4)):
                lines.append(f"{word} {' '.join(f'{chance.uniform(-1, 1):.4f}' for _ in range(columns))}")
                counts[word] += 1
        forms = chance.choice([[0], [1], [2], [3], [0, 1, 2, 3]])
        for _ in range(chance.randint(1, 5)):
            corners = []
            for _ in range(chance.choice((2, 3, 3, 4, 6))):
                v, vt, vn = (chance.choice((chance.randint(1, n), -chance.randint(1, n))) for n in counts.values())
                corners.append((f"{v}", f"{v}/{vt}", f"{v}//{vn}", f"{v}/{vt}/{vn}")[chance.choice(forms)])
            lines.append("f " + "  ".join(corners))
        lines.append(chance.choice(("# no", "usemtl a", "usemtl b", "g part", "")))
    return "\n".join(lines)


def test_statements_that_are_read_together_are_those_that_are_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chance, parsed = random.Random(8), obj_reader._Parsed
    together = 0
    for number in range(40):
        path = tmp_path / f"{number}.obj"
        path.write_text(written(chance))
        many = parsed(path)
        with monkeypatch.context() as patch:
            patch.setattr(parsed, "_add_many", lambda *_: False)
            one = parsed(path)
        together += sum(len(parts) for parts in one.faces.values()) - sum(len(parts) for parts in many.faces.values())
        assert many.faces.keys() == one.faces.keys()
        for name in one.faces:
            np.testing.assert_array_equal(np.concatenate(many.faces[name]), np.concatenate(one.faces[name]))
        for table in ("positions", "texcoords", "normals"):
            np.testing.assert_array_equal(getattr(many, table), getattr(one, table))
    assert together > 400


@pytest.mark.parametrize("corner", ["4", "0", "-4", "99999999999999999999", "1/1", "x"])
def test_of_statements_that_are_read_together_the_wrong_line_is_named(tmp_path: Path, corner: str) -> None:
    (tmp_path / "a.obj").write_text(f"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 3 2 1\nf 1 {corner} 2\nf 1 2 3\n")
    with pytest.raises(InputError, match=r"a\.obj: damaged: line 6: "):
        obj_reader._Parsed(tmp_path / "a.obj")
