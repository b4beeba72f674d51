"""Vertex buffers of any tensor: shaders read NumPy's values, or `LayoutError` is raised."""

from types import SimpleNamespace

import numpy as np
import pytest
import wgpu
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vertigrad.errors import LayoutError
from vertigrad.renderer import vertex_layout
from vertigrad.tensor import Tensor

ITEMSIZE = {"f32": 4, "i32": 4, "u32": 4, "bool": 4, "f16": 2, "u8": 1}


def lying(shape, strides, offset=0, dtype="f32"):
    """A tensor with this layout; its other properties do not matter."""
    kind = SimpleNamespace(name=dtype, itemsize=ITEMSIZE[dtype])
    return SimpleNamespace(name="speed", shape=shape, strides=strides, offset=offset, dtype=kind)


@pytest.mark.parametrize(
    ("tensor", "components", "expected"),
    [
        (lying((10, 3), (12, 4)), (3,), ("float32x3", 12, 0, "vec3f", 10)),
        (lying((10, 3), (24, 4), 12), (3,), ("float32x3", 24, 12, "vec3f", 10)),  # half of interleaved state
        (lying((10, 3), (16, 4)), (3,), ("float32x3", 16, 0, "vec3f", 10)),  # array<vec3f>, viewed as (n, 3)
        (lying((4, 5, 2), (40, 8, 4)), (2,), ("float32x2", 8, 0, "vec2f", 20)),
        (lying((10,), (4,)), (1, 3), ("float32", 4, 0, "f32", 10)),
        (lying((10, 1), (8, 4)), (1, 3), ("float32", 8, 0, "f32", 10)),
        (lying((4, 5), (20, 4)), (1,), ("float32", 4, 0, "f32", 20)),
        (lying((10, 3), (0, 4)), (3,), ("float32x3", 0, 0, "vec3f", 10)),  # one row for all
        (lying((1, 3), (999, 4)), (3,), ("float32x3", 12, 0, "vec3f", 1)),  # no second row to reach
        (lying((10, 4), (8, 2), 8, "f16"), (4,), ("float16x4", 8, 8, "vec4f", 10)),
        (lying((10, 2), (4, 2), dtype="f16"), (2,), ("float16x2", 4, 0, "vec2f", 10)),
        (lying((10, 4), (4, 1), dtype="u8"), (3, 4), ("unorm8x4", 4, 0, "vec4f", 10)),
        (lying((10,), (4,), dtype="i32"), (1,), ("sint32", 4, 0, "i32", 10)),
        (lying((10, 3), (12, 4), dtype="u32"), (3,), ("uint32x3", 12, 0, "vec3u", 10)),
        (lying((10,), (4,), dtype="bool"), (1,), ("uint32", 4, 0, "u32", 10)),
    ],
)
def test_layouts(tensor, components, expected):
    layout = vertex_layout(tensor, components=components)
    assert (layout.format, layout.stride, layout.offset, layout.wgsl, layout.rows) == expected


@pytest.mark.parametrize(
    ("tensor", "components", "number", "fix"),
    [
        (lying((10, 4), (16, 4)), (3,), "4 components", r"give \[\.\.\., :3\].*padding of a vec3f"),
        (lying((10, 2), (8, 4)), (3,), "2 components", "3 are needed"),
        (lying((), ()), (3,), "no components", "3 are needed"),
        (lying((0, 3), (12, 4)), (3,), r"\(0, 3\)", "once it has some"),
        (lying((3, 10), (40, 4)), (3,), "10 components", r"give \[\.\.\., :3\]"),
        (lying((10, 3), (4, 40)), (3,), "40 bytes apart, not 4", "contiguous"),
        (lying((10, 3), (-12, 4), 108), (3,), "backward, -12", "contiguous"),
        (lying((10, 3), (2052, 4)), (3,), "2052 bytes apart.*2048", "contiguous"),
        (lying((10, 3), (4, 4)), (3,), "12 bytes each, 4 apart", "contiguous"),
        (lying((10, 2), (6, 2), dtype="f16"), (2,), "6 bytes apart", "contiguous"),
        (lying((10, 2), (4, 2), 2, "f16"), (2,), "byte 2 of its block", "cast to f32"),
        (lying((10, 3), (6, 2), dtype="f16"), (3,), "3 component.*f16", "2 or 4; cast to f32"),
        (lying((10,), (1,), dtype="u8"), (1,), "1 component.*u8", "rows of 4; cast to f32"),
        (lying((4, 5, 3), (72, 12, 4)), (3,), "72 bytes.*5 x 12", "contiguous"),
        (lying((5, 4, 3), (12, 60, 4)), (3,), "12 bytes.*4 x 60", "contiguous"),
    ],
)
def test_an_invalid_layout_reports_tensor_number_and_fix(tensor, components, number, fix):
    with pytest.raises(LayoutError, match=f"'speed'.*{number}.*; .*{fix}"):
        vertex_layout(tensor, components=components)


def test_the_number_of_rows_determines_the_meaning_of_the_last_axis():
    grid = lying((7, 3), (12, 4))
    assert vertex_layout(grid, components=(1, 3), rows=7).components == 3
    assert vertex_layout(grid, components=(1, 3), rows=21).components == 1
    with pytest.raises(LayoutError, match="expected 8 rows, got 7"):
        vertex_layout(grid, components=(1, 3), rows=8)


