"""`count = "auto"`: a count that fits the adapter, measured once, cached, and distinct from an explicit count."""

import json
import logging
import math
import time
from dataclasses import replace

import pytest

from vertigrad.errors import InputError, OutOfMemory, SceneError
from vertigrad.models import registry
from vertigrad.models.physics.nbody import NBody
from vertigrad.params import Auto, integer
from vertigrad.scene import load
from vertigrad.session import Session, sizing
from vertigrad.session.command_line import command_line, setting_of
from vertigrad.session.commands import ApplyPreset, Redo, Reload, ResetParameters, Save, SetParameter, Undo
from vertigrad.session.parameters import Key
from vertigrad.session.sizing import Sizes, fitted, measured

from .running import Rising, Scaled, run_frame, written

COUNT = Key("models.row", "count")
SCENE = """
version = 1
[models.row]
type = "grown"
count = "auto"
[layers.dots]
type = "points"
position = "row.position"
[presets.few]
"row.count" = 5
[presets.fitting]
"row.count" = "auto"
"""


class Grown(Rising):
    """A row of points, with a count that fits the adapter."""

    class Params(Rising.Params):
        count: int = integer(8, min=1, max=1 << 20, rebuild=True, auto=True)


@pytest.fixture
def grown(monkeypatch, tmp_path):
    """Register the model with a fake measurement; return the list of measurements."""
    known = {"grown": Grown, "rising": Rising, "scaled": Scaled, "nbody": NBody}
    monkeypatch.setattr(registry, "types", lambda: known)
    monkeypatch.setattr(Rising, "fails", None)
    monkeypatch.setenv("VERTIGRAD_CONFIG_DIR", str(tmp_path / "settings"))
    asked = []

    def chosen(gpu, scene, model, parameter, target_ms):
        asked.append((model, parameter, target_ms))
        return 40 + len(asked)

    monkeypatch.setattr(sizing, "measured", chosen)
    return asked


@pytest.fixture
def row(steady, tmp_path, grown):
    with Session(steady, written(tmp_path, SCENE)) as session:
        session.playing = False
        yield session


def do(session, *commands):
    for command in commands:
        session.post(command)
    run_frame(session)


def count(session):
    return session.stage.instances["row"].params.count


# the chosen count --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [0.8, 1.0, 1.5, 2.0])
@pytest.mark.parametrize("faster", [1e-3, 1.0, 1e3, 1e5])
def test_the_step_takes_the_target(power, faster):
    asked = []

    def step_ms(number):
        asked.append(number)
        return 0.05 + (number / 4000) ** power / faster

    found = fitted(step_ms, 1, 1 << 30, 8.0)
    assert step_ms(found) == pytest.approx(8.0, rel=0.35) or found == 10**9
    assert len(asked) <= 9
    assert max(asked[1:-1] or [0]) <= 3 * found, "nothing far larger was tried"


def test_limits_hold():
    assert fitted(lambda number: number * 1e-6, 10, 5000, 8.0) == 5000
    assert fitted(lambda number: number * 10.0, 100, 5000, 8.0) == 100
    assert fitted(lambda number: 1.0, 3, 3, 8.0) == 3


def test_the_count_is_not_reduced_where_that_saves_no_time():
    """A grid whose time does not depend on the number of particles."""
    found = fitted(lambda number: 240.0 + number / 100, 8, 1 << 20, 8.0)
    assert 3000 < found < 40_000
    assert fitted(lambda number: 6.0 + number / 1000, 8, 1 << 20, 8.0) == pytest.approx(2000, rel=0.2)


@pytest.mark.parametrize("launch", [0.5, 2.0, 6.0])
def test_a_grid_whose_kernels_take_longer_to_begin_than_to_run(launch):
    """Cells along an edge: the time is that of the launches at first, and rises with the fourth power at last."""

    def step_ms(cells):
        return launch * (1.0 + cells / 4000) + 250.0 * (cells / 512) ** 4

    found = fitted(step_ms, 48, 512, 8.0, 8)
    assert 0.6 * 8.0 < step_ms(found) < 1.3 * 8.0


def test_counts_have_two_significant_digits():
    assert fitted(lambda number: number / 1234.5, 1, 1 << 30, 8.0) == 9800


def test_counts_that_cannot_be_built_are_skipped():
    def step_ms(number):
        if number > 3000:
            raise OutOfMemory("too large")
        return 1e-3 * number

    assert 1500 <= fitted(step_ms, 1, 1 << 20, 8.0) <= 3000

    def never(number):
        raise OutOfMemory("too large")

    with pytest.raises(OutOfMemory):
        fitted(never, 1, 1 << 20, 8.0)


def test_an_unusable_measurement_ends_the_search():
    times = iter([1.0, 0.2, 3.0, 0.1] * 9)
    assert fitted(lambda number: next(times), 1, 1 << 30, 8.0) >= 1


