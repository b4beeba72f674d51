"""Annotations: colors, ticks and numbers at their positions, and no cost when disabled."""

import numpy as np
import pytest
import wgpu
from PIL import ImageFont

from vertigrad import resources
from vertigrad.errors import InputError, ParameterError
from vertigrad.renderer import OrbitCamera, Renderer, View
from vertigrad.renderer.annotations import annotations, axes_bounds
from vertigrad.renderer.annotations.axes_bounds import AxesBounds
from vertigrad.renderer.annotations.font import RIM, TEXT, font
from vertigrad.renderer.annotations.overlay import ColorBar, axis_names, bar_layouts, em_size, headings
from vertigrad.renderer.colormap import colormap_colors
from vertigrad.tensor import Tensor

from . import ticks_reference as reference
from .conftest import PLAIN, read

SIZE = (320, 240)
RAISED = reference.RAISED + "⁻"
NOISE = 3  # levels of the dither, sum of three channels


@pytest.fixture
def front():
    """One world unit is 30 pixels, the origin is in the center."""
    camera = OrbitCamera(distance=10.0, orthographic=True)
    camera.distance *= 4.0 / camera.half_height
    return camera


def view(**changes):
    return View(**{**PLAIN, **changes})


def legend(layer, title="speed", unit="m/s", colormap="viridis", range="auto", values=(0.0, 1.0)):
    """A layer with a color bar, its points outside of the image."""
    point = np.full((len(values), 3), 50.0, np.float32)
    points = layer("points", {"colormap": colormap, "range": range}, position=point, color=np.float32(values))
    points.colorbar = ColorBar(title=title, unit=unit)
    return points


def position_of_bar(points, size=SIZE, expected=None):
    expected = expected or view()
    return [round(part) for part in bar_layouts(size, headings([points]), font(em_size(expected, size)))[0][:4]]


def bar_ticks(range_, height):
    wide, close = (reference.ticks(*range_, height / (ems * 14)) for ems in (2.4, 1.2))
    return close if len(wide) < 3 and len(close) <= 1 + height / (1.4 * 14) else wide


def row_of(value, range_, point):
    _, top, _, height = point
    share = (value - range_[0]) / (range_[1] - range_[0])
    return round(top + height - share * (height - 1) - 0.5)


def stamped(render, words, pen):
    """Whether the text `words` is drawn with its pen at this pixel."""
    face, x = font(14), pen[0]
    for letter in words:
        row = 13 + RAISED.index(letter) if letter in RAISED else face.row(letter)
        u, v, w, h, left, top, advance, _ = face.table[row]
        cover = face.atlas[int(v) + RIM : int(v + h) - RIM, int(u) + RIM : int(u + w) - RIM, 0]
        at_x, at_y = round(float(x)) + int(left) + RIM, int(pen[1] + top) + RIM
        shown = render[at_y : at_y + cover.shape[0], at_x : at_x + cover.shape[1], 1]
        if shown.shape != cover.shape or np.any(shown[cover > 230] < 180) or np.any(shown[cover < 20] > 120):
            return False
        x += advance
    return True


# color bars


@pytest.mark.parametrize("format", ["rgba8unorm", "rgba8unorm-srgb"])
def test_the_bar_has_the_colors_of_the_colormap(layer, render, front, format):
    points = legend(layer, colormap="batlow", range=(0.0, 1.0))
    shown = render([points], front, view(), SIZE, format)
    left, top, width, height = position_of_bar(points)
    along = 1.0 - (np.arange(height) + 0.5) / height
    expected = colormap_colors("batlow")[np.round(255 * along).astype(int), :3].astype(int)
    for column in (left, left + width - 1):
        assert np.abs(shown[top : top + height, column].astype(int) - expected).max() <= 3


