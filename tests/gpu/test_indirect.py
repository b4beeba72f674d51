"""Dispatches and draws whose size the GPU reads from a tensor."""

from __future__ import annotations

import numpy as np
import pytest
import wgpu

from vertigrad.errors import DtypeError, LayoutError, ShaderError, UseAfterFree
from vertigrad.gpu import Dispatch, Gpu, Kernel, Plan
from vertigrad.gpu.deferred import Deferred, Spares
from vertigrad.tensor import Tensor

from .kernels import STEP, kernel

pytestmark = pytest.mark.usefixtures("steady")

# the number of workgroups, and the largest index along each axis
COUNT = """
struct Params { step: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> x: array<atomic<u32>, 4>;

@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) id: vec3u) {
    atomicAdd(&x[0], params.step);
    atomicMax(&x[1], id.x); atomicMax(&x[2], id.y); atomicMax(&x[3], id.z);
}
"""
RAISE = """
@group(0) @binding(0) var<storage, read_write> size: array<u32>;
@compute @workgroup_size(1) fn main() { size[0] += 1u; }
"""


def size(*groups: int) -> Tensor:
    return Tensor.from_numpy(np.array(groups, np.uint32), "size")


def test_the_number_of_workgroups_is_read_from_the_tensor() -> None:
    for groups in ((1, 1, 1), (5, 3, 2), (0, 1, 1), (70, 1, 1)):
        with Tensor.zeros(4, "u32") as x, size(*groups) as s:
            kernel(COUNT)(0, indirect=s, x=x, step=1)
            assert x.numpy().tolist() == [np.prod(groups), *(max(n - 1, 0) * (min(groups) > 0) for n in groups)]


def test_a_plan_reads_it_at_each_replay_and_within_it() -> None:
    with Tensor.zeros(4, "u32") as x, size(0, 2, 1) as s, Plan() as plan:
        plan.dispatch(kernel(RAISE), 1, size=s)
        plan.dispatch(kernel(COUNT), 0, indirect=s, x=x)
        plan.dispatch(kernel(STEP), 1, x=Tensor.zeros(1), count=1, factor=1.0, value=0.0)
        for groups in (1, 4):
            plan.dispatch(kernel(COUNT), groups, x=x)
        plan.dispatch(kernel(COUNT), 0, indirect=s, x=x)  # one pipeline, with direct and indirect sizes
        for _ in range(3):
            plan.replay(step=10)
        assert x.numpy()[0] == 2 * (2 + 4 + 6) * 10 + 3 * (1 + 4) * 10


def test_the_size_can_be_a_slice() -> None:
    with Tensor.zeros(4, "u32") as x, size(9, 9, 9, 2, 3, 1, 9) as s, Plan() as plan:
        kernel(COUNT)(0, indirect=s[3:6], x=x, step=1)
        plan.dispatch(kernel(COUNT), 0, indirect=s[3:6], x=x, step=1)
        plan.replay()
        assert x.numpy()[0] == 12


def test_a_size_whose_block_changes_is_followed() -> None:
    with Tensor.zeros(4, "u32") as x, size(2, 1, 1) as s, Plan() as plan:
        plan.dispatch(kernel(COUNT), 0, indirect=s, x=x, step=1)
        plan.replay()
        with s.clone() as old:
            kernel(RAISE)(1, size=s)
            assert s.block is not old.block
            plan.replay()
        assert x.numpy()[0] == 2 + 3


def test_a_borrowed_size_is_uploaded() -> None:
    with Tensor.zeros(4, "u32") as x, Tensor.from_blob(np.array([3, 1, 1], np.uint32)) as s, Plan() as plan:
        plan.dispatch(kernel(COUNT), 0, indirect=s, x=x, step=1)
        plan.replay()
        assert x.numpy()[0] == 3
    with Tensor.zeros(4, "u32") as x, Tensor.from_blob(np.array([4, 1, 1], np.uint32)) as s:
        kernel(COUNT)(0, indirect=s, x=x, step=1)
        assert x.numpy()[0] == 4


def test_a_plan_keeps_the_size_alive_and_releases_it(gpu: Gpu) -> None:
    s = size(2, 1, 1)
    block = s.block
    with Tensor.zeros(4, "u32") as x:
        with Plan() as plan:
            plan.dispatch(kernel(COUNT), 0, indirect=s, x=x, step=1)
            s.close()
            assert block.owners == 1
            plan.replay()
            assert x.numpy()[0] == 2
        assert block.owners == 0
        with pytest.raises(UseAfterFree, match="'size'"):
            kernel(COUNT)(0, indirect=s, x=x, step=1)


def test_an_eager_dispatch_keeps_the_size_until_it_is_submitted(gpu: Gpu) -> None:
    with Tensor.zeros(4, "u32") as x:
        s = size(2, 1, 1)
        block = s.block
        kernel(COUNT)(0, indirect=s, x=x, step=1)
        assert block.pins == 1
        s.close()
        assert x.numpy()[0] == 2