def test_measured_on_this_adapter(steady, tmp_path, monkeypatch):
    """Real steps; how near the count is to the target is tested above, where nothing else runs on the machine."""
    monkeypatch.setattr(registry, "types", lambda: {"nbody": NBody})
    scene = load(written(tmp_path, SCENE.replace("grown", "nbody").replace("row", "galaxy")))
    few = NBody.Params.model_fields["count"].default // sizing.SHARE
    times = 4 if steady.adapter.kind == "software" else 64  # a GPU runs many more in the same time
    one, many = (sizing._take_step(steady, scene, "galaxy", "count", number) for number in (few, times * few))
    assert many > 1.5 * one > 0.0, "at least sixteen times the work"
    found = measured(steady, scene, "galaxy", "count", 2.0 * one)
    assert few <= found < 64 * few and found % 100 in (0, few % 100)


def test_an_idle_gpu_is_busy_with_steps_before_the_first_measurement(steady, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "types", lambda: {"nbody": NBody})
    scene = load(written(tmp_path, SCENE.replace("grown", "nbody").replace("row", "galaxy")))
    began = time.perf_counter()
    sizing._take_step(steady, scene, "galaxy", "count", 8, 0.3)
    assert time.perf_counter() - began > 0.3
    warm_ups = []

    def take_step(gpu, scene, model, parameter, count, warm_up):
        warm_ups.append(warm_up)
        return 1e-3 * count

    monkeypatch.setattr(sizing, "_take_step", take_step)
    for kind in ("discrete", "software"):
        monkeypatch.setattr(steady, "adapter", replace(steady.adapter, kind=kind))
        measured(steady, scene, "galaxy", "count", 2.0)
        first, *others = warm_ups
        assert first == (sizing.WARM_UP if kind == "discrete" else 0.0) and others and not any(others)
        warm_ups.clear()


def test_outputs_fit_into_a_binding(steady, tmp_path, grown, monkeypatch):
    scene = load(written(tmp_path, SCENE))
    assert sizing._bounds(steady, scene.models["row"], "count") == (1, 1 << 20), "an eighth of 8"
    monkeypatch.setattr(sizing, "MAX_OUTPUT_BYTES", 12 * 1000)
    least, most = sizing._bounds(steady, scene.models["row"], "count")
    assert least == 1 and 500 < most <= 1000


def test_a_model_that_can_never_be_built_is_reported(steady, tmp_path, grown, monkeypatch):
    monkeypatch.setattr(sizing, "measured", measured)

    def refuse(*arguments):
        raise InputError("not on a Sunday")

    monkeypatch.setattr(Grown, "__init__", refuse)
    with pytest.raises((InputError, SceneError), match=r"no count could be measured for auto: .*Sunday"):
        Session(steady, written(tmp_path, SCENE))


# where it is used ----------------------------------------------------------------------------------------------------


def test_the_scene_keeps_auto_and_the_model_has_a_count(row, grown):
    assert count(row) == 41 and isinstance(count(row), Auto)
    assert row.stage.instances["row"].outputs["position"].shape == (41, 3)
    assert row.scene.models["row"].outputs["position"].shape == (41, 3)
    assert not row.unsaved and grown == [("row", "count", sizing.TARGET_MS)]


def test_the_count_is_cached_per_adapter_and_scene(row, grown, steady, tmp_path, caplog):
    with caplog.at_level(logging.INFO, "vertigrad"), Session(steady, row.scene.path) as again:
        assert count(again) == 41
    assert "row.count: auto: 41" in caplog.text
    with Session(steady, row.scene.path, ["row.height=0.5"]) as other:
        assert count(other) == 42, "other parameters, another time"
    with Session(steady, row.scene.path, ["row.count=9"]) as fixed:
        assert count(fixed) == 9 and not isinstance(count(fixed), Auto)
    assert len(grown) == 2
    counts = json.loads((tmp_path / "settings" / "counts.json").read_text())
    (adapter,) = counts["adapters"]
    assert steady.adapter.name in adapter and sorted(counts["adapters"][adapter].values()) == [41, 42]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"version": 9}', f'{{"version": {sizing.VERSION}, "adapters": {{"a": {{"b": -1}}}}}}', "{"]
)
def test_a_damaged_cache_is_ignored(tmp_path, steady, grown, content, caplog):
    file = tmp_path / "counts.json"
    file.write_text(content)
    scene = load(written(tmp_path, SCENE))
    assert Sizes(steady, file).of(scene, "row", "count") == 41
    assert Sizes(steady, file).of(scene, "row", "count") == 41, "written again"


def test_a_cache_that_cannot_be_written_is_only_reported(tmp_path, steady, grown, caplog):
    (tmp_path / "folder").write_text("not a folder")
    scene = load(written(tmp_path, SCENE))
    assert Sizes(steady, tmp_path / "folder" / "counts.json").of(scene, "row", "count") == 41
    assert "cannot be" in caplog.text


