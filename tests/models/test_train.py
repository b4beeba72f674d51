"""Networks that are trained in a scene while they are drawn: training results, and reproducible runs."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vertigrad import resources
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu, Plan
from vertigrad.learn.layers import Activation
from vertigrad.models.base import Fault, Model
from vertigrad.models.inside import Observed, tensors_of
from vertigrad.models.learning import train_views
from vertigrad.models.learning.train import Train, declare
from vertigrad.models.learning.train_network import loss_gradient

Make = Callable[..., Train]

SMALL = {"resolution": 12}
BLOBS = {
    "data": {"kind": "classes", "file": "blobs.npz"},
    "network": {"width": 16, "depth": 1, "head": 1},
    "draw": SMALL,
}
PLANE = {
    "data": {"kind": "plane", "file": "hills.npy", "resolution": 20},
    "network": {"encoding": "waves", "frequencies": 16, "sharpness": 0.8, "width": 24},
}
BALL = {
    "data": {"kind": "solid", "file": "ball.ply", "samples": 512},
    "network": {"encoding": "octaves", "frequencies": 2, "width": 24},
    "draw": SMALL,
}
CONV = {**BLOBS, "network": {"kind": "conv", "width": 8, "depth": 1, "head": 1, "channels": 2}}
HASH = {
    **PLANE,
    "network": {
        "encoding": "hash",
        "levels": 3,
        "entries": 64,
        "features": 2,
        "coarsest": 3,
        "finest": 20,
        "width": 24,
    },
}
KINDS: dict[str, dict[str, Any]] = {"blobs": BLOBS, "plane": PLANE, "ball": BALL, "conv": CONV, "hash": HASH}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small training data: images of three classes, hills, and a triangle mesh of a ball."""
    random, path = np.random.default_rng(7), tmp_path_factory.mktemp("data")
    middles = random.uniform(0.0, 1.0, (3, 6, 6))
    labels = np.arange(90) % 3
    inputs = np.clip(middles[labels] + 0.15 * random.normal(size=(90, 6, 6)), 0.0, 1.0)
    np.savez(path / "blobs.npz", inputs=(255 * inputs).astype(np.uint8), labels=labels)
    y, x = np.mgrid[0:30, 0:40] / 10.0
    np.save(path / "hills.npy", np.sin(2.0 * x) + np.cos(3.0 * y))
    import trimesh

    trimesh.creation.icosphere(subdivisions=2, radius=3.0).export(path / "ball.ply")
    return path


@pytest.fixture
def make(steady: Gpu, folder: Path) -> Iterator[Make]:
    created: list[Model] = []

    def make_model(what: str | dict[str, Any] = "blobs", seed: int = 3, **values: object) -> Train:
        table = {**(KINDS[what] if isinstance(what, str) else what), **values}
        kind, faults = declare(table, lambda name: folder / name)
        assert not faults, faults
        params = kind.Params.parse({name: value for name, value in table.items() if name in kind.Params.model_fields})
        created.append(kind("learner", params, {}, seed))
        model = created[-1]
        assert isinstance(model, Train)
        return model

    yield make_model
    for model in created:
        model.close()


def statistics(model: Train) -> dict[str, float]:
    found = model.diagnostics()
    values = {name: float(tensor.item()) for name, tensor in found.items()}
    for tensor in found.values():
        tensor.close()
    return values


def advance(model: Train, steps: int) -> None:
    for _ in range(steps):
        model.step(1 / 60)


def faults_of(table: Mapping[str, Any], folder: Path) -> list[Fault]:
    return declare(table, lambda name: folder / name)[1]


