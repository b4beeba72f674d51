"""Lines against the distance to their pieces, sample by sample; and trails against lines through the same places."""

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
WHITE = {"brightness": 1e4}  # white as paper, so that what is shown is how much is covered
SAMPLES = np.array([(-0.125, -0.375), (0.375, -0.125), (-0.375, 0.125), (0.125, 0.375)])
RNG = np.random.default_rng(6)
MOMENT = Moment((0.0, 1.0, 0.0), (0.0, 1.0, 0.0))


def on_screen(camera, places):
    """Pixels, y down."""
    clip = np.concatenate([places, np.ones((len(places), 1))], axis=1) @ camera.view().T
    clip = clip @ camera.projection(SIZE[0] / SIZE[1]).T
    ndc = clip[:, :2] / clip[:, 3:]
    return (ndc * [0.5, -0.5] + 0.5) * SIZE


def coverage(ends, width):
    """Of each pixel the share of samples within half a width of a piece; `ends` are pairs of places on the screen."""
    x, y = np.meshgrid(np.arange(SIZE[0]) + 0.5, np.arange(SIZE[1]) + 0.5)
    inside = np.zeros((4, SIZE[1], SIZE[0]), bool)
    for number, (dx, dy) in enumerate(SAMPLES):
        here = np.stack([x + dx, y + dy], axis=-1)
        for a, b in ends:
            way = b - a
            part = np.clip((here - a) @ way / max(way @ way, 1e-12), 0, 1)[..., None]
            inside[number] |= np.linalg.norm(here - a - part * way, axis=-1) < width / 2
    return inside.mean(axis=0)


def shown_coverage(picture):
    """White of coverage c is shown as c of full light, encoded."""
    encoded = picture[..., 1] / 255
    return np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)


@pytest.mark.parametrize("camera", [CAMERA, OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, orthographic=True)])
@pytest.mark.parametrize("width", [1.0, 2.5, 9.0])
def test_what_is_covered(gpu, layer, picture, camera, width):
    if not handles_samples(gpu):
        pytest.skip("samples cannot be chosen there")
    place = RNG.uniform(-0.9, 0.9, (6, 3)).astype(np.float32)
    got = shown_coverage(picture([layer("lines", WHITE, position=place, color="#ffffff", width=width)], camera, VIEW))
    screen = on_screen(camera, place)
    expected = coverage(list(pairwise(screen)), width)
    assert expected.max() == 1.0
    # A distance is known in the middle of a pixel, with its slope: beside a joint that is not exact.
    off = np.abs(got - expected)
    assert (off > 0.13).mean() < 0.01
    assert off.max() < 0.6
    assert abs(got.sum() - expected.sum()) < 0.02 * expected.sum()


def test_each_line_by_itself(layer, picture):
    place = RNG.uniform(-0.9, 0.9, (4, 3, 3)).astype(np.float32)
    got = shown_coverage(picture([layer("lines", WHITE, position=place, color="#ffffff", width=3.0)], CAMERA, VIEW))
    screen = on_screen(CAMERA, place.reshape(-1, 3))
    pairs = [(screen[3 * k + i], screen[3 * k + i + 1]) for k in range(4) for i in range(2)]
    assert abs(got.sum() - coverage(pairs, 3.0).sum()) < 0.02 * got.sum()
    one = [layer("lines", WHITE, position=line, color="#ffffff", width=3.0) for line in place]
    assert np.abs(shown_coverage(picture(one, CAMERA, VIEW)) - got).max() < 0.01


def test_a_nan_interrupts_a_line(layer, picture):
    place = RNG.uniform(-0.9, 0.9, (7, 3)).astype(np.float32)
    broken = place.copy()
    broken[3, 1] = np.nan
    got = picture([layer("lines", position=broken, width=4.0)], CAMERA)
    parts = [layer("lines", position=place[:3], width=4.0), layer("lines", position=place[4:], width=4.0)]
    assert np.array_equal(got, picture(parts, CAMERA))


def test_a_line_that_comes_past_the_eye(layer, picture):
    """It is cut at the near plane, not turned round."""
    camera = OrbitCamera(distance=2.0, yaw=0.0, pitch=0.0, fov=50.0)
    place = np.float32([[0.3, 0.2, -2.0], [0.3, 0.2, 30.0]])
    got = shown_coverage(picture([layer("lines", WHITE, position=place, color="#ffffff", width=3.0)], camera, VIEW))
    start = on_screen(camera, place[:1].astype(float))[0]
    near = on_screen(camera, np.array([[0.3, 0.2, 1.99]]))[0]
    expected = coverage([(start, near)], 3.0)
    assert expected.sum() > 50
    assert np.abs(got - expected).mean() < 0.002
    behind = layer("lines", WHITE, position=np.float32([[0, 0, 5], [1, 1, 9]]), width=3.0)
    assert picture([behind], camera, VIEW).max() <= 1


