"""Lines against the distance to their segments, per sample; and trails against lines through the same positions."""

from itertools import pairwise

import numpy as np
import pytest

from vertigrad.errors import LayoutError, LimitError, ParameterError
from vertigrad.renderer import OrbitCamera, View
from vertigrad.renderer.moment import Moment
from vertigrad.renderer.picking import Picker
from vertigrad.renderer.target import handles_samples
from vertigrad.tensor import Tensor

from .light_reference import tone_mapped

SIZE = (160, 120)
CAMERA = OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, fov=40.0)
VIEW = View(bloom=0.0, vignette=0.0, background="#000000")
WHITE = {"brightness": 1e4}  # white, so that the image shows the coverage
SAMPLES = np.array([(-0.125, -0.375), (0.375, -0.125), (-0.375, 0.125), (0.125, 0.375)])
RNG = np.random.default_rng(6)
MOMENT = Moment((0.0, 1.0, 0.0), (0.0, 1.0, 0.0))


def on_screen(camera, positions):
    """Pixels, y down."""
    clip = np.concatenate([positions, np.ones((len(positions), 1))], axis=1) @ camera.view().T
    clip = clip @ camera.projection(SIZE[0] / SIZE[1]).T
    ndc = clip[:, :2] / clip[:, 3:]
    return (ndc * [0.5, -0.5] + 0.5) * SIZE


def coverage(ends, width):
    """The fraction of samples of each pixel within half a width of a segment; `ends` are pairs of screen positions."""
    x, y = np.meshgrid(np.arange(SIZE[0]) + 0.5, np.arange(SIZE[1]) + 0.5)
    inside = np.zeros((4, SIZE[1], SIZE[0]), bool)
    for number, (dx, dy) in enumerate(SAMPLES):
        here = np.stack([x + dx, y + dy], axis=-1)
        for a, b in ends:
            direction = b - a
            part = np.clip((here - a) @ direction / max(direction @ direction, 1e-12), 0, 1)[..., None]
            inside[number] |= np.linalg.norm(here - a - part * direction, axis=-1) < width / 2
    return inside.mean(axis=0)


def shown_coverage(render):
    """White with coverage c is shown as c of full light, encoded."""
    encoded = render[..., 1] / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("camera", [CAMERA, OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, orthographic=True)])
@pytest.mark.parametrize("width", [1.0, 2.5, 9.0])
def test_coverage_of_lines(gpu, layer, render, camera, width):
    if not handles_samples(gpu):
        pytest.skip("samples cannot be chosen there")
    point = RNG.uniform(-0.9, 0.9, (6, 3)).astype(np.float32)
    got = shown_coverage(render([layer("lines", WHITE, position=point, color="#ffffff", width=width)], camera, VIEW))
    screen = on_screen(camera, point)
    expected = coverage(list(pairwise(screen)), width)
    assert expected.max() == 1.0
    # A distance is known at the center of a pixel, with its derivative: next to a joint that is not exact.
    off = np.abs(got - expected)
    assert (off > 0.13).mean() < 0.01
    assert off.max() < 0.6
    assert abs(got.sum() - expected.sum()) < 0.02 * expected.sum()


def test_separate_lines_are_not_connected(layer, render):
    point = RNG.uniform(-0.9, 0.9, (4, 3, 3)).astype(np.float32)
    got = shown_coverage(render([layer("lines", WHITE, position=point, color="#ffffff", width=3.0)], CAMERA, VIEW))
    screen = on_screen(CAMERA, point.reshape(-1, 3))
    pairs = [(screen[3 * k + i], screen[3 * k + i + 1]) for k in range(4) for i in range(2)]
    assert abs(got.sum() - coverage(pairs, 3.0).sum()) < 0.02 * got.sum()
    one = [layer("lines", WHITE, position=line, color="#ffffff", width=3.0) for line in point]
    assert np.abs(shown_coverage(render(one, CAMERA, VIEW)) - got).max() < 0.01


