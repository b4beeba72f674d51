"""Errors on the command line: the exit code, and a message instead of a traceback."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from subprocess import PIPE

import av
import pytest

from vertigrad import headless, resources
from vertigrad.errors import DeviceLost, InputError, NoAdapter, OutOfMemory
from vertigrad.gpu import adapter, process
from vertigrad.scene import stage

BROKEN = sorted((Path(__file__).parent.parent / "scene" / "broken").glob("*.toml"))
LOCATION = re.compile(r":[1-9]\d*:[1-9]\d*  \S")  # file:line:column, two spaces, the message

SCENES = sorted(scene.stem for scene in resources.scenes())


# the user's input: 2 ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rendr", "nbody"], "No such command 'rendr'. Did you mean 'render'? (see vertigrad --help)"),
        (["--no-such"], "--no-such"),
        (["render", "nbody", "-o", "x.png", "--fraems", "3"], "--frames"),
        (["render", "nbody", "-o", "x.png", "--frames", "0"], "'--frames'"),
        (["render", "nbody", "-o", "x.png", "--frames", "many"], "'--frames'"),
        (["render", "nbody", "-o", "x.png", "--frames"], "--frames"),
        (["render", "nbody"], "'--output' / '-o'"),
        (["render", "-o", "x.png"], "(see vertigrad render --help)"),
        (["render", "nbody", "neural_field", "-o", "x.png"], "neural_field"),
        (["render", "nbody", "-o", "x.png", "--seed", "seven"], "'--seed'"),
        (["check"], "SCENE"),
        (["bench"], "SCENE"),
        (["info", "extra"], "extra"),
        (["run", "--no-such"], "--no-such"),
    ],
)
def test_options_that_are_unknown_missing_or_not_numbers(vertigrad, arguments, message):
    outcome = vertigrad(*arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert len(outcome.messages) == 1
    assert message in outcome.messages[0]


@pytest.mark.parametrize("size", ["0x5", "5x0", "axb", "640", "640x", "-5x5", "1.5x2", "640 x 480", "9999999x5", "٣x٣"])
@pytest.mark.parametrize("verb", ["render", "bench", "run"])
def test_an_invalid_size(vertigrad, tmp_path, verb, size):
    outcome = vertigrad(verb, "nbody", *(["-o", tmp_path / "x.png"] if verb == "render" else []), "--size", size)
    assert outcome.code == 2
    assert outcome.messages == [f"--size {size}: expected WIDTHxHEIGHT in pixels, such as 1280x720"]


def test_a_size_beyond_every_adapter(vertigrad, row, tmp_path):
    outcome = vertigrad("render", row, "-o", tmp_path / "x.png", "--size", "900000x10")
    assert outcome.code == 2
    assert "an image of 900000x10 pixels" in outcome.messages[0]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("nonsense", "--set nonsense: expected NAME.PARAMETER=VALUE"),
        ("row.hieght=1", '--set row.hieght=1: unknown parameter; did you mean "height"?'),
        ("rwo.height=1", 'did you mean "row"?'),
        ("row.height=100", "--set row.height=100"),
        ("row.height=tall", "--set row.height=tall"),
        ("row.type=none", "--set row.type=none"),
        ("layers.dots.size=-1", "size"),
    ],
)
@pytest.mark.parametrize("verb", ["render", "bench", "check"])
def test_a_setting_that_matches_nothing(vertigrad, row, tmp_path, verb, setting, message):
    more = ["-o", tmp_path / "x.png"] if verb == "render" else []
    outcome = vertigrad(verb, row, *more, "--set", setting)
    assert outcome.code == 2
    assert message in outcome.messages[0]


def test_an_invalid_seed(vertigrad, row):
    outcome = vertigrad("check", row, "--seed", "-1")
    assert (outcome.code, outcome.messages) == (2, ["--seed: -1 is below the minimum 0"])


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nbdy", 'nbdy: neither a file nor a scene that comes with Vertigrad; did you mean "nbody"?'),
        ("zzz", "zzz: neither a file nor a scene that comes with Vertigrad"),
        ("nbody.toml", 'nbody.toml: there is no such file; the scene that comes with Vertigrad is "nbody"'),
        ("secne.toml", 'secne.toml:1:1  there is no such file; did you mean "scene.toml"?'),
        ("none/secne.toml", "none/secne.toml:1:1  there is no such file; nor a folder none"),
        (".", ".:1:1  is a folder, not a scene file"),
        ("x" * 300, "neither a file nor a scene"),
        ("x" * 300 + ".toml", "cannot be read: File name too long"),
        ("a\0b.toml", "there is no such file"),
    ],
)
def test_a_missing_scene(vertigrad, row, monkeypatch, name, message):
    monkeypatch.chdir(row.parent)
    outcome = vertigrad("check", name)
    assert outcome.code == 2
    assert message in outcome.messages[0]


def test_a_folder_with_the_name_of_a_packaged_scene_does_not_hide_it(vertigrad, row, monkeypatch):
    (row.parent / "nbody").mkdir()
    monkeypatch.chdir(row.parent)
    assert vertigrad("check", "nbody", "--no-reference", "--set", "galaxy.count=20").code == 0


@pytest.mark.turns(3)
@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_every_broken_scene_is_reported_with_line_and_column(vertigrad, path):
    outcome = vertigrad("check", path)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.messages
    for line in outcome.messages:
        assert line.startswith(str(path))
        assert LOCATION.match(line.removeprefix(str(path)))


def test_broken_scenes_exist():
    assert len(BROKEN) >= 50


@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n", b"", b"version = 1\n\0", "version = 1".encode("utf-16")])
@pytest.mark.parametrize("verb", ["render", "bench", "check"])
def test_a_file_that_is_not_a_scene(vertigrad, tmp_path, verb, content):
    (tmp_path / "x.toml").write_bytes(content)
    outcome = vertigrad(verb, tmp_path / "x.toml", *(["-o", tmp_path / "x.png"] if verb == "render" else []))
    assert (outcome.code, outcome.out) == (2, "")
    assert LOCATION.search(outcome.messages[0])


@pytest.mark.turns(3)
@pytest.mark.parametrize("path", BROKEN[::60], ids=lambda path: path.stem)
def test_a_broken_scene_in_a_subprocess(process, path):
    outcome = process("check", path)
    assert (outcome.code, outcome.out) == (2, "")
    assert all(line.startswith(str(path)) and LOCATION.search(line) for line in outcome.messages), outcome.err
    assert outcome.messages


@pytest.mark.parametrize(
    ("option", "name"),
    [
        ("-o", "file/x.png"),
        ("-o", "file/%03d.png"),
        ("-o", "file/x.mp4"),
        ("-o", "folder.png"),
        ("--report", "file/r.json"),
    ],
)
def test_unwritable_output_is_reported_before_drawing(vertigrad, row, monkeypatch, option, name):
    monkeypatch.chdir(row.parent)
    Path("file").write_text("")
    Path("folder.png").mkdir()
    outcome = vertigrad("render", row, "-o", "good.png", "--frames", 1_000_000, option, name)
    assert (outcome.code, outcome.out) == (2, "")
    assert "cannot be written" in outcome.messages[0]
    assert not Path("good.png").exists()


def test_an_output_that_cannot_be_written_is_reported_before_the_scene_is_opened(vertigrad, tmp_path):
    (tmp_path / "file").touch()
    outcome = vertigrad("render", tmp_path / "missing.toml", "-o", tmp_path / "file" / "x.png")
    assert outcome.code == 2
    assert "cannot be written" in outcome.messages[0]


@pytest.mark.parametrize("option", ["--json", "--report"])
def test_unwritable_measurements_are_reported_before_measuring(vertigrad, row, tmp_path, option):
    outcome = vertigrad("bench", row, "--frames", 1_000_000, option, tmp_path)
    assert outcome.code == 2
    assert "cannot be written (Is a directory)" in outcome.messages[0]


def test_an_unsupported_image_format(vertigrad, tmp_path):
    outcome = vertigrad("render", "nbody", "-o", tmp_path / "x.tga")
    assert outcome.code == 2
    (message,) = outcome.messages
    assert "images are written as .png, videos as .mp4, .webm, .gif, .webp, and geometry as .ply, .obj, .glb" in message
    assert message.endswith("not as .tga")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk(vertigrad, row, tmp_path):
    (tmp_path / "x.png").symlink_to("/dev/full")
    outcome = vertigrad("render", row, "-o", tmp_path / "x.png", "--size", "32x32")
    assert outcome.code == 2
    assert "x.png: the image cannot be written (No space left on device)" in outcome.messages[0]


def test_without_a_display_the_message_names_render(vertigrad, process, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    outcome = vertigrad("run", "neural_field")
    assert outcome.code == 2
    assert "no display" in outcome.messages[0]
    assert "vertigrad render neural_field -o out.mp4" in outcome.messages[0]
    assert "`vertigrad scenes` lists the scenes" in outcome.messages[0]


def test_an_unknown_scene_is_reported_before_the_missing_display(vertigrad, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    outcome = vertigrad("run", "nbodi")
    assert outcome.code == 2
    assert 'did you mean "nbody"' in outcome.messages[0] and "display" not in outcome.err


def test_without_verb_and_display_the_scenes_are_listed(vertigrad, monkeypatch):
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    outcome = vertigrad()
    assert outcome.code == 2
    assert outcome.out == vertigrad("scenes").out
    for part in (
        "no display",
        "vertigrad render SCENE",
        "vertigrad check SCENE",
        "vertigrad models",
        "vertigrad scenes",
    ):
        assert part in outcome.messages[0]


@pytest.mark.turns(3)
def test_an_invalid_display_is_reported_by_the_window_system(process):
    outcome = process("run", "nbody", "--set", "galaxy.count=20", env={"DISPLAY": ":999", "WAYLAND_DISPLAY": None})
    assert (outcome.code, outcome.out) == (2, "")
    assert "`vertigrad render" in outcome.messages[-1]
    assert "Traceback" not in outcome.err


# an internal error: 1-----------------------------------------------------------------------------------------------


def fail(error: BaseException):
    def render(*_: object, **__: object) -> None:
        raise error

    return render


def test_an_internal_error_is_one_line(vertigrad, row, tmp_path, monkeypatch):
    monkeypatch.setattr(headless, "render", fail(ValueError("first line\n  second line")))
    outcome = vertigrad("render", row, "-o", tmp_path / "x.png")
    assert (outcome.code, outcome.out) == (1, "")
    (line,) = outcome.messages
    assert "fault of Vertigrad: ValueError: first line second line" in line
    assert "VERTIGRAD_TRACEBACK=1" in line


def test_control_characters_of_a_file_do_not_command_the_terminal(vertigrad, row, tmp_path, monkeypatch):
    monkeypatch.setattr(headless, "render", fail(InputError("the node 'a\x1b[2J\x07'\nis not known")))
    outcome = vertigrad("render", row, "-o", tmp_path / "x.png")
    assert outcome.messages == [r"the node 'a\x1b[2J\x07'", "is not known"]


@pytest.mark.parametrize("error", [ValueError("of ours"), OutOfMemory("of the GPU")])
def test_the_traceback_is_printed_on_request(vertigrad, row, tmp_path, monkeypatch, error):
    monkeypatch.setenv("VERTIGRAD_TRACEBACK", "1")
    monkeypatch.setattr(headless, "render", fail(error))
    outcome = vertigrad("render", row, "-o", tmp_path / "x.png")
    assert outcome.code == 1
    assert "Traceback (most recent call last)" in outcome.err
    assert "test_problems.py" in outcome.err
    assert str(error) in outcome.messages[-1]


@pytest.mark.turns(3)
def test_the_traceback_in_a_subprocess(process):
    quiet, loud = (process("check", "none.toml", env={"VERTIGRAD_TRACEBACK": value}) for value in (None, "1"))
    assert (quiet.code, loud.code) == (2, 2)
    assert "Traceback" not in quiet.err
    assert "Traceback" in loud.err


@pytest.mark.parametrize("error", [OutOfMemory("three\nlines\nof holders"), DeviceLost("gone")])
def test_device_errors_print_their_message(vertigrad, row, tmp_path, monkeypatch, error):
    monkeypatch.setattr(headless, "render", fail(error))
    outcome = vertigrad("render", row, "-o", tmp_path / "x.png")
    assert (outcome.code, outcome.messages) == (1, str(error).splitlines())


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(7)])
def test_an_interrupt_is_not_an_error(vertigrad, row, tmp_path, monkeypatch, error):
    monkeypatch.setattr(headless, "render", fail(error))
    if isinstance(error, SystemExit):
        with pytest.raises(SystemExit):
            vertigrad("render", row, "-o", tmp_path / "x.png")
    else:
        outcome = vertigrad("render", row, "-o", tmp_path / "x.png")
        assert (outcome.code, outcome.messages) == (130, [])


@pytest.mark.turns(3)
@pytest.mark.skipif(os.name != "posix", reason="sends the signal of Ctrl-C")
def test_ctrl_c_ends_the_video_and_the_program(tmp_path):
    video = tmp_path / "x.mp4"
    call = [sys.executable, "-c", "import sys; from vertigrad.cli import main; sys.exit(main())"]
    scene = ["nbody", "--set", "galaxy.count=50", "--frames", "1000000", "--size", "32x32", "-o", str(video)]
    with subprocess.Popen([*call, "render", *scene], stdout=PIPE, stderr=PIPE, text=True) as program:
        try:
            deadline = time.monotonic() + 600
            while not (video.exists() and video.stat().st_size) and time.monotonic() < deadline:
                time.sleep(0.1)
            program.send_signal(signal.SIGINT)
            out, err = program.communicate(timeout=300)
        finally:
            program.kill()
    assert (program.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert re.search(r"interrupted after [1-9]\d* of 1000000 frames; .* can be opened: \S+x\.mp4$", err.strip())
    with av.open(str(video)) as container:
        assert sum(1 for _ in container.decode(video=0)) >= 1


# no GPU: 4 ----------------------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
@pytest.mark.parametrize("verb", ["check", "info"])
def test_an_unknown_adapter(process, verb):
    outcome = process(verb, *(["nbody"] if verb == "check" else []), "--adapter", "nonsense")
    assert outcome.code == 4
    assert "no adapter matches 'nonsense'; this machine has:" in outcome.messages[0]
    assert "Traceback" not in outcome.err


@pytest.fixture
def no_gpu(monkeypatch) -> None:
    monkeypatch.setattr(process, "_the_gpu", None)
    monkeypatch.setattr(adapter, "adapters", list)


@pytest.mark.parametrize("verb", ["render", "bench", "check", "info"])
def test_a_machine_without_a_gpu(capsys, no_gpu, tmp_path, verb):
    from vertigrad.cli import main

    more = {"render": ["nbody", "-o", str(tmp_path / "x.png")], "info": []}.get(verb, ["nbody"])
    assert main([verb, *more]) == NoAdapter.exit_code == 4
    message = capsys.readouterr().err
    assert "no GPU adapter" in message
    assert "apt install mesa-vulkan-drivers" in message


def test_problems_in_a_scene_are_reported_without_a_gpu(capsys, no_gpu):
    from vertigrad.cli import main

    assert main(["check", str(BROKEN[0])]) == 2


# no leaks ----------------------------------------------------------------------------------------------------------


def test_a_run_that_fails_closes_its_session(vertigrad, row, tmp_path, added, monkeypatch):
    closed: list[object] = []
    close = stage.Stage.close
    monkeypatch.setattr(stage.Stage, "close", lambda self: (closed.append(self), close(self)))
    monkeypatch.setattr(headless, "render", fail(OSError(os.EX_OSERR, "broken")))
    assert vertigrad("render", row, "-o", tmp_path / "x.png").code == 1
    assert closed
    assert added() == []