@pytest.mark.parametrize("what", KINDS)
def test_results_and_gradients_agree_with_the_reference(make: Make, what: str) -> None:
    model = make(what, batch_size=64)
    advance(model, 3)
    for comparison in model.compare_with_reference():
        assert comparison.holds, f"{what}: {comparison}"


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("loss", "optimizer", "rate"),
    [
        ({"kind": "l1"}, {"kind": "adam"}, 0.01),
        ({"kind": "huber", "delta": 0.3}, {"kind": "adam_w", "clip": 0.0}, 0.01),
        ({"kind": "l2"}, {"kind": "sgd", "nesterov": True}, 0.1),
    ],
)
def test_every_loss_and_optimizer_trains(make: Make, loss: dict, optimizer: dict, rate: float) -> None:
    model = make("plane", loss=loss, optimizer=optimizer, learning_rate=rate)
    before = statistics(model)["test_loss"]
    for comparison in model.compare_with_reference():
        assert comparison.holds, f"{loss}: {comparison}"
    advance(model, 40)
    values = statistics(model)
    assert values["test_loss"] < before / 2.0 and values["gradient_norm"] > 0.0
    gradients = {n: tensor.numpy() for _, n, tensor in tensors_of(model) if n.startswith("gradients.")}
    assert {n.removeprefix("gradients."): g.shape for n, g in gradients.items()} == {
        name: tensor.shape for name, tensor in model._network.trainable(model._weights).items()
    }
    norm = np.sqrt(sum(np.square(gradient).sum() for gradient in gradients.values()))
    assert norm == pytest.approx(values["gradient_norm"], rel=1e-4)


def test_a_schedule_changes_the_learning_rate(make: Make) -> None:
    model = make(schedule={"kind": "cosine", "steps": 4, "warm_up": 2}, learning_rate=0.01)
    rates = [model._optimizer.lr * model._optimizer.schedule(step) for step in range(7)]
    assert rates[0] < rates[1] and rates[6] == 0.0
    advance(model, 6)
    weights = {name: tensor.numpy() for name, tensor in model._weights.items()}
    advance(model, 1)
    assert all(np.array_equal(array, model._weights[name].numpy()) for name, array in weights.items())


@pytest.mark.turns(3)
@pytest.mark.parametrize("what", ["blobs", "ball"])
def test_the_same_seed_gives_the_same_bits(make: Make, what: str) -> None:
    found = []
    model = make(what, batch_size=32, steps=2)
    for _ in range(2):
        advance(model, 4)
        found.append({name: tensor.numpy() for name, tensor in model.state().items()})
        model.reset()
    assert all(np.array_equal(array, found[1][name]) for name, array in found[0].items())
    other = make(what, seed=4, batch_size=32, steps=2)
    advance(other, 4)
    assert not np.array_equal(other.state()["loss"].numpy(), found[0]["loss"])


@pytest.mark.parametrize("what", ["blobs", "plane", "hash"])
def test_it_continues_from_a_snapshot_with_the_same_bits(make: Make, what: str) -> None:
    model = make(what, batch_size=32)
    advance(model, 3)
    saved, numbers = {name: tensor.numpy() for name, tensor in model.state().items()}, model.scalar_state()
    advance(model, 2)
    expected = {name: tensor.numpy() for name, tensor in model.state().items()}
    advance(model, 1)
    for name, tensor in model.state().items():
        tensor.detach()[...] = saved[name]
    model.load_scalar_state(numbers)
    advance(model, 2)
    for name, tensor in model.state().items():
        assert np.array_equal(tensor.numpy(), expected[name]), name


def test_batches_are_drawn_from_all_examples(make: Make) -> None:
    model = make(batch_size=32)
    observed: list[np.ndarray] = []
    for _ in range(20):
        advance(model, 1)
        assert model._batch is not None
        observed.append(model._batch.numpy())
    count = len(model._data.inputs)
    assert not np.array_equal(observed[0], observed[1])
    assert set(np.concatenate(observed)) == set(range(count)) and np.concatenate(observed).max() == count - 1


