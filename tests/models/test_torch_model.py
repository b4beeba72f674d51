"""Models in PyTorch: their tensors are PyTorch's, and drawn; modules and optimizers belong to their state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
import pytest

import vertigrad as vg
from vertigrad import ops
from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models import CustomModel, TorchModel
from vertigrad.params import Params, number
from vertigrad.session import STEP

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("steady")
START = np.float32([[0, 1, 0], [1, 2, 3]])


class Fit(TorchModel):
    """Fits a line to points, with noise in the targets, by a module and an optimizer."""

    class Params(Params):
        lr: float = number(0.1, min=0.0, max=1.0)

    tensors: ClassVar = {"points": (64, 3), "loss": (1,), "count": (1, "i32"), "late": (1, "bool")}

    def start(self, random):
        self.x = torch.linspace(-1, 1, 64, device=self.device)[:, None]
        self.net = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).to(self.device)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=0.1)
        return {}

    def advance(self, dt):
        if dt:
            target = torch.sin(3 * self.x) + 0.01 * torch.randn_like(self.x)
            self.optimizer.param_groups[0]["lr"] = self.params.lr
            self.optimizer.zero_grad()
            loss = ((self.net(self.x) - target) ** 2).mean()
            loss.backward()
            self.optimizer.step()
            self.loss = loss
            self.count += 1
            self.late[:] = self.count > 3
        self.points = torch.cat([self.x, self.net(self.x), 0 * self.x], dim=1)


class Doubled(CustomModel):
    """Twice an input, by Vertigrad's own operations."""

    Params = Params
    inputs: ClassVar = {"points": "points"}
    required_inputs = frozenset({"points"})
    tensors: ClassVar = {"double": (64, 3)}

    def start(self, random):
        return {}

    def advance(self, dt):
        self.double = self.points * 2.0


class Shifted(TorchModel):
    """An input plus one, by PyTorch."""

    Params = Params
    inputs: ClassVar = {"points": "points"}
    required_inputs = frozenset({"points"})
    tensors: ClassVar = {"shifted": (64, 3)}

    def start(self, random):
        return {}

    def advance(self, dt):
        self.shifted = self.points + 1.0


@pytest.fixture
def viewer() -> Iterator[vg.Viewer]:
    viewer = vg.Viewer("torch", size=(160, 120), offscreen=True)
    yield viewer
    viewer.close()


def run(viewer: vg.Viewer, frames: int) -> None:
    for _ in viewer.frames(frames):
        pass


def model(viewer: vg.Viewer, name: str) -> Any:
    return viewer.session.stage.instances[name].model


def values(viewer: vg.Viewer, name: str) -> dict[str, np.ndarray]:
    return {key: tensor.numpy() for key, tensor in model(viewer, name).outputs().items()}


def test_a_module_is_trained_by_its_own_optimizer_and_drawn(viewer: vg.Viewer) -> None:
    viewer.add_model(Fit)
    viewer.points("dots", position="fit.points", size=0.05)
    run(viewer, 2)
    early = values(viewer, "fit")
    run(viewer, 60)
    late = values(viewer, "fit")
    assert late["loss"] < 0.1 * early["loss"]
    assert (early["count"], late["count"]) == (2, 62)
    assert (early["late"], late["late"]) == (False, True)
    np.testing.assert_allclose(late["points"], model(viewer, "fit").points.numpy(force=True))
    assert not model(viewer, "fit").points.requires_grad, "graphs of gradients must not grow from step to step"


def test_the_same_seed_gives_the_same_training_and_other_random_numbers_stay() -> None:
    found = []
    for seed in (3, 3, 4):
        fit = Fit("fit", Fit.Params(), {}, seed)
        torch.manual_seed(0)
        before = torch.get_rng_state()
        for _ in range(5):
            fit.step(STEP)
        assert torch.equal(before, torch.get_rng_state())
        found.append(fit.outputs()["points"].numpy())
        fit.reset()
        for _ in range(5):
            fit.step(STEP)
        np.testing.assert_array_equal(fit.outputs()["points"].numpy(), found[-1])
        fit.close()
    np.testing.assert_array_equal(found[0], found[1])
    assert (found[0] != found[2]).any()


def test_rewinding_restores_weights_optimizer_and_random_numbers(viewer: vg.Viewer) -> None:
    from vertigrad.session.snapshots import Snapshot

    viewer.add_model(Fit)
    run(viewer, 5)
    stage, gpu = viewer.session.stage, vg.gpu()
    snapshot = Snapshot(gpu, stage, 5, 5 * STEP)
    assert snapshot.nbytes > 2 * 4 * 25, "weights and the optimizer's moments count"
    run(viewer, 7)
    expected = values(viewer, "fit")
    with stage.rewriting():
        snapshot.restore(stage)
    assert values(viewer, "fit")["count"] == 5
    run(viewer, 7)
    for name, array in values(viewer, "fit").items():
        np.testing.assert_array_equal(array, expected[name])
    snapshot.close()


