"""Functions as models: tensors, parameters, inputs and times by the names of arguments."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest

import vertigrad as vg
from vertigrad.errors import InputError
from vertigrad.params import number, vector
from vertigrad.session import STEP

START = np.float32([[0, 1, 0], [1, 2, 3]])


def output(viewer: vg.Viewer, name: str) -> np.ndarray:
    model, _, key = name.partition(".")
    return viewer.session.stage.instances[model].outputs[key].numpy()


@vg.model(position=START, speed=(2,))
def rain(position, speed, dt, *, gravity: float = number(9.81, min=0.0, max=20.0, unit="m/s²"), wind: float = 0):
    """Falls."""
    speed -= gravity * dt
    position[:, 1] += speed * dt
    position[:, 0] += wind * dt


def test_arrays_that_are_returned_are_converted_and_named_if_they_do_not_fit(viewer: vg.Viewer) -> None:
    values = [np.full((2, 3), 0.5)]

    @vg.model(position=START)
    def moved(position):
        return {"position": values[0]}

    viewer.add_model(moved)
    viewer.points("drops", position="moved.position")
    viewer.update()
    assert np.array_equal(output(viewer, "moved.position"), np.full((2, 3), 0.5, np.float32))
    values[0] = np.zeros((5, 3))
    with pytest.raises(InputError, match=r"moved: returned position: shapes \(5, 3\) and \(2, 3\)"):
        viewer.update()


def test_a_function_steps_with_parameters(viewer: vg.Viewer) -> None:
    viewer.add_model(rain, gravity=5.0)
    drops = viewer.points("drops", position="rain.position", size=0.2)
    for _ in viewer.frames(3):
        pass
    speed = -5.0 * STEP * np.arange(1, 4)
    np.testing.assert_allclose(output(viewer, "rain.speed"), [speed[-1]] * 2, rtol=1e-5)
    np.testing.assert_allclose(output(viewer, "rain.position")[:, 1], START[:, 1] + speed.sum() * STEP, rtol=1e-5)
    params = viewer.session.parameters()["models.rain"]
    specs = {spec.name: spec for spec in params.specs()}
    assert (specs["gravity"].max, specs["gravity"].unit, specs["wind"].kind) == (20.0, "m/s²", "number")
    assert drops.type == "points" and viewer.image().std() > 1
    with pytest.raises(InputError, match=r"gravity: 30\.0 is above the maximum 20\.0"):
        viewer.add_model(rain, "heavy", gravity=30.0)
    viewer.session.reset()
    np.testing.assert_array_equal(output(viewer, "rain.position"), START)


def test_every_kind_of_argument(viewer: vg.Viewer) -> None:
    calls = []

    @vg.model(level=np.zeros(4), cell=np.arange(4, dtype=np.uint32), noise=lambda random: random.random((4, 2)))
    def wave(
        level,
        cell,
        noise,
        time,
        count: int = 3,
        on: bool = True,
        name="abc",
        kind: Literal["a", "b"] = "b",
        center: tuple[float, ...] = vector((0, 1, 2)),
    ):
        calls.append((count, on, name, kind, center))
        return {"level": level + 2.0 * time, "cell": cell}

    viewer.add_model(wave, count=5, seed=7)
    for _ in viewer.frames(3):
        pass
    assert calls[-1] == (5, True, "abc", "b", (0.0, 1.0, 2.0))
    np.testing.assert_allclose(output(viewer, "wave.level"), 2 * STEP * (0 + 1 + 2), rtol=1e-5)
    assert output(viewer, "wave.cell").dtype == np.uint32
    np.testing.assert_allclose(output(viewer, "wave.noise"), np.random.default_rng(7).random((4, 2)), rtol=1e-6)


def test_inputs_are_outputs_of_other_models(viewer: vg.Viewer) -> None:
    @vg.model(found=(2, 3))
    def follow(found, target: vg.Tensor, factor: float = 0.5):
        found[...] = target * factor

    viewer.add_model(rain)
    with pytest.raises(InputError, match="needs the input target"):
        viewer.add_model(follow)
    viewer.add_model(follow, inputs={"target": "rain.position"})
    for _ in viewer.frames(2):
        pass
    np.testing.assert_allclose(output(viewer, "follow.found"), 0.5 * output(viewer, "rain.position"), rtol=1e-6)


def test_an_error_in_the_function_is_raised_and_other_models_continue(viewer: vg.Viewer) -> None:
    @vg.model(x=(3,))
    def broken(x, dt, by: float = 1.0):
        if dt > 0:
            x /= undefined  # noqa: F821  # pyright: ignore[reportUndefinedVariable]

    @vg.model(x=(3,))
    def strange(x):
        return {"y": x}

    @vg.model(x=(3,))
    def number_returned(x):
        return 3

    viewer.add_model(broken)
    with pytest.raises(NameError, match="undefined"):
        viewer.update()
    viewer.remove("broken")
    viewer.update()
    with pytest.raises(InputError, match=r'strange: returned unknown tensor "?y'):
        viewer.add_model(strange)
    with pytest.raises(InputError, match=r'returned int; return None .*"x": …'):
        viewer.add_model(number_returned)
    viewer.update()


def no_default(x, speed):
    pass


def list_default(x, speed=[1]):  # noqa: B006
    pass


def starred(x, *others):
    pass


def unknown_annotation(x, speed: Nothing = 1):  # noqa: F821  # pyright: ignore[reportUndefinedVariable]
    pass


def without_tensor(time):
    pass


@pytest.mark.parametrize(
    ("function", "tensors", "match"),
    [
        (
            no_default,
            {"x": (3,)},
            "no_default: speed is neither a tensor of the model nor dt or time, and has no default",
        ),
        (list_default, {"x": (3,)}, r"list_default: speed: cannot become a parameter with the default \[1\]"),
        (starred, {"x": (3,)}, r"starred: the argument \*others cannot be passed by name"),
        (unknown_annotation, {"x": (3,)}, "unknown_annotation: its annotations cannot be evaluated.*Nothing"),
        (without_tensor, {"x": (3,)}, "without_tensor: has no argument for the tensor x"),
        (without_tensor, {}, "without_tensor: a model needs a tensor"),
        (no_default, {"params": (3,)}, "no_default: a tensor cannot be called params"),
        (no_default, {"x": ["a"]}, r"no_default: x: expected an array of numbers, got <U1 of shape \(1,\)"),
        (no_default, {"x": np.zeros((0, 3))}, r"x: expected an array of numbers, got float64 of shape \(0, 3\)"),
    ],
)
def test_invalid_models(function, tensors: dict, match: str) -> None:
    with pytest.raises(InputError, match=match):
        vg.model(**tensors)(function)


def test_a_function_of_a_file_is_saved_by_its_name(viewer: vg.Viewer, tmp_path, monkeypatch) -> None:
    (tmp_path / "falling.py").write_text(
        "import vertigrad as vg\n\n@vg.model(position=(5, 3))\n"
        "def fall(position, dt, speed: float = 1.0):\n    position[:, 1] -= speed * dt\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from falling import fall  # pyright: ignore[reportMissingImports]

    viewer.add_model(fall, speed=2.0)
    viewer.points("drops", position="fall.position")
    viewer.save(tmp_path / "a.toml")
    with vg.Scene.load(tmp_path / "a.toml") as scene:
        assert 'type = "falling.py:fall"' in (tmp_path / "a.toml").read_text()
        scene.step(2)
        np.testing.assert_allclose(scene.outputs["fall.position"].numpy()[:, 1], -2 * 2 * STEP, rtol=1e-5)