@pytest.mark.parametrize("range_", [(0.0, 1.0), (-4.0, 4.0), (240.0, 1080.0), (0.0, 3e-5)])
def test_ticks_and_numbers_are_at_the_positions_of_their_values(layer, render, front, range_):
    points = legend(layer, range=range_)
    shown = render([points], front, view(), SIZE)
    point = position_of_bar(points)
    ticks = bar_ticks(range_, point[3])
    assert len(ticks) >= 3
    right_edge = shown[point[1] - 1 :, point[0] + point[2] + 3].astype(int).sum(axis=-1)
    rows = [row_of(float(tick.value), range_, point) for tick in ticks]
    assert {int(row) + point[1] - 1 for row in np.flatnonzero(right_edge > 200)} == set(rows)
    for tick, row in zip(ticks, rows, strict=True):
        pen = point[0] + point[2] + 8, round(row + 0.5 + 0.5 * 0.71 * 14)
        assert stamped(shown, tick.written, pen), tick
        assert not stamped(shown, tick.written.translate(str.maketrans("012345", "789678")), pen)


def test_the_title_is_above_with_its_unit(layer, render, front):
    points = legend(layer, range=(0.0, 1.0), title="Tiefe", unit="µm")
    shown = render([points], front, view(), SIZE)
    left, top, *_ = position_of_bar(points)
    pen = left, round(top - 1.05 * 14)
    assert stamped(shown, "Tiefe", pen)
    assert not stamped(shown, "Taefe", pen)


def test_an_automatic_range_is_that_of_the_colors(layer, render, front):
    shown = render([legend(layer, values=(2.0, 7.0, np.nan, 4.0))], front, view(), SIZE)
    np.testing.assert_array_equal(shown, render([legend(layer, range=(2.0, 7.0))], front, view(), SIZE))
    assert shown.max() > 200


def test_it_follows_the_values_within_the_same_image(gpu, layer, render, front):
    with Tensor.from_numpy(np.float32([0, 1])) as values:
        point = np.full((2, 3), 50.0, np.float32)
        points = layer("points", {"colormap": "viridis"}, position=point, color=values)
        points.colorbar = ColorBar(title="speed", unit="m/s")
        before = render([points], front, view(), SIZE)
        with Tensor.from_numpy(np.float32([0, 30])) as now:
            values[...] = now
        after = render([points], front, view(), SIZE)
    np.testing.assert_array_equal(after, render([legend(layer, range=(0.0, 30.0))], front, view(), SIZE))
    assert np.any(after != before)


def test_a_plate_with_round_corners_is_behind_a_bar(layer, render, front):
    filling = {"placement": "behind", "screen_fraction": 1.0, "margin": 0.0, "anchor": "middle"}
    wall = layer("image", filling, pixels=np.full((3, 4, 3), 230, np.uint8))
    points = legend(layer, range=(0.0, 1.0))
    shown = render([wall, points], front, view(background="#204060"), SIZE).astype(float)
    left, top, _, height, block = bar_layouts(SIZE, ["speed [m/s]"], font(14))[0]
    around, title, radius = 11, 28, 0.6 * 14
    low = np.array([left - around, top - title - around])
    high = np.array([left + block + around, top + height + around])
    x, y = np.meshgrid(np.arange(SIZE[0]) + 0.5, np.arange(SIZE[1]) + 0.5)
    pixels = np.stack([x, y], axis=-1)
    away = np.abs(pixels - 0.5 * (low + high)) - 0.5 * (high - low) + radius
    cover = np.clip(radius + 0.5 - np.linalg.norm(np.maximum(away, 0), axis=-1), 0, 1)
    cover[((pixels < low) | (pixels > high)).any(axis=-1)] = 0.0
    expected = 230 + 0.6 * cover[..., None] * (np.array([0x20, 0x40, 0x60]) - 230)
    inner = ((pixels > low + 4) & (pixels < high - 4)).all(axis=-1)  # the area of text and colors
    assert np.abs(shown - expected)[~inner].max() <= 2
    assert (cover[~inner] == 1).sum() > 500 and ((cover > 0) & (cover < 1)).sum() > 20


def test_bars_of_several_layers_are_next_to_each_other(layer, render, front):
    one, other = (
        legend(layer, range=(0, 1), title="first"),
        legend(layer, range=(0, 1), title="a very long second title"),
    )
    positions = bar_layouts(SIZE, headings([one, other]), font(14))
    assert positions[0][0] + 40 < positions[1][0]
    assert positions[1][0] + font(14).width("a very long second title [m/s]") < SIZE[0]
    shown = render([one, other], front, view(), SIZE).astype(int).sum(axis=-1)
    for left, top, width, height, _ in positions:
        assert shown[int(top) + 1 : int(top + height) - 1, int(left) : int(left + width)].min() > 100


