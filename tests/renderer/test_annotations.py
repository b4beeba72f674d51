"""What a picture is read by: colours, ticks and numbers in their places, and nothing of it where it is off."""

import numpy as np
import pytest
import wgpu

from vertigrad.errors import ParameterError
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.annotations.font import RIM, font
from vertigrad.renderer.annotations.page import ColorBar, axis_names, bar_places, em_of, headings
from vertigrad.renderer.annotations.room import Room
from vertigrad.renderer.colormap import colormap_colors
from vertigrad.tensor import Tensor

from . import ticks_twin as twin
from .conftest import PLAIN

SIZE = (320, 240)
RAISED = twin.RAISED + "⁻"
NOISE = 3  # levels of the dither, three colours together


@pytest.fixture
def front():
    """One world unit is 30 pixels, the origin in the middle."""
    camera = OrbitCamera(distance=10.0, orthographic=True)
    camera.distance *= 4.0 / camera.half_height
    return camera


def view(**changes):
    return View(**{**PLAIN, **changes})


def legend(layer, title="speed", unit="m/s", colormap="viridis", range="auto", values=(0.0, 1.0)):
    """A layer with a colour bar, its points out of the picture."""
    place = np.full((len(values), 3), 50.0, np.float32)
    points = layer("points", {"colormap": colormap, "range": range}, position=place, color=np.float32(values))
    points.colorbar = ColorBar(title=title, unit=unit)
    return points


def place_of_bar(points, size=SIZE, wanted=None):
    wanted = wanted or view()
    return [round(part) for part in bar_places(size, headings([points]), font(em_of(wanted, size)))[0][:4]]


def bar_ticks(range_, height):
    wide, close = (twin.ticks(*range_, height / (ems * 14)) for ems in (2.4, 1.2))
    return close if len(wide) < 3 and len(close) <= 1 + height / (1.4 * 14) else wide


def row_of(value, range_, place):
    _, top, _, height = place
    share = (value - range_[0]) / (range_[1] - range_[0])
    return round(top + height - share * (height - 1) - 0.5)


def stamped(picture, words, pen):
    """Whether the letters of `words` stand with their pen at this pixel."""
    face, x = font(14), pen[0]
    for letter in words:
        row = 13 + RAISED.index(letter) if letter in RAISED else face.row(letter)
        u, v, w, h, left, top, advance, _ = face.table[row]
        cover = face.atlas[int(v) + RIM : int(v + h) - RIM, int(u) + RIM : int(u + w) - RIM, 0]
        at_x, at_y = round(float(x)) + int(left) + RIM, int(pen[1] + top) + RIM
        shown = picture[at_y : at_y + cover.shape[0], at_x : at_x + cover.shape[1], 1]
        if shown.shape != cover.shape or np.any(shown[cover > 230] < 180) or np.any(shown[cover < 20] > 120):
            return False
        x += advance
    return True


# colour bars


@pytest.mark.parametrize("format", ["rgba8unorm", "rgba8unorm-srgb"])
def test_the_bar_has_the_colours_of_the_colormap(layer, picture, front, format):
    points = legend(layer, colormap="batlow", range=(0.0, 1.0))
    shown = picture([points], front, view(), SIZE, format)
    left, top, width, height = place_of_bar(points)
    along = 1.0 - (np.arange(height) + 0.5) / height
    wanted = colormap_colors("batlow")[np.round(255 * along).astype(int), :3].astype(int)
    for column in (left, left + width - 1):
        assert np.abs(shown[top : top + height, column].astype(int) - wanted).max() <= 3


@pytest.mark.parametrize("range_", [(0.0, 1.0), (-4.0, 4.0), (240.0, 1080.0), (0.0, 3e-5)])
def test_ticks_and_numbers_stand_where_their_values_are(layer, picture, front, range_):
    points = legend(layer, range=range_)
    shown = picture([points], front, view(), SIZE)
    place = place_of_bar(points)
    ticks = bar_ticks(range_, place[3])
    assert len(ticks) >= 3
    beside = shown[place[1] - 1 :, place[0] + place[2] + 3].astype(int).sum(axis=-1)
    rows = [row_of(float(tick.value), range_, place) for tick in ticks]
    assert {int(row) + place[1] - 1 for row in np.flatnonzero(beside > 200)} == set(rows)
    for tick, row in zip(ticks, rows, strict=True):
        pen = place[0] + place[2] + 8, round(row + 0.5 + 0.5 * 0.71 * 14)
        assert stamped(shown, tick.written, pen), tick
        assert not stamped(shown, tick.written.translate(str.maketrans("012345", "789678")), pen)


