"""Drawing layers from tensors, and rejected input."""

import gc

import numpy as np
import pytest

from vertigrad.errors import LayoutError, ParameterError, UseAfterFree
from vertigrad.params.color_space import linear
from vertigrad.renderer import COLORMAPS, OrbitCamera
from vertigrad.renderer.colormap import colormap_colors
from vertigrad.renderer.layers import Layer, types
from vertigrad.renderer.layers.shapes import grid_triangles
from vertigrad.tensor import Tensor

from .light_reference import encoded, row_number

CAMERA = OrbitCamera(distance=4.0, yaw=0.4, pitch=0.5, fov=40.0)
RNG = np.random.default_rng(5)
N = 60
POSITION = RNG.uniform(-1, 1, (N, 3)).astype(np.float32)
COLOR = RNG.uniform(0, 1, (N, 3)).astype(np.float32)
SIZE = RNG.uniform(0.02, 0.2, N).astype(np.float32)


def grid(rows=7, columns=9):
    x, y = np.meshgrid(np.linspace(-1.2, 1.2, columns), np.linspace(-1, 1, rows))
    return np.stack([x, 0.3 * np.sin(3 * x + 2 * y), y], axis=-1).astype(np.float32)


def same(a, b, levels=0):
    return np.abs(a.astype(int) - b.astype(int)).max() <= levels


# drawing ------------------------------------------------------------------------------------------------------------


def test_the_same_values_in_any_layout(layer, render):
    """Packed, interleaved, from the middle of a block, padded to 16 bytes: the same image."""
    expected = render([layer("points", position=POSITION, color=COLOR, size=SIZE)], CAMERA)
    assert expected.max() > 100
    state = np.zeros((N + 5, 8), np.float32)
    state[5:, 0:3], state[5:, 3:6], state[5:, 7] = POSITION, COLOR, SIZE
    padded = np.concatenate([POSITION, np.full((N, 1), 9, np.float32)], axis=1)
    with Tensor.from_numpy(state, name="state") as whole, Tensor.from_numpy(padded) as wide:
        rows = whole[5:]
        interleaved = layer("points", position=rows[:, 0:3], color=rows[:, 3:6], size=rows[:, 7])
        assert same(render([interleaved], CAMERA), expected)
        from_padded = layer("points", position=wide[:, :3], color=COLOR, size=SIZE)
        assert same(render([from_padded], CAMERA), expected)


@pytest.mark.parametrize("kind", ["points", "surface"])
def test_one_color_in_every_form(layer, render, kind):
    position = POSITION if kind == "points" else grid()
    sizes = {"size": 0.1} if kind == "points" else {}
    rows = position.shape[:-1]
    red, green, blue = color = (51 / 255, 153 / 255, 1.0)
    expected = render([layer(kind, position=position, color=color, **sizes)], CAMERA)
    assert expected.max() > 100
    forms = [
        "#3399ff",
        (red, green, blue, 1.0),
        np.tile(np.float32(color), (*rows, 1)),
        np.tile(np.float32((*color, 1.0)), (*rows, 1)),
        np.tile(np.uint8((51, 153, 255, 255)), (*rows, 1)),
    ]
    for form in forms:
        assert same(render([layer(kind, position=position, color=form, **sizes)], CAMERA), expected, 1), form
    with Tensor.from_numpy(np.float32([color])) as one:
        everywhere = one.expand(int(np.prod(rows)), 3)
        assert same(render([layer(kind, position=position, color=everywhere, **sizes)], CAMERA), expected, 1)


@pytest.mark.turns(2)
@pytest.mark.parametrize("kind", ["points", "surface"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.uint32])
def test_a_scalar_uses_the_colormap(layer, render, kind, dtype):
    position = POSITION if kind == "points" else grid()
    sizes = {"size": 0.1} if kind == "points" else {}
    values = np.full(position.shape[:-1], 30, dtype)
    colors = colormap_colors("viridis")
    for low_high, entry in (((30, 60), 0), ((0, 30), 255), ((0, 60), 127.5), ((40, 60), 0), ((0, 20), 255)):
        style = {"colormap": "viridis", "range": low_high}
        got = render([layer(kind, style, position=position, color=values, **sizes)], CAMERA)
        nearest = colors[[int(np.floor(entry)), int(np.ceil(entry))], :3].mean(axis=0) / 255
        assert same(got, render([layer(kind, position=position, color=tuple(nearest), **sizes)], CAMERA), 3)
    flipped = layer(
        kind,
        {"colormap": "viridis", "range": (30, 60), "colormap_flip": True},
        position=position,
        color=values,
        **sizes,
    )
    last = layer(kind, position=position, color=tuple(colors[255, :3] / 255), **sizes)
    assert same(render([flipped], CAMERA), render([last], CAMERA), 2)


