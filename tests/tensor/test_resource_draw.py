"""A tensor's buffer, offset and size, used by plain wgpu code."""

from __future__ import annotations

import numpy as np
import pytest
import wgpu

from vertigrad.errors import StillInUse, UseAfterFree
from vertigrad.gpu import Gpu
from vertigrad.memory import State
from vertigrad.tensor import Publication, Tensor

pytestmark = pytest.mark.usefixtures("steady")

SIZE = 16
SHADER = """
@vertex fn corner(@location(0) position: vec2f) -> @builtin(position) vec4f { return vec4f(position, 0.0, 1.0); }
@fragment fn paint() -> @location(0) vec4f { return vec4f(0.0, 1.0, 0.0, 1.0); }
"""


class PlainDrawer:
    """A render pipeline with its own target and submit, on the same device."""

    def __init__(self, device: wgpu.GPUDevice, topology: str, stride: int):
        self.device = device
        usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
        self.target = device.create_texture(size=(SIZE, SIZE, 1), format="rgba8unorm", usage=usage)
        module = device.create_shader_module(code=SHADER)
        attribute = {"format": "float32x2", "offset": 0, "shader_location": 0}
        self.pipeline = device.create_render_pipeline(
            layout="auto",
            vertex={
                "module": module,
                "entry_point": "corner",
                "buffers": [{"array_stride": stride, "step_mode": "vertex", "attributes": [attribute]}],
            },
            primitive={"topology": topology},
            fragment={"module": module, "entry_point": "paint", "targets": [{"format": "rgba8unorm"}]},
        )

    def draw(self, buffer: wgpu.GPUBuffer, offset: int, size: int, count: int) -> None:
        encoder = self.device.create_command_encoder()
        attachment = {"view": self.target.create_view(), "load_op": "clear", "store_op": "store"}
        render = encoder.begin_render_pass(color_attachments=[attachment])
        render.set_pipeline(self.pipeline)
        render.set_vertex_buffer(0, buffer, offset, size)
        render.draw(count)
        render.end()
        self.device.queue.submit([encoder.finish()])

    def image(self) -> np.ndarray:
        """Which pixels were painted."""
        layout = {"offset": 0, "bytes_per_row": SIZE * 4, "rows_per_image": SIZE}
        data = self.device.queue.read_texture({"texture": self.target}, layout, (SIZE, SIZE, 1))
        return np.frombuffer(data, np.uint8).reshape(SIZE, SIZE, 4)[..., 1] > 0


def center(column: int, row: int) -> tuple[float, float]:
    """Clip coordinates of the middle of a pixel."""
    return 2 * (column + 0.5) / SIZE - 1, 1 - 2 * (row + 0.5) / SIZE


PIXELS = [(1, 2), (5, 5), (10, 3), (0, 15), (15, 0)]
POINTS = np.array([center(*pixel) for pixel in PIXELS], np.float32)


def painted(image: np.ndarray) -> set[tuple[int, int]]:
    return {(int(column), int(row)) for row, column in np.argwhere(image)}


def test_points_are_drawn_from_a_view_of_a_tensor(gpu: Gpu) -> None:
    drawer = PlainDrawer(gpu.device, "point-list", stride=8)
    state = np.zeros((20, 2), np.float32)
    state[7:12] = POINTS
    with Tensor.from_numpy(state, "state") as x, x[7:12] as view:
        with view.resource() as (buffer, offset, size):
            assert buffer is x.block.buffer
            assert (offset, size) == (7 * 8, 5 * 8)
            drawer.draw(buffer, offset, size, 5)
        assert painted(drawer.image()) == set(PIXELS)


def test_interleaved_columns_are_drawn_with_their_stride(gpu: Gpu) -> None:
    drawer = PlainDrawer(gpu.device, "point-list", stride=24)
    state = np.full((5, 6), 9.0, np.float32)
    state[:, 3:5] = POINTS
    with Tensor.from_numpy(state) as x, x[:, 3:5] as columns, columns.resource() as (buffer, offset, size):
        assert (offset, size, columns.strides) == (12, 4 * 24 + 8, (24, 4))
        drawer.draw(buffer, offset, size, 5)
        assert painted(drawer.image()) == set(PIXELS)


def test_the_offset_of_a_reversed_view_is_its_lowest_byte(gpu: Gpu) -> None:
    drawer = PlainDrawer(gpu.device, "point-list", stride=8)
    with Tensor.from_numpy(POINTS) as x, x[::-1] as back, back.resource() as (buffer, offset, size):
        assert (offset, size) == (0, 40)
        drawer.draw(buffer, offset, size, 5)
        assert painted(drawer.image()) == set(PIXELS)


def test_a_triangle_computed_on_the_gpu_and_closed_while_it_is_drawn(gpu: Gpu) -> None:
    drawer = PlainDrawer(gpu.device, "triangle-list", stride=8)
    with Tensor.from_numpy(np.array([[-0.5, -0.5], [1.5, -0.5], [-0.5, 1.5]], np.float32)) as half:
        x = half * 2.0  # covers the target; recorded, not submitted
        block = x.block
        with x.resource() as (buffer, offset, size):
            x.close()  # the last handle
            with pytest.raises(UseAfterFree):
                _ = x.block
            assert (block.owners, block.pins, block.state) == (0, 1, State.LIVE)
            gpu.wait_idle()
            gpu.pool.trim()
            with Tensor.zeros((3, 2)) as other:
                assert other.block is not block
                gpu.wait_idle()
            drawer.draw(buffer, offset, size, 3)
            assert drawer.image().all()
            drawer.draw(buffer, offset, size, 3)
        assert block.state is State.LIVE  # the draw that was just submitted may still be running
        gpu.wait_idle()
        assert block.state is State.FREE
        assert drawer.image().all()


