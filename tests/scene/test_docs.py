"""The page about the format documents what is implemented."""

import re
import tomllib
from pathlib import Path

import numpy as np
import pytest
import trimesh

from vertigrad import resources, scene
from vertigrad.models.data import splat_file
from vertigrad.models.registry import types as model_types
from vertigrad.params import Params, accept
from vertigrad.renderer.layers import types as layer_types

PAGE = Path(__file__).resolve().parents[2] / "docs" / "scene-format.md"
TEXT = PAGE.read_text(encoding="utf-8")


def section(title: str) -> str:
    """The text from a heading to the next."""
    return re.split(r"^## ", TEXT.split(f"\n## {title}\n")[1], flags=re.M)[0]


def rows(text: str, width: int) -> list[list[str]]:
    """The cells of the tables with `columns` columns, without code marks."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [[cell.replace("`", "") for cell in line] for line in lines if len(line) == width]


def is_default(documented: str, kind: type[Params], name: str) -> bool:
    """Whether a cell such as `"#fff1dc"`, `[0, 2, 8]` or `4` is the default of a parameter."""
    (spec,) = (spec for spec in kind.specs() if spec.name == name)
    value = tomllib.loads(f"value = {documented}")["value"]
    return value == spec.default if spec.kind == "file" else accept(spec, value) == spec.default


def test_the_example_loads(tmp_path):
    (example,) = re.findall(r"^```toml\n(.*?)^```", TEXT, flags=re.M | re.S)
    (tmp_path / "example.toml").write_text(example, encoding="utf-8")
    found = scene.load(tmp_path / "example.toml")
    assert found.models["galaxy"].params.softening == 0.1


@pytest.mark.parametrize(("title", "kind"), [("`[camera]`", scene.Camera), ("`[view]`", scene.View)])
def test_every_key_of_camera_and_view_with_its_default(title, kind):
    documented = {key: default for key, default, _ in rows(section(title), 3)[2:]}
    assert documented.keys() == kind.model_fields.keys()
    for key, default in documented.items():
        assert is_default(default, kind, key), key


def test_every_key_of_a_bookmark():
    documented = rows(section("`[camera.bookmarks.NAME]`"), 3)[2:]
    assert [key for key, *_ in documented] == list(scene.Bookmark.model_fields)
    required = {key for key, default, _ in documented if default == "required"}
    assert required == {spec.name for spec in scene.Bookmark.specs() if spec.required}


def test_every_attribute_of_every_layer():
    documented = {(kind, name): numbers for kind, name, numbers, *_ in rows(section("`[layers.NAME]`"), 5)[2:]}
    for kind, layer in layer_types().items():
        own = {name: numbers for (of, name), numbers in documented.items() if kind in of.split()}
        assert own.keys() == layer.ATTRIBUTES.keys()
        for name, rule in layer.ATTRIBUTES.items():
            numbers = own[name]
            assert [int(number) for number in re.findall(r"\d+", numbers)] == list(rule.components)


def test_every_style_of_every_layer_with_its_default():
    documented = {(kind, name): default for kind, name, default, _ in rows(section("`[layers.NAME]`"), 4)[2:]}
    for kind, layer in layer_types().items():
        found = {name: default for (of, name), default in documented.items() if kind in of.split()}
        assert found.keys() == layer.Style.model_fields.keys()
        for name, default in found.items():
            own = re.search(rf"\b{kind} ([^,]+)", default)
            assert is_default(own[1] if own else default, layer.Style, name), (kind, name)


def test_every_type_of_model_with_its_outputs(tmp_path):
    documented = {name: row[1] for row in rows(section("`[models.NAME]`"), 2)[2:] for name in row[0].split()}
    assert documented.keys() == model_types().keys()
    files = {"video": resources.path("assets", "data", "rolling.mp4"), "image": resources.path("scenes", "nbody.png")}
    one = np.ones((1, 4), np.float32)
    none = splat_file.no_harmonics(len(one))
    splat_file.write(tmp_path / "one.ply", splat_file.Splats(one[:, :3], one[:, :3], one, one[:, 0], one[:, :3], none))
    np.save(tmp_path / "one.npy", one)
    np.save(tmp_path / "points.npy", one[:, :3])
    np.save(tmp_path / "volume.npy", np.ones((2, 2, 2), np.float32))
    files["volume"] = tmp_path / "volume.npy"
    files["language_model"] = Path(__file__).parent / "corpus" / "tiny" / "config.json"
    trimesh.creation.box().export(tmp_path / "box.glb")
    files["asset"] = tmp_path / "box.glb"
    files["splat_photos"] = resources.path("assets", "data", "photos", "sparse", "cameras.txt")
    files |= {"point_cloud": tmp_path / "points.npy", "splats": tmp_path / "one.ply", "array": tmp_path / "one.npy"}
    for name, model in model_types().items():
        if name in ("onnx", "recording", "torch", "train", "wgsl"):  # have the outputs of their network or their table
            continue
        outputs = model.output_specs(model.Params(**({"file": files[name]} if name in files else {})))
        named = re.sub(r"\(.*?\)", "", documented[name].partition(":")[0])
        assert set(re.findall(r"[a-z_]+", named)) == outputs.keys(), name


def test_every_key_of_an_animation_with_its_default():
    documented = {key: default for key, default, _ in rows(section('`[animations."NAME.PARAMETER"]`'), 3)[2:]}
    assert documented.keys() == scene.Animation.model_fields.keys()
    for key, default in documented.items():
        assert default == "required" or is_default(default, scene.Animation, key), key