def test_test_examples_are_not_used_for_training(make: Make) -> None:
    data = make({**BLOBS, "data": {**BLOBS["data"], "shift": 1, "test": 0.3}})._data
    assert data.tests == 27 and len(data.inputs) == 63 * 9 and len(data.shown) == 90
    tests = {array.tobytes() for array in data.shown[-27:]}
    learned = {array.tobytes() for array in data.shown[:-27]}
    assert not tests & {array.tobytes() for array in data.inputs}
    assert learned <= {array.tobytes() for array in data.inputs}


def test_nothing_is_trained_while_disabled_or_paused(make: Make) -> None:
    model = make()
    statistics(model)
    before = {name: tensor.numpy() for name, tensor in model.state().items()}
    model.step(0.0)
    model._params.take(model._params.with_values({"train": False}))
    advance(model, 1)
    assert all(np.array_equal(tensor.numpy(), before[name]) for name, tensor in model.state().items())
    model._params.take(model._params.with_values({"train": True}))
    advance(model, 1)
    assert not np.array_equal(model.state()["1.weight"].numpy(), before["1.weight"])


def test_learning_rate_and_decay_take_effect_in_the_next_step(make: Make) -> None:
    model = make(learning_rate=0.0)
    before = model._weights["1.weight"].numpy()
    advance(model, 2)
    assert np.array_equal(model._weights["1.weight"].numpy(), before)
    model._params.take(model._params.with_values({"learning_rate": 0.5, "weight_decay": 0.5}))
    advance(model, 1)
    assert np.abs(model._weights["1.weight"].numpy() - before).max() > 0.1


@pytest.mark.turns(3)
def test_the_best_weights_are_retained(make: Make) -> None:
    model = make("plane", batch_size=0, learning_rate=0.01)
    advance(model, 20)
    best = statistics(model)
    model._params.take(model._params.with_values({"learning_rate": 1.0}))  # far too much
    advance(model, 5)
    spoilt = statistics(model)
    assert spoilt["test_loss"] > 2.0 * best["best_loss"] and spoilt["best_loss"] <= best["best_loss"]
    inputs, targets = model._tests(model._data)
    value = model._network.reference(inputs, {name: tensor.numpy() for name, tensor in model._best.items()})
    assert ((value - targets) ** 2).mean() == pytest.approx(spoilt["best_loss"], rel=1e-3)


def test_best_weights_are_drawn_and_exported_on_request(make: Make) -> None:
    model = make("plane", learning_rate=0.02)
    advance(model, 20)
    best = model.outputs()["value"].numpy()
    model._params.take(model._params.with_values({"learning_rate": 1.0, "show": "best"}))
    advance(model, 3)
    data = {name: tensor.numpy() for name, tensor in model._best.items()}
    expected = model._network.reference(model._data.shown, data).reshape(best.shape)
    np.testing.assert_allclose(model.outputs()["value"].numpy(), expected, atol=1e-4)
    model._params.take(model._params.with_values({"show": "newest"}))
    model.step(0.0)
    assert np.abs(model.outputs()["value"].numpy() - expected).max() > 0.1


def test_accuracy_counts_the_correct_test_examples(make: Make) -> None:
    model = make(learning_rate=0.02, batch_size=0, steps=30)
    advance(model, 1)
    inputs, targets = model._tests(model._data)
    scores = model._network.reference(inputs, {name: tensor.numpy() for name, tensor in model._weights.items()})
    assert statistics(model)["accuracy"] == pytest.approx((scores.argmax(1) == targets).mean(), abs=1e-6)
    assert statistics(model)["accuracy"] > 0.9