def test_an_open_resource_is_neither_written_by_clones_nor_moved(gpu: Gpu) -> None:
    drawer = PlainDrawer(gpu.device, "point-list", stride=8)
    with Tensor.from_numpy(POINTS) as x, x.clone() as y:
        with x.resource() as (buffer, offset, size):
            y.mul_(0.0)
            x.add_(100.0)  # sole owner by now, but the resource is still open
            drawer.draw(buffer, offset, size, 5)
            assert x.block.buffer is buffer
        assert painted(drawer.image()) == set(PIXELS)
        assert x.numpy()[0, 0] == np.float32(POINTS[0, 0] + 100)


def test_other_code_can_write_a_writable_resource(gpu: Gpu) -> None:
    with Tensor.from_numpy(POINTS, "shared") as x, x.clone() as y:
        with x.resource(writable=True) as (buffer, offset, size):
            assert buffer is not y.block.buffer
            gpu.queue.write_buffer(buffer, offset, np.ones(size // 4, np.float32))
        assert set(x.numpy().ravel()) == {1.0}
        assert np.array_equal(y.numpy(), POINTS)


def test_borrowed_memory_is_uploaded_for_a_resource(gpu: Gpu) -> None:
    drawer = PlainDrawer(gpu.device, "point-list", stride=8)
    with Tensor.from_blob(POINTS) as x, x.resource() as (buffer, offset, size):
        drawer.draw(buffer, offset, size, 5)
        assert painted(drawer.image()) == set(PIXELS)


def test_an_error_inside_a_resource_releases_it() -> None:
    with Tensor.from_numpy(POINTS) as x:
        with pytest.raises(ZeroDivisionError), x.resource():
            _ = 1 / 0
        assert x.block.pins == 1  # released with the next submission
        x.numpy()
        assert x.block.pins == 0


def test_resources_nest() -> None:
    with Tensor.from_numpy(POINTS) as x, x[1:] as part:
        with x.resource() as outer, part.resource() as inner:
            assert outer.buffer is inner.buffer
            assert inner.offset == outer.offset + 8
            assert x.block.pins == 2
        assert np.array_equal(x.numpy(), POINTS)


def test_the_buffer_of_a_resource_cannot_be_destroyed(gpu: Gpu) -> None:
    with Tensor.from_numpy(POINTS) as x, x.resource() as resource, pytest.raises(StillInUse):
        resource.buffer.destroy()
    gpu.submit()


# blocks that do not move --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("writable", [True, False])
def test_a_clone_inside_a_resource_is_a_copy_so_that_writes_stay_in_place(gpu: Gpu, writable: bool) -> None:
    with Tensor.from_numpy(np.arange(4, dtype=np.float32), "x") as x:
        with x[1:].resource(writable) as (buffer, offset, _):
            clone = x.clone()
            x.add_(1.0)
            assert x.block.buffer is buffer and clone.block is not x.block
            if writable:
                gpu.device.queue.write_buffer(buffer, offset, np.full(1, 50, np.float32))
            with clone.clone() as second:
                assert second.block is clone.block, "the clone itself may move"
        x.add_(1.0)
        assert x.block.buffer is buffer
        assert clone.numpy().tolist() == [0, 1, 2, 3]
        clone.close()


def test_a_clone_inside_a_resource_has_the_values_before_a_later_write_by_other_code(gpu: Gpu) -> None:
    with Tensor.zeros(2, name="x") as x:
        with x.resource(writable=True) as (buffer, offset, _):
            gpu.device.queue.write_buffer(buffer, offset, np.array([1, 2], np.float32))
            clone = x.clone()
            gpu.device.queue.write_buffer(buffer, offset, np.array([3, 4], np.float32))
        assert (clone.numpy().tolist(), x.numpy().tolist()) == ([1, 2], [3, 4])
        clone.close()


def test_a_shared_block_is_not_written_while_it_is_borrowed(gpu: Gpu) -> None:
    with Tensor.from_numpy(POINTS, "points") as x, x.clone() as clone:
        with x.resource() as (buffer, _, _):
            with pytest.raises(StillInUse, match=r"'points'.*cannot be written now: it shares its block"):
                x.add_(1.0)
            assert x.block.buffer is buffer
            clone.add_(1.0)  # moves away
            x.add_(1.0)
            assert x.block.buffer is buffer
        assert np.array_equal(x.numpy(), clone.numpy())
    drawn = Publication()
    with Tensor.from_numpy(POINTS, "points") as x:
        with x.resource(writable=True):
            drawn.publish([x])
            with pytest.raises(StillInUse, match="drawn output"):
                x.add_(1.0)
        x.add_(1.0)
        drawn.withdraw()


def test_a_writable_resource_has_its_own_block(gpu: Gpu) -> None:
    with Tensor.from_numpy(POINTS) as x, x.clone() as clone:
        with x.resource(writable=True) as (buffer, _, _):
            assert clone.block.buffer is not buffer
            x.mul_(0.0)
            assert x.block.buffer is buffer
        assert np.array_equal(clone.numpy(), POINTS)