def test_colors_and_widths_run_from_row_to_row(layer, picture):
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0)
    place = np.float32([[-1, 0, 0], [1, 0, 0]])
    style = {"colormap": "gray", "range": "auto"}
    got = picture([layer("lines", style, position=place, color=np.float32([2, 6]), width=np.float32([2, 12]))], camera)
    lit = got.max(axis=-1) > 3
    columns = np.flatnonzero(lit.any(axis=0))
    heights = lit.sum(axis=0)
    assert heights[columns[-8]] > heights[columns[8]] + 5
    row = got[60, columns[10] : columns[-10], 0].astype(int)
    assert (np.diff(row) >= -1).all() and row[-1] - row[0] > 100  # from the first value to the last, the last included


@pytest.mark.parametrize("tube", [False, True])
@pytest.mark.parametrize("tilt", [0.0, 0.31])
def test_what_becomes_thinner_fades_evenly(layer, picture, tube, tilt):
    """As much light as it is wide, where that is less than a pixel: no dots, no dashes, no steps."""
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, orthographic=True)
    camera.distance *= 1.0 / camera.half_height  # 60 pixels to a unit
    x, pixels = np.linspace(-1.2, 1.2, 25, dtype=np.float32), np.linspace(0.97, 0.0, 25, dtype=np.float32)
    place = np.stack([x, tilt * x + 0.013, 0 * x], axis=-1).astype(np.float32)
    line = layer("lines", {"tube": tube}, position=place, color="#ffffff", width=pixels / 60 if tube else pixels)
    given = np.linspace(0, 4, 2000)
    shown = picture([line], camera, VIEW)[..., 1].astype(float)
    light = np.interp(shown, tone_mapped(given[:, None].repeat(3, axis=1))[:, 1], given) if tube else shown / 255
    columns = light.sum(axis=0)[10:150]
    widths = np.interp(np.arange(10, 150) + 0.5, [8, 152], [0.97, 0.0])
    columns *= (widths @ widths) / (widths @ columns)
    assert np.abs(columns - widths).max() < 0.08
    assert np.abs(np.diff(columns)).max() < 0.06


def test_hidden_by_what_is_in_front(layer, picture):
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0)
    ball = layer("points", position=np.zeros((1, 3), np.float32), size=0.5, color=(0, 0, 0))
    line = layer("lines", WHITE, position=np.float32([[-1, 0, 0], [1, 0, 0]]), width=3.0)
    got = picture([line, ball], camera, VIEW)
    assert got[60, 80].max() < 60 and got[60, 45].min() > 200


def test_the_row_that_is_nearer(gpu, layer):
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0)
    line = layer("lines", position=np.float32([[-1, 0, 0], [0, 0, 0], [1, 0, 0]]), width=3.0)
    got = []
    for x in (45, 70, 90, 115):
        Picker(gpu).pick([line], camera, SIZE, (x, 60), got.append)
    gpu.wait_idle()
    assert [seen.row for seen in got] == [0, 1, 1, 2]
    assert got[0].depth == pytest.approx(4.0, abs=0.01)


def test_layouts_and_what_is_given_back(gpu, layer, picture):
    place = RNG.uniform(-0.9, 0.9, (5, 4, 3)).astype(np.float32)
    color = RNG.uniform(0, 1, (5, 4)).astype(np.float32)
    expected = picture([layer("lines", position=place, color=color)], CAMERA)
    state = np.zeros((5, 4, 6), np.float32)
    state[..., 1:4], state[..., 5] = place, color
    with Tensor.from_numpy(state) as whole:
        live = {block.id for block in gpu.tracker.live}
        owners = whole.block.owners
        with whole[..., 1:4] as position, whole[..., 5] as scalar:
            lines = layer("lines", position=position, color=scalar)
            assert np.array_equal(picture([lines], CAMERA), expected)
            before = gpu.meter.read()["geometry"]
            picture([lines], CAMERA)
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
def test_what_cannot_be_drawn_is_refused(layer, kind, attributes, error, message):
    with pytest.raises(error, match=message):
        layer(kind, **attributes)


# trails -------------------------------------------------------------------------------------------------------------

EVEN = {"fade": 0.0, "taper": 0.0}  # not so bright that their smooth edges would be white


class Walk:
    """Some rows that move, and a trail behind them."""

    def __init__(self, layer, **style):
        angle, row = 0.35 * np.arange(12)[:, None] + np.arange(4), np.arange(4)
        radius = 0.5 + 0.17 * row
        places = [radius * np.cos(angle), 0.3 * row - 0.5 + 0 * angle, radius * np.sin(angle)]
        self.places = np.stack(places, axis=-1).astype(np.float32)
        self.tensor = Tensor.zeros((4, 3), name="walk")
        self.trail = layer("trails", {**EVEN, **style}, position=self.tensor, color="#ffffff", width=3.0)
        self.time = 0.0

    def step(self, number, passed=0.1):
        self.time += passed
        with Tensor.from_numpy(self.places[number]) as now:
            self.tensor[...] = now
        self.trail.prepare(MOMENT._replace(time=self.time))