def test_points_are_on_the_surface_at_the_height_of_the_predicted_probability(make: Make) -> None:
    model = make({**BLOBS, "draw": {"resolution": 9, "height": 0.5, "lift": 0.1}}, learning_rate=0.02)
    advance(model, 20)
    weights = {name: tensor.numpy() for name, tensor in model._weights.items()}
    scores = model._network.reference(model._data.shown, weights)
    shares = np.exp(scores) / np.exp(scores).sum(1, keepdims=True)
    point, ground = model.outputs()["point"].numpy(), model.outputs()["ground"].numpy()
    np.testing.assert_allclose(point[:, 1], 0.5 * (shares.max(1) - 1 / 3) / (2 / 3) + 0.1, atol=2e-4)
    length = np.hypot(point[:, 0], point[:, 2])
    assert 0.9 < length.max() <= 1.0 and np.abs(ground[..., ::2]).max() == 1.0
    # The vertex nearest to a point has about the same prediction as the point.
    colors = model.outputs()["point_color"].numpy()
    assert len(np.unique(colors, axis=0)) == 3
    cells = np.round((point[:, ::2] + 1.0) * 4.0).astype(int)
    beneath = ground[cells[:, 1], cells[:, 0]]
    np.testing.assert_allclose(beneath[:, ::2], point[:, ::2], atol=0.126)
    # Where the prediction is certain, the surface has the color of one class, darker than the points.
    land = model.outputs()["ground_color"].numpy()[ground[..., 1] > 0.49]
    expected = train_views.GROUND * np.unique(colors, axis=0) + (1.0 - train_views.GROUND) * np.array(train_views.DUSK)
    assert len(land) and np.abs(land[:, None] - expected).max(2).min(1).max() < 0.02


@pytest.mark.turns(3)
def test_a_network_is_trained_to_the_distance_of_a_solid(make: Make) -> None:
    model = make("ball", learning_rate=0.01, batch_size=256, steps=5)
    before = statistics(model)["test_loss"]
    advance(model, 20)
    assert statistics(model)["test_loss"] < before / 20.0
    distance = model.outputs()["distance"].numpy()
    z, y, x = np.meshgrid(*[np.linspace(-1.0, 1.0, 12)] * 3, indexing="ij")
    expected = np.sqrt(x * x + y * y + z * z) - 0.8
    near = np.abs(expected) < 0.2
    assert np.abs(distance - expected)[near].mean() < 0.05


@pytest.mark.turns(3)
def test_a_network_is_trained_to_an_image_in_color(make: Make, folder: Path) -> None:
    from PIL import Image

    rows, columns = np.mgrid[0:12, 0:24]
    image = np.stack([columns * 10, rows * 20, 255 - columns * 10], axis=-1).astype(np.uint8)
    Image.fromarray(image).save(folder / "picture.png")
    model = make(
        {"data": {"kind": "plane", "file": "picture.png", "resolution": 24}, "network": {"width": 24}},
        learning_rate=0.02,
        batch_size=0,
    )
    np.testing.assert_allclose(model.outputs()["target"].numpy(), image / 255.0, atol=1e-6)
    advance(model, 60)
    assert model.outputs()["value"].shape == (12, 24, 3) and model.outputs()["error"].numpy().mean() < 0.06


def test_initial_weights(make: Make, folder: Path) -> None:
    first = make(learning_rate=0.02)
    advance(first, 10)
    (folder / "learned.safetensors").write_bytes(first.export(".safetensors"))
    second = make(seed=9, weights=folder / "learned.safetensors")
    for name, tensor in first._weights.items():
        assert np.array_equal(tensor.numpy(), second._weights[name].numpy()), name
    with pytest.raises(InputError, match=r"weights do not fit[\s\S]*expected shape \(2, 24\)|missing"):
        make({**BLOBS, "network": {"width": 24, "depth": 1, "head": 1}}, weights=folder / "learned.safetensors")


def test_equal_tables_give_the_same_class(folder: Path) -> None:
    one, again = (declare({**BLOBS, "learning_rate": rate}, lambda name: folder / name)[0] for rate in (0.1, 0.2))
    other = declare(PLANE, lambda name: folder / name)[0]
    assert one is again and one is not other