def test_the_title_stands_above_with_its_unit(layer, picture, front):
    points = legend(layer, range=(0.0, 1.0), title="Tiefe", unit="µm")
    shown = picture([points], front, view(), SIZE)
    left, top, *_ = place_of_bar(points)
    pen = left, round(top - 1.05 * 14)
    assert stamped(shown, "Tiefe", pen)
    assert not stamped(shown, "Taefe", pen)


def test_an_automatic_range_is_the_one_that_the_colours_have(layer, picture, front):
    shown = picture([legend(layer, values=(2.0, 7.0, np.nan, 4.0))], front, view(), SIZE)
    np.testing.assert_array_equal(shown, picture([legend(layer, range=(2.0, 7.0))], front, view(), SIZE))
    assert shown.max() > 200


def test_it_follows_the_values_within_the_same_picture(gpu, layer, picture, front):
    with Tensor.from_numpy(np.float32([0, 1])) as values:
        place = np.full((2, 3), 50.0, np.float32)
        points = layer("points", {"colormap": "viridis"}, position=place, color=values)
        points.colorbar = ColorBar(title="speed", unit="m/s")
        before = picture([points], front, view(), SIZE)
        with Tensor.from_numpy(np.float32([0, 30])) as now:
            values[...] = now
        after = picture([points], front, view(), SIZE)
    np.testing.assert_array_equal(after, picture([legend(layer, range=(0.0, 30.0))], front, view(), SIZE))
    assert np.any(after != before)


def test_bars_of_several_layers_stand_side_by_side(layer, picture, front):
    one, other = (
        legend(layer, range=(0, 1), title="first"),
        legend(layer, range=(0, 1), title="a very long second title"),
    )
    places = bar_places(SIZE, headings([one, other]), font(14))
    assert places[0][0] + 40 < places[1][0]
    assert places[1][0] + font(14).width("a very long second title [m/s]") < SIZE[0]
    shown = picture([one, other], front, view(), SIZE).astype(int).sum(axis=-1)
    for left, top, width, height, _ in places:
        assert shown[int(top) + 1 : int(top + height) - 1, int(left) : int(left + width)].min() > 100


def test_which_layers_have_a_bar(layer, picture, front):
    points = legend(layer, range=(0.0, 1.0))
    named = picture([points], front, view(), SIZE)
    assert picture([points], front, view(color_bars="none"), SIZE).max() <= 1
    points.colorbar = None
    assert picture([points], front, view(), SIZE).max() <= 1
    points.colorbar = ColorBar(title="points")
    wanted = picture([points], front, view(), SIZE)
    points.colorbar = None
    np.testing.assert_array_equal(picture([points], front, view(color_bars="all"), SIZE), wanted)
    assert np.any(wanted != named)


@pytest.mark.parametrize("range_", [(0.0, 1.0), "auto"])
@pytest.mark.parametrize("kind", ["volume", "isosurface", "image"])
def test_layers_of_grids_have_bars_too(layer, picture, front, kind, range_):
    grid = np.linspace(0, 1, 27, dtype=np.float32).reshape(3, 3, 3)
    style = {"range": range_, "colormap": "viridis"}
    if kind == "image":
        drawn = layer(kind, {**style, "centre": (50.0, 50.0, 50.0)}, pixels=grid.reshape(9, 3))
    else:
        drawn = layer(kind, style, **{"density" if kind == "volume" else "values": grid - 9.0}, color=grid)
    drawn.colorbar = ColorBar(title="speed", unit="m/s")
    shown = picture([drawn], front, view(), SIZE)
    left, top, *_ = place_of_bar(drawn)
    wanted = picture([legend(layer, range=(0.0, 1.0))], front, view(), SIZE)[top:, left:]
    np.testing.assert_array_equal(shown[top:, left:], wanted)


# the box, its rulers, and the scale bar


def cube(layer, low=(-1, -1, -1), high=(1, 1, 1)):
    """Points in two corners, too small to be seen."""
    return layer("points", {"emissive": 1.0}, position=np.float32([low, high]), size=1e-6, color="#000000")


def test_the_box_is_drawn_around_everything(layer, picture, front):
    shown = picture([cube(layer)], front, view(axes=True), SIZE).astype(int).sum(axis=-1)
    middle = SIZE[0] // 2, SIZE[1] // 2
    row, column = shown[middle[1] + 7], shown[:, middle[0] + 7]
    for line in (row, column):
        centre = len(line) // 2
        assert {centre - 30, centre + 30} <= {int(place) + k for place in np.flatnonzero(line > 60) for k in (0, 1)}
    assert shown[: middle[1] - 50].max() <= NOISE