@pytest.fixture
def walk(layer):
    made = []

    def make(**style):
        made.append(Walk(layer, **style))
        return made[-1]

    yield make
    for one in made:
        one.trail.close()
        one.tensor.close()


def lines_through(layer, picture, places):
    """What lines look like that go through the same places as trails, but for their round ends."""
    lines = layer("lines", position=np.ascontiguousarray(places.transpose(1, 0, 2)), color="#ffffff", width=3.0)
    return shown_coverage(picture([lines], CAMERA, VIEW))


def shown(picture, walk):
    """The picture without a moment: none is remembered for it."""
    kept = walk.trail.prepare
    walk.trail.prepare = lambda moment=None: kept(None)
    try:
        return picture([walk.trail], CAMERA, VIEW)[..., 1] / 255  # of what blends, coverage is the share that is shown
    finally:
        walk.trail.prepare = kept


def agrees(got, expected):
    return np.abs(got.sum() - expected.sum()) < 0.12 * expected.sum() and (np.abs(got - expected) > 0.5).mean() < 0.004


def test_trails_go_back_through_the_last_positions(layer, picture, walk):
    one = walk(length=5)
    for number in range(9):
        one.step(number)
    assert agrees(shown(picture, one), lines_through(layer, picture, one.places[4:9]))
    assert not agrees(shown(picture, one), lines_through(layer, picture, one.places[3:9]))


def test_before_the_ring_is_full(layer, picture, walk):
    one = walk(length=50)
    one.step(0)
    assert shown(picture, one).max() < 0.01
    for number in (1, 2):
        one.step(number)
    assert agrees(shown(picture, one), lines_through(layer, picture, one.places[:3]))


def test_time_that_stands_still_or_goes_back(layer, picture, walk):
    one = walk(length=20)
    for number in range(4):
        one.step(number)
    one.step(8, passed=0.0)
    assert agrees(shown(picture, one), lines_through(layer, picture, one.places[:4]))
    one.step(5, passed=-0.2)
    for number in range(6, 11):
        one.step(number)
    assert agrees(shown(picture, one), lines_through(layer, picture, one.places[5:11]))


def test_only_as_often_as_asked_for(layer, picture, walk):
    one = walk(length=20, sample_interval=0.25)
    for number in range(8):
        one.step(number)
    assert agrees(shown(picture, one), lines_through(layer, picture, one.places[[0, 3, 6]]))


def test_another_length_and_a_fade(layer, picture, walk):
    one = walk(length=6)
    for number in range(6):
        one.step(number)
    full = shown(picture, one).sum()
    one.trail.style.change("fade", 1.0)
    assert shown(picture, one).sum() < 0.95 * full
    one.trail.style.change("length", 3)
    for number in range(6, 12):
        one.step(number)
    one.trail.style.change("fade", 0.0)
    assert agrees(shown(picture, one), lines_through(layer, picture, one.places[9:12]))


def test_a_nan_is_left_out(layer, picture, walk):
    one = walk(length=20)
    one.places[2, 1] = np.nan
    for number in range(5):
        one.step(number)
    assert agrees(shown(picture, one), lines_through(layer, picture, one.places[:5]))


def test_trails_are_picked_by_row_and_move_no_geometry(gpu, layer, picture, walk):
    one = walk(length=8)
    one.places[:, :, 1] = np.arange(4) * 0.3 - 0.45
    one.places[:, :, 0] = np.linspace(-0.8, 0.8, 12)[:, None]
    one.places[:, :, 2] = 0
    for number in range(12):
        one.step(number)
    camera = OrbitCamera(distance=4.0, yaw=0.0, pitch=0.0, fov=40.0)
    cursors = on_screen(camera, np.array([[0.5, 0.3 * row - 0.45, 0.0] for row in range(4)]))
    got = []
    before = gpu.meter.read()["geometry"]
    for cursor in cursors:
        Picker(gpu).pick([one.trail], camera, SIZE, tuple(cursor), got.append)
    gpu.wait_idle()
    assert [seen.row for seen in got] == [0, 1, 2, 3]
    one.trail.prepare(MOMENT._replace(time=99.0))
    picture([one.trail], CAMERA)
    assert gpu.meter.read()["geometry"] == before


def test_more_than_is_bound_is_refused(gpu, layer, monkeypatch):
    monkeypatch.setattr(gpu, "limits", {**gpu.limits, "max-storage-buffer-binding-size": 1000})
    with pytest.raises(LimitError, match="48 positions of 5 rows are 2,880 bytes; this GPU binds 1,000"):
        layer("trails", position=np.zeros((5, 3), np.float32))