WRONG: dict[str, tuple[dict[str, Any], tuple[str, ...], str]] = {
    "no data": ({}, (), "needs a table `data`"),
    "no kind": ({"data": {"file": "blobs.npz"}}, ("data",), "kind must be given"),
    "unknown kind": ({"data": {"kind": "clases"}}, ("data", "kind"), 'did you mean "classes"'),
    "data no table": ({"data": 3}, ("data",), "expected a table"),
    "no file": ({"data": {"kind": "classes"}}, ("data",), "file must be given"),
    "unknown key": ({**BLOBS, "network": {"witdh": 3}}, ("network",), 'did you mean "width"'),
    "out of limits": ({**BLOBS, "network": {"width": 0}}, ("network", "width"), "below the minimum"),
    "no number": ({**BLOBS, "network": {"width": "wide"}}, ("network", "width"), "integer"),
    "no table": ({**BLOBS, "optimizer": "adam"}, ("optimizer",), "expected a table"),
    "loss of numbers": ({**BLOBS, "loss": {"kind": "l2"}}, ("loss", "kind"), "cross_entropy"),
    "loss of classes": ({**PLANE, "loss": {"kind": "cross_entropy"}}, ("loss", "kind"), "l1, l2 or huber"),
    "conv of positions": ({**PLANE, "network": {"kind": "conv"}}, ("network", "kind"), "positions"),
    "encoded classes": ({**BLOBS, "network": {"encoding": "waves"}}, ("network", "encoding"), "is for positions"),
    "entries of three": ({**PLANE, "network": {"features": 3}}, ("network", "features"), "1, 2 or 4"),
    "grids that end": ({**PLANE, "network": {"coarsest": 9, "finest": 8}}, ("network", "finest"), "coarser"),
    "octaves beyond": (
        {**PLANE, "network": {"encoding": "octaves", "frequencies": 17}},
        ("network", "frequencies"),
        "16 are the most",
    ),
    "large box": ({**BALL, "draw": {"resolution": 500}}, ("draw", "resolution"), "160"),
}


@pytest.mark.parametrize("case", WRONG)
def test_errors_in_the_tables_are_reported_with_their_location(folder: Path, case: str) -> None:
    table, path, message = WRONG[case]
    faults = faults_of(table, folder)
    assert len(faults) == 1, faults
    assert faults[0].path[: len(path)] == path and message in faults[0].message
    names = "no data", "no kind", "no file", "unknown key"  # the rest is about values
    assert faults[0].in_value == (case not in names)


def test_invalid_training_files_are_rejected(folder: Path) -> None:
    np.savez(folder / "bare.npz", inputs=np.zeros((4, 2)))
    np.savez(folder / "apart.npz", inputs=np.zeros((4, 2)), labels=np.zeros(3, int))
    np.savez(folder / "below.npz", inputs=np.zeros((4, 2)), labels=np.array([0, 1, -1, 0]))
    np.save(folder / "line.npy", np.zeros(5))
    np.save(folder / "nan.npy", np.full((5, 5), np.nan))
    (folder / "noise.npz").write_bytes(b"no archive")
    (folder / "noise.png").write_bytes(b"not an image")
    for kind, name, message in (
        ("classes", "bare.npz", "no array labels"),
        ("classes", "apart.npz", r"must be \(n, ...\) and \(n,\)"),
        ("classes", "below.npz", "classes are numbered from 0"),
        ("classes", "noise.npz", "not a readable"),
        ("plane", "line.npy", "two-dimensional"),
        ("plane", "nan.npy", "not finite"),
        ("plane", "noise.png", "not a readable image"),
    ):
        created, faults = declare({"data": {"kind": kind, "file": name}}, lambda name: folder / name)
        assert not faults
        with pytest.raises(InputError, match=message):
            created.output_specs(created.Params())


def test_images_too_small_for_the_convolutions_are_refused(folder: Path) -> None:
    network = {"kind": "conv", "convolutions": 4}
    created, _ = declare({**BLOBS, "network": network}, lambda name: folder / name)
    with pytest.raises(InputError, match="fewer convolutions"):
        created.output_specs(created.Params())