@pytest.mark.parametrize("range_", ["auto", "symmetric"])
@pytest.mark.parametrize("kind", ["points", "surface"])
def test_an_automatic_range_is_that_of_the_values(layer, render, kind, range_):
    position = POSITION if kind == "points" else grid()
    values = RNG.normal(3, 20, position.shape[:-1]).astype(np.float32)
    auto = layer(kind, {"range": range_}, position=position, color=values)
    most = float(np.abs(values).max())
    ends = {"auto": (float(values.min()), float(values.max())), "symmetric": (-most, most)}[range_]
    fixed = layer(kind, {"range": ends}, position=position, color=values)
    assert same(render([auto], CAMERA), render([fixed], CAMERA), 1)
    fixed.style.change("range", "auto" if range_ == "symmetric" else "symmetric")
    assert not same(render([auto], CAMERA), render([fixed], CAMERA), 1)
    fixed.style.change("range", range_)
    assert same(render([auto], CAMERA), render([fixed], CAMERA))


def test_a_style_is_read_when_it_is_drawn(layer, render):
    balls = layer("points", {"range": (0, 1), "colormap": "viridis"}, position=POSITION, color=SIZE * 5, size=0.1)
    before = render([balls], CAMERA)
    balls.style.colormap = "magma"
    assert not same(render([balls], CAMERA), before, 20)
    balls.style.colormap = "viridis"
    assert same(render([balls], CAMERA), before)
    balls.style.change("range", (0, 0.3))
    assert not same(render([balls], CAMERA), before, 20)


def test_sizes_and_colors_of_grains_differ_by_their_rows(layer, render):
    style = {"size_variation": 0.6, "color_variation": 0.5}
    grains = render([layer("points", style, position=POSITION, size=0.1, color=(0.6, 0.5, 0.3))], CAMERA)
    numbers = np.array([[2 * row_number(2 * row + i) - 1 for i in range(2)] for row in range(N)])
    light = np.array(linear((0.6, 0.5, 0.3))) * (1 + 0.5 * numbers[:, 1:])
    attributes = {"size": 0.1 * (1 + 0.6 * numbers[:, 0]), "color": encoded(light)}
    each = layer("points", position=POSITION, **{name: np.float32(array) for name, array in attributes.items()})
    assert same(grains, render([each], CAMERA), 1) and np.ptp(numbers, axis=0).min() > 1.8
    assert not same(grains, render([layer("points", position=POSITION, size=0.1, color=(0.6, 0.5, 0.3))], CAMERA), 30)


def test_transparent_points_show_the_background(layer, render):
    behind = layer(
        "points", {"emissive": 1.0, "brightness": 1.0}, position=np.float32([[0, 0, -1]]), color=(0, 0, 1), size=0.8
    )
    color = np.float32([[1, 0, 0, 0.5]])
    front = layer(
        "points", {"emissive": 1.0, "brightness": 1.0}, position=np.float32([[0, 0, 0]]), color=color, size=0.6
    )
    camera = OrbitCamera(distance=4.0, fov=40.0)
    middle = render([front, behind], camera)[50:70, 70:90].mean(axis=(0, 1))
    full = [render([one], camera)[50:70, 70:90].mean(axis=(0, 1)) for one in (front, behind)]
    assert 0.2 * full[1][2] < middle[2] < 0.9 * full[1][2]
    assert middle[0] > 0.5 * full[0][0]


def test_an_index_draws_the_same_surface_as_the_grid(layer, render):
    position = grid()
    expected = render([layer("surface", position=position)], CAMERA)
    rows = position.reshape(-1, 3)
    triangles = grid_triangles(7, 9)
    assert expected.max() > 60
    assert same(render([layer("surface", position=rows, index=triangles)], CAMERA), expected)
    assert same(render([layer("surface", position=rows, index=triangles.reshape(-1))], CAMERA), expected)
    offset = np.concatenate([np.zeros((5, 3), np.uint32), triangles])
    with Tensor.from_numpy(offset) as whole:
        assert same(render([layer("surface", position=rows, index=whole[5:])], CAMERA), expected)