def test_a_nan_interrupts_a_line(layer, render):
    point = RNG.uniform(-0.9, 0.9, (7, 3)).astype(np.float32)
    broken = point.copy()
    broken[3, 1] = np.nan
    got = render([layer("lines", position=broken, width=4.0)], CAMERA)
    parts = [layer("lines", position=point[:3], width=4.0), layer("lines", position=point[4:], width=4.0)]
    assert np.array_equal(got, render(parts, CAMERA))


def test_a_line_that_passes_the_eye(layer, render):
    """It is clipped at the near plane, not mirrored."""
    camera = OrbitCamera(distance=2.0, yaw=0.0, pitch=0.0, fov=50.0)
    point = np.float32([[0.3, 0.2, -2.0], [0.3, 0.2, 30.0]])
    got = shown_coverage(render([layer("lines", WHITE, position=point, color="#ffffff", width=3.0)], camera, VIEW))
    start = on_screen(camera, point[:1].astype(float))[0]
    near = on_screen(camera, np.array([[0.3, 0.2, 1.99]]))[0]
    expected = coverage([(start, near)], 3.0)
    assert expected.sum() > 50
    assert np.abs(got - expected).mean() < 0.002
    behind = layer("lines", WHITE, position=np.float32([[0, 0, 5], [1, 1, 9]]), width=3.0)
    assert render([behind], camera, VIEW).max() <= 1


def test_colors_and_widths_are_interpolated_between_rows(layer, render):
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0)
    point = np.float32([[-1, 0, 0], [1, 0, 0]])
    style = {"colormap": "gray", "range": "auto"}
    got = render([layer("lines", style, position=point, color=np.float32([2, 6]), width=np.float32([2, 12]))], camera)
    lit = got.max(axis=-1) > 3
    columns = np.flatnonzero(lit.any(axis=0))
    heights = lit.sum(axis=0)
    assert heights[columns[-8]] > heights[columns[8]] + 5
    row = got[60, columns[10] : columns[-10], 0].astype(int)
    assert (np.diff(row) >= -1).all() and row[-1] - row[0] > 100  # from the first value to the last, the last included


@pytest.mark.parametrize("tube", [False, True])
@pytest.mark.parametrize("tilt", [0.0, 0.31])
def test_lines_thinner_than_a_pixel_fade(layer, render, tube, tilt):
    """The light is proportional to the width below a pixel: no dots, no dashes, no steps."""
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, orthographic=True)
    camera.distance *= 1.0 / camera.half_height  # 60 pixels per unit
    x, pixels = np.linspace(-1.2, 1.2, 25, dtype=np.float32), np.linspace(0.97, 0.0, 25, dtype=np.float32)
    point = np.stack([x, tilt * x + 0.013, 0 * x], axis=-1).astype(np.float32)
    line = layer("lines", {"tube": tube}, position=point, color="#ffffff", width=pixels / 60 if tube else pixels)
    levels = np.linspace(0, 4, 2000)
    shown = render([line], camera, VIEW)[..., 1].astype(float)
    light = np.interp(shown, tone_mapped(levels[:, None].repeat(3, axis=1))[:, 1], levels) if tube else shown / 255
    columns = light.sum(axis=0)[10:150]
    widths = np.interp(np.arange(10, 150) + 0.5, [8, 152], [0.97, 0.0])
    columns *= (widths @ widths) / (widths @ columns)
    assert np.abs(columns - widths).max() < 0.08
    assert np.abs(np.diff(columns)).max() < 0.06


def test_lines_are_occluded(layer, render):
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0)
    ball = layer("points", position=np.zeros((1, 3), np.float32), size=0.5, color=(0, 0, 0))
    line = layer("lines", WHITE, position=np.float32([[-1, 0, 0], [1, 0, 0]]), width=3.0)
    got = render([line, ball], camera, VIEW)
    assert got[60, 80].max() < 60 and got[60, 45].min() > 200