def test_numbers_of_the_rulers_stand_below_and_on_the_left(layer, picture, front):
    front.distance *= 0.5
    shown = picture([cube(layer)], front, view(axes=True), SIZE)
    x, y = SIZE[0] // 2, SIZE[1] // 2
    for value in (-1, 0, 1):
        words = f"{value}.0".replace("-", "−") if value else "0"
        width = font(14).width(words)
        below = round(x + 60 * value - width / 2), round(y + 60 + 10 + 0.71 * 14)
        beside = round(x - 60 - 10 - width), round(y - 60 * value + 0.355 * 14)
        for pen in (below, beside):
            assert any(stamped(shown, words, (pen[0] + i, pen[1] + j)) for i in (-1, 0, 1) for j in (-1, 0, 1)), pen
    assert not stamped(shown, "7", (round(x - 4), round(y + 60 + 10 + 0.71 * 14)))


def test_a_ruler_without_room_leaves_numbers_out(layer, picture, front):
    shown = picture([cube(layer)], front, view(axes=True), SIZE)
    x, y = SIZE[0] // 2, SIZE[1] // 2
    for words, value in (("0", 0.0), ("0.5", 0.5)):
        pen = round(x - 30 - 10 - font(14).width(words)), round(y - 30 * value + 0.355 * 14)
        found = any(stamped(shown, words, (pen[0] + i, pen[1] + j)) for i in (-1, 0, 1) for j in (-1, 0, 1))
        assert found == (value == 0.0)


def test_a_box_of_the_scene_own_needs_no_layers(picture, front):
    shown = picture([], front, view(axes=True, axes_low=(-1, -1, -1), axes_high=(1, 1, 1)), SIZE)
    x, y = SIZE[0] // 2, SIZE[1] // 2
    assert shown[y + 7, x - 31 : x - 28].max() > 60


def test_the_box_is_calm(gpu, layer):
    """It goes out to round numbers, and stays while things move about in it."""
    with Tensor.from_numpy(np.float32([[-0.97, -0.42, 0.0], [0.93, 0.44, np.nan], [0.93, 0.44, 0.31]])) as position:
        points, room = layer("points", position=position), Room(gpu)

        def corners(scale=1.0):
            with Tensor.from_numpy(start * np.float32(scale)) as now:
                position[...] = now
            points.prepare()
            room.record([points])
            gpu.submit()
            return np.frombuffer(gpu.device.queue.read_buffer(room.buffer), np.float32).reshape(2, 4)[:, :3]

        start = position.numpy()
        first = corners()
        np.testing.assert_allclose(first, [[-1, -0.6, 0], [1, 0.6, 0.4]], atol=1e-6)
        np.testing.assert_array_equal(corners(0.8), first)
        np.testing.assert_allclose(corners(2.0), [[-2, -1, 0], [2, 1, 1]], atol=1e-6)
        assert np.ptp(corners(0.3)[:, 0]) < 1.0
        np.testing.assert_array_equal(corners(np.nan), corners(0.3))


def test_names_of_axes():
    assert axis_names(view()) == ["x", "y", "z"]
    assert axis_names(view(unit="m", axis_names="east, up [km]")) == ["east [m]", "up [km]", "z [m]"]


@pytest.mark.parametrize("height", [4.0, 3.67, 0.03, 777.0])
def test_the_scale_bar_is_as_long_as_it_says(picture, front, height):
    front.distance *= height / front.half_height
    pixel = 2 * height / SIZE[1]
    shown = picture([], front, view(scale_bar=True), SIZE)
    line = shown[SIZE[1] - 23].astype(int).sum(axis=-1)
    length = np.count_nonzero(line > 300)
    found = [m * 10.0**e / pixel for e in range(-8, 8) for m in (1, 2, 5)]
    best = max(size for size in found if size <= 180)
    assert abs(length - best) <= 1
    assert np.flatnonzero(line > 300)[0] == 22


def test_the_scale_bar_measures_at_the_target_in_perspective(picture):
    camera = OrbitCamera(distance=7.0, fov=40.0)
    shown = picture([], camera, view(scale_bar=True), SIZE)
    pixel = 2 * camera.half_height / SIZE[1]
    length = np.count_nonzero(shown[SIZE[1] - 23].astype(int).sum(axis=-1) > 300)
    assert abs(length - 2.0 / pixel) <= 1


# names at places


def test_a_label_stands_over_its_place_also_where_something_is_before_it(layer, picture, front):
    ball = layer("points", {"emissive": 1.0, "brightness": 1e-6}, position=np.float32([[1, 1, 5]]), size=0.8)
    shown = picture([ball], front, view(labels="two words 1 1 0; gone 99 0 0"), SIZE)
    width = font(14).width("two words")
    pen = round(SIZE[0] / 2 + 30 - width / 2), round(SIZE[1] / 2 - 30 - 9)
    assert any(stamped(shown, "two words", (pen[0] + i, pen[1])) for i in (-1, 0, 1))
    assert picture([ball], front, view(), SIZE).max() <= 1