def test_bars_do_not_hide_a_small_image(layer, render, front):
    """They cover at most a quarter of it; the first ones that fit are shown, and in larger images all of them."""
    points = [legend(layer, range=(0.0, 1.0), title=title) for title in ("speed", "depth", "a rather long title")]

    def hidden(bars, size):
        rows, columns = np.nonzero(render(bars, front, view(), size).astype(int).sum(axis=-1) > NOISE)
        return (size[0] - columns.min()) * (size[1] - rows.min()) / (size[0] * size[1]) if len(rows) else 0.0

    assert 0.1 < hidden(points[:1], (320, 200)) <= 0.25, "one fits"
    assert hidden(points, (320, 200)) == hidden(points[:1], (320, 200)), "others are left out"
    assert hidden(points[:1], (160, 100)) == hidden(points[2:], (320, 200)) == 0.0
    assert hidden(points[:2], (320, 240)) > 0.25, "as large as usual"


def test_which_layers_have_a_bar(layer, render, front):
    points = legend(layer, range=(0.0, 1.0))
    named = render([points], front, view(), SIZE)
    assert render([points], front, view(color_bars="none"), SIZE).max() <= 1
    points.colorbar = None
    assert render([points], front, view(), SIZE).max() <= 1
    points.colorbar = ColorBar(title="points")
    expected = render([points], front, view(), SIZE)
    points.colorbar = None
    np.testing.assert_array_equal(render([points], front, view(color_bars="all"), SIZE), expected)
    assert np.any(expected != named)


@pytest.mark.parametrize("range_", [(0.0, 1.0), "auto", "symmetric"])
@pytest.mark.parametrize("kind", ["volume", "isosurface", "image"])
def test_layers_of_grids_have_bars_too(layer, render, front, kind, range_):
    grid = np.linspace(0, 1, 27, dtype=np.float32).reshape(3, 3, 3)
    style = {"range": range_, "colormap": "viridis"}
    if kind == "image":
        drawn = layer(kind, {**style, "center": (50.0, 50.0, 50.0)}, pixels=grid.reshape(9, 3))
    else:
        drawn = layer(kind, style, **{"density" if kind == "volume" else "values": grid - 9.0}, color=grid)
    drawn.colorbar = ColorBar(title="speed", unit="m/s")
    shown = render([drawn], front, view(), SIZE)
    left, top, *_ = position_of_bar(drawn)
    ends = (-1.0, 1.0) if range_ == "symmetric" else (0.0, 1.0)
    expected = render([legend(layer, range=ends)], front, view(), SIZE)[top:, left:]
    np.testing.assert_array_equal(shown[top:, left:], expected)


# axes, their box, and the scale bar


def cube(layer, low=(-1, -1, -1), high=(1, 1, 1)):
    """Points in two corners, too small to be visible."""
    return layer("points", {"emissive": 1.0}, position=np.float32([low, high]), size=1e-6, color="#000000")


def test_the_font_has_every_character_and_its_file_is_declared(monkeypatch):
    face = ImageFont.truetype(str(resources.font()), 14, layout_engine=ImageFont.Layout.BASIC)
    shapes = [bytes(face.getmask(letter)) for letter in TEXT if not letter.isspace()]
    assert bytes(face.getmask("\uffff")) not in shapes and all(map(any, shapes))
    assert font(14).row("\uffff") == font(14).row("?") != font(14).row("a")
    monkeypatch.setattr(resources, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="imgui_bundle is not there"):
        resources.font()


def test_the_box_is_drawn_around_everything(layer, render, front):
    shown = render([cube(layer)], front, view(axes=True), SIZE).astype(int).sum(axis=-1)
    middle = SIZE[0] // 2, SIZE[1] // 2
    row, column = shown[middle[1] + 7], shown[:, middle[0] + 7]
    for line in (row, column):
        center = len(line) // 2
        assert {center - 30, center + 30} <= {int(point) + k for point in np.flatnonzero(line > 60) for k in (0, 1)}
    assert shown[: middle[1] - 50].max() <= NOISE