def test_the_handwritten_digits_are_complete() -> None:
    content = np.load(resources.path("assets", "data", "digits.npz"))
    assert content["inputs"].shape == (1797, 8, 8) and content["inputs"].max() == 16
    assert np.bincount(content["labels"]).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def scene(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.path("scenes", f"{name}.toml").read_text())["models"]["learner"]


@pytest.mark.turns(3)
@pytest.mark.parametrize("what", ["blobs", "hash"])
def test_fused_layers_train_like_separate_ones(make: Make, what: str) -> None:
    network = KINDS[what]["network"]
    one, other = (
        make({**KINDS[what], "network": {**network, "fused": how}}, batch_size=64) for how in ("never", "always")
    )
    assert not one._network.runs and other._network.runs and len(other._train_step) < len(one._train_step)
    assert all(comparison.holds for comparison in other.compare_with_reference())
    for _ in range(2):
        for model in (one, other):
            advance(model, 3)
        saved = one.state()
        for name, tensor in other.state().items():
            np.testing.assert_allclose(tensor.numpy(), saved[name].numpy(), rtol=1e-3, atol=2e-5, err_msg=name)
            tensor[...] = saved[name]  # each continues from the weights and optimizer state of the other


def test_inputs_are_normalized_on_request(make: Make, folder: Path) -> None:
    plain, model = (make({**BLOBS, "data": {**BLOBS["data"], "normalize": on}}) for on in (False, True))
    learned, data = plain._data.inputs, model._data
    np.testing.assert_allclose(data.inputs, (learned - learned.mean()) / learned.std(), atol=1e-5)
    np.testing.assert_allclose(data.shown, (plain._data.shown - learned.mean()) / learned.std(), atol=1e-5)
    advance(model, 5)
    import onnxruntime
    import safetensors

    session = onnxruntime.InferenceSession(model.export(".onnx"), providers=["CPUExecutionProvider"])
    weights = {name: tensor.numpy() for name, tensor in model._weights.items()}
    expected = model._network.reference(data.shown, weights)
    found = np.asarray(session.run(None, {"x": plain._data.shown})[0])
    np.testing.assert_allclose(found, expected, atol=1e-4)
    (folder / "scaled.safetensors").write_bytes(model.export(".safetensors"))
    with safetensors.safe_open(folder / "scaled.safetensors", "numpy") as file:
        assert float(file.metadata()["mean"]) == pytest.approx(learned.mean())


@pytest.mark.turns(3)
@pytest.mark.parametrize("what", ["blobs", "plane"])
def test_a_checkpoint_continues_with_the_same_bits(make: Make, folder: Path, what: str) -> None:
    model = make(what, batch_size=32, learning_rate=0.01, steps=2)
    advance(model, 3)
    (folder / "on.checkpoint").write_bytes(model.export(".checkpoint"))
    other = make(what, batch_size=32, learning_rate=0.01, steps=2, weights=folder / "on.checkpoint")

    def require_alike() -> None:
        assert other.scalar_state() == model.scalar_state()
        for name, tensor in model.state().items():
            assert np.array_equal(other.state()[name].numpy(), tensor.numpy()), name

    require_alike()
    advance(other, 1)
    other.reset()  # to the checkpoint
    require_alike()
    advance(model, 2)
    advance(other, 2)
    require_alike()
    with pytest.raises(InputError, match="do not fit"):
        make(what, weights=folder / "on.checkpoint", optimizer={"kind": "sgd"})