def test_a_label_behind_the_eye_is_not_seen(picture):
    camera = OrbitCamera(distance=5.0)
    assert picture([], camera, view(labels="behind 0 0 9"), SIZE).max() <= 1
    assert picture([], camera, view(labels="before 0 0 1"), SIZE).max() > 180


@pytest.mark.parametrize("text", ["summit", "summit 1 2", "1 2 3", "summit 1 2 nan", "a 0 0 0; b 0 0"])
def test_what_is_no_label_is_refused(text):
    with pytest.raises(ParameterError, match="is no name with its x, y and z"):
        View.parse({"labels": text})


# the floor


def test_lines_of_the_floor_lie_at_round_places(picture, front):
    front.pitch = np.pi / 2
    shown = picture([], front, view(floor="height"), SIZE).astype(int).sum(axis=-1)
    row = shown[SIZE[1] // 2 + 7]
    lines = np.flatnonzero(row > row.mean() + 0.5 * row.std())
    wanted = {SIZE[0] // 2 + 30 * k + side for k in range(-5, 6) for side in (-1, 0)}
    assert set(lines.tolist()) <= wanted
    assert {SIZE[0] // 2 + 30 * k for k in range(-3, 4)} <= {place + k for place in lines.tolist() for k in (0, 1)}


@pytest.mark.parametrize("up", ["y", "z"])
def test_the_floor_is_hidden_by_what_stands_on_it_and_lies_under_everything(layer, picture, up):
    camera = OrbitCamera.from_position((0.0, 3.0, 6.0) if up == "y" else (0.0, -6.0, 3.0), (0, 0, 0), 40.0, up)
    ball = layer("points", {"emissive": 1.0, "brightness": 1e-6}, position=np.zeros((1, 3), np.float32), size=0.8)
    shown = picture([ball], camera, view(floor="under"), SIZE).astype(int).sum(axis=-1)
    assert shown[100:130, 150:170].max() <= NOISE, "the ball is black"
    assert np.count_nonzero(shown[190:] > 20) > 200
    higher = picture([ball], camera, view(floor="height", floor_height=1.0), SIZE).astype(int).sum(axis=-1)
    assert higher[100:130, 150:170].max() > 20, "it lies before the ball now"


# what it costs, and where it is not


def test_nothing_is_made_where_all_is_off(gpu, layer, front):
    points = legend(layer)
    renderer = Renderer(gpu, "rgba8unorm")
    texture = gpu.device.create_texture(size=(*SIZE, 1), format="rgba8unorm", usage=wgpu.TextureUsage.RENDER_ATTACHMENT)
    renderer.draw([points], front, view(color_bars="none"), texture.create_view(), SIZE)
    gpu.submit()
    assert renderer._annotations is None


def test_nothing_crosses_while_only_the_camera_moves(gpu, layer, front):
    points = legend(layer)
    renderer = Renderer(gpu, "rgba8unorm")
    texture = gpu.device.create_texture(size=(*SIZE, 1), format="rgba8unorm", usage=wgpu.TextureUsage.RENDER_ATTACHMENT)
    target, wanted = texture.create_view(), view(axes=True, scale_bar=True, floor="under", unit="m")
    renderer.draw([points], front, wanted, target, SIZE)
    gpu.submit()
    before = gpu.meter.read()
    front.orbit(0.3, 0.2)
    renderer.draw([points], front, wanted, target, SIZE)
    gpu.submit()
    after = gpu.meter.read()
    for kind in ("geometry", "image", "diagnostics"):
        assert after[kind] == before[kind]


def test_a_picture_without_background_keeps_the_letters(gpu, layer, front):
    points = legend(layer, range=(0.0, 1.0))
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
    texture = gpu.device.create_texture(size=(*SIZE, 1), format="rgba8unorm", usage=usage)
    Renderer(gpu, "rgba8unorm", transparent=True).draw([points], front, view(), texture.create_view(), SIZE)
    from .conftest import read

    shown = read(gpu, texture).astype(int)
    left, top, width, height = place_of_bar(points)
    assert (shown[top : top + height, left : left + width, 3] == 255).all()
    assert shown[:100, :100].max() <= 1
    ink = shown[..., 3] == 255
    ink[top - 1 : top + height + 1, left - 1 : left + width + 1] = False
    assert shown[ink][:, :3].min() > 200, "letters are light, not darkened by what is not there"


@pytest.mark.parametrize(("background", "light"), [("#f4f1ea", False), ("#10131a", True)])
def test_ink_is_seen_on_any_background(picture, front, background, light):
    shown = picture([], front, view(scale_bar=True, background=background), SIZE).astype(int)
    line, behind = shown[SIZE[1] - 23, 60].sum(), shown[100, 100].sum()
    assert (line > behind + 250) if light else (line < behind - 250)
