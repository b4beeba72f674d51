"""Saving a scene: the contents of the file, also with concurrent edits and after a crash."""

import os
import re
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertigrad import resources, scene
from vertigrad.atomic_file import write_file
from vertigrad.errors import FileChanged, FileProtected, InputError, SceneError
from vertigrad.scene.edit import edited, literal
from vertigrad.scene.locate import locate
from vertigrad.scene.save import save

from .conftest import LAYERS, MODELS

SCENE = """\
version = 1
[models.galaxy]   # the only one
type = "nbody"
softening = 5e-2
"""
SOFTENING = ("models", "galaxy", "softening")


def others(folder: Path) -> list[str]:
    """The other files in the scene's folder."""
    return sorted(set(os.listdir(folder)) - {"scene.toml"})


def test_only_the_value_changes(load, tmp_path):
    found = load(SCENE)
    save(found, {SOFTENING: 0.25})
    assert (tmp_path / "scene.toml").read_text() == SCENE.replace("5e-2", "0.25")
    assert others(tmp_path) == []


def test_a_value_that_is_the_same_is_not_written(load, tmp_path):
    found = load(SCENE)
    os.utime(tmp_path / "scene.toml", (7, 7))
    save(found, {SOFTENING: 0.05})
    assert (tmp_path / "scene.toml").stat().st_mtime == 7


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + SCENE.encode(), SCENE.replace("\n", "\r\n").encode()])
def test_byte_order_mark_and_line_ends_stay(load, tmp_path, content):
    save(load(content), {SOFTENING: 0.25, ("models", "galaxy", "count"): 9, ("view", "bloom"): 0.5})
    newline = b"\r\n" if b"\r" in content else b"\n"
    added = [b"count = 9", b"", b"[view]", b"bloom = 0.5", b""]
    assert (tmp_path / "scene.toml").read_bytes() == content.replace(b"5e-2", b"0.25") + newline.join(added)


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o664])
def test_permissions_stay(load, tmp_path, mode):
    found = load(SCENE)
    found.path.chmod(mode)
    save(found, {SOFTENING: 0.25})
    assert stat.S_IMODE(found.path.stat().st_mode) == mode


def test_a_link_stays_a_link_and_its_target_is_written(tmp_path):
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "scene.toml", tmp_path / "link.toml"
    real.write_text(SCENE)
    link.symlink_to(real)
    found = scene.load(link, model_types=MODELS, layer_types=LAYERS)
    save(found, {SOFTENING: 0.25})
    save(found, {SOFTENING: 0.5}, target=link, overwrite=True)
    assert link.is_symlink() and real.read_text() == SCENE.replace("5e-2", "0.5") and others(tmp_path / "real") == []


def test_a_copy_leaves_the_file(load, tmp_path):
    found = load(SCENE)
    save(found, {SOFTENING: 0.25}, target=tmp_path / "copy.toml")
    assert (tmp_path / "scene.toml").read_text() == SCENE
    assert (tmp_path / "copy.toml").read_text() == SCENE.replace("5e-2", "0.25")
    with pytest.raises(FileChanged, match="exists already"):
        save(found, {SOFTENING: 0.5}, target=tmp_path / "copy.toml")
    save(found, {SOFTENING: 0.5}, target=tmp_path / "copy.toml", overwrite=True)
    assert (tmp_path / "copy.toml").read_text() == SCENE.replace("5e-2", "0.5")


@pytest.mark.parametrize("theirs", [SCENE + "# mine\n", "nonsense", b"\xff\xfe", SCENE.replace("\n", "\r\n")])
def test_edits_of_others_are_not_lost(load, tmp_path, theirs):
    found = load(SCENE)
    theirs = theirs if isinstance(theirs, bytes) else theirs.encode()
    found.path.write_bytes(theirs)
    with pytest.raises(FileChanged, match=r"scene\.toml was changed by another program"):
        save(found, {SOFTENING: 0.25})
    assert found.path.read_bytes() == theirs and others(tmp_path) == []
    save(found, {SOFTENING: 0.25}, overwrite=True)
    assert found.path.read_text() == SCENE.replace("5e-2", "0.25")