@pytest.mark.turns(3)
@pytest.mark.parametrize("what", ["blobs", "conv", "hash"])
def test_activations_and_their_gradients_are_observed(make: Make, what: str) -> None:
    model, other = make(KINDS[what], batch_size=32), make(KINDS[what], batch_size=32)
    last = len(model._network.layers) - 1
    names = [f"{kind}activations.{number}" for kind in ("", "gradients.") for number in (last - 2, last - 1, last)]
    known = model.inside.known()
    assert known[names[1]].operator in ("Silu", "Relu", "Sine") and known[names[0]].operator == "Linear"
    model.inside.observe(Observed(tuple(names)))
    advance(model, 3)
    advance(other, 3)
    for ours, theirs in zip(model.state().values(), other.state().values(), strict=True):
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy())  # looking changes nothing
    found = {name: tensor.numpy() for name, tensor in model.inside.tensors().items()}
    assert list(found) == names
    batch = model._batch.numpy()
    weights = {name: tensor.numpy().astype(float) for name, tensor in model._weights.items()}
    x, vjps = model._examples.numpy()[batch].astype(float), []
    for number, layer in enumerate(model._network.layers):
        x, vjp = layer.reference(x, model._network.weights_of(weights, number))
        vjps.append(vjp)
        if number >= last - 2:
            assert known[f"activations.{number}"].shape == x.shape
            np.testing.assert_allclose(found[f"activations.{number}"], x, rtol=1e-4, atol=1e-5)
    gradient = loss_gradient(model._tables.loss, x, model._targets.numpy()[batch])
    for number in (last, last - 1, last - 2):
        np.testing.assert_allclose(found[f"gradients.activations.{number}"], gradient, rtol=1e-3, atol=1e-7)
        gradient, _ = vjps[number](gradient)
    model.inside.observe(Observed((names[-1],)))
    assert list(model.inside.tensors()) == names[-1:]
    np.testing.assert_array_equal(model.inside.tensors()[names[-1]].numpy(), found[names[-1]])


@pytest.mark.turns(3)
@pytest.mark.parametrize("what", ["blobs", "conv"])
def test_units_are_set_to_zero_in_what_is_tested_and_drawn(make: Make, what: str) -> None:
    model, whole = make(KINDS[what], batch_size=32), make(KINDS[what], batch_size=32)
    last = len(model._network.layers) - 1
    first = next(number for number, layer in enumerate(model._network.layers) if isinstance(layer, Activation))
    ablated, field = f"activations.{first}", f"gradient of activations.{last}[0] by activations.{first}"
    advance(model, 1)
    advance(whole, 1)
    drawn = model.outputs()["ground"].numpy()
    model.inside.observe(Observed((ablated, field), {ablated: (1,)}))

    def require_ablated(units: tuple[int, ...]) -> None:
        x, targets = model._tests(model._data)
        for number, layer in enumerate(model._network.layers):
            weights = {name: tensor.numpy().astype(float) for name, tensor in model._weights.items()}
            x, _ = layer.reference(x.astype(float), model._network.weights_of(weights, number))
            if number == first:
                x[:, units] = 0.0
        shifted = x - x.max(1, keepdims=True)
        losses = np.log(np.exp(shifted).sum(1)) - shifted[np.arange(len(targets)), targets]
        assert statistics(model)["test_loss"] == pytest.approx(losses.mean(), rel=1e-3)
        assert np.all(model.inside.tensors()[ablated].numpy()[:, units] == 0.0)

    require_ablated((1,))
    assert not np.array_equal(model.outputs()["ground"].numpy(), drawn)
    advance(model, 2)
    advance(whole, 2)
    require_ablated((1,))
    assert not np.any(np.isnan(model.inside.tensors()[field].numpy()))
    for name, tensor in model._weights.items():  # training has all units
        np.testing.assert_array_equal(tensor.numpy(), whole._weights[name].numpy())
    found = model.inside.tensors()[ablated]
    model.inside.observe(Observed((ablated, field), {ablated: (0,)}))
    assert model.inside.tensors()[ablated] is found  # another unit records nothing
    require_ablated((0,))
    count = model._network.shape_after(first + 1)[0]
    with pytest.raises(InputError, match=f"no unit {count}; its units are 0 to {count - 1}"):
        model.inside.observe(Observed((ablated,), {ablated: (count,)}))
    with pytest.raises(InputError, match="no tensor"):
        model.inside.observe(Observed((ablated,), {"loss": (0,)}))
    require_ablated((0,))
    model.inside.observe(Observed())
    np.testing.assert_array_equal(model.outputs()["ground"].numpy(), whole.outputs()["ground"].numpy())
    assert list(type(model).ablatable(model._params)) == [f"activations.{number}" for number in range(last + 1)]