def test_tick_labels_are_below_and_on_the_left(layer, render, front):
    front.distance *= 0.5
    shown = render([cube(layer)], front, view(axes=True), SIZE)
    x, y = SIZE[0] // 2, SIZE[1] // 2
    for value in (-1, 0, 1):
        words = f"{value}.0".replace("-", "−") if value else "0"
        width = font(14).width(words)
        below = round(x + 60 * value - width / 2), round(y + 60 + 10 + 0.71 * 14)
        right_edge = round(x - 60 - 10 - width), round(y - 60 * value + 0.355 * 14)
        for pen in (below, right_edge):
            assert any(stamped(shown, words, (pen[0] + i, pen[1] + j)) for i in (-1, 0, 1) for j in (-1, 0, 1)), pen
    assert not stamped(shown, "7", (round(x - 4), round(y + 60 + 10 + 0.71 * 14)))


def around(shown, words, pen):
    """Whether `words` are drawn there, to a pixel of rounding."""
    return any(stamped(shown, words, (pen[0] + i, pen[1] + j)) for i in (-1, 0, 1) for j in (-1, 0, 1))


ENDLESS = "a name that is all but as long as the picture is wide"


@pytest.mark.parametrize(
    ("name", "half"), [("up", 3.0), ("a long name", 3.0), ("up", 4.9), ("a long name", 4.9), (ENDLESS, 3.0)]
)
def test_axis_names_are_outside_the_numbers_or_above_if_there_is_no_space(render, front, name, half):
    """The box extends `half` to each side and is 2 high: 30 pixels per unit."""
    box = {"axes_low": (-half, -2, -1), "axes_high": (half, 2, 1), "axis_names": f"east, {name}"}
    shown = render([], front, view(axes=True, **box), SIZE)
    x, y, letters = SIZE[0] / 2, SIZE[1] / 2, font(14)
    capital = 0.71 * 14
    below = y + 60 + 15 + capital + capital  # a tick, gaps before and behind the numbers, and these
    assert around(shown, "east", (round(x - letters.width("east") / 2), round(below)))
    ticks = reference.ticks(-2, 2, np.ceil(5 * 4 / (2 * half)))
    numbers = max(letters.width(tick.written) for tick in ticks)
    left = x - 30 * half - 15 - numbers - letters.width(name)
    over = max(x - 30 * half - letters.width(name) / 2, 7), y - 60 - 14
    over = min(over[0], max(SIZE[0] - letters.width(name) - 7, 0)), over[1]
    pen = (left, y + capital / 2) if left >= 0 else over
    assert around(shown, name, (round(pen[0]), round(pen[1]))), (left, pen)


def test_ticks_of_axes_are_short_lines_outward(render, front):
    """Each one pixel wide and five long, through the middle of a pixel here; at the left and below."""
    front.target = (0.5 / 30, 0.5 / 30, 0.0)
    shown = render([], front, view(axes=True, axes_low=(-3, -2, -1), axes_high=(3, 2, 1)), SIZE)[..., 1]
    x, y = SIZE[0] // 2 - 1, SIZE[1] // 2
    below, right_edge = (
        shown[y + 61 : y + 67, 63:],
        shown[:, x - 96 : x - 90].T[::-1],
    )  # numbers are to the left of pixel 63
    across = [x + 30 * int(tick.value) - 63 for tick in reference.ticks(-3, 3, 5)]
    up = [y + 30 * int(tick.value) for tick in reference.ticks(-2, 2, 4)]
    for line, positions in ((below, across), (right_edge, up)):
        for near in line[1:4]:
            assert np.flatnonzero(near > 100).tolist() == positions
        assert line[5].max() <= 10, "no longer than that"


def test_grid_lines_cross_the_whole_face_at_each_tick(render, front):
    """On the back face: those at ticks of x are vertical, those at ticks of y horizontal."""
    front.target = (0.5 / 30, 0.5 / 30, 0.0)
    shown = render([], front, view(axes=True, axes_low=(-3, -2, -1), axes_high=(3, 2, 1)), SIZE)[..., 1].astype(int)
    x, y = SIZE[0] // 2 - 1, SIZE[1] // 2
    face = shown[y - 58 : y + 59, x - 88 : x + 89]  # without the edges
    lit = face > 8
    across = [88 + 30 * int(tick.value) for tick in reference.ticks(-3, 3, 5) if abs(tick.value) < 2.9]
    up = [58 - 30 * int(tick.value) for tick in reference.ticks(-2, 2, 4) if abs(tick.value) < 1.9]
    assert np.flatnonzero(lit.mean(axis=0) > 0.9).tolist() == sorted(across)
    assert np.flatnonzero(lit.mean(axis=1) > 0.9).tolist() == sorted(up)