def test_a_check_that_fails_keeps_the_old_file(load, tmp_path):
    found = load(SCENE)

    def check(scene_file: Path) -> None:
        assert scene_file.read_text() == SCENE.replace("5e-2", "0.25") and found.path.read_text() == SCENE
        scene.load(scene_file, model_types={}, layer_types=LAYERS)

    with pytest.raises(SceneError, match=r"scene\.toml:3:8  models\.galaxy\.type"):
        save(found, {SOFTENING: 0.25}, check=check)
    assert found.path.read_text() == SCENE and others(tmp_path) == []


def test_files_that_cannot_be_written(load, tmp_path):
    found = load(SCENE)
    found.path.chmod(0o444)
    with pytest.raises(FileProtected, match="is read-only; save it under another name"):
        save(found, {SOFTENING: 0.25})
    packaged = scene.load(resources.path("scenes", "nbody.toml"))
    with pytest.raises(FileProtected, match=r"nbody\.toml comes with Vertigrad"):
        save(packaged, {SOFTENING: 0.25})
    with pytest.raises(FileProtected):
        save(packaged, {SOFTENING: 0.25}, target=packaged.path.with_name("new.toml"))
    with pytest.raises(InputError, match="there is no folder"):
        save(found, {SOFTENING: 0.25}, target=tmp_path / "none" / "scene.toml")
    assert found.path.read_text() == SCENE


@pytest.mark.parametrize("fault", ["write", "replace", "fsync"])
def test_a_full_disk_leaves_only_the_old_file(load, tmp_path, monkeypatch, fault):
    found = load(SCENE)

    def fail(*arguments):
        raise OSError(28, "No space left on device")

    if fault == "write":
        monkeypatch.setattr("builtins.open", lambda *arguments, **options: fail())
    else:
        monkeypatch.setattr(os, fault, fail)
    with pytest.raises(InputError, match=r"cannot be written \(No space left on device\)"):
        save(found, {SOFTENING: 0.25})
    monkeypatch.undo()
    assert found.path.read_text() == SCENE and others(tmp_path) == []


def test_a_new_file_has_default_permissions(tmp_path):
    (tmp_path / "plain").touch()
    write_file(tmp_path / "made", b"x")
    assert (tmp_path / "made").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.skipif(os.name == "nt", reason="folders cannot be opened there")
def test_the_file_and_then_its_name_in_the_folder_reach_the_disk(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync

    def note(handle: int) -> None:
        found = os.fstat(handle)
        is_folder = stat.S_ISDIR(found.st_mode)
        synced.append((is_folder, (tmp_path / "made").exists()))
        assert is_folder or found.st_size == 1, "all of it was handed to the system"
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note)
    write_file(tmp_path / "made", b"x")
    assert synced == [(False, False), (True, True)], "its content before it has its name, the name after that"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc lists the open files")
def test_no_file_stays_open(tmp_path):
    write_file(tmp_path / "made", b"x")
    before = len(os.listdir("/proc/self/fd"))
    for number in range(20):
        write_file(tmp_path / "made", bytes([number]))
    assert len(os.listdir("/proc/self/fd")) < before + 20


# a crash ------------------------------------------------------------------------------------------------------------

KILLED = """
    import os, random, signal, sys, time
    from pathlib import Path
    from vertigrad import scene
    from vertigrad.scene.save import save

    folder, tries = Path(sys.argv[1]), int(sys.argv[2])
    path = folder / "scene.toml"
    filling = "# " + 70 * "x" + "\\n"
    def text(size):
        return f'version = 1\\n[models.a]\\ntype = "nbody"\\ncount = {size}\\n' + 700 * filling
    path.write_text(text(2))
    found, chance = scene.load(path), random.Random(5)
    cut, versions, begun = 0, set(), time.perf_counter()
    for size in range(3, 13):
        save(found, {("models", "a", "count"): size}, overwrite=True)
    once = min((time.perf_counter() - begun) / 10, 0.006)
    attempt = 0
    while attempt < tries or (min(cut, len(versions)) <= 10 and attempt < 10 * tries):
        attempt += 1
        begins, says_so = os.pipe()
        child = os.fork()
        if not child:
            size = 2 + attempt
            os.write(says_so, b"!")
            while True:
                size += 1
                save(found, {("models", "a", "count"): size}, overwrite=True)
        os.read(begins, 1)  # however busy the machine is, the child saves by now
        time.sleep(chance.uniform(0.0, (1 + attempt % 6) * once))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        os.close(begins)
        os.close(says_so)
        content = path.read_text()
        size = int(content.split("count = ")[1].split("\\n")[0])
        assert content == text(size), f"attempt {attempt}: a damaged file"
        versions.add(size)
        for left in folder.glob(".*.tmp"):
            cut += 1
            left.unlink()
    assert scene.load(path).models["a"].params.count in versions
    print(cut, len(versions))
"""


