"""Invalid scene files, each with all problems that must be found: in `broken/`, and below.

A file in `broken/` lists on its first lines, after `#:`, the expected problems, as line:column, key and message.
"""

import os
from pathlib import Path

import pytest

from vertigrad.errors import SceneError
from vertigrad.scene import model_tables
from vertigrad.scene.source import MAX_BYTES

BROKEN = sorted((Path(__file__).parent / "broken").glob("*.toml"))
GALAXY = '[models.galaxy]\ntype = "nbody"\n'


def problems(load, source, **options) -> list[str]:
    """The problems of a scene, without the path of its file."""
    with pytest.raises(SceneError) as raised:
        load(source, **options)
    error = raised.value
    assert error.exit_code == 2
    return [line.removeprefix(f"{error.path}:") for line in str(error).splitlines()]


def test_there_are_at_least_fifty_broken_scenes():
    assert len(BROKEN) >= 50


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_every_problem_is_reported_with_its_location(path, load):
    lines = path.read_text(encoding="utf-8").splitlines()
    expected = [line.removeprefix("#: ") for line in lines if line.startswith("#: ")]
    assert expected
    assert problems(load, path) == expected


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "1:1  the version of the format must be given: version = 1"),
        (b"# only a comment\n", "1:1  the version of the format must be given: version = 1"),
        (b'version = 1\ntitle = "caf\xe9"\n', "2:13  byte 0xe9 is not UTF-8; save the file as UTF-8"),
        (b'\xef\xbb\xbfversion = 1\nt = "\xc3("', "2:6  byte 0xc3 is not UTF-8; save the file as UTF-8"),
        (b"\x89PNG\r\n\x1a\n", "1:1  byte 0x89 is not UTF-8; save the file as UTF-8"),
        ("version = 1\n".encode("utf-16"), "1:1  is UTF-16; save it as UTF-8"),
        (b"version = 1\n\0", "2:1  not TOML: expected key = value or [table]"),
        (b"version = 1\rtitle = 2", "1:12  not TOML: expected the line to end here"),
        (
            b"version = 1\n" + b"#" * MAX_BYTES,
            "1:1  is larger than 4 MiB; a scene file refers to data by file name",
        ),
        (b"version = 1\na = " + b"[" * 20000, "2:5  nested more than 32 levels deep"),
    ],
    ids=lambda value: None if len(value) < 200 else "long",
)
def test_bytes_that_are_not_a_scene(load, content, expected):
    assert problems(load, content)[0] == expected


def test_a_byte_order_mark_is_allowed_and_moves_no_column(load):
    content = b"\xef\xbb\xbfversoin = 1\n" + GALAXY.encode()
    assert problems(load, content)[-1] == '1:1  versoin: unknown key; did you mean "version"?'


def test_a_missing_file(load, tmp_path):
    (tmp_path / "nbody.toml").write_text("version = 1")
    assert problems(load, tmp_path / "nbdy.toml") == [
        f'1:1  there is no such file; did you mean "{tmp_path / "nbody.toml"}"?'
    ]
    assert problems(load, tmp_path / "zzzzzz.toml") == ["1:1  there is no such file"]
    assert problems(load, tmp_path / "no" / "x.toml") == [f"1:1  there is no such file; nor a folder {tmp_path / 'no'}"]


def test_paths_that_are_not_files(load, tmp_path):
    assert problems(load, tmp_path) == ["1:1  is a folder, not a scene file"]
    assert problems(load, tmp_path / ("x" * 300)) == ["1:1  cannot be read: File name too long"]
    assert problems(load, Path("a\0b")) == ["1:1  there is no such file"]
    (tmp_path / "dangling.toml").symlink_to(tmp_path / "gone.toml")
    assert problems(load, tmp_path / "dangling.toml") == ["1:1  there is no such file"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes on this system")
def test_a_pipe_does_not_block(load, tmp_path):
    os.mkfifo(tmp_path / "pipe.toml")
    assert problems(load, tmp_path / "pipe.toml") == ["1:1  is not a regular file"]


def test_a_link_out_of_the_folder_is_refused(load, tmp_path):
    outside = tmp_path / "weights.safetensors"
    outside.write_bytes(b"x")
    folder = tmp_path / "scenes"
    folder.mkdir()
    (folder / "weights.safetensors").symlink_to(outside)
    scene = folder / "scene.toml"
    scene.write_text('version = 1\n[models.a]\ntype = "neural_field"\nweights = "weights.safetensors"\n')
    allowed = "a scene reads only files of that folder and packaged ones under assets/"
    assert problems(load, scene) == [
        f'4:11  models.a.weights: "weights.safetensors" leaves the scene\'s folder; {allowed}'
    ]


def test_a_link_to_itself_and_a_name_too_long(load, tmp_path):
    (tmp_path / "loop.safetensors").symlink_to(tmp_path / "loop.safetensors")
    for name in ("loop.safetensors", "x" * 300 + ".safetensors"):
        scene = f'version = 1\n[models.a]\ntype = "neural_field"\nweights = "{name}"\n'
        (line,) = problems(load, scene)
        assert line.startswith("4:11  models.a.weights: ")


def test_a_file_that_the_model_cannot_use(load, tmp_path):
    (tmp_path / "empty.safetensors").touch()
    scene = 'version = 1\n[models.a]\ntype = "neural_field"\nweights = "empty.safetensors"\n'
    assert problems(load, scene) == ["2:9  models.a: empty.safetensors is empty"]


def test_one_problem_is_reported_once(load):
    """Consequences of another problem are not reported."""
    scene = """version = 1
[models.a]
type = "nbdy"
[models.b]
type = "nbody"
count = 0
[layers.a]
type = "points"
position = "a.anything"
[layers.b]
type = "points"
position = "b.position"
color = "b.speed"
"""
    assert [line.split()[0] for line in problems(load, scene)] == ["3:8", "6:9"]


def test_all_outputs_together_are_limited(load):
    models = "".join(f'[models.m{i}]\ntype = "neural_field"\nresolution = 13000\n' for i in range(26))
    (line,) = problems(load, "version = 1\n" + models)
    assert line == "2:2  models: all outputs together would take 65.5 GiB; at most 64.0 GiB are allowed"


def test_outputs_of_exactly_the_allowed_size_are_accepted(load, monkeypatch):
    scene = 'version = 1\n[models.a]\ntype = "neural_field"\nresolution = 100\n'
    outputs = load(scene).models["a"].outputs.values()
    sizes = [spec.nbytes for spec in outputs]
    for limit, size in (("MAX_OUTPUT_BYTES", max(sizes)), ("MAX_TOTAL_BYTES", sum(sizes))):
        with monkeypatch.context() as patch:
            patch.setattr(model_tables, limit, size)
            assert load(scene).models
            patch.setattr(model_tables, limit, size - 1)
            (line,) = problems(load, scene)
            assert "would take" in line


def test_a_large_file_is_read_quickly_and_all_of_its_problems_are_reported(load):
    entries = "".join(f"unknown_{i} = [{i}, 'x', {{ y = 1.5 }}]\n" for i in range(5_000))
    found = problems(load, "version = 1\n" + GALAXY + entries)
    assert len(found) == 5_000
    assert found[-1].startswith("5003:1  models.galaxy.unknown_4999: unknown parameter")