def test_an_axis_without_space_omits_labels(layer, render, front):
    shown = render([cube(layer)], front, view(axes=True), SIZE)
    x, y = SIZE[0] // 2, SIZE[1] // 2
    for words, value in (("0", 0.0), ("0.5", 0.5)):
        pen = round(x - 30 - 10 - font(14).width(words)), round(y - 30 * value + 0.355 * 14)
        found = any(stamped(shown, words, (pen[0] + i, pen[1] + j)) for i in (-1, 0, 1) for j in (-1, 0, 1))
        assert found == (value == 0.0)


def test_an_explicit_box_needs_no_layers(render, front):
    shown = render([], front, view(axes=True, axes_low=(-1, -1, -1), axes_high=(1, 1, 1)), SIZE)
    x, y = SIZE[0] // 2, SIZE[1] // 2
    assert shown[y + 7, x - 31 : x - 28].max() > 60


def test_an_incomplete_explicit_box_is_not_drawn_without_layers(layer, render, front):
    for source in ({"axes_low": (-1, -1, -1)}, {"axes_high": (1, 1, 1)}):
        assert render([], front, view(axes=True, **source), SIZE).max() <= 1
    away = layer("points", position=np.full((4, 3), np.nan, np.float32))
    assert render([away], front, view(axes=True, axes_low=(-1, -1, -1)), SIZE).max() <= 1


def test_the_box_changes_rarely(gpu, layer):
    """It extends to round numbers, and is constant while layers move inside."""
    with Tensor.from_numpy(np.float32([[-0.97, -0.42, 0.0], [0.93, 0.44, np.nan], [0.93, 0.44, 0.31]])) as position:
        points, bounds = layer("points", position=position), AxesBounds(gpu)

        def corners(scale=1.0):
            with Tensor.from_numpy(start * np.float32(scale)) as now:
                position[...] = now
            points.prepare()
            bounds.record([points])
            gpu.submit()
            return np.frombuffer(gpu.device.queue.read_buffer(bounds.buffer), np.float32).reshape(2, 4)[:, :3]

        start = position.numpy()
        first = corners()
        np.testing.assert_allclose(first, [[-1, -0.6, 0], [1, 0.6, 0.4]], atol=1e-6)
        np.testing.assert_array_equal(corners(0.8), first)
        np.testing.assert_allclose(corners(2.0), [[-2, -1, 0], [2, 1, 1]], atol=1e-6)
        assert np.ptp(corners(0.3)[:, 0]) < 1.0
        np.testing.assert_array_equal(corners(np.nan), corners(0.3))


@pytest.mark.parametrize("changes", [{"axes": True}, {"floor": "under"}, {"color_bars": "all"}])
def test_an_object_at_the_address_of_another_one_is_not_taken_for_it(gpu, layer, front, monkeypatch, changes):
    """An object may have the `id` of one that was collected; here all have the same."""
    for module in (annotations, axes_bounds):
        monkeypatch.setattr(module, "id", lambda _: 0, raising=False)
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
    texture = gpu.device.create_texture(size=(*SIZE, 1), format="rgba8unorm", usage=usage)

    def drawn(renderer, points):
        renderer.draw([points], front, view(**changes), texture.create_view(), SIZE)
        return read(gpu, texture)

    used, images = Renderer(gpu, "rgba8unorm"), []
    for name, half in (("speed", 1.5), ("depth", 1.0)):
        points = layer("points", position=np.float32([[-half] * 3, [half] * 3]), color=np.float32([0.0, 1.0]))
        points.name = name
        images.append(drawn(used, points))
        np.testing.assert_array_equal(images[-1], drawn(used, points))
        np.testing.assert_array_equal(images[-1], drawn(Renderer(gpu, "rgba8unorm"), points))
    assert (images[0] != images[1]).any()


