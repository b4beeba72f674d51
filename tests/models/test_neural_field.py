"""The neural field on the GPU against its NumPy reference, and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from vertigrad.errors import InputError
from vertigrad.models.neural.neural_field import NeuralField, Params
from vertigrad.models.reference import neural_field as neural_field_reference

Make = Callable[..., NeuralField]


@pytest.fixture
def make() -> Iterator[Make]:
    created: list[NeuralField] = []

    def make_model(**values: object) -> NeuralField:
        created.append(NeuralField("test", Params(**{"resolution": 61, "amplitude": 0.0, **values}), {}, 0))
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def reference(model: NeuralField, time: float) -> np.ndarray:
    values = model._params
    field = neural_field_reference.load(values.weights)
    blend = [values.coarse, values.middle, values.fine, *[1.0] * field.bands][: field.bands]
    moving = {"amplitude": values.amplitude, "frequency": values.frequency, "time": time}
    placed = {"extent": values.extent, "height": values.height}
    return neural_field_reference.surface(field, values.resolution, blend, **placed, **moving, dtype=np.float64)[0]


def relative(ours: np.ndarray, reference: np.ndarray) -> float:
    return float(np.linalg.norm(ours - reference) / np.linalg.norm(reference))


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "values", [{}, {"coarse": 0.3, "middle": 1.7, "fine": 3.0}, {"amplitude": 0.5, "frequency": 0.7}]
)
def test_heights_equal_the_reference_to_1e_5(make: Make, values: dict[str, float]) -> None:
    model = make(**values)
    for _ in range(5):
        model.step(0.31)
    ours = model.outputs()["position"].numpy()
    assert relative(ours[..., 1], reference(model, 5 * 0.31)[..., 1]) < 1e-5
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    ("bands", "layers", "width", "activation"), [(1, 2, 5, "relu"), (5, 3, 33, "sine"), (2, 5, 128, "relu")]
)
def test_networks_of_other_sizes(
    make: Make, tmp_path: Path, bands: int, layers: int, width: int, activation: str
) -> None:
    """Padded widths, one hidden layer and many, more bands than have a name."""
    random = np.random.default_rng(5)
    shapes = neural_field_reference.tensor_shapes(bands, layers, width)
    tensors = {
        name: (random.normal(size=shape) * (1.4 / np.sqrt(shape[-1]))).astype(np.float32)
        for name, shape in shapes.items()
    }
    sizes = {"bands": str(bands), "layers": str(layers), "width": str(width), "activation": activation}
    file = tmp_path / "net.safetensors"
    save_file(
        tensors, file, {"format": neural_field_reference.FORMAT, "version": neural_field_reference.VERSION, **sizes}
    )
    model = make(weights=file, resolution=33, amplitude=0.2)
    model.step(0.4)
    assert relative(model.outputs()["position"].numpy()[..., 1], reference(model, 0.4)[..., 1]) < 1e-5


def test_elevation_is_in_meters_and_does_not_depend_on_the_height_scale(make: Make) -> None:
    flat, steep = make(height=0.1), make(height=0.8)
    assert np.array_equal(flat.outputs()["elevation"].numpy(), steep.outputs()["elevation"].numpy())
    elevation = flat.outputs()["elevation"].numpy()
    assert 150 < elevation.min() < 350
    assert 900 < elevation.max() < 1200


def test_parameters_take_effect_in_the_next_step(make: Make) -> None:
    model = make()
    before = model.outputs()["position"].numpy()
    model._params.change("height", 0.8)
    assert np.array_equal(model.outputs()["position"].numpy(), before)
    model.step(0.0)
    np.testing.assert_allclose(model.outputs()["position"].numpy()[..., 1], before[..., 1] * 2.0, rtol=1e-5, atol=1e-7)


@pytest.mark.turns(3)
def test_it_changes_with_time_only_if_perturbed(make: Make) -> None:
    still, moving = make(), make(amplitude=0.3)
    first_still, first_moving = (m.outputs()["position"].numpy() for m in (still, moving))
    for model in (still, moving):
        model.step(0.7)
    assert np.array_equal(still.outputs()["position"].numpy(), first_still)
    assert np.abs(moving.outputs()["position"].numpy() - first_moving).max() > 1e-3


def test_invalid_weights_are_rejected(make: Make, tmp_path: Path) -> None:
    file = tmp_path / "bad.safetensors"
    file.write_bytes(b"not a network")
    with pytest.raises(InputError, match=r"bad\.safetensors"):
        make(weights=file)