@pytest.mark.parametrize(("rows", "columns"), [(2, 2), (3, 40), (17, 5), (33, 34)])
def test_the_triangles_of_a_grid_cover_it_once(rows, columns):
    triangles = grid_triangles(rows, columns)
    assert triangles.shape == (2 * (rows - 1) * (columns - 1), 3)
    y, x = np.divmod(triangles.astype(np.int64), columns)
    area = (x[:, 1] - x[:, 0]) * (y[:, 2] - y[:, 0]) - (x[:, 2] - x[:, 0]) * (y[:, 1] - y[:, 0])
    assert (area == area[0]).all(), "triangles turn the same way round, and each is half a cell"
    assert abs(area[0]) == 1
    cells = y.min(axis=1) * columns + x.min(axis=1)
    assert (np.unique(cells, return_counts=True)[1] == 2).all()


def test_contour_lines_darken_where_the_height_is_a_multiple_of_the_step(layer, render):
    x, y = np.meshgrid(np.linspace(-1, 1, 30), np.linspace(-1, 1, 30))
    slope = np.stack([x, y, 0 * x], axis=-1).astype(np.float32)
    camera = OrbitCamera(distance=4.0, fov=40.0)
    plain = render([layer("surface", position=slope)], camera, size=(100, 100)).astype(int)
    style = {"contours": 0.5, "contour_width": 3.0, "contour_strength": 1.0}
    lined = render([layer("surface", style, position=slope)], camera, size=(100, 100)).astype(int)
    darker = (plain - lined)[:, 50, 1]
    rows = np.flatnonzero(darker > 40)
    heights = (50 - rows - 0.5) * camera.pixel(100) * 4.0
    assert len(rows) >= 8
    assert np.abs(heights / 0.5 - np.round(heights / 0.5)).max() * 0.5 < 2.5 * camera.pixel(100) * 4.0
    assert (np.abs(darker[np.setdiff1d(np.arange(100), np.r_[rows, rows - 1, rows + 1])]) <= 2).all()


# memory -------------------------------------------------------------------------------------------------------------


def test_the_report_names_block_offset_and_stride(layer):
    with Tensor.zeros((10, 6), name="state") as state:
        points = layer("points", position=state[:, 0:3], color=state[2:8, 3:6].expand(6, 3)[0].expand(10, 3), size=0.5)
        report = points.report()
        block = state.block.id
        assert report["position"] == {
            "tensor": "state", "block": block, "offset": 0, "stride": 24, "format": "float32x3"
        }  # fmt: skip
        assert report["color"] == {"tensor": "state", "block": block, "offset": 60, "stride": 0, "format": "float32x3"}
        assert report["size"] == 0.5
        assert {b.id for b in points.blocks()} == {block}


def test_a_block_moved_by_copy_on_write_is_followed(layer, render):
    with Tensor.from_numpy(POSITION, name="position") as position:
        points = layer("points", position=position, size=0.1)
        before, block = render([points], CAMERA), position.block.id
        with position.clone() as clone:
            position[:, 1] = 0.0
            assert position.block.id != block
            assert points.report()["position"]["block"] == position.block.id
            flat = layer("points", position=POSITION * np.float32([1, 0, 1]), size=0.1)
            assert same(render([points], CAMERA), render([flat], CAMERA))
            assert same(render([layer("points", position=clone, size=0.1)], CAMERA), before)


def test_borrowed_memory_is_drawn(layer, render):
    expected = render([layer("points", position=POSITION, size=0.1)], CAMERA)
    with Tensor.from_blob(POSITION.copy(), name="borrowed") as borrowed:
        assert same(render([layer("points", position=borrowed, size=0.1)], CAMERA), expected)


def test_drawing_copies_no_geometry(gpu, layer, render):
    layers = [
        layer("points", {"range": "auto"}, position=POSITION, color=SIZE, size=0.1),
        layer("surface", position=grid()),
    ]
    render(layers, CAMERA)
    before = gpu.meter.read()["geometry"]
    render(layers, CAMERA)
    assert gpu.meter.read()["geometry"] == before