@pytest.mark.turns(3)
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_process_killed_while_it_saves_never_damages_the_file(tmp_path):
    """At least 200 times, at any moment; many of them in the middle of writing."""
    program = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path), "200"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    cut, versions = map(int, done.stdout.split())
    assert cut > 10 and versions > 10, "the moments were not random enough"


# any scene, any change ----------------------------------------------------------------------------------------------

NUMBERS = st.floats(1e-3, 1.0).map(lambda value: float(f"{value:.7g}"))
VALUES = {
    ("models", "galaxy", "count"): st.integers(2, 1000),
    SOFTENING: NUMBERS,
    ("models", "galaxy", "start"): st.sampled_from(["disc", "ball"]),
    ("models", "galaxy", "frozen"): st.booleans(),
    ("models", "galaxy", "drift"): st.lists(st.one_of(NUMBERS, st.integers(-5, 5).map(float)), min_size=3, max_size=3),
    ("models", "wind", "softening"): NUMBERS,
    ("layers", "stars", "colormap"): st.sampled_from(["inferno", "viridis"]),
    ("layers", "stars", "range"): st.one_of(st.just("auto"), NUMBERS.map(lambda high: [-1.0, high])),
    ("layers", "stars", "tint"): st.sampled_from(["#ffffff", "#102030", [0.25, 0.5, 1.0]]),
    ("view", "exposure"): NUMBERS,
    ("view", "background"): st.sampled_from(["#000000", "#ffffff"]),
    ("presets", "a b", "galaxy.softening"): NUMBERS,
    ("presets", "two", "view.exposure"): NUMBERS,
    ("title",): st.text(max_size=8).filter(
        lambda text: "\r" not in text and text.encode("utf-8", "ignore").decode() == text
    ),
}
FIXED = {
    ("models", "galaxy", "type"): "nbody",
    ("models", "wind", "type"): "nbody",
    ("layers", "stars", "type"): "points",
    ("layers", "stars", "position"): "galaxy.position",
}
TABLES = [
    ("models", "galaxy"),
    ("models", "wind"),
    ("layers", "stars"),
    ("view",),
    ("presets", "a b"),
    ("presets", "two"),
]