def test_a_pipeline_does_not_depend_on_the_offset():
    first, second = (vertex_layout(lying((10, 3), (24, 4), offset), components=(3,)) for offset in (0, 12))
    assert first.key == second.key
    assert first.offset != second.offset


# values read by the GPU ---------------------------------------------------------------------------------------------

WIDTH = 64
READER = """
struct Row {{ @builtin(position) place: vec4f, @location(0) @interpolate(flat) value: vec4f }}
@vertex fn vertex(@builtin(instance_index) i: u32, @location(0) value: {type}) -> Row {{
    return Row(vec4f((f32(i) + 0.5) / {half} - 1.0, 0.0, 0.5, 1.0), vec4f({value}));
}}
@fragment fn fragment(row: Row) -> @location(0) vec4f {{ return row.value; }}
"""
VALUE = {1: "f32(value), 0.0, 0.0, 0.0", 2: "vec2f(value), 0.0, 0.0", 3: "vec3f(value), 0.0", 4: "vec4f(value)"}


def read_rows(gpu, tensor, layout):
    """The rows of a tensor as read by a vertex shader: each draws its pixel of a float texture."""
    if gpu.adapter.backend.startswith("OpenGL"):
        pytest.skip("no drawing into float32 textures on OpenGL")
    code = READER.format(type=layout.wgsl, half=WIDTH / 2, value=VALUE[layout.components])
    module = gpu.device.create_shader_module(code=code)
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
    texture = gpu.device.create_texture(size=(WIDTH, 1, 1), format="rgba32float", usage=usage)
    buffer = {"array_stride": layout.stride, "step_mode": layout.step_mode, "attributes": [layout.attribute(0)]}
    pipeline = gpu.device.create_render_pipeline(
        layout="auto",
        vertex={"module": module, "entry_point": "vertex", "buffers": [buffer]},
        fragment={"module": module, "entry_point": "fragment", "targets": [{"format": "rgba32float"}]},
        primitive={"topology": "point-list"},
    )
    attachment = {"view": texture.create_view(), "load_op": "clear", "store_op": "store"}
    gpu.recorder.use((tensor.block,))
    with gpu.recorder.render_pass(color_attachments=[attachment]) as pass_:
        pass_.set_pipeline(pipeline)
        pass_.set_vertex_buffer(0, tensor.block.buffer, layout.offset, layout.nbytes)
        pass_.draw(1, layout.rows)
    got = []
    reading = gpu.readback.copy_texture(gpu.recorder.encoder, texture, 16 * WIDTH, lambda data: got.append(data))
    gpu.submit()
    gpu.readback.wait(reading)
    pixels = np.frombuffer(got[0], np.float32).reshape(WIDTH, 4)
    return pixels[: layout.rows, : layout.components]


slices = st.builds(
    slice, st.none() | st.integers(0, 3), st.none() | st.integers(-3, 9), st.sampled_from([None, 1, 2, 3, -1])
)


@st.composite
def views(draw):
    """(array, a function that takes the same view of an array and of a tensor)."""
    dtype = draw(st.sampled_from([np.float32, np.float16, np.int32, np.uint32, np.uint8]))
    shape = tuple(draw(st.lists(st.integers(1, 8), min_size=1, max_size=3)))
    size = int(np.prod(shape))
    array = (np.arange(size) % 251 + 1).astype(dtype).reshape(shape)
    key = tuple(draw(st.lists(slices, min_size=0, max_size=len(shape))))
    turn = draw(st.booleans())
    spread = draw(st.booleans())

    def view(x):
        x = x[key] if key else x
        x = x.T if turn else x
        if spread and len(x.shape) > 1 and x.shape[0] == 1:
            x = np.broadcast_to(x, (5, *x.shape[1:])) if isinstance(x, np.ndarray) else x.expand(5, *x.shape[1:])
        return x

    return array, view


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(views(), st.sampled_from([(1,), (2,), (3,), (4,), (1, 3, 4)]))
def test_the_gpu_reads_what_numpy_reads_or_the_layout_is_refused(gpu, values, components):
    if "shader-f16" not in gpu.features and values[0].dtype == np.float16:
        return
    array, view = values
    with Tensor.from_numpy(array, name="state") as whole:
        tensor = view(whole)
        try:
            layout = vertex_layout(tensor, components=components)
        except LayoutError as error:
            assert "'state'" in str(error)
            return
        if layout.rows > WIDTH:
            return
        expected = view(array).reshape(layout.rows, layout.components).astype(np.float32)
        if array.dtype == np.uint8:
            expected = expected / 255
        np.testing.assert_allclose(read_rows(gpu, tensor, layout), expected, rtol=1e-6)


def test_contiguous_rows_of_every_format_are_accepted(gpu):
    """The property above would hold if everything were rejected; this one would not."""
    for dtype, counts in (
        (np.float32, (1, 2, 3, 4)),
        (np.int32, (1, 2, 3, 4)),
        (np.uint32, (1, 2, 3, 4)),
        (np.uint8, (4,)),
    ):
        for count in counts:
            array = np.arange(1, 8 * count + 1, dtype=dtype).reshape(8, count)
            with Tensor.from_numpy(array) as tensor:
                layout = vertex_layout(tensor, components=(count,))
                scale = 255 if dtype is np.uint8 else 1
                np.testing.assert_allclose(read_rows(gpu, tensor, layout) * scale, array, rtol=1e-6)