def test_models_divide_the_frame_time(steady, tmp_path, grown):
    two = SCENE + '[models.second]\ntype = "grown"\ncount = "auto"\nheight = 1.0\n[models.third]\ntype = "rising"\n'
    with Session(steady, written(tmp_path, two)):
        assert grown == [(name, "count", sizing.TARGET_MS / 2) for name in ("row", "second")]


def test_a_count_replaces_auto_and_undo_restores_it(row, grown):
    do(row, SetParameter(*COUNT, 7))
    assert count(row) == 7 and row.unsaved
    do(row, Undo())
    assert isinstance(count(row), Auto) and count(row) == 41 and not row.unsaved
    do(row, Redo(), SetParameter(*COUNT, "auto"))
    assert isinstance(count(row), Auto) and count(row) == 41 and not row.unsaved
    do(row, SetParameter(*COUNT, 12), ResetParameters((COUNT,)))
    assert isinstance(count(row), Auto) and not row.unsaved
    assert len(grown) == 1, "measured once"


def test_the_same_explicit_count_differs_from_auto(row):
    do(row, SetParameter(*COUNT, 41))
    assert count(row) == 41 and row.unsaved and COUNT in row.scene_edits.differing()


def test_presets(row, grown):
    do(row, ApplyPreset("few"))
    assert count(row) == 5
    do(row, ApplyPreset("fitting"))
    assert isinstance(count(row), Auto) and count(row) == 41 and not row.messages


def test_saving_and_reading_again(row):
    before = row.scene.path.read_text()
    do(row, SetParameter("models.row", "height", 0.25), Save())
    text = row.scene.path.read_text()
    assert 'count = "auto"' in text and text.replace("height = 0.25\n", "") == before
    assert count(row) == 41 and not row.unsaved
    do(row, SetParameter(*COUNT, 41), Save())
    assert "count = 41" in row.scene.path.read_text() and not row.unsaved
    do(row, SetParameter(*COUNT, "auto"), Save())
    assert row.scene.path.read_text() == text and not row.messages
    built = Rising.built
    row.scene.path.write_text(text.replace("0.25", "0.5"))
    do(row, Reload())
    assert row.stage.instances["row"].params.height == 0.5
    assert count(row) == 41 and Rising.built == built, "nothing was built or measured for it"


def test_an_edit_of_the_file_to_auto_and_away(row, grown):
    text = row.scene.path.read_text()
    row.scene.path.write_text(text.replace('count = "auto"', "count = 6"))
    do(row, Reload())
    assert count(row) == 6 and not isinstance(count(row), Auto)
    row.scene.path.write_text(text)
    do(row, Reload())
    assert count(row) == 41 and isinstance(count(row), Auto) and len(grown) == 1
    row.scene.path.write_text(text.replace('count = "auto"', "count = 41"))
    do(row, Reload())
    assert count(row) == 41 and not isinstance(count(row), Auto), "the same number, but the file's"
    assert not row.unsaved


def test_a_command_line_has_the_number(row):
    assert " --set row.count=41 " in command_line(row)
    assert setting_of(row, COUNT) == "--set row.count=auto"
    do(row, SetParameter(*COUNT, 7))
    assert " --set row.count=7 " in command_line(row)


def test_auto_by_the_command_line(steady, tmp_path, grown):
    with Session(steady, written(tmp_path, SCENE.replace('count = "auto"\n', "")), ["row.count=auto"]) as session:
        assert isinstance(count(session), Auto) and not session.unsaved


def test_auto_for_another_parameter_is_an_error(steady, tmp_path, grown):
    with pytest.raises(SceneError, match=r'expected an integer, got "auto"'):
        load(written(tmp_path, SCENE.replace("grown", "rising").split("[presets")[0]))
    with pytest.raises(SceneError, match=r'expected an integer or "auto", got "many"'):
        load(written(tmp_path, SCENE.replace('= "auto"\n[l', '= "many"\n[l')))
    assert math.isfinite(load(written(tmp_path, SCENE)).models["row"].params.count)


def test_auto_set_by_the_user_is_measured_while_it_runs(steady, tmp_path, monkeypatch):
    monkeypatch.setattr(registry, "types", lambda: {"nbody": NBody})
    monkeypatch.setenv("VERTIGRAD_CONFIG_DIR", str(tmp_path))
    monkeypatch.setattr(sizing, "TARGET_MS", 1.0)
    with Session(steady, written(tmp_path, SCENE.replace("grown", "nbody").replace('"auto"', "64"))) as session:
        run_frame(session)
        do(session, SetParameter(*COUNT, "auto"))
        run_frame(session)
        assert not session.messages and isinstance(count(session), Auto)
        assert session.stage.instances["row"].outputs["position"].shape == (count(session), 3)
        assert len((tmp_path / "counts.json").read_text()) > 40