def test_invalid_sizes_are_rejected() -> None:
    with Tensor.zeros(4, "u32") as x, Tensor.zeros(6, "u32") as s, Plan() as plan:
        with pytest.raises(ShaderError, match="indirect must be a tensor of three u32, got list"):
            plan.dispatch(kernel(COUNT), 0, indirect=[1, 1, 1], x=x, step=1)
        for wrong in (Tensor.zeros(3), Tensor.zeros(3, "i32"), Tensor.zeros(12, "u8")):
            with pytest.raises(DtypeError, match="indirect must be three u32"):
                plan.dispatch(kernel(COUNT), 0, indirect=wrong, x=x, step=1)
        for wrong in (s, s[:2], s[::2]):
            with pytest.raises(LayoutError, match="indirect must be three u32 in a row"):
                plan.dispatch(kernel(COUNT), 0, indirect=wrong, x=x, step=1)
        with pytest.raises(
            LayoutError, match=r"its size is read from tensor 'unnamed', which the same dispatch writes"
        ):
            plan.dispatch(kernel(RAISE), 0, indirect=s[:3], size=s)
        assert len(plan) == 0


def test_the_size_of_a_draw_is_read_from_the_tensor(gpu: Gpu) -> None:
    """Points next to each other: the number of lit pixels is that of vertices or instances."""
    shader = gpu.device.create_shader_module(
        code="""
        @vertex fn vertex(@builtin(vertex_index) v: u32, @builtin(instance_index) i: u32) -> @builtin(position) vec4f {
            return vec4f((f32(v + i) + 0.5) / 32.0 - 1.0, 0.0, 0.0, 1.0);
        }
        @fragment fn fragment() -> @location(0) vec4f { return vec4f(1.0); }
        """
    )
    pipeline = gpu.device.create_render_pipeline(
        layout="auto",
        vertex={"module": shader, "entry_point": "vertex"},
        fragment={"module": shader, "entry_point": "fragment", "targets": [{"format": "rgba8unorm"}]},
        primitive={"topology": "point-list"},
    )
    usage = wgpu.TextureUsage.RENDER_ATTACHMENT | wgpu.TextureUsage.COPY_SRC
    texture = gpu.device.create_texture(size=(64, 1, 1), format="rgba8unorm", usage=usage)
    color = {"view": texture.create_view(), "load_op": "clear", "store_op": "store", "clear_value": (0, 0, 0, 0)}
    for words, lit in (((7, 1, 0, 0), 7), ((1, 20, 0, 0), 20), ((0, 1, 0, 0), 0)):
        with size(9, *words) as s:
            with gpu.recorder.render_pass(color_attachments=[color]) as draw:
                draw.set_pipeline(pipeline)
                gpu.recorder.use([s.block])
                draw.draw_indirect(s.block.buffer, 4)
            gpu.submit()
            whole = {"texture": texture, "mip_level": 0, "origin": (0, 0, 0)}
            data = gpu.queue.read_texture(whole, {"bytes_per_row": 256, "rows_per_image": 1}, (64, 1, 1))
        assert np.count_nonzero(np.frombuffer(data, np.uint32)) == lit


def test_other_encodings_give_the_same_result(gpu: Gpu) -> None:
    """With a pass for each kernel, and deferred to be encoded over several frames."""
    with Tensor.zeros(4, "u32") as x, size(3, 2, 1) as s, Plan() as plan:
        plan.dispatch(kernel(COUNT), 6, indirect=s, x=x, step=1)
        if gpu.timer.available:
            gpu.timer.enabled = gpu.timer.each_kernel = True
            try:
                plan.replay()
                kernel(COUNT)(6, indirect=s, x=x, step=1)
            finally:
                gpu.timer.enabled = gpu.timer.each_kernel = False
            assert x.numpy()[0] == 12
        before = int(x.numpy()[0])
        spares = Spares(gpu)
        deferred = Deferred(gpu, spares)
        with deferred.recording():
            plan.replay()
            kernel(COUNT)(6, indirect=s, x=x, step=1)
        assert [left for _, _, left in deferred.workgroups()] == [6, 6]
        assert x.numpy()[0] == before
        assert deferred.encode(lambda group, kernel, count, splits: count)
        deferred.commit()
        assert x.numpy()[0] == before + 12
        spares.clear()


def test_a_recompiled_kernel_keeps_its_size() -> None:
    with Tensor.zeros(4, "u32") as x, size(3, 2, 1) as s:
        dispatch = Dispatch(kernel(COUNT), 6, (), {"x": x, "step": 1}, s)
        dispatch.keep()
        again = dispatch.rebuilt(Kernel(COUNT, "main", "compiled again"))
        assert again.indirect == dispatch.indirect
        again.record()
        assert x.numpy()[0] == 6


def test_a_kernel_may_read_the_size_too() -> None:
    source = """
    @group(0) @binding(0) var<storage, read> size: array<u32>;
    @group(0) @binding(1) var<storage, read_write> x: array<atomic<u32>>;
    @compute @workgroup_size(1) fn main() { atomicAdd(&x[0], size[1]); }
    """
    with Tensor.zeros(1, "u32") as x, size(3, 2, 1) as s:
        Kernel(source, "main", "reads its size")(0, indirect=s, size=s, x=x)
        assert x.item() == 12