def test_the_nearer_row_is_picked(gpu, layer):
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0)
    line = layer("lines", position=np.float32([[-1, 0, 0], [0, 0, 0], [1, 0, 0]]), width=3.0)
    got = []
    for x in (45, 70, 90, 115):
        Picker(gpu).pick([line], camera, SIZE, (x, 60), got.append)
    gpu.wait_idle()
    assert [hit.row for hit in got] == [0, 1, 1, 2]
    assert got[0].depth == pytest.approx(4.0, abs=0.01)


def test_layouts_and_released_memory(gpu, layer, render):
    point = RNG.uniform(-0.9, 0.9, (5, 4, 3)).astype(np.float32)
    color = RNG.uniform(0, 1, (5, 4)).astype(np.float32)
    expected = render([layer("lines", position=point, color=color)], CAMERA)
    state = np.zeros((5, 4, 6), np.float32)
    state[..., 1:4], state[..., 5] = point, color
    with Tensor.from_numpy(state) as whole:
        live = {block.id for block in gpu.tracker.live}
        owners = whole.block.owners
        with whole[..., 1:4] as position, whole[..., 5] as scalar:
            lines = layer("lines", position=position, color=scalar)
            assert np.array_equal(render([lines], CAMERA), expected)
            before = gpu.meter.read()["geometry"]
            render([lines], CAMERA)
            assert gpu.meter.read()["geometry"] == before
            assert lines.report()["color"]["offset"] == 20
            lines.close()
        gpu.wait_idle()
        assert whole.block.owners == owners
        assert {block.id for block in gpu.tracker.live} == live


@pytest.mark.parametrize(
    ("kind", "attributes", "error", "message"),
    [
        ("lines", {}, ParameterError, "position must be a tensor"),
        ("lines", {"position": np.zeros((1, 3), np.float32)}, LayoutError, "needs two rows"),
        (
            "lines",
            {"position": np.zeros((5, 3), np.float32), "width": 0},
            ParameterError,
            "width must be a number above 0",
        ),
        ("trails", {"position": np.zeros((5, 2), np.float32)}, LayoutError, "3 are needed"),
    ],
)
def test_invalid_attributes_are_rejected(layer, kind, attributes, error, message):
    with pytest.raises(error, match=message):
        layer(kind, **attributes)


# trails -------------------------------------------------------------------------------------------------------------

EVEN = {"fade": 0.0, "taper": 0.0}  # not so bright that smooth edges are white


class Walk:
    """Some moving rows, and their trail."""

    def __init__(self, layer, **style):
        angle, row = 0.35 * np.arange(12)[:, None] + np.arange(4), np.arange(4)
        radius = 0.5 + 0.17 * row
        positions = [radius * np.cos(angle), 0.3 * row - 0.5 + 0 * angle, radius * np.sin(angle)]
        self.positions = np.stack(positions, axis=-1).astype(np.float32)
        self.tensor = Tensor.zeros((4, 3), name="walk")
        self.trail = layer("trails", {**EVEN, **style}, position=self.tensor, color="#ffffff", width=3.0)
        self.time = 0.0

    def step(self, number, passed=0.1):
        self.time += passed
        with Tensor.from_numpy(self.positions[number]) as now:
            self.tensor[...] = now
        self.trail.prepare(MOMENT._replace(time=self.time))


@pytest.fixture
def walk(layer):
    created = []

    def make(**style):
        created.append(Walk(layer, **style))
        return created[-1]

    yield make
    for one in created:
        one.trail.close()
        one.tensor.close()


def lines_through(layer, render, positions):
    """An image of lines through the same positions as trails, without their round ends."""
    lines = layer("lines", position=np.ascontiguousarray(positions.transpose(1, 0, 2)), color="#ffffff", width=3.0)
    return shown_coverage(render([lines], CAMERA, VIEW))


def shown(render, walk):
    """The image without a moment, which stores no position."""
    prepare = walk.trail.prepare
    walk.trail.prepare = lambda moment=None: prepare(None)
    try:
        return render([walk.trail], CAMERA, VIEW)[..., 1] / 255  # blended lines show their coverage
    finally:
        walk.trail.prepare = prepare