def test_the_box_contains_every_row_of_every_layer(gpu, layer):
    """Many layers of many rows, with the outermost rows anywhere in them; and again for other layers."""

    def filled(rows, low, high, at):
        """Some of them interleaved with other numbers, at any offset and stride."""
        point = np.random.default_rng(rows).uniform(low, high, (rows, 3)).astype(np.float32)
        point[at[0]], point[at[1]] = low, high
        if rows % 2:
            return layer("points", position=point)
        state = np.full((rows + 5, 7), 1e6, np.float32)
        state[5:, 2:5] = point
        saved.append(Tensor.from_numpy(state))
        return layer("points", position=saved[-1][5:, 2:5])

    saved = []

    ends = [((-4, -2, -1), (6, 8, 3)), ((-9, 1, -3), (-2, 3, 7)), ((1, -5, 2), (3, 5, 4)), ((0, 0, 0), (0, 10, 1))]
    rows = [(5000, (4999, 2048)), (2049, (2048, 0)), (9999, (64 * 32, 5001)), (70, (69, 63))]
    layers = [filled(count, *box, at) for box, (count, at) in zip(ends, rows, strict=True)]
    bounds = AxesBounds(gpu)
    for chosen in ([0], [0, 1, 2, 3], [2], [3, 1], [1, 3, 0]):
        drawn = [layers[number] for number in chosen]
        for one in drawn:
            one.prepare()
        bounds.record(drawn)
        gpu.submit()
        found = np.frombuffer(gpu.device.queue.read_buffer(bounds.buffer), np.float32).reshape(2, 4)[:, :3]
        low, high = (pick([ends[number][end] for number in chosen], axis=0) for end, pick in ((0, np.min), (1, np.max)))
        step = {10: 1, 12: 2, 13: 2, 15: 2}[max(high - low)]
        np.testing.assert_allclose(found, [np.floor(low / step) * step, np.ceil(high / step) * step], atol=1e-5)
    for tensor in saved:
        tensor.close()


def test_names_of_axes():
    assert axis_names(view()) == ["x", "y", "z"]
    assert axis_names(view(unit="m", axis_names="east, up [km]")) == ["east [m]", "up [km]", "z [m]"]


@pytest.mark.parametrize("height", [4.0, 3.67, 0.03, 777.0])
def test_the_scale_bar_has_the_length_of_its_label(render, front, height):
    front.distance *= height / front.half_height
    pixel = 2 * height / SIZE[1]
    shown = render([], front, view(scale_bar=True), SIZE)
    line = shown[SIZE[1] - 23].astype(int).sum(axis=-1)
    length = np.count_nonzero(line > 300)
    found = [m * 10.0**e / pixel for e in range(-8, 8) for m in (1, 2, 5)]
    best = max(size for size in found if size <= 180)
    assert abs(length - best) <= 1
    assert np.flatnonzero(line > 300)[0] == 22


def test_the_scale_bar_measures_at_the_target_in_perspective(render):
    camera = OrbitCamera(distance=7.0, fov=40.0)
    shown = render([], camera, view(scale_bar=True), SIZE)
    pixel = 2 * camera.half_height / SIZE[1]
    length = np.count_nonzero(shown[SIZE[1] - 23].astype(int).sum(axis=-1) > 300)
    assert abs(length - 2.0 / pixel) <= 1


# labels


def test_a_label_is_above_its_position_even_when_occluded(layer, render, front):
    ball = layer("points", {"emissive": 1.0, "brightness": 1e-6}, position=np.float32([[1, 1, 5]]), size=0.8)
    shown = render([ball], front, view(labels="two words 1 1 0; gone 99 0 0"), SIZE)
    width = font(14).width("two words")
    pen = round(SIZE[0] / 2 + 30 - width / 2), round(SIZE[1] / 2 - 30 - 9)
    assert any(stamped(shown, "two words", (pen[0] + i, pen[1])) for i in (-1, 0, 1))
    assert render([ball], front, view(), SIZE).max() <= 1


def test_a_label_behind_the_eye_is_not_drawn(render):
    camera = OrbitCamera(distance=5.0)
    assert render([], camera, view(labels="behind 0 0 9"), SIZE).max() <= 1
    assert render([], camera, view(labels="before 0 0 1"), SIZE).max() > 180


@pytest.mark.parametrize("text", ["summit", "summit 1 2", "1 2 3", "summit 1 2 nan", "a 0 0 0; b 0 0"])
def test_an_invalid_label_is_rejected(text):
    with pytest.raises(ParameterError, match="is not a name with its x, y and z"):
        View.parse({"labels": text})