@pytest.mark.turns(3)
@pytest.mark.parametrize("what", ["blobs", "conv", "hash"])
def test_gradients_of_an_element_are_those_of_its_example(make: Make, what: str) -> None:
    model = make(KINDS[what], batch_size=32)
    last, row = len(model._network.layers) - 1, 5
    assert model._batch is not None
    size = int(np.prod(model._network.shape_after(last + 1)))
    target, middle = f"activations.{last}", f"activations.{last - 2}"
    names = [f"gradient of {target}[{row * size + size - 1}]{by}" for by in ("", f" by {middle}", f" by {last}.weight")]
    model.inside.observe(Observed((*names, middle)))
    advance(model, 2)
    weights = {name: tensor.numpy().astype(float) for name, tensor in model._weights.items()}

    def expected(row: int, unit: int) -> list[np.ndarray]:
        x, vjps = model._examples.numpy()[model._batch.numpy()[row : row + 1]].astype(float), []
        for number, layer in enumerate(model._network.layers):
            x, vjp = layer.reference(x, model._network.weights_of(weights, number))
            vjps.append(vjp)
        gradient, own = vjps[last](np.eye(size)[unit : unit + 1].reshape(x.shape))
        by_weight = own["weight"]
        by_middle = gradient = vjps[last - 1](gradient)[0]
        for vjp in reversed(vjps[: last - 1]):
            gradient, _ = vjp(gradient)
        return [gradient[0], by_middle[0], by_weight]

    for name, array in zip(names, expected(row, size - 1), strict=True):
        if what == "hash" and name == names[0]:
            continue  # the reference of the grid has no gradient by positions
        np.testing.assert_allclose(model.inside.tensors()[name].numpy(), array, rtol=1e-3, atol=1e-6)
    other = f"gradient of {target}[0] by {middle}"
    model.inside.observe(Observed((other,)))
    np.testing.assert_allclose(model.inside.tensors()[other].numpy(), expected(0, 0)[1], rtol=1e-3, atol=1e-6)
    for wrong, message in (
        (f"gradient of {middle}[0] by {target}", "does not depend on"),
        (f"gradient of {middle}[0] by {last}.weight", "does not depend on"),
        (f"gradient of {target}[0] by targets", "no gradient with 'targets'"),
        ("gradient of loss[0]", "no gradient with 'loss'"),
        (f"gradient of {target}[{32 * size}]", "has no element"),
    ):
        with pytest.raises(InputError, match=message):
            model.inside.observe(Observed((wrong,)))
        assert list(model.inside.tensors()) == [other]


def test_the_first_image_needs_no_training_step(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kernels are compiled when the loss and the gradient of the start are asked for, or what is inside."""
    replayed, replay = [], Plan.replay

    def noted(plan: Plan, **fields: Any) -> None:
        replayed.append(plan.name)
        replay(plan, **fields)

    monkeypatch.setattr(Plan, "replay", noted)
    model = make()
    assert replayed == ["learner.newest"] and model.scalar_state()["is_measured"] == 0
    statistics(model)
    measured = ["learner.train", "learner.evaluate"]
    assert replayed[1:] == measured and model.scalar_state()["is_measured"] == 1
    statistics(model)
    assert replayed[1:] == measured
    model.reset()
    model.inside.observe(Observed(("activations.1",)))
    assert replayed[3:6] == ["learner.newest", *measured] and model.inside.tensors()["activations.1"].numpy().any()


def test_loss_and_gradient_are_available_before_the_first_step(make: Make) -> None:
    values = statistics(make(batch_size=0))
    assert values["loss"] == pytest.approx(np.log(3.0), rel=0.3) and values["gradient_norm"] > 0.0
    assert values["best_loss"] == values["test_loss"] > 0.5