def agrees(got, expected):
    return np.abs(got.sum() - expected.sum()) < 0.12 * expected.sum() and (np.abs(got - expected) > 0.5).mean() < 0.004


def test_trails_go_back_through_the_last_positions(layer, render, walk):
    one = walk(length=5)
    for number in range(9):
        one.step(number)
    assert agrees(shown(render, one), lines_through(layer, render, one.positions[4:9]))
    assert not agrees(shown(render, one), lines_through(layer, render, one.positions[3:9]))


def test_trails_before_the_ring_buffer_is_full(layer, render, walk):
    one = walk(length=50)
    one.step(0)
    assert shown(render, one).max() < 0.01
    for number in (1, 2):
        one.step(number)
    assert agrees(shown(render, one), lines_through(layer, render, one.positions[:3]))


def test_trails_with_paused_or_reversed_time(layer, render, walk):
    one = walk(length=20)
    for number in range(4):
        one.step(number)
    one.step(8, passed=0.0)
    assert agrees(shown(render, one), lines_through(layer, render, one.positions[:4]))
    one.step(5, passed=-0.2)
    for number in range(6, 11):
        one.step(number)
    assert agrees(shown(render, one), lines_through(layer, render, one.positions[5:11]))


def test_trails_with_an_interval(layer, render, walk):
    one = walk(length=20, sample_interval=0.25)
    for number in range(8):
        one.step(number)
    assert agrees(shown(render, one), lines_through(layer, render, one.positions[[0, 3, 6]]))


def test_trails_with_another_length_and_a_fade(layer, render, walk):
    one = walk(length=6)
    for number in range(6):
        one.step(number)
    full = shown(render, one).sum()
    one.trail.style.change("fade", 1.0)
    assert shown(render, one).sum() < 0.95 * full
    one.trail.style.change("length", 3)
    for number in range(6, 12):
        one.step(number)
    one.trail.style.change("fade", 0.0)
    assert agrees(shown(render, one), lines_through(layer, render, one.positions[9:12]))


def test_trails_go_on_with_another_tone_map(layer, render, walk):
    one = walk(length=6)
    for number in range(6):
        one.step(number)
    before = shown(render, one)
    for tone_map in ("view", "film", "none"):
        one.trail.style.change("tone_map", tone_map)
        after = shown(render, one)
        assert (after > 0.2).sum() > 0.9 * (before > 0.2).sum() > 50
    assert np.array_equal(after, before)


def test_a_nan_in_a_trail_is_omitted(layer, render, walk):
    one = walk(length=20)
    one.positions[2, 1] = np.nan
    for number in range(5):
        one.step(number)
    assert agrees(shown(render, one), lines_through(layer, render, one.positions[:5]))


def test_trails_are_picked_by_row_and_copy_no_geometry(gpu, layer, render, walk):
    one = walk(length=8)
    one.positions[:, :, 1] = np.arange(4) * 0.3 - 0.45
    one.positions[:, :, 0] = np.linspace(-0.8, 0.8, 12)[:, None]
    one.positions[:, :, 2] = 0
    for number in range(12):
        one.step(number)
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0)
    cursors = on_screen(camera, np.array([[0.5, 0.3 * row - 0.45, 0.0] for row in range(4)]))
    got = []
    before = gpu.meter.read()["geometry"]
    for cursor in cursors:
        Picker(gpu).pick([one.trail], camera, SIZE, tuple(cursor), got.append)
    gpu.wait_idle()
    assert [hit.row for hit in got] == [0, 1, 2, 3]
    one.trail.prepare(MOMENT._replace(time=99.0))
    render([one.trail], CAMERA)
    assert gpu.meter.read()["geometry"] == before


def test_more_than_the_binding_limit_is_rejected(gpu, layer, monkeypatch):
    monkeypatch.setattr(gpu, "limits", {**gpu.limits, "max-storage-buffer-binding-size": 1000})
    with pytest.raises(LimitError, match="48 positions of 5 rows are 2,880 bytes; this GPU binds 1,000"):
        layer("trails", position=np.zeros((5, 3), np.float32))