# the floor


def test_lines_of_the_floor_are_at_round_positions(render, front):
    front.pitch = np.pi / 2
    shown = render([], front, view(floor="height"), SIZE).astype(int).sum(axis=-1)
    row = shown[SIZE[1] // 2 + 7]
    lines = np.flatnonzero(row > row.mean() + 0.5 * row.std())
    expected = {SIZE[0] // 2 + 30 * k + side for k in range(-5, 6) for side in (-1, 0)}
    assert set(lines.tolist()) <= expected
    assert {SIZE[0] // 2 + 30 * k for k in range(-3, 4)} <= {point + k for point in lines.tolist() for k in (0, 1)}


@pytest.mark.parametrize("up", ["y", "z"])
def test_the_floor_is_below_everything_and_occluded_by_objects(layer, render, up):
    camera = OrbitCamera.from_position((0.0, 3.0, 6.0) if up == "y" else (0.0, -6.0, 3.0), (0, 0, 0), 40.0, up)
    ball = layer("points", {"emissive": 1.0, "brightness": 1e-6}, position=np.zeros((1, 3), np.float32), size=0.8)
    shown = render([ball], camera, view(floor="under"), SIZE).astype(int).sum(axis=-1)
    assert shown[100:130, 150:170].max() <= NOISE, "the ball is black"
    assert np.count_nonzero(shown[190:] > 20) > 200
    higher = render([ball], camera, view(floor="height", floor_height=1.0), SIZE).astype(int).sum(axis=-1)
    assert higher[100:130, 150:170].max() > 20, "it is in front of the ball now"


# cost


def test_disabled_annotations_create_nothing(gpu, layer, front):
    points = legend(layer)
    renderer = Renderer(gpu, "rgba8unorm")
    texture = gpu.device.create_texture(size=(*SIZE, 1), format="rgba8unorm", usage=wgpu.TextureUsage.RENDER_ATTACHMENT)
    renderer.draw([points], front, view(color_bars="none"), texture.create_view(), SIZE)
    gpu.submit()
    assert renderer._annotations is None


def test_nothing_is_uploaded_while_only_the_camera_moves(gpu, layer, front):
    points = legend(layer)
    renderer = Renderer(gpu, "rgba8unorm")
    texture = gpu.device.create_texture(size=(*SIZE, 1), format="rgba8unorm", usage=wgpu.TextureUsage.RENDER_ATTACHMENT)
    target, expected = texture.create_view(), view(axes=True, scale_bar=True, floor="under", unit="m")
    renderer.draw([points], front, expected, target, SIZE)
    gpu.submit()
    before = gpu.meter.read()
    front.orbit(0.3, 0.2)
    renderer.draw([points], front, expected, target, SIZE)
    gpu.submit()
    after = gpu.meter.read()
    for kind in ("geometry", "image", "diagnostics"):
        assert after[kind] == before[kind]


def test_an_image_without_background_has_the_text(gpu, layer, front):
    points = legend(layer, range=(0.0, 1.0))
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
    texture = gpu.device.create_texture(size=(*SIZE, 1), format="rgba8unorm", usage=usage)
    Renderer(gpu, "rgba8unorm", transparent=True).draw([points], front, view(), texture.create_view(), SIZE)
    from .conftest import read

    shown = read(gpu, texture).astype(int)
    left, top, width, height = position_of_bar(points)
    assert (shown[top : top + height, left : left + width, 3] == 255).all()
    assert shown[:100, :100].max() <= 1
    ink = shown[..., 3] == 255
    ink[top - 1 : top + height + 1, left - 1 : left + width + 1] = False
    assert shown[ink][:, :3].min() > 200, "letters are light, not darkened by what is not there"


@pytest.mark.parametrize(("background", "light"), [("#f4f1ea", False), ("#10131a", True)])
def test_text_is_readable_on_any_background(render, front, background, light):
    shown = render([], front, view(scale_bar=True, background=background), SIZE).astype(int)
    line, behind = shown[SIZE[1] - 23, 60].sum(), shown[100, 100].sum()
    assert (line > behind + 250) if light else (line < behind - 250)