def test_a_closed_tensor_is_named(layer, render):
    position = Tensor.from_numpy(POSITION, name="galaxy.position")
    points = layer("points", position=position)
    position.close()
    with pytest.raises(UseAfterFree, match=r"galaxy\.position"):
        render([points], CAMERA)


def test_layers_with_the_same_layouts_share_a_pipeline(gpu, layer):
    from vertigrad.renderer.pipelines import draw_cache

    layer("points", position=POSITION)
    cached = len(draw_cache(gpu))
    with Tensor.zeros((N + 7, 3)) as other:
        layer("points", position=other[7:])
        layer("points", position=other[:5])
    assert len(draw_cache(gpu)) == cached


def test_layers_release_their_memory(gpu, layer):
    gc.collect()  # collect garbage of earlier tests
    gpu.wait_idle()
    with Tensor.from_numpy(grid(), name="land") as position:
        live = {block.id for block in gpu.tracker.live}
        owners = position.block.owners
        surface = layer("surface", {"range": "auto"}, position=position, color=position[..., 1])
        surface.prepare()
        gpu.wait_idle()
        surface.close()
        surface.close()
        gpu.wait_idle()
        assert position.block.owners == owners
        assert {block.id for block in gpu.tracker.live} == live


# rejected input -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "attributes", "error", "message"),
    [
        ("points", {}, ParameterError, "position must be a tensor"),
        ("points", {"position": (0, 0, 0)}, ParameterError, "position must be a tensor"),
        ("points", {"position": POSITION, "colr": (1, 0, 0)}, ParameterError, '"colr"; did you mean "color"'),
        (
            "points",
            {"position": np.zeros((5, 4), np.float32)},
            LayoutError,
            r"position: tensor 'position'.*\[\.\.\., :3\]",
        ),
        ("points", {"position": POSITION, "color": COLOR[:7]}, LayoutError, "color.*expected 60 rows, got 7"),
        ("points", {"position": POSITION, "color": (1, 0)}, ParameterError, "color must be"),
        ("points", {"position": POSITION, "color": "red"}, ParameterError, "#3366cc"),
        ("points", {"position": POSITION, "size": -1.0}, ParameterError, "size must be a number above 0"),
        ("points", {"position": POSITION, "size": "large"}, ParameterError, "size must be a number above 0"),
        ("surface", {"position": POSITION}, LayoutError, "not a grid.*bind index"),
        ("surface", {"position": grid(1, 5)}, LayoutError, "not a grid"),
        ("surface", {"position": POSITION, "index": np.zeros(6, np.int32)}, LayoutError, "u32.*i32.*cast it"),
        ("surface", {"position": POSITION, "index": np.zeros(5, np.uint32)}, LayoutError, "three rows"),
        ("surface", {"position": grid(), "normal": (0, 1, 0)}, ParameterError, "normal must be a tensor"),
    ],
)
def test_invalid_attributes_are_rejected_by_name(layer, kind, attributes, error, message):
    with pytest.raises(error, match=message):
        layer(kind, **attributes)


def test_after_a_rejection_the_old_attributes_are_drawn(layer, render):
    points = layer("points", position=POSITION, size=0.1)
    before = render([points], CAMERA)
    with Tensor.zeros((4, 2), name="wrong") as wrong, pytest.raises(LayoutError):
        points.bind({"position": wrong})
    assert same(render([points], CAMERA), before)


def test_every_layer_declares_what_a_scene_can_set():
    for kind, layer_type in types().items():
        assert issubclass(layer_type, Layer)
        assert kind == "light" or next(iter(layer_type.ATTRIBUTES.values())).required, kind
        assert not set(layer_type.ATTRIBUTES) & set(layer_type.Style.model_fields), kind
        assert all(spec.doc for spec in layer_type.Style.specs())
        assert all(spec.doc for spec in layer_type.ATTRIBUTES.values())


def test_every_colormap_exists_and_spans_its_whole_range():
    for name in COLORMAPS:
        colors = colormap_colors(name)
        assert colors.shape == (256, 4)
        assert (colors[:, 3] == 255).all(), name
        assert np.array_equal(colors, colormap_colors(name, flip=True)[::-1])
    with pytest.raises(ParameterError, match='did you mean "inferno"'):
        colormap_colors("infrno")
