"""`Stage`: models built in the order of their inputs, layers bound to them, everything released."""

import pytest

from vertigrad import scene
from vertigrad.errors import ParameterError, SceneError
from vertigrad.gpu import Gpu
from vertigrad.scene.stage import Stage

from ..session.running import LINKED, SCENE, Fault, Rising, Scaled, use_models, written


@pytest.fixture
def stage(steady: Gpu, tmp_path, monkeypatch):
    """Builds a stage from a scene's text; closed after the test."""
    use_models(monkeypatch)
    stages: list[Stage] = []

    def build(text: str) -> Stage:
        stages.append(Stage(scene.load(written(tmp_path, text)), steady))
        return stages[-1]

    yield build
    for each in stages:
        each.close()


# Consumers are before producers in this file, and after them in the order of construction.
TURNED = """
version = 1
[models.late]
type = "scaled"
inputs = { source = "echo.position" }
[models.echo]
type = "scaled"
inputs = { source = "row.position" }
[models.row]
type = "rising"
"""


def test_producers_are_built_and_stepped_before_consumers(stage, monkeypatch):
    stepped: list[str] = []
    for kind in (Rising, Scaled):
        step = kind.step
        monkeypatch.setattr(kind, "step", lambda self, dt, step=step: (stepped.append(self.name), step(self, dt)))
    built = stage(TURNED)
    assert list(built.instances) == ["row", "echo", "late"]
    stepped.clear()
    built.step(0.1)
    assert stepped == ["row", "echo", "late"]


def test_every_output_is_published_once(stage):
    built = stage(LINKED)
    built.step(0.1)
    built.reset()
    outputs = [tensor for instance in built.instances.values() for tensor in instance.outputs.values()]
    assert [tensor.block.published for tensor in outputs] == [1] * len(outputs)


def test_running_does_not_change_the_scene(stage):
    built = stage(SCENE)
    built.change("row", "height", 3.0)
    built.change("row", "count", 30)
    built.layers["dots"].style.change("emissive", 0.5)
    assert (built.scene.models["row"].params.height, built.scene.models["row"].params.count) == (0.0, 8)
    assert built.scene.layers["dots"].style.emissive == 0.0


def test_models_of_one_scene_do_not_share_parameters(stage):
    built = stage(SCENE + '[models.other]\ntype = "rising"\n')
    built.change("row", "height", 3.0)
    assert built.instances["other"].params.height == 0.0


@pytest.mark.parametrize("model", ["rwo", ""])
def test_changing_an_unknown_model_is_an_error(stage, model):
    with pytest.raises(ParameterError, match="unknown model"):
        stage(SCENE).change(model, "height", 1.0)


def test_models_built_before_an_error_are_released(stage, steady: Gpu, added):
    never_closed = steady.tracker.leak_count
    wrong = LINKED + '[models.last]\ntype = "rising"\ncount = 3\nforbidden = 3\n'
    with pytest.raises(SceneError, match=r"scene\.toml:23:9  models\.last: last: not with 3 points"):
        stage(wrong)
    assert added() == []
    assert steady.tracker.leak_count == never_closed


def test_a_layer_that_cannot_draw_its_tensors_releases_everything(stage, added):
    wrong = SCENE + '[layers.sheet]\ntype = "surface"\nposition = "row.position"\n'
    with pytest.raises(SceneError, match=r"scene\.toml:14:9  layers\.sheet: .*which is not a grid"):
        stage(wrong)
    assert added() == []


def test_more_than_the_adapter_allows_is_a_problem_of_the_scene(stage, steady: Gpu):
    count = steady.limits["max-storage-buffer-binding-size"] // 12 + 1
    assert count <= 1 << 30
    with pytest.raises(SceneError, match=r"scene\.toml:5:9  models\.row: .*(65535|this adapter|at most)"):
        stage(SCENE.replace('"rising"', f'"rising"\ncount = {count}'))


def test_an_error_of_a_model_is_raised_unchanged(stage, monkeypatch):
    def fault(*_: object) -> None:
        raise Fault("from inside")

    monkeypatch.setattr(Scaled, "step", fault)
    with pytest.raises(Fault, match="from inside"):
        stage(LINKED)


def test_a_reset_that_fails_changes_no_model(stage, steady: Gpu, monkeypatch):
    built = stage(LINKED)
    built.step(0.25)
    steady.submit()

    def fault(*_: object) -> None:
        raise Fault

    monkeypatch.setattr(Scaled, "reset", fault)
    with pytest.raises(Fault):
        built.reset()
    assert built.instances["row"].outputs["phase"].numpy()[0] == 0.25
    built.step(0.25)
    assert built.instances["row"].outputs["phase"].numpy()[0] == 0.5


def test_closing_twice_releases_everything_once(stage, added):
    built = stage(LINKED)
    built.close()
    built.close()
    assert added() == []
