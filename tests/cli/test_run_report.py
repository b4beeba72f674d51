"""`render`, `bench` and their report: what was drawn, what was copied, and the proof of zero copy."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from PIL import Image

from vertigrad import headless, ops, viewer
from vertigrad.cli.options import errors_console
from vertigrad.renderer.layers import registry
from vertigrad.renderer.layers.points import PointsLayer
from vertigrad.session import RunRecord, Session
from vertigrad.session.clock import Clock
from vertigrad.tensor import Tensor

from ..session.running import LINKED, SCENE, Rising, written

DIRECTIONS = ("host_to_device", "device_to_device", "device_to_host")
SHIPPED = {"nbody": ["galaxy.count=1024"], "neural_field": ["terrain.resolution=48"]}


def sets(name: str) -> list[str]:
    return [word for setting in SHIPPED[name] for word in ("--set", setting)]


def loaded(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", SHIPPED)
def test_a_packaged_scene_copies_nothing_and_proves_it(vertigrad, tmp_path, name):
    frame_image, video, file = tmp_path / "x.png", tmp_path / "x.mp4", tmp_path / "out" / "r.json"
    outcome = vertigrad(
        *("render", name, *sets(name), "-o", frame_image, "-o", video, "--frames", 12, "--size", "160x90"),
        *("--require-zero-copy", "--report", file),
    )
    assert (outcome.code, outcome.messages) == (0, [])
    assert "12 frames of 160x90, 0 bytes of geometry copied a frame" in outcome.out
    report = loaded(file)
    assert [report["bytes_per_frame"][direction] for direction in DIRECTIONS] == [0, 0, 0]
    assert report["submits_per_frame"] == 1
    assert report["memory"]["leaked_blocks"] == report["memory"]["never_closed"] == 0
    outputs = {
        f"{model}.{output}": outputs_of
        for model, outputs in report["models"].items()
        for output, outputs_of in outputs.items()
    }
    blocks = {outputs_of["block"] for outputs_of in outputs.values()}
    drawn = [
        (layer, attribute, bound)
        for layer, attributes in report["layers"].items()
        for attribute, bound in attributes.items()
        if isinstance(bound, dict)
    ]
    assert len(drawn) >= 2
    for layer, attribute, bound in drawn:
        assert bound["block"] in blocks, f"{layer}.{attribute} is drawn from a block that no model wrote"
        same = [
            outputs_of
            for outputs_of in outputs.values()
            if (outputs_of["block"], outputs_of["offset"]) == (bound["block"], bound["offset"])
        ]
        assert any(bound["stride"] in outputs_of["strides"] for outputs_of in same)
    with Image.open(frame_image) as image:
        assert image.size == (160, 90)
        assert np.std(np.asarray(image)) > 2
    with av.open(str(video)) as container:
        assert sum(1 for _ in container.decode(video=0)) == 12


def test_the_report_has_all_documented_entries(vertigrad, steady, row, tmp_path):
    vertigrad(
        "render", row, "-o", tmp_path / "x.png", "--frames", 5, "--size", "40x30", "--report", tmp_path / "r.json"
    )
    report = loaded(tmp_path / "r.json")
    assert report["scene"] == str(row)
    assert report["title"] == "A row that rises"
    assert report["adapter"] == steady.report()
    assert report["frames"] == 5
    assert set(report["bytes_per_frame"]) == {*DIRECTIONS, "snapshots", "uniforms", "image", "diagnostics"}
    assert report["bytes_per_frame"]["uniforms"]["host_to_device"] > 0
    assert report["bytes_per_frame"]["image"]["device_to_host"] == 40 * 30 * 4 / 5
    assert set(report["ms_per_frame"]) == {"cpu", "frame", "compute", "draw", "groups"}
    assert set(report["ms_per_frame"]["cpu"]) == {"mean", "p50", "p95", "p99"}
    assert report["memory"]["peak_bytes"] >= report["memory"]["live_bytes"] == 8 * 4 * 4 + 2 * 4 + 2 * 4
    assert report["memory"]["live_blocks"] == 4
    assert report["models"]["row"]["position"] | {"block": 0} == {
        "block": 0,
        "dtype": "f32",
        "shape": [8, 3],
        "offset": 0,
        "strides": [12, 4],
    }
    dots = report["layers"]["dots"]
    assert set(dots) == {"position", "color", "size"}
    assert set(dots["position"]) == {"tensor", "block", "offset", "stride", "format"}
    assert dots["position"]["tensor"] == "row.position"
    assert dots["position"]["block"] == report["models"]["row"]["position"]["block"]
    assert dots["color"]["block"] == report["models"]["row"]["phase"]["block"]
    assert (dots["position"]["stride"], dots["position"]["format"], dots["size"]) == (12, "float32x3", 0.1)


def test_linked_models_are_drawn_without_a_copy(vertigrad, row, tmp_path):
    linked = written(tmp_path, LINKED)
    arguments = ["-o", tmp_path / "x.png", "--frames", 4, "--size", "40x30", "--report", tmp_path / "r.json"]
    assert vertigrad("render", linked, *arguments, "--require-zero-copy").code == 0
    report = loaded(tmp_path / "r.json")
    assert report["layers"]["echoes"]["position"]["block"] == report["models"]["late"]["position"]["block"]


# a layer that copies ------------------------------------------------------------------------------------------------


def on_the_gpu(tensor: Tensor) -> Tensor:
    copy = tensor.clone()
    copy.add_(0.0)
    return copy


def through_the_host(tensor: Tensor) -> Tensor:
    return Tensor.from_numpy(tensor.numpy(), name="again")


def only_read(tensor: Tensor) -> Tensor:
    tensor.numpy()
    return tensor.detach()


def held(tensor: Tensor) -> Tensor:
    """Nothing is copied here, but the next step must not write into a block that is held."""
    return tensor.clone()


def copying(how: Any) -> type[PointsLayer]:
    """A layer that draws a copy of its positions, created in each frame."""

    class Copying(PointsLayer):
        copy: Tensor | None = None

        def bind(self, attributes: Mapping[str, Any]) -> None:
            self.source = attributes
            super().bind(attributes)

        def prepare(self, light: Any = None) -> None:
            fresh = how(self.source["position"])
            super().bind({**self.source, "position": fresh})
            self.drop()
            self.copy = fresh
            super().prepare(light)

        def close(self) -> None:
            super().close()

        def drop(self) -> None:
            if self.copy is not None:
                self.copy.close()
                self.copy = None

    return Copying


@pytest.fixture
def copied(monkeypatch):
    """Register a layer type that copies, as "copying"."""
    copies: list[Any] = []

    def use(how: Any) -> None:
        kind = copying(how)

        class SceneExtras(kind):  # type: ignore[misc, valid-type]
            def __init__(self, *arguments: Any):
                super().__init__(*arguments)
                copies.append(self)

        found = registry._layer
        monkeypatch.setattr(registry, "NAMES", (*registry.NAMES, "copying"))
        monkeypatch.setattr(registry, "_layer", lambda name: SceneExtras if name == "copying" else found(name))

    yield use
    for layer in copies:
        layer.drop()


@pytest.mark.turns(2)
@pytest.mark.parametrize(
    ("how", "message", "directions"),
    [
        (on_the_gpu, "96 device to device", {"device_to_device"}),
        (through_the_host, "96 host to device, 96 device to host", {"host_to_device", "device_to_host"}),
        (only_read, "96 device to host", {"device_to_host"}),
        (held, "64 device to device", {"device_to_device"}),  # in the second and the third frame
    ],
)
def test_a_layer_that_copies_is_detected(vertigrad, row, tmp_path, copied, how, message, directions):
    copied(how)
    scene = written(tmp_path, SCENE.replace('"points"', '"copying"'), "copying.toml")
    arguments = ["-o", tmp_path / "x.png", "--frames", 3, "--size", "40x30", "--report", tmp_path / "r.json"]
    outcome = vertigrad("render", scene, *arguments, "--require-zero-copy")
    assert outcome.code == 3
    assert outcome.messages[-1].startswith(
        "zero copies were required, but bytes of geometry were copied in each frame: "
    )
    assert outcome.messages[-1].endswith(message)
    report = loaded(tmp_path / "r.json")
    assert {direction for direction in DIRECTIONS if report["bytes_per_frame"][direction]} == directions
    assert (tmp_path / "x.png").exists(), "it is drawn all the same"
    outcome = vertigrad("render", scene, *arguments)
    assert outcome.code == 0, "it was not required"
    assert "0 bytes of geometry" not in outcome.out


@pytest.mark.parametrize("verb", ["render", "bench"])
def test_both_verbs_enforce_zero_copy(vertigrad, row, tmp_path, copied, verb):
    copied(on_the_gpu)
    scene = written(tmp_path, SCENE.replace('"points"', '"copying"'), "copying.toml")
    more = ["-o", tmp_path / "x.png"] if verb == "render" else []
    assert vertigrad(verb, scene, *more, "--frames", 2, "--size", "40x30", "--require-zero-copy").code == 3


@pytest.fixture
def screen(monkeypatch) -> list[tuple[Any, ...]]:
    """Replace the window by frames without one; the arguments of the viewer are listed."""
    shown: list[tuple[Any, ...]] = []

    def view(
        session: Session,
        size: tuple[int, int] | None,
        frames: int | None,
        vsync: bool,
        memory: Path | None,
        gallery: bool,
    ) -> RunRecord:
        assert (memory is None) == (frames is not None), "a script leaves no trace in the user's settings"
        pace = (session.pacing.fps_limit, session.pacing.frames_in_flight, session.pacing.budget)
        shown.append((session.scene.path.name, size, frames, vsync, gallery, pace))
        return headless.render(session, frames or 2, (40, 30))

    monkeypatch.setattr(viewer, "view", view)
    monkeypatch.setenv("DISPLAY", ":0")
    return shown


def test_run_passes_its_options_on_and_writes_a_report(vertigrad, row, tmp_path, screen):
    arguments = ["--frames", 3, "--size", "300x200", "--no-vsync", "--set", "row.count=9", "--seed", 4]
    arguments += ["--fps", 50, "--frames-in-flight", 3, "--budget", 0]
    outcome = vertigrad("run", row, *arguments, "--report", tmp_path / "r.json", "--require-zero-copy")
    assert (outcome.code, outcome.messages) == (0, [])
    assert screen == [("scene.toml", (300, 200), 3, False, False, (50.0, 3, 0.0))]
    report = loaded(tmp_path / "r.json")
    assert report["models"]["row"]["position"]["shape"] == [9, 3]
    assert (report["frames"], report["memory"]["leaked_blocks"]) == (3, 0)


def test_the_gallery_is_shown_on_request(vertigrad, row, screen):
    for arguments in ([], ["--gallery"]):
        assert vertigrad("run", row, "--frames", 1, *arguments).code == 0
    assert [gallery for *_, gallery, _ in screen] == [False, True]


def test_run_sets_the_memory_of_the_rewind_buffer(vertigrad, row, screen, monkeypatch):
    held = []
    monkeypatch.setattr(Clock, "set_rewind_memory", lambda _, nbytes: held.append(nbytes))
    for arguments in ([], ["--rewind-memory", 7], ["--past", 0]):
        assert vertigrad("run", row, "--frames", 1, *arguments).code == 0
    assert held == [256 << 20, 7 << 20, 0]


def test_run_enforces_zero_copy(vertigrad, row, tmp_path, copied, screen):
    copied(on_the_gpu)
    scene = written(tmp_path, SCENE.replace('"points"', '"copying"'), "copying.toml")
    assert vertigrad("run", scene, "--require-zero-copy").code == 3
    assert vertigrad("run", scene).code == 0


def test_no_verb_opens_the_default_scene(vertigrad, screen):
    assert vertigrad().code == 0
    assert screen == [("nbody.toml", None, None, True, True, (0.0, 2, 25.0))]


# leaks --------------------------------------------------------------------------------------------------------------


def test_a_leaked_block_is_reported_and_counted(vertigrad, row, tmp_path, copied):
    forgotten: list[Tensor] = []

    def forget(tensor: Tensor) -> Tensor:
        if not forgotten:
            forgotten.append(Tensor.zeros(3, name="forgotten"))
        return tensor.detach()

    copied(forget)
    scene = written(tmp_path, SCENE.replace('"points"', '"copying"'), "copying.toml")
    outcome = vertigrad("render", scene, "-o", tmp_path / "x.png", "--size", "40x30", "--report", tmp_path / "r.json")
    memory = loaded(tmp_path / "r.json")["memory"]
    assert memory["leaked_blocks"] >= 1
    assert any(leak.startswith("forgotten, 12 bytes, created at ") for leak in memory["leaks"])
    assert any(line.startswith("leaked: forgotten, 12 bytes, created at ") for line in outcome.messages)
    forgotten[0].close()


def test_a_handle_that_was_dropped_without_being_closed_is_counted(vertigrad, row, tmp_path, copied, steady):
    def forget(tensor: Tensor) -> Tensor:
        Tensor.zeros(3, name="dropped")
        return tensor.detach()

    copied(forget)
    scene = written(tmp_path, SCENE.replace('"points"', '"copying"'), "copying.toml")
    arguments = ["--frames", 2, "--size", "40x30", "--report", tmp_path / "r.json"]
    vertigrad("render", scene, "-o", tmp_path / "x.png", *arguments)
    assert loaded(tmp_path / "r.json")["memory"]["never_closed"] == 2
    vertigrad("render", row, "-o", tmp_path / "x.png", *arguments)
    assert loaded(tmp_path / "r.json")["memory"]["never_closed"] == 0, "each run is counted by itself"


# options ------------------------------------------------------------------------------------------------------------


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image).astype(int)


def test_settings_and_seed_reach_the_models(vertigrad, tmp_path):
    images = []
    for number, more in enumerate(([], [], ["--seed", 99], ["--set", "layers.stars.emissive=0.0"])):
        file = tmp_path / f"{number}.png"
        arguments = ["--set", "galaxy.count=600", "--frames", 3, "--size", "120x90", "-o", file]
        assert vertigrad("render", "nbody", *arguments, *more).code == 0
        images.append(pixels(file))
    assert np.array_equal(images[0], images[1])
    assert not np.array_equal(images[0], images[2])
    assert not np.array_equal(images[0], images[3])


def test_titles_and_paths_with_brackets_are_printed_as_they_are(vertigrad, row, tmp_path):
    folder = tmp_path / "[red]"
    folder.mkdir()
    scene = written(folder, SCENE.replace("A row that rises", "[/b] 100% [bold]"), "[x].toml")
    outcome = vertigrad("render", scene, "-o", folder / "[o].png", "--size", "32x32")
    assert (outcome.code, outcome.messages) == (0, [])
    assert str(folder / "[o].png") in outcome.out
    outcome = vertigrad("check", scene)
    assert str(scene) in outcome.out
    outcome = vertigrad("bench", scene, "--frames", 1, "--size", "32x32")
    assert outcome.code == 0
    assert "[/b] 100% [bold] on " in outcome.out
    outcome = vertigrad("check", scene, "--set", "row.x=[blink]")
    assert "--set row.x=[blink]" in outcome.messages[0]


# the progress bar ---------------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
def test_an_unmodified_scene_in_a_subprocess(process, tmp_path):
    arguments = ["--frames", 3, "--size", "320x180", "-o", "x.png", "--require-zero-copy", "--report", "r.json"]
    outcome = process("render", "nbody", *arguments)
    assert (outcome.code, outcome.messages) == (0, []), "and nothing of the bar is printed where there is no terminal"
    assert outcome.out == "x.png: 3 frames of 320x180, 0 bytes of geometry copied a frame\n"
    assert np.std(pixels(tmp_path / "x.png")) > 2
    memory = loaded(tmp_path / "r.json")["memory"]
    assert (memory["leaked_blocks"], memory["never_closed"], memory["leaks"]) == (0, 0, [])


def test_the_bar_counts_the_frames_on_a_terminal(vertigrad, row, tmp_path, monkeypatch):
    monkeypatch.setattr(errors_console, "_force_terminal", True)
    monkeypatch.setattr(errors_console, "is_interactive", True)
    scene = written(tmp_path, SCENE.replace("A row that rises", "[/b] 100% [bold]"))
    outcome = vertigrad("render", scene, "-o", tmp_path / "x.png", "--frames", 40, "--size", "32x32")
    assert outcome.code == 0
    assert "[/b] 100% [bold]" in outcome.err
    assert "40/40" in outcome.err
    assert "40/40" not in outcome.out


# bench --------------------------------------------------------------------------------------------------------------


@pytest.mark.turns(3)
@pytest.mark.parametrize("name", SHIPPED)
def test_bench_measures_a_scene(vertigrad, tmp_path, name):
    arguments = [*sets(name), "--frames", 8, "--size", "96x64", "--json", tmp_path / "b.json"]
    outcome = vertigrad("bench", name, *arguments, "--report", tmp_path / "r.json", "--require-zero-copy")
    assert (outcome.code, outcome.messages) == (0, [])
    statistics = loaded(tmp_path / "b.json")
    assert statistics == loaded(tmp_path / "r.json")
    assert statistics["frames"] == 8
    assert statistics["submits_per_frame"] == 1
    times = statistics["ms_per_frame"]
    assert times["cpu"]["p50"] > 0
    assert times["frame"]["p50"] <= times["frame"]["p95"] <= times["frame"]["p99"]
    for row in ("mean", "p50", "p95", "p99", "cpu", "frame", "compute", "draw"):
        assert row in outcome.out
    assert "of geometry 0 host to device, 0 device to device, 0 device to host; of uniforms" in outcome.out
    assert "memory: peak " in outcome.out
    assert "0 leaked blocks" in outcome.out


@pytest.mark.skipif("not __import__('vertigrad').gpu().timer.available")
def test_bench_measures_compute_and_draw_on_the_gpu(vertigrad, row, tmp_path):
    vertigrad("bench", row, "--frames", 8, "--size", "96x64", "--json", tmp_path / "b.json")
    times = loaded(tmp_path / "b.json")["ms_per_frame"]
    assert times["compute"]["mean"] > 0
    assert times["draw"]["p99"] >= times["draw"]["p95"] >= times["draw"]["p50"] > 0
    passes = ("surfaces", "shading", "layers", "post-process")
    assert times["draw"]["mean"] == pytest.approx(sum(times["groups"][name]["mean"] for name in passes))


def test_bench_reports_what_could_not_be_measured(vertigrad, row, tmp_path, steady, monkeypatch):
    monkeypatch.setattr(steady.timer, "available", False)
    outcome = vertigrad("bench", row, "--frames", 2, "--size", "96x64", "--json", tmp_path / "b.json")
    assert outcome.code == 0
    assert outcome.out.count("not measured") == 8
    assert loaded(tmp_path / "b.json")["ms_per_frame"]["draw"] is None


@pytest.mark.turns(2)
@pytest.mark.parametrize("bad", [7, 40], ids=["on the way", "in the last step"])
def test_a_run_stops_at_nan_on_request(vertigrad, row, tmp_path, monkeypatch, bad):
    plain, steps = Rising.step, Counter()

    def step(self, dt):
        plain(self, dt)
        steps["done"] += dt > 0
        if steps["done"] == bad:
            with self._position[2] as third:
                ops.assign(third, math.nan)

    arguments = ["-o", tmp_path / "x.png", "--frames", 40, "--size", "40x30", "--report", tmp_path / "r.json"]
    assert vertigrad("render", row, *arguments, "--stop-on-nan").code == 0
    assert loaded(tmp_path / "r.json")["frames"] == 40
    monkeypatch.setattr(Rising, "step", step)
    stopped = vertigrad("render", row, *arguments, "--stop-on-nan")
    assert stopped.code == 3
    assert f"row.position[2, 0] is NaN or infinite, and 2 more (step {bad}," in stopped.messages[0]
    assert loaded(tmp_path / "r.json")["frames"] <= bad + 3


@pytest.mark.parametrize("value", [math.nan, -math.inf])
@pytest.mark.parametrize("verb", ["render", "record"])
def test_a_run_that_ends_with_nan_is_written_and_fails(vertigrad, row, tmp_path, monkeypatch, verb, value):
    plain, steps = Rising.step, Counter()

    def step(self, dt):
        plain(self, dt)
        steps["done"] += dt > 0
        if steps["done"] == 6:
            with self._position[2] as third:
                ops.assign(third, value)

    path = tmp_path / ("image.png" if verb == "render" else "run.zarr")
    arguments = [verb, row, "-o", path, "--frames", 6, *(["--size", "40x30"] if verb == "render" else [])]
    monkeypatch.setattr(Rising, "step", step)
    failed = vertigrad(*arguments)
    assert failed.code == 3 and path.exists()
    assert (
        "the last frame was written, but row.position[2, 0] is NaN or infinite, and 2 more (step 6,"
        in failed.messages[-1]
    )
    assert "--allow-nan" in failed.messages[-1]
    steps.clear()
    path.rename(tmp_path / "first")
    allowed = vertigrad(*arguments, "--allow-nan")
    assert (allowed.code, path.exists()) == (0, True), allowed.err


def test_data_may_have_nan(vertigrad, tmp_path):
    """Rows without a position are not drawn: that is not a fault of a simulation."""
    np.save(tmp_path / "field.npy", np.array([[1, 2], [np.nan, 4]], np.float32))
    (tmp_path / "points.csv").write_text("x,y,z\n0,0,0\nnan,1,1\n1,0,0\n")
    for name in ("field.npy", "points.csv"):
        outcome = vertigrad("render", tmp_path / name, "-o", tmp_path / "image.png", "--size", "40x30")
        assert outcome.code == 0, outcome.err


def test_the_check_for_nan_is_not_a_part_of_a_frame(vertigrad, row, tmp_path):
    arguments = ["-o", tmp_path / "x.png", "--frames", 2, "--size", "40x30", "--report", tmp_path / "r.json"]
    assert vertigrad("render", row, *arguments, "--require-zero-copy").code == 0
    assert loaded(tmp_path / "r.json")["submits_per_frame"] == 1.0
