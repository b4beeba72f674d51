"""Splats fitted to views of a mesh: the views, decrease of the loss, splitting, and reproducible runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data import splat_file
from vertigrad.models.learning.splat_fit import Params, SplatFit
from vertigrad.models.learning.splat_fit_views import FIELD, SAMPLES, cameras_around
from vertigrad.models.reference import splat_fit as reference

SUN = np.array([0.43, 0.77, 0.47])

Make = Callable[..., SplatFit]
SMALL: dict[str, Any] = {
    "resolution": 24,
    "count": 150,
    "views": 5,
    "steps_per_second": 60.0,
    "learning_rate_half_life": 60,
    "bands": 1.0,
}


@pytest.fixture(scope="module")
def pyramid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four triangles with four corners."""
    path = tmp_path_factory.mktemp("mesh") / "pyramid.obj"
    corners = ["1 1 1", "-1 -1 1", "-1 1 -1", "1 -1 -1"]
    faces = ["1 2 4", "1 3 2", "1 4 3", "2 3 4"]
    path.write_text("".join(f"v {row}\n" for row in corners) + "".join(f"f {row}\n" for row in faces))
    return path


@pytest.fixture
def make(steady: Gpu, pyramid: Path) -> Iterator[Make]:
    created: list[SplatFit] = []

    def make_model(**params: Any) -> SplatFit:
        values: dict[str, Any] = {"file": pyramid, **SMALL, **params}
        created.append(SplatFit("fit", Params(**values), {}, 3))
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def statistics(model: SplatFit) -> dict[str, float]:
    found = model.diagnostics()
    values = {name: float(tensor.item()) for name, tensor in found.items()}
    for tensor in found.values():
        tensor.close()
    return values


def run(model: SplatFit, steps: int) -> None:
    for _ in range(steps):
        model.step(1 / 60)


def states(model: SplatFit) -> dict[str, np.ndarray]:
    return {name: tensor.numpy() for name, tensor in model.state().items()}


def traced(
    corners: np.ndarray, eye: reference.Eye, samples: int, bands: float, colors: tuple[np.ndarray, np.ndarray]
) -> np.ndarray:
    """The image of flat triangles (n, 3, 3), (side, side, 4): linear colors times alpha, and alpha.

    `colors` are the linear colors of a band, and of the gaps between bands. A pixel is the mean of `samples`² rays.
    """
    x, y = np.meshgrid(*2 * [((np.arange(eye.side * samples) + 0.5) / samples - 0.5 * eye.side) / eye.focal])
    rays = np.stack([x, y, np.ones_like(x)], axis=-1).reshape(-1, 3)
    a, b, c = np.moveaxis(corners @ eye.rows[:, :3].T + eye.rows[:, 3], 1, 0)
    shares = np.stack([rays @ np.cross(*pair).T for pair in ((b, c), (c, a), (a, b))], axis=-1)
    inside = (shares >= 0.0).all(-1) | (shares <= 0.0).all(-1)
    shares /= shares.sum(-1, keepdims=True)
    depth = np.where(inside, np.einsum("rnk,nk->rn", shares, np.stack([a, b, c], axis=-1)[:, 2]), np.inf)
    front = depth.argmin(axis=1)
    position = np.einsum("rk,rkd->rd", shares[np.arange(len(rays)), front], corners[front])
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal = (across / np.linalg.norm(across, axis=1, keepdims=True))[front]
    wave = np.sin(bands * np.arctan2(position[:, 2], position[:, 0]) + 2.0 * position[:, 1])
    share = np.clip((wave + 0.25) / 0.5, 0.0, 1.0)
    share = (share * share * (3.0 - 2.0 * share))[:, None]
    own = colors[1] * (1.0 - share) + colors[0] * share
    lit = own * (0.28 + 0.22 * normal[:, 1] + 0.75 * np.maximum(normal @ SUN, 0.0))[:, None]
    found = np.where(np.any(inside, axis=1, keepdims=True), np.concatenate([lit, np.ones((len(lit), 1))], axis=1), 0.0)
    return found.reshape(eye.side, samples, eye.side, samples, 4).mean((1, 3))


