"""Gray-Scott: its reference on every surface, diffusion against analysis, and Pearson's classes of patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.data.mesh import Mesh
from vertigrad.models.data.mesh import Params as MeshParams
from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.models.physics import surfaces
from vertigrad.models.physics.gray_scott import CLASSES, GrayScott, Params
from vertigrad.tensor import Tensor

Make = Callable[..., GrayScott]
SIDE = 96  # points of a plane with Pearson's resolution, 256 points for 2.5
FRAME = 1.0 / 60.0


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[GrayScott] = []

    def make_model(start: np.ndarray | None = None, seed: int = 3, **values: object) -> GrayScott:
        inputs = values.pop("inputs", {})
        created.append(GrayScott("test", Params(**{"resolution": 48, **values}), inputs, seed, start))  # type: ignore[arg-type]
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def field(model: GrayScott) -> np.ndarray:
    return model.state()["field"].numpy()


def tetrahedron() -> tuple[Tensor, Tensor]:
    corners = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], np.float32)
    return Tensor.from_numpy(corners), Tensor.from_numpy(
        np.array([[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]], np.uint32)
    )


@pytest.mark.parametrize("surface", ["plane", "sphere", "torus"])
def test_steps_agree_with_the_reference(make: Make, surface: str) -> None:
    model = make(surface=surface, initial_spots=20, height=0.3, size=1.0)
    for _ in range(10):
        model.step(FRAME)
    assert field(model)[:, 1].std() > 0.01
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


def test_an_input_mesh_agrees_with_the_reference(make: Make) -> None:
    vertices, triangles = tetrahedron()
    with vertices, triangles:
        model = make(
            np.array([[1, 0.5], [0.8, 0.2], [1, 0], [0.3, 0.1]]),
            surface="mesh",
            inputs={"vertices": vertices, "triangles": triangles},
        )
        np.testing.assert_array_equal(model.outputs()["index"].numpy(), triangles.numpy())
        for comparison in model.compare_with_reference():
            assert comparison.holds, str(comparison)
        with pytest.raises(InputError, match="triangles"):
            make(surface="mesh", inputs={"vertices": vertices})
        with pytest.raises(InputError, match="plane"):
            make(surface="plane", inputs={"vertices": vertices, "triangles": triangles})


def test_a_mesh_from_a_file_is_connected_across_its_creases(make: Make, tmp_path: Path) -> None:
    """A cube's faces have separate vertices for sharp edges; diffusion crosses the edges nevertheless."""
    corners = [f"v {x} {y} {z}" for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    faces = [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]
    text = "\n".join([*corners, *(f"f {a} {b} {c} {d}" for a, b, c, d in faces)])
    (tmp_path / "cube.obj").write_text(text + "\n")
    mesh = Mesh("cube", MeshParams(file=tmp_path / "cube.obj"), {}, 0)
    drawn = mesh.outputs()
    assert len(drawn["position"]) == 24
    start = np.tile([0.0, 0.0], (8, 1))
    start[0, 0] = 1.0
    inputs = {"vertices": drawn["position"], "triangles": drawn["index"]}
    quiet = {"feed": 0.0, "kill": 0.0, "diffusion_u": 1e-3, "diffusion_v": 1e-3, "size": 1.0, "time_scale": 1000.0}
    model = make(start, surface="mesh", inputs=inputs, **quiet)
    mesh.close()
    for _ in range(10):
        model.step(1.0)
    u = field(model)[:, 0]
    assert u.min() > 0.5 * u.max() > 0.0


@pytest.mark.parametrize(
    ("triangles", "message"),
    [
        ([[0, 1, 4]], "indices beyond its 4 points"),
        ([[0, 1, 1]], "has no area"),
        ([[0, 1, 2]], "belongs to no triangle"),
    ],
)
def test_an_invalid_mesh_is_rejected(triangles: list[list[int]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        surfaces.surface(np.eye(4, 3), np.array(triangles))


@pytest.mark.parametrize("created", [surfaces.sphere(1000), surfaces.torus(1000)])
def test_surfaces_are_closed_and_the_laplacian_of_coordinates_is_the_curvature_vector(
    created: surfaces.Surface,
) -> None:
    """Euler's number of the surface; L x is the mean curvature vector (Pinkall & Polthier 1993), here on the sphere."""
    edges = {
        tuple(sorted(pair)) for t in created.triangles.tolist() for pair in ((t[0], t[1]), (t[1], t[2]), (t[2], t[0]))
    }
    euler = len(created.points) - len(edges) + len(created.triangles)
    assert len(created.neighbors) == 2 * len(edges)
    assert euler in (0, 2)
    rows = np.repeat(np.arange(len(created.points)), np.diff(created.starts))
    assert (
        abs(
            (created.weights * created.areas[rows]).reshape(-1)
            @ (created.points[created.neighbors] - created.points[rows])
        ).max()
        < 1e-12
    )
    if euler == 2:
        assert created.area == pytest.approx(4.0 * np.pi, rel=0.01)
        flat = created.points[created.triangles]
        across = np.cross(flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0])
        assert created.area == pytest.approx(0.5 * np.linalg.norm(across, axis=1).sum())
        offsets = created.weights[:, None] * (created.points[created.neighbors] - created.points[rows])
        bent = np.stack([np.bincount(rows, offsets[:, k]) for k in range(3)], -1)
        np.testing.assert_allclose(np.einsum("nx,nx->n", bent, created.points), -2.0, rtol=0.02)
    else:
        assert created.area == pytest.approx(4.0 * np.pi**2 * surfaces.THICKNESS, rel=0.02)


@pytest.mark.turns(4)
def test_diffusion_alone_is_the_heat_kernel(make: Make) -> None:
    """A Gaussian of variance s² has s² + 2 D t after t (heat kernel in the plane), and its mass."""
    side, variance, time = 160, 0.1**2, 400.0
    points, _ = surfaces.plane(side)
    square = (points**2).sum(axis=1)

    def gauss(variance: float) -> np.ndarray:
        return np.exp(-0.5 * square / variance) * 0.01 / variance

    def run(column: int, diffusion: float) -> None:
        start = np.zeros((side * side, 2))
        start[:, column] = gauss(variance)
        name = ("diffusion_u", "diffusion_v")[column]
        model = make(start, resolution=side, size=2.0, feed=0.0, kill=0.0, time_scale=time / 5.0, **{name: diffusion})
        for _ in range(5):
            model.step(1.0)
        result = field(model)[:, column]
        exact = gauss(variance + 2.0 * diffusion * time)
        assert abs(result - exact).max() < 1e-3 * exact.max()  # the stencil's error: edge² / 12 of L L u
        assert result.sum() == pytest.approx(start[:, column].sum(), rel=1e-5)
        assert not field(model)[:, 1 - column].any()

    run(0, 2e-5)
    run(1, 5e-5)


@pytest.mark.turns(4)
@pytest.mark.parametrize("degree", [1, 2, 6])
def test_spherical_harmonics_decay_by_their_degree(make: Make, degree: int) -> None:
    """On the unit sphere exp(−l (l + 1) D t); measured by the amplitude of the zonal harmonic about an oblique axis."""
    mesh = surfaces.sphere(2500)
    harmonic = np.polynomial.Legendre.basis(degree)(mesh.points @ np.array([2.0, -1.0, 2.0]) / 3.0)
    start = np.zeros((len(mesh.points), 2))
    start[:, 0] = harmonic
    diffusion, time = 1e-4 / degree, 500.0
    size = float(np.sqrt(mesh.area))  # so that lengths are those of the unit sphere
    model = make(
        start, surface="sphere", resolution=50, size=size, feed=0.0, kill=0.0, diffusion_u=diffusion, time_scale=time
    )
    for _ in range(40):  # in frames that are short enough for all of their steps
        model.step(0.025)
    after = field(model)[:, 0]
    amplitude = (mesh.areas * harmonic) @ after / ((mesh.areas * harmonic) @ harmonic)
    assert np.log(amplitude) == pytest.approx(-degree * (degree + 1) * diffusion * time, rel=0.015)
    assert np.linalg.norm(after - amplitude * harmonic) < 0.01 * np.linalg.norm(after)


def spots(on: np.ndarray) -> np.ndarray:
    """Areas, in points, of the connected parts of a periodic plane, in increasing order."""
    parts = np.empty(on.shape, np.int32)
    ndimage.label(on, output=parts)
    for one, other in zip((*parts[0], *parts[:, 0]), (*parts[-1], *parts[:, -1]), strict=True):
        if one and other and one != other:
            parts[parts == other] = one
    return np.sort(np.unique(parts[parts > 0], return_counts=True)[1])


class Pattern:
    """Statistics of a pattern: v, the parts above and below the middle value, and the change within a time of 96."""

    def __init__(self, model: GrayScott, time: int):
        model._params.time_scale = 128.0
        for _ in range(time // 128):
            model.step(1.0)
        self.v = model.outputs()["v"].numpy()
        middle = 0.5 * (self.v.max() + self.v.min())
        self.above, self.below, self.share = spots(self.v > middle), spots(self.v <= middle), (self.v > middle).mean()
        model._params.time_scale = 96.0
        model.step(1.0)
        self.change = np.linalg.norm(model.outputs()["v"].numpy() - self.v) / max(np.linalg.norm(self.v), 1e-9)


def plane(make: Make, pattern: str, **values: object) -> GrayScott:
    return make(resolution=SIDE, size=2.5 * SIDE / 256, pattern=pattern, initial_spots=4, **values)


@pytest.mark.turns(3)
def test_without_enough_feed_the_state_is_trivial(make: Make) -> None:
    """Pearson's R: the trivial state, u = 1 and v = 0, at F = 0.06, k = 0.07."""
    pattern = Pattern(model := plane(make, "own", feed=0.06, kill=0.07), 1024)
    assert pattern.v.max() < 1e-6
    assert field(model)[:, 0].min() > 0.999


@pytest.mark.turns(3)
def test_with_a_low_kill_rate_one_state_fills_the_plane(make: Make) -> None:
    """Pearson's B: uniform, with v = (1 + sqrt(1 − 4 (F + k)²/F)) F / 2 (F + k) (his equation 3)."""
    feed, kill = 0.06, 0.045
    v = Pattern(plane(make, "own", feed=feed, kill=kill), 2048).v
    both = feed + kill
    np.testing.assert_allclose(v, 0.5 * feed / both * (1.0 + np.sqrt(1.0 - 4.0 * both**2 / feed)), rtol=2e-3)


@pytest.mark.turns(4)
def test_lambda_has_dividing_spots(make: Make) -> None:
    """Pearson's λ: separate spots of one size, whose number grows by division (4, 16, 28 here)."""
    model = plane(make, "lambda")
    first, second, third = (Pattern(model, 2048) for _ in range(3))
    assert 2 <= len(first.above) < 0.5 * len(second.above) < 0.7 * len(third.above)
    assert len(third.above) >= 16
    assert third.above.max() < 2.2 * np.median(third.above)
    assert len(third.below) == 1


@pytest.mark.turns(4)
def test_epsilon_has_unstable_spots(make: Make) -> None:
    """Pearson's ε: spots that divide and die of crowding; half of v is elsewhere 96 of time later."""
    pattern = Pattern(plane(make, "epsilon"), 4096)
    assert len(pattern.above) >= 15
    assert pattern.share < 0.35
    assert pattern.change > 0.25


@pytest.mark.turns(4)
def test_alpha_is_unsteady(make: Make) -> None:
    """Pearson's α: short-lived wavelets everywhere."""
    pattern = Pattern(plane(make, "alpha"), 3072)
    assert pattern.change > 0.5
    assert pattern.v.max() > 0.2


@pytest.mark.turns(4)
def test_delta_has_constant_holes(make: Make) -> None:
    """Pearson's δ: spots of low v in a plane of high v, ordered and constant."""
    pattern = Pattern(plane(make, "delta"), 4096)
    assert len(pattern.below) >= 20
    assert pattern.above.max() > 0.6 * SIDE**2
    assert pattern.change < 0.02


@pytest.mark.turns(4)
def test_theta_has_constant_stripes(make: Make) -> None:
    """Pearson's θ: stripes, half of the plane, in few long parts, constant."""
    pattern = Pattern(plane(make, "theta"), 4096)
    assert 0.4 < pattern.share < 0.6
    assert len(pattern.above) <= 6
    assert pattern.above.max() > 0.2 * SIDE**2
    assert pattern.change < 0.03


@pytest.mark.turns(4)
def test_mu_has_worms_that_grow_at_their_ends(make: Make) -> None:
    """Pearson's μ: parts that become longer, but not thicker."""
    model = plane(make, "mu")
    first, second = Pattern(model, 2048), Pattern(model, 4096)
    assert second.above.max() > 1.3 * first.above.max()
    assert second.above.max() > 3.0 * 85  # of a spot
    thickness = [np.max(np.asarray(ndimage.distance_transform_edt(p.v > 0.5 * p.v.max()))) for p in (first, second)]
    assert max(thickness) < 8


def test_steps_are_as_short_as_stability_requires(make: Make) -> None:
    """Ten times the diffusion needs steps a tenth as long: with these it is stable, without them it is not."""
    model = make(resolution=64, size=0.6, diffusion_u=2e-4, diffusion_v=1e-4, time_scale=60.0)
    assert model.diagnostics()["cfl"].item() < 1.0
    for _ in range(20):
        model.step(FRAME)
    assert 0.0 <= field(model).min() <= field(model).max() < 1.2
    model._length = lambda: 1.0  # type: ignore[method-assign]
    measured = model.diagnostics()["cfl"].item()
    assert measured > model.limits["cfl"].bound
    for _ in range(100):
        model.step(FRAME)
    assert not abs(field(model)).max() < 2.0


@pytest.mark.turns(3)
@pytest.mark.parametrize(("resolution", "diffusion_u"), [(128, 2e-4), (64, 1e-3)])
def test_high_spikes_of_v_are_resolved(make: Make, resolution: int, diffusion_u: float) -> None:
    """Where u diffuses much faster than v, v reaches several times 0.63: this needs shorter steps."""
    model = make(resolution=resolution, diffusion_u=diffusion_u)
    largest = 0.0
    for _ in range(6):
        model.step(FRAME)
        largest = max(largest, float(field(model)[..., 1].max()))
        assert model.diagnostics()["cfl"].item() < 1.0
    assert 1.0 < largest < 9.0


def test_a_reaction_too_fast_for_the_step_stays_finite_and_is_reported(make: Make) -> None:
    model = make(resolution=64, diffusion_u=1e-3)
    model._length = lambda: 0.45  # type: ignore[method-assign]
    exceeded = 0.0
    for _ in range(20):
        model.step(FRAME)
        exceeded = max(exceeded, model.diagnostics()["cfl"].item())
    assert np.isfinite(field(model)).all()
    assert exceeded > model.limits["cfl"].bound


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    "values",
    [
        {"feed": 0.0, "kill": 0.0, "diffusion_u": 0.0, "diffusion_v": 0.0},
        {"feed": 0.2, "kill": 0.0, "time_step": 2.0},
        {"feed": 0.2, "kill": 0.2, "time_step": 2.0, "diffusion_u": 1e-3, "size": 0.1},
        {"feed": 0.1, "kill": 0.0, "diffusion_u": 0.0, "diffusion_v": 1e-3, "time_step": 2.0},
    ],
)
@pytest.mark.parametrize("surface", ["plane", "sphere"])
def test_corners_of_the_ranges_stay_finite(make: Make, surface: str, values: dict[str, float]) -> None:
    model = make(surface=surface, resolution=16, time_scale=1e5, initial_spots=10, **values)
    for _ in range(16):
        model.step(1.0)
    assert np.isfinite(field(model)).all()
    assert -0.01 <= field(model).min() <= field(model).max() < 2.0


def test_frames_of_any_length_have_the_same_steps(make: Make) -> None:
    one, other = make(initial_spots=5, time_scale=100.0), make(initial_spots=5, time_scale=100.0)
    for _ in range(3):
        one.step(0.2)
    for _ in range(60):
        other.step(0.01)
    np.testing.assert_array_equal(field(one), field(other))
    assert field(one)[:, 0].std() > 0


def test_the_same_seed_gives_the_same_bits_and_a_snapshot_again(make: Make) -> None:
    one, other = (make(seed=1, initial_spots=9, surface="torus", time_scale=300.0) for _ in range(2))
    for model in (one, other):
        model.step(0.111)
    np.testing.assert_array_equal(field(one), field(other))
    assert one.scalar_state()["remainder"] > 0.0
    saved, numbers = {name: tensor.numpy() for name, tensor in one.state().items()}, one.scalar_state()
    one.step(0.111)
    other.step(0.0123)
    for name, tensor in other.state().items():
        tensor[...] = saved[name]
    other.load_scalar_state(numbers)
    other.step(0.111)
    np.testing.assert_array_equal(field(one), field(other))
    np.testing.assert_array_equal(one.outputs()["normal"].numpy(), other.outputs()["normal"].numpy())
    one.reset()
    np.testing.assert_array_equal(field(one), field(make(seed=1, initial_spots=9, surface="torus")))
    assert (field(one) != field(make(seed=2, initial_spots=9, surface="torus"))).any()
    assert one.scalar_state()["remainder"] == 0.0


def test_the_paint_tool_paints_surfaces_facing_it_and_can_erase(make: Make) -> None:
    points = surfaces.sphere(2500).points
    model = make(np.tile([1.0, 0.0], (len(points), 1)), surface="sphere", resolution=50)
    ray = Interaction(Gesture.PAINT, (0.0, 0.0, 5.0), (0.0, 0.0, -1.0), (0.0, 0.0, 1.0), radius=0.3)
    model.interact(ray)
    model.step(FRAME)
    v = field(model)[:, 1]
    away = np.linalg.norm(points[:, :2], axis=1)
    assert v[(away < 0.15) & (points[:, 2] > 0)].min() > 0.03
    assert v[(away > 0.5) | (points[:, 2] < 0)].max() < 1e-4
    model.interact(ray._replace(strength=-4.0))
    model.step(FRAME)
    assert field(model)[:, 1].max() < 0.5 * v.max()
    model.interact(None)
    model.step(FRAME)


def test_every_class_is_within_the_ranges_of_the_sliders() -> None:
    assert len(CLASSES) == 12
    for pattern in CLASSES:
        assert Params(pattern=pattern).pattern == pattern