@st.composite
def texts(draw) -> tuple[str, dict]:
    """The text of a scene in any layout, and the values that are in it."""
    changed = {path: draw(value) for path, value in VALUES.items() if draw(st.booleans())}
    entries = {**FIXED, **changed}
    top = {("version",): 1} | {path: value for path, value in entries.items() if len(path) == 1}
    lines = [f"{path[0]} = {written(draw, value)}{comment(draw)}" for path, value in top.items()]
    headed = []
    for table in draw(st.permutations(TABLES)):
        inside = {path: value for path, value in entries.items() if path[:-1] == table}
        style = draw(st.sampled_from(["header", "header", "inline", "dotted"])) if inside else "none"
        if style == "header":
            headed.append(
                [f"[{key(draw, table)}]{comment(draw)}", *pairs(draw, inside, len(table)), *hints(draw, table)]
            )
        elif style == "inline":
            values = ", ".join(
                f"{key(draw, path[len(table) :])} = {written(draw, value, flat=True)}" for path, value in inside.items()
            )
            lines.append(f"{key(draw, table)} = {{ {values} }}{comment(draw)}")
        elif style == "dotted":
            lines += pairs(draw, inside, 0)
    for block in headed:
        lines += ["", *block] if draw(st.booleans()) else block
    text = "\n".join(lines) + draw(st.sampled_from(["", "\n", "\n\n", "\n# the end", "\n# the end\n"]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"]))), changed


def pairs(draw, inside, depth) -> list[str]:
    lines = []
    for path, value in inside.items():
        lines += draw(st.sampled_from([[], [], [""], ["  # remark [x] = 1"]]))
        indent = draw(st.sampled_from(["", "", "  ", "\t"]))
        lines.append(f"{indent}{key(draw, path[depth:])} = {written(draw, value)}{comment(draw)}")
    return lines


def hints(draw, table) -> list[str]:
    if table != ("models", "galaxy"):
        return []
    return draw(
        st.sampled_from([[], ["ui.softening = { min = 0.001 }"], ["", "[models.galaxy.ui.softening]", "max = 1"]])
    )


def key(draw, path) -> str:
    def part(text: str) -> str:
        bare = text.replace("_", "").isalnum()
        quote = draw(st.sampled_from(["", "", "'", '"'])) if bare else '"'
        return f"{quote}{text}{quote}"

    return draw(st.sampled_from([".", ".", " . "])).join(map(part, path))


def comment(draw) -> str:
    return draw(st.sampled_from(["", "", "  # 'a' = \"b\"", "#é", " "]))


def written(draw, value, flat: bool = False) -> str:
    match value:
        case float() if value.is_integer() and draw(st.booleans()):
            return f"{int(value):+}"
        case float():
            return (
                draw(st.sampled_from([repr(value), f"{value:.9e}"])) if float(f"{value:.9e}") == value else repr(value)
            )
        case str() if value.isalnum() and draw(st.booleans()):
            return f"'{value}'"
        case list() if not flat and draw(st.booleans()):
            inner = "".join(f"\n  {written(draw, part)},{comment(draw)}" for part in value)
            return f"[{comment(draw) or ' '}{inner}\n]"
        case list():
            return f"[{' , '.join(written(draw, part) for part in value)}]"
    return literal(value)


@settings(max_examples=150, deadline=None)
@given(texts(), st.data())
def test_any_values_of_any_scene(tmp_path_factory, drawn, data):
    """The file then has exactly the saved values, and everything else is unchanged."""
    text, values = drawn
    path = tmp_path_factory.mktemp("any") / "scene.toml"
    path.write_bytes(text.encode())
    changes = {path: data.draw(value) for path, value in VALUES.items() if data.draw(st.booleans())}
    found = scene.load(path, model_types=MODELS, layer_types=LAYERS)
    save(found, changes)
    new = path.read_bytes().decode()
    expected = values | changes
    again = scene.load(path, model_types=MODELS, layer_types=LAYERS)
    assert values_of(again, expected) == {path: plain(value) for path, value in expected.items()}
    assert values_of(again, FIXED) == FIXED
    there = {path: value for path, value in changes.items() if path in values}
    replaced = edited(text, there)
    assert without(replaced, there) == without(text, there)
    assert replaced == text or plain(there) != plain({path: values[path] for path in there})
    assert is_inserted(without(text, there), without(new, there))
    assert edited(new, changes) == new
    gone = {path: None for path in changes if path not in values}
    back = edited(edited(new, gone), {path: values[path] for path in there})
    assert values_of_text(back) == values_of_text(text)


def values_of(found: scene.Scene, paths) -> dict:
    parts = {
        ("models", "galaxy"): found.models["galaxy"].params,
        ("models", "wind"): found.models["wind"].params,
        ("layers", "stars"): found.layers["stars"].style,
        ("view",): found.view,
    }
    values = {}
    for path in paths:
        if path[0] == "presets":
            (values[path],) = found.presets[path[1]].values()
        elif path == ("title",):
            values[path] = found.title if found.title != "scene" else ""
        elif path[-1] == "type":
            values[path] = (found.models if path[0] == "models" else found.layers)[path[1]].type
        elif path[-1] == "position":
            values[path] = str(found.layers["stars"].attributes["position"])
        else:
            values[path] = plain(getattr(parts[path[:-1]], path[-1]))
    return values


def values_of_text(text: str) -> dict:
    import tomllib

    def filled(value):
        inner = {k: filled(v) for k, v in value.items()} if isinstance(value, dict) else value
        return {k: v for k, v in inner.items() if v != {}} if isinstance(inner, dict) else inner

    return filled(tomllib.loads(text))


def plain(value):
    if isinstance(value, str) and re.fullmatch("#[0-9a-fA-F]{6}", value):
        return tuple(int(value[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return tuple(value) if isinstance(value, list) else value


def without(text: str, paths) -> str:
    """With the characters of some values cut out."""
    locations = locate(text)
    for start, end in sorted((locations.values[path] for path in paths), reverse=True):
        text = text[:start] + text[end:]
    return text


def is_inserted(old: str, new: str) -> bool:
    """Whether every character of the old text is still there, in its order."""
    rest = iter(new)
    return all(character in rest for character in old)