def test_cameras_look_at_the_origin_from_everywhere() -> None:
    rows = cameras_around(40, 3.0)
    axes, eyes = rows[..., :3], -np.einsum("nij,ni->nj", rows[..., :3], rows[..., 3])
    np.testing.assert_allclose(axes @ axes.transpose(0, 2, 1), np.tile(np.eye(3), (40, 1, 1)), atol=1e-12)
    np.testing.assert_allclose(np.linalg.det(axes), 1.0)
    np.testing.assert_allclose(eyes, -3.0 * axes[:, 2], atol=1e-12)
    assert np.linalg.norm(eyes.mean(axis=0)) < 0.2 and (axes[:, 1, 1] < 0.0).all()  # down is down
    nearest = np.sort(np.linalg.norm(eyes[:, None] - eyes, axis=-1), axis=1)[:, 1]
    assert nearest.min() > 0.8


def test_views_show_the_mesh_as_seen_by_rays(make: Make) -> None:
    """The fraction of each pixel's rays that hit a triangle, and the color of the front one."""
    views = make()._mesh_views
    light, dark = (1.0, 0.5, 0.0), (0.0, 0.25, 1.0)
    views.record(3.0, light, dark)
    images = views.images.numpy()
    corners = views._mesh["positions"].numpy()[views._mesh["index"].numpy()].astype(float)
    assert views.lens.focal == pytest.approx(0.5 * views.lens.side / np.tan(0.5 * FIELD))
    for view in (0, 3):
        eye = reference.Eye(views.rows[view], *views.lens, np.zeros(3))
        sums = traced(corners, eye, SAMPLES, 3.0, (np.array(light), np.array(dark)))
        coverage = sums[..., 3]
        assert 0.1 < coverage.mean() < 0.8 and not coverage[0].any() and not coverage[:, -1].any()
        wrong = np.abs(images[view] - sums).max(-1)
        assert np.mean(wrong < 1e-3) > 0.99 and wrong.max() < 0.3  # rays along an edge may hit it or not


def test_cameras_stand_where_the_views_were_taken(make: Make) -> None:
    model = make(views=7)
    rows, eyes = model._mesh_views.rows, model.outputs()["camera"].numpy()
    assert eyes.shape == (7, 3)
    np.testing.assert_allclose(np.einsum("nij,nj->ni", rows[..., :3], eyes) + rows[..., 3], 0.0, atol=1e-5)
    assert (rows[:, 2, 3] > 1.0).all(), "the origin is in front of each"


@pytest.mark.turns(4)
def test_the_loss_is_halved_in_120_steps_and_the_held_out_view_improves(make: Make) -> None:
    model = make(views=12, test_view=5)
    run(model, 1)
    before = statistics(model)
    run(model, 119)
    after = statistics(model)
    assert after["loss"] < before["loss"] / 2.0
    assert after["psnr"] > before["psnr"] + 4.0
    image, target = (model.outputs()[name].numpy().astype(float) for name in ("image", "target"))
    assert after["psnr"] == pytest.approx(-10.0 * np.log10(np.mean((image - target) ** 2)), abs=1e-3)


def test_it_agrees_with_the_reference_during_training(make: Make) -> None:
    model = make()
    for steps in (0, 10):
        run(model, steps)
        for comparison in model.compare_with_reference():
            assert comparison.holds, str(comparison)


def test_the_held_out_view_is_not_used_for_training(make: Make) -> None:
    model = make(test_view=2)
    lessons = [model._view_fields(step) for step in range(60)]
    assert {lesson["view"] for lesson in lessons} == {0, 1, 3, 4}
    assert len({lesson["background"] for lesson in lessons}) == 60
    assert lessons == [model._view_fields(step) for step in range(60)]


