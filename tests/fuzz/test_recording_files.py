"""200 damaged archives and 200 damaged folders of recordings: an error each, unless what is damaged is not used."""

from __future__ import annotations

import json
import random
import shutil
import zipfile
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.models.data.recording_file import Recorded, RecordedTensor, RecordingWriter, open_recording

from .damage import bounded, damaged

pytest.importorskip("zarr")
EACH = 100
MOST_BYTES = 16 << 20
FRAMES, SHAPE = 3, (40, 3)
HUGE = (FRAMES + 1, 1 << 31, 10**12, 10**18, -1, "3", None)


@pytest.fixture(scope="module")
def recording(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("recording") / "run.vgz"
    random = np.random.default_rng(0)
    with closing(
        RecordingWriter(path, {"a.x": RecordedTensor(SHAPE, "f32")}, Recorded("t", 0.0, 1.0), FRAMES)
    ) as writer:
        for _ in range(FRAMES):
            writer.add({"a.x": random.normal(size=SHAPE).astype(np.float32)})
    return path


def read(path: Path) -> list[np.ndarray]:
    with closing(open_recording(path)) as found:
        return [found.frame("a.x", index) for index in range(found.count)]


def claims(data: Path, path: Path, chance: random.Random) -> None:
    """Write it with another number, or something else, in the description of its array."""
    with zipfile.ZipFile(data) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name == "a.x/zarr.json":
                table = json.loads(content)
                key = chance.choice(
                    ("shape", "shape", "chunk_grid", "data_type", "codecs", "fill_value", "zarr_format")
                )
                if key == "shape":
                    table[key][chance.randrange(3)] = chance.choice(HUGE)
                else:
                    table[key] = chance.choice(("float64", "int8", [], {}, None, 7, "../../etc"))
                content = json.dumps(table).encode()
            target.writestr(name, content)


def unpacked(archive: Path, folder: Path, chance: random.Random, flips: bool) -> None:
    """As a folder, in which a file has changed bytes, is missing, or is a link to another one outside."""
    shutil.rmtree(folder, ignore_errors=True)
    with zipfile.ZipFile(archive) as source:
        source.extractall(folder)
    if flips:
        file = chance.choice(sorted(path for path in folder.rglob("*") if path.is_file()))
        change = chance.randrange(8)
        data = file.read_bytes()
        file.unlink()
        if change == 0:
            file.symlink_to(folder.parent / "secret")
        elif change > 1:
            file.write_bytes(damaged(data, chance, text=file.suffix == ".json"))


@pytest.mark.turns(4)
@pytest.mark.parametrize("suffix", [".vgz", ".zarr"])
@pytest.mark.parametrize("kind", ["bytes", "claims"])
def test_damaged_recordings(recording, tmp_path, kind, suffix):
    whole, data, errors = read(recording), recording.read_bytes(), 0
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "secret").write_bytes(bytes(600))
    path, archive = folder / f"damaged{suffix}", folder / "damaged.vgz"
    for seed in range(EACH):
        chance = random.Random(seed)
        if kind == "claims":
            claims(recording, archive, chance)
        elif suffix == ".vgz":
            archive.write_bytes(damaged(data, chance, text=False))
        if suffix == ".zarr":
            unpacked(archive if kind == "claims" else recording, path, chance, kind == "bytes")
        with bounded(folder if suffix == ".vgz" else path, MOST_BYTES):
            try:
                found = read(path)
            except InputError as error:
                errors += 1
                assert str(path) in str(error)
                continue
        for one, other in zip(found, whole, strict=False):
            np.testing.assert_array_equal(one, other)
    assert errors > 0.6 * EACH
