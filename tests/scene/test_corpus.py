"""Compatibility of scene files: those of `corpus/` load and have the meanings in `meanings.json`.

A file is never changed once it exists; a new feature of the format adds a new one. Run as a program, this writes
the meanings of files that have none yet, and keeps the others.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from vertigrad import resources
from vertigrad.models import registry as models
from vertigrad.renderer.layers import registry as layers
from vertigrad.scene import Scene, load, trust
from vertigrad.scene.renamed import ANIMATION, CHOICES, MODELS, OUTPUTS, PARAMETERS, SWITCHES, renewed_path

FOLDER = Path(__file__).parent / "corpus"
MEANINGS = FOLDER / "meanings.json"
FILES = sorted(FOLDER.glob("*.toml"))
RENEWED_DEFAULTS = {  # of section, part, type and name: the former and the current one
    ("models", "params", "fluid", "iterations"): (
        8,
        64,
    ),  # the most that a step may take, no longer the number that it takes
    ("models", "params", "splats", "up"): ("-y", "auto"),  # the same for a PLY that does not say what points up
}


@pytest.fixture(autouse=True, scope="module")
def own_code_may_run():
    trust.allow(FOLDER.glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_of_the_corpus_loads_with_its_meaning(path):
    known = json.loads(MEANINGS.read_text(encoding="utf-8"))
    renewed = renewed_defaults(renewed_meaning(known[path.stem]), tomllib.loads(path.read_text(encoding="utf-8")))
    changed = differing(renewed, json.loads(json.dumps(meaning(load(path)))))
    assert not changed, "\n".join(changed)


def test_every_meaning_has_its_file():
    assert sorted(json.loads(MEANINGS.read_text(encoding="utf-8"))) == [path.stem for path in FILES]


def test_every_section_of_the_format_is_in_the_corpus():
    from vertigrad.scene.schema import SECTIONS

    text = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
    assert [section for section in SECTIONS if section not in text] == []


def test_every_parameter_of_every_model_and_layer_is_in_the_corpus():
    """A new one requires a new file with it; the others are never changed."""
    written: dict[str, set[str]] = {}
    for path in FILES:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        for section in ("models", "layers"):
            for table in content.get(section, {}).values():
                kind = table.get("type", "tensor")  # the one that may be left out
                kind = MODELS.get(kind, kind) if section == "models" else kind
                names = PARAMETERS.get((section, kind), {})
                written.setdefault(f"{section}.{kind}", set()).update(names.get(key, key) for key in table)
    known = {f"models.{name}": {spec.name for spec in kind.Params.specs()} for name, kind in models.types().items()}
    for name, kind in layers.types().items():
        known[f"layers.{name}"] = {spec.name for spec in kind.Style.specs()} | kind.ATTRIBUTES.keys()
    assert sorted(known.keys() - written.keys()) == []
    missing = {name: sorted(keys - written[name]) for name, keys in known.items()}
    assert {name: keys for name, keys in missing.items() if keys} == {"models.train": ["weights"]}


def test_every_type_is_in_the_corpus_without_its_parameters():
    """This tests their defaults, which apply to files without them."""
    scenes = [load(path) for path in FILES if path.stem.startswith("defaults")]
    without = models.types().keys() - {spec.type for scene in scenes for spec in scene.models.values()}
    assert without == {"onnx", "torch", "wgsl"}  # have no defaults
    assert layers.types().keys() == {spec.type for scene in scenes for spec in scene.layers.values()}


def test_a_value_with_another_meaning_is_detected():
    assert differing({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3, "new": 4}}) == ["a.c: was 2, is 3"]
    assert differing({"a": 1}, {}) == ["a: was 1, is gone"]
    assert differing({"a": [1, 2]}, {"a": [1]}) == ["a: was [1, 2], is [1]"]


def renewed_meaning(known: dict[str, Any]) -> dict[str, Any]:
    """A meaning that was written before names changed, with the current names."""
    for spec in known["models"].values():
        spec["type"] = MODELS.get(spec["type"], spec["type"])
    for section, part in (("models", "params"), ("layers", "style")):
        for spec in known[section].values():
            spec[part] = renewed_parameters(spec[part], section, spec["type"])
    known["view"] = renewed_parameters(known["view"], "view", "")
    types = {(section, name): spec["type"] for section in ("models", "layers") for name, spec in known[section].items()}
    for name, values in known["presets"].items():
        paths = {key: renewed_path(tuple(key.split(".")), types) for key in values}
        known["presets"][name] = {".".join(map(str, paths[key])): value for key, value in values.items()}
    for name, values in known["animations"].items():
        known["animations"][name] = {ANIMATION.get(key, key): value for key, value in values.items()}
    for spec in known["layers"].values():
        for key, value in spec["attributes"].items():
            if isinstance(value, list) and len(value) == 2 and value[0] in known["models"]:
                outputs = OUTPUTS.get(known["models"][value[0]]["type"], {})
                spec["attributes"][key] = [value[0], outputs.get(value[1], value[1])]
    return known


def renewed_defaults(known: dict[str, Any], written: dict[str, Any]) -> dict[str, Any]:
    """A meaning with the current defaults in place of former ones, for which they are another word."""
    for (section, part, kind, name), (former, current) in RENEWED_DEFAULTS.items():
        for key, spec in known[section].items():
            if spec["type"] == kind and name not in written[section][key]:
                assert spec[part][name] in (former, current)
                spec[part][name] = current
    return known


def renewed_parameters(values: dict[str, Any], section: str, kind: str) -> dict[str, Any]:
    names, found = PARAMETERS.get((section, kind), {}), {}
    for key, value in values.items():
        name = names.get(key, key)
        choices = CHOICES.get((section, kind, name), {}) | SWITCHES.get((section, kind, name), {})
        found[name] = choices.get(value, value) if isinstance(value, str | bool) else value
    return found


def meaning(scene: Scene) -> dict[str, Any]:
    """The contents of a scene as plain values, with defaults for omitted ones."""
    return {
        "title": scene.title,
        "version": scene.version,
        "camera": plain(dict(scene.camera)),
        "view": plain(dict(scene.view)),
        "order": list(scene.order),
        "models": {
            name: {
                "type": spec.type,
                "seed": spec.seed,
                "substeps": spec.substeps,
                "inputs": {key: str(ref) for key, ref in spec.inputs.items()},
                "ui": {key: plain(dict(hint)) for key, hint in spec.ui.items()},
                "params": plain(dict(spec.params)),
            }
            for name, spec in scene.models.items()
        },
        "layers": {
            name: {
                "type": spec.type,
                "attributes": {key: plain(value) for key, value in spec.attributes.items()},
                "style": plain(dict(spec.style)),
                "colorbar": None if spec.colorbar is None else plain(dict(spec.colorbar)),
            }
            for name, spec in scene.layers.items()
        },
        "bookmarks": {name: plain(dict(bookmark)) for name, bookmark in scene.bookmarks.items()},
        "presets": {name: plain(values) for name, values in scene.presets.items()},
        "animations": {".".join(map(str, path)): plain(dict(one)) for path, one in scene.animations.items()},
    }


def plain(value: Any) -> Any:
    match value:
        case dict():
            return {key if isinstance(key, str) else ".".join(map(str, key)): plain(one) for key, one in value.items()}
        case list() | tuple():
            return [plain(one) for one in value]
        case Path():
            return value.relative_to(FOLDER if value.is_relative_to(FOLDER) else resources.root()).as_posix()
        case bool() | int() | float() | str() | None:
            return value
    return str(value)


def differing(before: dict[str, Any], now: dict[str, Any], path: str = "") -> list[str]:
    """The differences; a new parameter does not change the meaning of a file."""
    found = []
    for key, value in before.items():
        name = f"{path}.{key}" if path else key
        if key not in now:
            found.append(f"{name}: was {value}, is gone")
        elif isinstance(value, dict) and isinstance(now[key], dict):
            found += differing(value, now[key], name)
        elif now[key] != value:
            found.append(f"{name}: was {value}, is {now[key]}")
    return found


if __name__ == "__main__":
    trust.allow(FOLDER.glob("*.py"))
    expected = json.loads(MEANINGS.read_text(encoding="utf-8")) if MEANINGS.exists() else {}
    expected = {path.stem: expected.get(path.stem) or meaning(load(path)) for path in FILES}
    MEANINGS.write_text(json.dumps(expected, indent=1, sort_keys=True) + "\n", encoding="utf-8")