def test_invisible_splats_are_relocated_to_others(make: Make) -> None:
    """One opaque and large, one opaque and small, one barely visible: chosen in proportion to opacity and area."""
    model, random = make(), np.random.default_rng(0)
    before = {name: tensor.numpy() for name, tensor in model._learned.items()}
    before["opacity"][:] = -8.0
    before["opacity"][[4, 7, 9]] = (3.0, 3.0, -3.7)
    before["scale"][[4, 7, 9]] = np.log([[0.5, 0.1, 0.01], [0.1, 0.1, 0.3], [0.4, 0.4, 0.4]])
    memory = {name: random.normal(size=tensor.shape).astype(np.float32) for name, tensor in model.state().items()}
    for name, tensor in model.state().items():
        tensor.detach()[...] = before.get(name.removeprefix("learned."), memory[name])
    model._densify.replay(step=80)
    after, saved = {name: tensor.numpy() for name, tensor in model._learned.items()}, states(model)
    unseen = np.delete(np.arange(150), [4, 7, 9])
    of = {source: unseen[(after["color"][unseen] == before["color"][source]).all(1)] for source in (4, 7, 9)}
    assert sum(len(parts) for parts in of.values()) == 147
    assert 70 < len(of[4]) < 105 and 35 < len(of[7]) < 70 and len(of[9]) < 22  # in proportion to 0.048, 0.029 and 0.004
    for source in (4, 7):
        for name in ("rotation", "opacity"):
            assert (after[name][of[source]] == before[name][source]).all()
        for rows in (of[source], [source]):
            np.testing.assert_allclose(
                after["scale"][rows], before["scale"][[source]] - np.log(1.6) + 0 * after["scale"][rows], atol=1e-6
            )
        away = (after["position"][of[source]] - before["position"][source]) @ reference.axes_of(
            before["rotation"][[source]]
        )[0]
        assert np.allclose(np.std(away / np.exp(before["scale"][source]), axis=0), 1.0, atol=0.3)
        assert np.array_equal(after["position"][source], before["position"][source])
    for number in range(len(model._learned)):
        for what in ("mean.0", "square.0"):
            name = f"optimizer{number}.{what}"
            assert not saved[name][unseen].any()
            assert np.array_equal(saved[name][[4, 7, 9]], memory[name][[4, 7, 9]])


@pytest.mark.turns(3)
@pytest.mark.parametrize(("divide", "steps"), [(3, [3, 6]), (0, [])])
def test_splats_are_split_periodically_until_the_learning_rate_is_low(
    make: Make, monkeypatch: pytest.MonkeyPatch, divide: int, steps: list[int]
) -> None:
    model, found = make(densify_interval=divide, learning_rate_half_life=4), []
    monkeypatch.setattr(model._densify, "replay", lambda step: found.append(step))
    run(model, 12)
    assert found == steps


@pytest.mark.turns(3)
def test_the_learning_rate_halves_after_each_half_life(make: Make) -> None:
    """Adam's steps are at most as long as the learning rate: after 16 half-lives nothing moves any more."""
    model, moved = make(densify_interval=0, learning_rate_half_life=2), []
    for _ in range(33):
        before = states(model)["learned.position"]
        run(model, 1)
        moved.append(np.abs(states(model)["learned.position"] - before).max())
    assert moved[0] > 0
    assert max(moved[31:]) < 1e-3 * moved[0]


def test_nothing_is_split_where_nothing_is_visible(make: Make) -> None:
    model = make()
    model._learned["opacity"].detach()[...] = -8.0
    before = states(model)
    model._densify.replay(step=80)
    assert all(np.array_equal(array, before[name]) for name, array in states(model).items())


