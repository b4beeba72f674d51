"""The lattice Boltzmann flow against its reference, Poiseuille's parabola, and the measured frequency of a wake."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from vertigrad.errors import InputError
from vertigrad.gpu import Gpu
from vertigrad.models.interaction import Gesture, Interaction
from vertigrad.models.physics.lattice_boltzmann import LatticeBoltzmann, Params
from vertigrad.models.physics.lattice_boltzmann_params import blockage
from vertigrad.tensor import Tensor

Make = Callable[..., LatticeBoltzmann]
DOWN = (0.0, -1.0, 0.0)


@pytest.fixture
def make(steady: Gpu) -> Iterator[Make]:
    created: list[LatticeBoltzmann] = []

    def make_model(mask: Tensor | None = None, **values: object) -> LatticeBoltzmann:
        inputs = {} if mask is None else {"mask": mask}
        created.append(
            LatticeBoltzmann(
                "test", Params(**{"rows": 32, "columns": 64, "steps_per_second": 1000.0, **values}), inputs, 0
            )
        )
        return created[-1]

    yield make_model
    for model in created:
        model.close()


def statistics(model: LatticeBoltzmann) -> dict[str, float]:
    found = model.diagnostics()
    values = {name: float(one.numpy().max()) for name, one in found.items()}
    for one in found.values():
        one.close()
    return values


def mass(model: LatticeBoltzmann) -> float:
    """The sum of all populations without their weights over the cells, in float64."""
    return float(model.state()["populations"].numpy().astype(float).sum()) / model.state()["distance"].size


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"collision": "trt", "obstacle": "square", "sides": "no slip", "angle_of_attack": 20.0},
        {"ends": "periodic", "sides": "periodic", "obstacle": "airfoil", "size": 0.5, "angle_of_attack": 10.0},
        {"ends": "periodic", "sides": "no slip", "obstacle": "none", "collision": "trt"},
        {"ends": "periodic", "obstacle": "none"},
    ],
)
def test_a_step_equals_the_reference(make: Make, values: dict[str, object]) -> None:
    model = make(**values)
    model.step(0.1)
    for comparison in model.compare_with_reference():
        assert comparison.holds, str(comparison)


def channel_error(make: Make, rows: int, collision: str, speed: float) -> float:
    """Largest difference from the parabola 4 y (1 − y), over its peak."""
    shape = {"obstacle": "none", "ends": "periodic", "sides": "no slip", "collision": collision}
    model = make(rows=rows, columns=4, reynolds=5.0, speed=speed, **shape)
    settled = 2.5 * rows**2 / (speed * rows / 5.0)  # steps: the slowest mode has shrunk by exp(2.5 π²)
    model.step(min(settled, 1000.0) / 1000.0)
    for _ in range(int(settled // 1000.0)):
        model.step(1.0)
    along = model.outputs()["velocity"].numpy()[:, 0, 0]
    y = (np.arange(rows) + 0.5) / rows
    return float(np.abs(along - 4.0 * y * (1.0 - y)).max())


def test_two_relaxation_times_give_the_parabola_of_poiseuille(make: Make) -> None:
    """With the magic parameter 3/16 the profile is exact (Ginzburg & d'Humières 2003), up to rounding."""
    assert channel_error(make, 12, "trt", 0.05) < 5e-5


def test_convergence_to_the_parabola_is_second_order(make: Make) -> None:
    """At a fixed viscosity the error of half-way walls falls with the square of the resolution."""
    coarse, fine = (channel_error(make, rows, "regularized", 0.4 / rows) for rows in (8, 16))
    assert coarse < 0.01
    assert 3.5 < coarse / fine < 4.5


@pytest.mark.turns(4)
def test_a_cylinder_sheds_vortices_at_the_measured_frequency(make: Make) -> None:
    """Strouhal number 0.16 to 0.22 at Reynolds 100 to 200 (Roshko 1954; Williamson 1996, figure 1: 0.18 at 150).

    Nine cells across the cylinder suffice for the frequency, which depends on the wake; slip walls, eight diameters
    apart, raise it by some 7 % over that in the open.
    """
    model = make(rows=72, columns=128, x=0.25, size=0.125, reynolds=150.0, speed=0.1)
    velocity, beats = model.outputs()["velocity"], []
    for _ in range(140):
        model.step(0.02)
        with velocity[36, 50, 1:2].contiguous() as here:
            beats.append(float(here.numpy()[0]))
    late = np.array(beats[60:])
    up = np.flatnonzero((late[:-1] < 0.0) & (late[1:] >= 0.0))
    crossings = up - late[up] / (late[up + 1] - late[up])
    assert len(crossings) >= 3 and np.ptp(late) > 0.5
    period = 20.0 * np.diff(crossings).mean()
    assert 0.16 < 9.0 / (period * 0.1) < 0.22
    assert statistics(model)["mach"] < model.limits["mach"].bound


@pytest.mark.turns(4)
@pytest.mark.parametrize(("sides", "collision"), [("slip", "regularized"), ("no slip", "trt"), ("periodic", "trt")])
def test_mass_is_conserved_in_a_closed_box(make: Make, sides: str, collision: str) -> None:
    with Tensor.from_numpy(np.pad(np.ones((8, 9), np.float32), ((12, 12), (20, 35)))) as mask:
        model = make(mask, ends="periodic", sides=sides, collision=collision, speed=0.1, reynolds=20.0)
        model.step(0.2)
        before = mass(model)
        model.step(0.8)
        assert statistics(model)["mach"] > 1e-3
        assert abs(mass(model) - before) < 2e-6


@pytest.mark.turns(3)
def test_a_blocked_inflow_is_reduced(make: Make) -> None:
    wall = np.zeros((32, 64), np.float32)
    wall[:, 30:34] = 1.0
    with Tensor.from_numpy(wall) as mask:
        model = make(mask, speed=0.12)
        for _ in range(2):
            model.step(1.0)
        density = model.outputs()["density"].numpy()
        assert np.isfinite(density).all() and density.max() < 1.7


def test_a_mask_is_stretched_over_the_lattice_by_its_strides(make: Make) -> None:
    small = np.zeros((32, 16), np.float32)
    small[8:16, 4] = 1.0
    with Tensor.from_numpy(small) as source, source.permute(1, 0) as turned:
        inside = make(turned).outputs()["distance"].numpy() < 0.0
    expected = np.kron(small.T > 0.5, np.ones((2, 2), bool))
    assert expected.sum() == 32
    np.testing.assert_array_equal(inside, expected)


def test_shapes_have_their_size(make: Make) -> None:
    def area(**values: object) -> float:
        return float((make(rows=100, columns=200, size=0.4, x=0.5, **values).outputs()["distance"].numpy() < 0.0).sum())

    assert area(obstacle="circle") == pytest.approx(np.pi * 20.0**2, rel=0.02)
    assert area(obstacle="square", angle_of_attack=30.0) == pytest.approx(1600.0, rel=0.03)
    # 0.685 times thickness times chord, that of the four digits' polynomial integrated
    assert area(obstacle="airfoil", naca="0018") == pytest.approx(0.685 * 0.18 * 1600.0, rel=0.06)


@pytest.mark.parametrize("obstacle", ["circle", "square"])
def test_distances_are_those_of_the_placed_shape(make: Make, obstacle: str) -> None:
    model = make(rows=37, columns=71, size=0.3, x=0.4, y=0.6, angle_of_attack=25.0, obstacle=obstacle)
    row, column = np.mgrid[:37, :71] + 0.5
    away = np.stack([column - 0.4 * 71, row - 0.6 * 37])
    turned = np.radians(25.0)  # nose up, rows down: a box's own axes
    own = np.array([[np.cos(turned), np.sin(turned)], [np.sin(turned), -np.cos(turned)]])
    half = 0.5 * 0.3 * 37
    if obstacle == "circle":
        expected = np.hypot(*away) - half
    else:
        over = np.abs(np.einsum("ij,jrc->irc", own, away)) - half
        expected = np.hypot(*np.maximum(over, 0.0)) + np.minimum(over.max(axis=0), 0.0)
    expected[:, [0, 1, -2, -1]] = 0.5  # inlet and outlet
    np.testing.assert_allclose(model.outputs()["distance"].numpy(), expected, atol=1e-4)


def test_the_drawn_rim_follows_the_circle_and_not_the_cells(make: Make) -> None:
    """Both surfaces have one height around the wall, at the wall and inside, between cells too."""
    rows, columns, half, angle = 60, 120, 12.0, np.linspace(0.0, 2.0 * np.pi, 500)
    model = make(rows=rows, columns=columns, size=2.0 * half / rows, x=0.3, y=0.5, pedestal=0.1, height=0.01)
    for _ in range(20):
        model.step(0.02)

    def around(name: str, radius: float) -> np.ndarray:
        """Heights between cells, bilinear, as they are drawn."""
        heights = model.outputs()[name].numpy()[..., 1]
        x, y = 0.3 * columns - 0.5 + radius * np.cos(angle), 0.5 * rows - 0.5 + radius * np.sin(angle)
        column, row = x.astype(int), y.astype(int)
        right, down = x - column, y - row
        upper, lower = (heights[at, column] * (1 - right) + heights[at, column + 1] * right for at in (row, row + 1))
        return upper * (1 - down) + lower * down

    assert np.abs(model.outputs()["position"].numpy()[..., 1]).max() > 0.01, "vorticity displaces the other surface"
    assert np.abs(around("position", half)).max() < 0.005
    for radius, height in ((half, 0.0), (half - 1.0, 0.1 * 5 / 9), (half - 4.0, 0.1)):
        np.testing.assert_allclose(around("obstacle", radius), height, atol=0.008)


@pytest.mark.parametrize("section", ["2412", "0021", "6415"])
def test_a_section_is_that_of_naca(make: Make, section: str) -> None:
    """The cells inside, against the formula of Jacobs, Ward and Pinkerton (1933), nose up by the attack."""
    rows, columns, size, attack = 60, 130, 0.8, 12.0
    model = make(
        rows=rows, columns=columns, size=size, x=0.5, y=0.5, angle_of_attack=attack, obstacle="airfoil", naca=section
    )
    inside = model.outputs()["distance"].numpy() < 0.0
    camber, at, thickness = int(section[0]) / 100, max(int(section[1]), 1) / 10, int(section[2:]) / 100
    row, column = np.mgrid[:rows, :columns] + 0.5
    along, up = column - 0.5 * columns, 0.5 * rows - row
    angle = np.radians(attack)
    x = (along * np.cos(angle) - up * np.sin(angle)) / (size * rows) + 0.5
    y = (along * np.sin(angle) + up * np.cos(angle)) / (size * rows)
    chord = np.clip(x, 0.0, 1.0)
    before, behind = camber / at**2, camber / (1 - at) ** 2
    line = np.where(chord < at, before * (2 * at * chord - chord**2), behind * (1 - 2 * at + 2 * at * chord - chord**2))
    half = 5 * thickness * np.polyval([-0.1036, 0.2843, -0.3516, -0.126, 0.0], chord)
    half = half + 5 * thickness * 0.2969 * np.sqrt(chord)
    expected = (np.abs(y - line) < half) & (x > 0) & (x < 1)
    near = np.abs(np.abs(y - line) - half) * size * rows < 0.05  # where rounding decides
    assert expected.sum() > 60
    np.testing.assert_array_equal(inside[~near], expected[~near])


def test_the_two_outermost_columns_of_an_open_channel_stay_open(make: Make) -> None:
    wall = np.zeros((32, 64), np.float32)
    wall[8:24] = 1.0
    open_end = np.zeros((32, 64), bool)
    open_end[:, [0, 1, -2, -1]] = True
    with Tensor.from_numpy(wall) as mask:
        for ends in ("open", "periodic"):
            inside = make(mask, ends=ends).outputs()["distance"].numpy() < 0.0
            np.testing.assert_array_equal(inside, (wall > 0.5) & (~open_end if ends == "open" else True))
    for ends in ("open", "periodic"):
        model = make(obstacle="none", ends=ends)
        for x in (-1.5, 1.5):  # the ends of the channel
            model.interact(Interaction(Gesture.PAINT, (x, 1.0, 0.0), DOWN, (x, 0.0, 0.0), (0.0, 0.0, 0.0), 0.3))
            model.step(0.001)
        inside = model.outputs()["distance"].numpy() < 0.0
        assert inside[:, [2, 3, -4, -3]].any(axis=0).all()
        assert (inside & open_end).any() == (ends == "periodic")


def test_tools_paint_and_remove_walls(make: Make) -> None:
    model = make(obstacle="none")
    edge = 3.0 / 64.0
    stroke = Interaction(Gesture.PAINT, (0.3, 1.0, 0.1), DOWN, (0.3, 0.0, 0.1), (6.0, 0.0, 0.0), 2.0 * edge)
    model.interact(stroke)
    model.step(0.02)
    inside = model.outputs()["distance"].numpy() < 0.0
    rows, columns = np.nonzero(inside)
    assert abs(rows.mean() - (15.5 + 0.1 / edge)) < 0.6
    assert columns.min() == pytest.approx(31.5 + 0.18 / edge - 2.0, abs=1.0)
    assert columns.max() == pytest.approx(31.5 + 0.3 / edge + 2.0, abs=1.0)
    model.interact(None)
    model.step(0.1)
    assert (model.outputs()["speed"].numpy()[inside] == 0.0).all()
    model.interact(stroke._replace(gesture=Gesture.CUT, radius=8.0 * edge))
    model.step(0.02)
    assert (model.outputs()["distance"].numpy() > 0.0).all()


def test_a_snapshot_continues_with_the_same_bits(make: Make) -> None:
    model, other = make(), make()
    model.step(0.013)
    saved = {name: tensor.numpy() for name, tensor in model.state().items()}, model.scalar_state()
    model.step(0.0437)
    for name, tensor in other.state().items():
        tensor[...] = saved[0][name]
    other.load_scalar_state(saved[1])
    other.step(0.0437)
    for name, tensor in model.state().items():
        np.testing.assert_array_equal(tensor.numpy(), other.state()[name].numpy(), name)


@pytest.mark.turns(4)
@pytest.mark.parametrize("collision", ["regularized", "trt"])
def test_too_fine_a_flow_is_reported_and_stays_finite(make: Make, collision: str) -> None:
    model = make(reynolds=1e5, speed=0.12, obstacle="square", size=0.3, collision=collision, sides="no slip")
    for _ in range(4):
        model.step(0.5)
    assert np.isfinite(model.outputs()["velocity"].numpy()).all()
    assert statistics(model)["coarseness"] > model.limits["coarseness"].bound


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "values",
    [
        {"size": 0.6},
        {"size": 0.8, "speed": 0.12, "reynolds": 1000.0},
        {"size": 0.8, "speed": 0.12, "obstacle": "airfoil", "angle_of_attack": 90.0},
    ],
)
def test_a_large_obstacle_slows_the_inflow_down_instead_of_compressing_the_flow(
    make: Make, values: dict[str, object]
) -> None:
    """In the gap it is faster than at the inflow by the ratio of their widths: mach stays within its limit for it."""
    model = make(rows=48, columns=120, **values)
    fastest = 0.0
    for _ in range(40):
        model.step(1 / 60)
        found = statistics(model)
        fastest = max(fastest, found["mach"])
        assert found["mach"] <= model.limits["mach"].bound
    assert found["inflow"] < model._params.speed
    assert found["reynolds"] == pytest.approx(model._params.reynolds)
    assert fastest > 0.25, "it is not slower than it must be"


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ({"obstacle": "none"}, 0.0),
        ({"obstacle": "circle", "angle_of_attack": 30.0}, 0.5),
        ({"obstacle": "square", "angle_of_attack": 45.0}, 0.5 * 2.0**0.5),
        ({"obstacle": "airfoil", "naca": "2412"}, 0.5 * 0.14),
        ({"obstacle": "airfoil", "angle_of_attack": -90.0}, 0.5),
        ({"obstacle": "square", "size": 0.8, "angle_of_attack": 45.0}, 0.9),
    ],
)
def test_the_width_of_an_obstacle(values: dict[str, object], share: float) -> None:
    assert blockage(Params(**{"size": 0.5, **values})) == pytest.approx(share)  # type: ignore[arg-type]


def test_a_small_obstacle_does_not_change_the_inflow(make: Make) -> None:
    assert statistics(make(size=0.125, speed=0.1))["inflow"] == pytest.approx(0.1)


@pytest.mark.parametrize("section", ["12", "24a2", "2400", "0412", "2012"])
def test_an_invalid_naca_section_is_rejected(make: Make, section: str) -> None:
    with pytest.raises(InputError, match="four-digit"):
        make(obstacle="airfoil", naca=section)


def test_a_mask_that_is_not_two_dimensional_is_rejected(make: Make) -> None:
    with Tensor.from_numpy(np.zeros((3, 4, 2), np.float32)) as mask, pytest.raises(InputError, match="mask"):
        make(mask)