def test_models_of_both_kinds_take_each_others_outputs_of_the_same_step(viewer: vg.Viewer) -> None:
    viewer.add_model(Fit)
    viewer.add_model(Doubled, inputs={"points": "fit.points"})
    viewer.add_model(Shifted, inputs={"points": "doubled.double"})
    for _ in range(3):
        run(viewer, 1)
        points = values(viewer, "fit")["points"]
        np.testing.assert_allclose(values(viewer, "doubled")["double"], 2 * points)
        np.testing.assert_allclose(values(viewer, "shifted")["shifted"], 2 * points + 1)


def test_where_memory_is_shared_nothing_passes_through_the_host(viewer: vg.Viewer, gpu: Gpu) -> None:
    if gpu.frameworks.reason:
        pytest.skip(gpu.frameworks.reason)

    @vg.torch_model(position=START)
    def drift(position, dt):
        position += dt

    viewer.add_model(drift)
    viewer.points("cloud", position="drift.position", size=0.1)
    run(viewer, 2)
    before = gpu.meter.read()["geometry"]
    run(viewer, 5)
    assert gpu.meter.read()["geometry"] == before
    address = model(viewer, "drift").position.data_ptr()
    np.testing.assert_allclose(values(viewer, "drift")["position"], START + 7 * STEP, rtol=1e-5)
    assert address == model(viewer, "drift").outputs()["position"].torch().data_ptr()


def test_only_what_was_written_is_uploaded(viewer: vg.Viewer, gpu: Gpu) -> None:
    if not gpu.frameworks.reason:
        pytest.skip("memory is shared here")

    @vg.torch_model(position=START, fixed=START)
    def drift(position, fixed, dt):
        position += dt

    viewer.add_model(drift)
    run(viewer, 2)
    before = gpu.meter.read()["geometry"]["host_to_device"]
    run(viewer, 5)
    assert gpu.meter.read()["geometry"]["host_to_device"] - before == 5 * START.nbytes


def test_a_function_has_parameters_inputs_and_times(viewer: vg.Viewer) -> None:
    @vg.torch_model(position=START)
    def fall(position, dt, time, gravity: float = number(2.0, min=0.0, max=9.0)):
        return {"position": position - gravity * dt}

    @vg.torch_model(height=(2,))
    def heights(height, points: torch.Tensor):
        height.copy_(points[:, 1])

    viewer.add_model(fall, gravity=3.0)
    viewer.add_model(heights, inputs={"points": "fall.position"})
    run(viewer, 4)
    np.testing.assert_allclose(values(viewer, "fall")["position"], START - 12 * STEP, rtol=1e-5)
    np.testing.assert_allclose(values(viewer, "heights")["height"], START[:, 1] - 12 * STEP, rtol=1e-5)
    assert viewer.session.parameters()["models.fall"].gravity == 3.0


def test_a_value_of_another_shape_is_an_error_that_names_the_tensor() -> None:
    class Wrong(Fit):
        def advance(self, dt):
            self.points = torch.zeros(3, 5)

    wrong = Wrong("wrong", Fit.Params(), {}, 0)
    with pytest.raises(InputError, match=r"expected points of shape \(64, 3\), got \(3, 5\)"):
        wrong.step(STEP)
    wrong.close()


def test_closing_frees_the_memory(gpu: Gpu) -> None:
    import gc

    before = len(gpu.tracker.live)
    fit = Fit("fit", Fit.Params(), {}, 0)
    fit.step(STEP)
    fit.close()
    del fit
    gc.collect()
    gpu.wait(gpu.submit())
    gpu.tracker.collect()
    assert len(gpu.tracker.live) == before


def test_a_step_is_never_divided_over_frames(viewer: vg.Viewer) -> None:
    viewer.add_model(Fit)
    viewer.add_model(Doubled, inputs={"points": "fit.points"})
    stage = viewer.session.stage
    stage.begin_step(STEP)
    assert stage.proceed(lambda group, kernel, left, splits: 0), "a grant of nothing would leave the step half done"
    np.testing.assert_allclose(values(viewer, "doubled")["double"], 2 * values(viewer, "fit")["points"])


def test_what_vertigrad_recorded_before_a_step_sees_the_values_before_it(gpu: Gpu) -> None:
    fit = Fit("fit", Fit.Params(), {}, 0)
    fit.step(STEP)
    expected = fit.outputs()["count"].numpy()
    with ops.copy(fit.outputs()["count"]) as copied:
        fit.step(STEP)
        np.testing.assert_array_equal(copied.numpy(), expected)
    fit.close()


def test_a_replayed_step_gives_the_same_values_for_each_parameter() -> None:
    class Spin(TorchModel):
        class Params(Params):
            rate: float = number(1.0, min=0.0, max=9.0)

        replayed = True
        tensors: ClassVar = {"angle": (4,)}

        def start(self, random):
            return {"angle": torch.arange(4.0, device=self.device)}

        def advance(self, dt):
            self.angle += self.params.rate * dt

    values = Spin.Params()
    spin = Spin("spin", values, {}, 0)
    expected = np.arange(4.0)
    for rate in (1.0, 1.0, 1.0, 4.0, 4.0, 4.0, 4.0, 1.0):
        values.rate = rate
        spin.step(0.5)
        expected += rate * 0.5
        np.testing.assert_allclose(spin.outputs()["angle"].numpy(), expected)
    spin.reset()
    spin.step(0.5)
    np.testing.assert_allclose(spin.outputs()["angle"].numpy(), np.arange(4.0) + 0.5)
    spin.close()