def test_the_same_seed_gives_the_same_bits(make: Make) -> None:
    model, found = make(start="surface", densify_interval=3), []
    for _ in range(2):
        run(model, 5)
        found.append(states(model))
        model.reset()
    other = make(start="surface", densify_interval=3)
    run(other, 5)
    found.append(states(other))
    for again in found[1:]:
        assert all(np.array_equal(array, again[name]) for name, array in found[0].items())


def test_it_continues_from_a_snapshot_with_the_same_bits(make: Make) -> None:
    model = make(steps_per_second=40.0, densify_interval=3)
    run(model, 5)
    saved, numbers = states(model), model.scalar_state()
    shown = {name: tensor.numpy() for name, tensor in model.outputs().items()}
    run(model, 4)
    expected = states(model)
    run(model, 3)
    for name, tensor in model.state().items():
        tensor.detach()[...] = saved[name]
    model.load_scalar_state(numbers)
    for name, tensor in model.outputs().items():
        assert np.array_equal(tensor.numpy(), shown[name]), name
    run(model, 4)
    for name, array in states(model).items():
        assert np.array_equal(array, expected[name]), name


def test_parameters_changed_during_training(make: Make) -> None:
    """Nothing moves while it is disabled or paused; a learning rate of 0 freezes its parameters; colors repaint all."""
    model = make()
    run(model, 2)
    before = states(model)
    model.step(0.0)
    change(model, train=False)
    run(model, 2)
    assert all(np.array_equal(array, before[name]) for name, array in states(model).items())
    change(model, position_learning_rate=0.0)
    run(model, 2)
    after = states(model)
    assert np.array_equal(after["learned.position"], before["learned.position"])
    assert not np.array_equal(after["learned.scale"], before["learned.scale"])
    change(model, train=False, test_view=3, light=(0.0, 1.0, 0.0), dark=(0.0, 1.0, 0.0), background=(0.0, 0.0, 0.0))
    run(model, 1)
    green = model.outputs()["target"].numpy()
    assert green[..., 1].max() > 0.3 and not green[..., [0, 2]].any()


def change(model: SplatFit, **params: Any) -> None:
    values: dict[str, Any] = {"file": model._params.file, **SMALL, **params}
    model._params.take(Params(**values))


@pytest.mark.turns(3)
def test_memory_does_not_grow_after_the_first_steps(make: Make, steady: Gpu) -> None:
    model = make()
    held = []
    for steps in (5, 40):
        run(model, steps)
        steady.wait_idle()
        held.append(steady.tracker.live_bytes)
    assert held[0] == held[1]


def test_trained_splats_are_written_in_the_standard_format(make: Make, tmp_path: Path) -> None:
    model = make()
    run(model, 3)
    content = model.export(".ply")
    (tmp_path / "learned.ply").write_bytes(content)
    found, outputs = splat_file.read(tmp_path / "learned.ply"), {k: t.numpy() for k, t in model.outputs().items()}
    for name in ("scale", "opacity", "color"):
        np.testing.assert_allclose(getattr(found, name), outputs[name], rtol=1e-4, atol=1e-5)
    positions = outputs["position"] - 0.5 * (outputs["position"].min(axis=0) + outputs["position"].max(axis=0))
    np.testing.assert_allclose(found.position, positions, atol=1e-5)
    np.testing.assert_allclose(reference.axes_of(found.rotation), reference.axes_of(outputs["rotation"]), atol=1e-5)
    turns = np.frombuffer(content.partition(b"end_header\n")[2], "<f4").reshape(len(positions), -1)[:, -4:]
    np.testing.assert_allclose(np.linalg.norm(turns, axis=1), 1.0, atol=1e-6)


def test_an_invalid_mesh_is_reported(tmp_path: Path) -> None:
    (tmp_path / "empty.ply").write_text("ply\n")
    with pytest.raises(InputError, match=r"empty\.ply"):
        SplatFit("fit", Params(file=tmp_path / "empty.ply"), {}, 1)
