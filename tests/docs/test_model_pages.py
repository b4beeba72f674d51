"""The pages of model types equal those generated from their declarations, and the scenes on them load."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from vertigrad import scene
from vertigrad.models import registry
from vertigrad.models.data import splat_file
from vertigrad.models.data.recording_file import Recorded, RecordedTensor, RecordingWriter

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted((ROOT / "docs" / "models").glob("*.md"))
EXAMPLES = {
    page.stem: re.findall(r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S) for page in PAGES
}


@pytest.mark.turns(2)
def test_the_pages_equal_the_generated_ones() -> None:
    done = subprocess.run([sys.executable, ROOT / "tools" / "model_pages.py", "--check"], check=False)
    assert done.returncode == 0, "run make pages"


def test_every_page_is_listed_and_links_to_scenes() -> None:
    listed = re.findall(
        r"^\| \[`(\w+)`\]\(models/\1\.md\)", (ROOT / "docs" / "models.md").read_text(encoding="utf-8"), re.M
    )
    assert listed == sorted(registry.types()) == [page.stem for page in PAGES]
    for page in PAGES:
        links = re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
        assert links or EXAMPLES[page.stem], page.stem
        assert all((page.parent / link).is_file() for link in links), page.stem


@pytest.mark.parametrize("name", [name for name, texts in EXAMPLES.items() if texts])
def test_an_example_loads(tmp_path: Path, name: str) -> None:
    row = np.ones((1, 4), np.float32)
    splats = splat_file.Splats(row[:, :3], row[:, :3], row, row[:, 0], row[:, :3], splat_file.no_harmonics(len(row)))
    splat_file.write(tmp_path / "splats.ply", splats)
    np.save(tmp_path / "values.npy", row)
    np.save(tmp_path / "points.npy", row[:, :3])
    np.save(tmp_path / "scan.npy", np.ones((2, 2, 2), np.float32))
    Image.new("RGB", (2, 2)).save(tmp_path / "picture.png")
    sizes = {"n_embd": 32, "n_layer": 1, "n_head": 2, "vocab_size": 100}
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", **sizes}), encoding="utf-8")
    stars = np.zeros((696, 3), np.float32)  # as many as galaxies of 1024 bodies have
    tensors = {"galaxy.star_position": RecordedTensor(stars.shape, "f32")}
    with closing(RecordingWriter(tmp_path / "run.vgz", tensors, Recorded("", 0.0, 1.0), 1)) as writer:
        writer.add({"galaxy.star_position": stars})
    (text,) = EXAMPLES[name]
    (tmp_path / "scene.toml").write_text(text, encoding="utf-8")
    found = scene.load(tmp_path / "scene.toml")
    assert name in {model.type for model in found.models.values()}
    assert found.layers
