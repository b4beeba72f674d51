"""`Kernel` and `Dispatch`: compilation, calls, and all invalid calls."""

from __future__ import annotations

import gc
import weakref
from collections import OrderedDict
from pathlib import Path

import numpy as np
import pytest
import wgpu

from vertigrad import resources
from vertigrad.errors import DtypeError, LayoutError, LimitError, ShaderError, UseAfterFree
from vertigrad.gpu import Gpu, Kernel, shader
from vertigrad.gpu import kernel as kernel_module
from vertigrad.tensor import Tensor

from .kernels import AFFINE, NO_UNIFORM, PUT, STEP, kernel

pytestmark = pytest.mark.usefixtures("steady")


def vector(*values: float, name: str = "x") -> Tensor:
    return Tensor.from_numpy(np.array(values, np.float32), name)


# results --------------------------------------------------------------------------------------------------------


def test_a_call_computes() -> None:
    with vector(1, 2, 3) as x, Tensor.empty(3) as y:
        kernel(AFFINE)(3, x=x, y=y, count=3, scale=2.0, shift=0.5)
        assert y.numpy().tolist() == [2.5, 4.5, 6.5]


@pytest.mark.parametrize("key", [(2,), (2, slice(0, 0), 63), (1, slice(None), slice(8, 40))])
def test_empty_views_of_empty_tensors_can_be_bound(key: tuple) -> None:
    with Tensor.zeros((3, 0, 64)) as whole, whole[key] as x, Tensor.full(3, 7.0) as y:
        kernel(AFFINE)(0, x=x, y=y, count=0, scale=2.0, shift=0.5)
        assert y.numpy().tolist() == [7, 7, 7]


def test_tensors_can_begin_inside_their_block() -> None:
    with Tensor.from_numpy(np.arange(100, dtype=np.float32)) as x, Tensor.zeros(100) as y:
        for first in (1, 7, 8, 33, 64):
            with x[first : first + 5] as part, y[first : first + 5] as into:
                kernel(AFFINE)(5, x=part, y=into, count=5, scale=1.0, shift=100.0)
                assert into.numpy().tolist() == [first + i + 100 for i in range(5)]
        assert y.numpy().sum() == sum(first + i + 100 for first in (1, 33, 64) for i in range(5)) + sum(
            i + 100 for i in range(7, 13)
        )


def test_threads_are_rounded_up_to_workgroups() -> None:
    assert kernel(PUT).workgroups(0) == (0, 1, 1)
    assert kernel(PUT).workgroups(1) == (1, 1, 1)
    assert kernel(PUT).workgroups(64) == (1, 1, 1)
    assert kernel(PUT).workgroups(65) == (2, 1, 1)
    assert kernel(PUT).workgroups((65, 3)) == (2, 3, 1)
    assert kernel(PUT).workgroups((65, 3, 2)) == (2, 3, 2)
    assert kernel(PUT).workgroups(np.int64(65)) == (2, 1, 1)


def test_no_threads_do_nothing() -> None:
    with vector(1, 2) as x:
        kernel(PUT)(0, x=x, count=2, value=9.0)
        assert x.numpy().tolist() == [1, 2]


def test_a_long_row_of_workgroups_is_folded_if_the_kernel_supports_it() -> None:
    source = """
    @group(0) @binding(0) var<storage, read_write> x: array<atomic<u32>>;
    @compute @workgroup_size(1)
    fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
        let i = id.y * groups.x + id.x;
        if i < 70001u { atomicAdd(&x[i / 1000u], 1u); }
    }
    """
    folding = Kernel(source, "main", "folding")
    assert folding.workgroups(70001) == (35001, 2, 1)
    with Tensor.zeros(71, "u32") as x:
        folding(70001, x=x)
        assert x.numpy().tolist() == [1000] * 70 + [1]


def test_more_workgroups_than_a_dimension_holds_are_refused(gpu: Gpu) -> None:
    limit = gpu.limits["max-compute-workgroups-per-dimension"]
    assert kernel(PUT).workgroups(64 * limit) == (limit, 1, 1)
    with pytest.raises(LimitError, match=rf"test kernel: .* workgroups; {limit} a dimension at most"):
        kernel(PUT).workgroups(64 * limit + 1)
    with pytest.raises(LimitError):
        kernel(PUT).workgroups((1, limit + 1))


@pytest.mark.parametrize("threads", [-1, (), (1, 2, 3, 4), 1.5, (1, -1), (1, 2.0)])
def test_invalid_thread_counts(threads: object) -> None:
    with vector(1) as x, pytest.raises(ShaderError, match="threads are one to three integers, not"):
        kernel(PUT)(threads, x=x, count=1, value=1.0)  # pyright: ignore[reportArgumentType]


def test_a_kernel_without_uniform() -> None:
    with vector(1) as x:
        kernel(NO_UNIFORM)(1, x=x)
        kernel(NO_UNIFORM)(1, x=x)
        assert x.numpy().tolist() == [3]


def test_each_dispatch_of_a_submission_sees_its_own_uniforms() -> None:
    with vector(0) as x:
        for i in range(50):
            kernel(STEP)(1, x=x, count=1, factor=2.0 if i % 2 else 1.0, value=float(i))
        expected = np.float32(0)
        for i in range(50):
            expected = np.float32(expected * (2.0 if i % 2 else 1.0) + i)
        assert x.numpy()[0] == expected


def test_more_uniforms_than_one_submission_holds(gpu: Gpu) -> None:
    """64 KiB each: the ring of 4 MiB is full after 64 dispatches, which are then submitted."""
    source = """
    struct Params { values: array<vec4u, 4096> }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read_write> x: array<u32>;
    @compute @workgroup_size(1) fn main() { x[params.values[0].x] += params.values[4095].w; }
    """
    big = Kernel(source, "main", "big")
    with Tensor.zeros(200, "u32") as x:
        submitted = gpu.tracker.submitted
        values = np.zeros((4096, 4), np.uint32)
        with gpu.undivided():
            for i in range(200):
                values[0, 0], values[-1, -1] = i, 1000 + i
                big(1, x=x, values=values)
        assert gpu.tracker.submitted - submitted == 3
        assert x.numpy().tolist() == [1000 + i for i in range(200)]


def test_a_push_beyond_the_ring_is_refused(gpu: Gpu) -> None:
    from vertigrad.gpu.uniforms import CAPACITY

    gpu.uniforms.push(bytes(CAPACITY - gpu.uniforms.alignment))
    with pytest.raises(LimitError, match=f"uniform ring full: {CAPACITY} bytes"):
        gpu.uniforms.push(bytes(gpu.uniforms.alignment + 1))
    assert gpu.uniforms.push(bytes(gpu.uniforms.alignment)) == CAPACITY - gpu.uniforms.alignment
    assert not gpu.uniforms.fits(1)
    with pytest.raises(LimitError, match=f"{CAPACITY + 1} bytes of uniforms in one plan; at most {CAPACITY}"):
        gpu.uniforms.fits(CAPACITY + 1)
    gpu.uniforms.abandon()
    assert gpu.uniforms.push(b"x") == 0
    gpu.uniforms.abandon()


# wrong arguments ------------------------------------------------------------------------------------------------

DEFAULTS = {"count": 1, "scale": 1.0, "shift": 0.0}


def test_missing_tensors_and_unknown_arguments_are_listed_with_the_known_ones() -> None:
    with vector(1) as x, pytest.raises(ShaderError) as caught:
        kernel(AFFINE)(1, x=x, z=x, scales=2.0, count=1)
    message = str(caught.value)
    assert "test kernel:main" in message
    assert "missing tensors ['y']" in message
    assert "unknown arguments ['z', 'scales']" in message
    assert "it takes ['x', 'y', 'count', 'scale', 'shift', 'x_offset', 'y_offset']" in message


def test_missing_fields_are_named() -> None:
    with (
        vector(1) as x,
        vector(2) as y,
        pytest.raises(ShaderError, match=r"needs values for \['scale', 'shift'\], got"),
    ):
        kernel(AFFINE)(1, x=x, y=y, count=1)


def test_an_array_is_not_a_tensor() -> None:
    with vector(1) as y, pytest.raises(ShaderError, match=r"test kernel: x must be a tensor, got ndarray"):
        kernel(AFFINE)(1, x=np.zeros(1, np.float32), y=y, **DEFAULTS)


def test_another_element_type_is_refused() -> None:
    refused = pytest.raises(DtypeError, match=r"x is array<f32>; tensor 'counts' has i32: cast it first")
    with Tensor.zeros(1, "i32", "counts") as x, vector(1) as y, refused:
        kernel(AFFINE)(1, x=x, y=y, **DEFAULTS)


def test_gaps_are_refused_unless_the_kernel_walks_strides() -> None:
    refused = pytest.raises(LayoutError, match=r"x: tensor 'grid' is not contiguous; pass grid.contiguous\(\)")
    with Tensor.zeros((4, 4), name="grid") as grid, vector(1) as y, grid[:, 0] as column, refused:
        kernel(AFFINE)(1, x=column, y=y, **DEFAULTS)


def test_a_kernel_that_walks_strides_gets_them() -> None:
    source = """
    struct Params { x_offset: u32, x_strides: vec2i }
    @group(0) @binding(0) var<uniform> params: Params;
    @group(0) @binding(1) var<storage, read> x: array<f32>;
    @group(0) @binding(2) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(1) fn main(@builtin(global_invocation_id) id: vec3u) {
        y[id.y * 3u + id.x] = x[i32(params.x_offset) + i32(id.y) * params.x_strides.x + i32(id.x) * params.x_strides.y];
    }
    """
    walking = Kernel(source, "main", "walking")
    values = np.arange(120, dtype=np.float32).reshape(10, 12)
    with Tensor.from_numpy(values) as x, Tensor.empty((4, 3)) as y:
        for key in ((slice(9, 1, -2), slice(1, 12, 4)), (slice(2, 6), slice(10, 4, -2))):
            with x[key] as view:
                strides = [stride // 4 for stride in view.strides]
                walking((3, 4), x=view, y=y, x_strides=strides)
                assert np.array_equal(y.numpy(), values[key])


def test_a_tensor_off_the_alignment_needs_a_kernel_with_an_offset(gpu: Gpu) -> None:
    alignment = gpu.limits["min-storage-buffer-offset-alignment"]
    with Tensor.zeros(1000, name="x") as x:
        with x[1:3] as off, pytest.raises(LayoutError, match=rf"x: tensor 'x' begins at byte 4, .* {alignment}"):
            kernel(STEP)(1, x=off, count=1, factor=0.0, value=1.0)
        with x[alignment // 4 :] as on:
            kernel(STEP)(2, x=on, count=2, factor=0.0, value=1.0)
        assert x.numpy().nonzero()[0].tolist() == [alignment // 4, alignment // 4 + 1]


def test_a_binding_larger_than_the_adapter_binds(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(gpu.limits, "max-storage-buffer-binding-size", 1024)
    with Tensor.zeros(257, name="huge") as x, pytest.raises(LimitError, match=r"'huge' spans 1,028 bytes.* 1,024"):
        kernel(STEP)(1, x=x, count=1, factor=0.0, value=1.0)


def test_reading_and_writing_one_tensor_is_refused_before_anything_is_copied(gpu: Gpu) -> None:
    with Tensor.zeros(100, name="both") as x, x.clone() as clone:
        block = x.block
        with x[50:] as upper, pytest.raises(LayoutError, match=r"x .tensor 'both'. is read .* pass a clone\(\)"):
            kernel(AFFINE)(1, x=upper, y=x, **DEFAULTS)
        assert x.block is clone.block is block


def test_a_clone_may_be_read_while_the_original_is_written() -> None:
    with vector(1, 2, 3) as x, x.clone() as old:
        kernel(AFFINE)(3, x=old, y=x, count=3, scale=10.0, shift=0.0)
        assert x.numpy().tolist() == [10, 20, 30]
        assert old.numpy().tolist() == [1, 2, 3]
        assert x.block is not old.block


def test_closed_tensors_are_named() -> None:
    x, y = vector(1, name="gone"), vector(2)
    x.close()
    with pytest.raises(UseAfterFree, match=r"'gone', created at .*test_kernel\.py"):
        kernel(AFFINE)(1, x=x, y=y, **DEFAULTS)
    y.close()


@pytest.mark.parametrize(
    ("type_", "good", "bad"),
    [("array<vec4f>", 8, 6), ("array<vec3f>", 4, 3), ("array<vec2<f32>>", 2, 3), ("array<f32, 6>", 6, 5)],
)
def test_a_tensor_of_a_fractional_number_of_elements_is_rejected(type_: str, good: int, bad: int) -> None:
    source = f"""
    @group(0) @binding(0) var<storage, read> x: {type_};
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(1) fn main() {{ y[0] = x[0]{".x" if "vec" in type_ else ""}; }}
    """
    wide = Kernel(source, "main", "wide")
    with Tensor.full(good, 3.0) as x, Tensor.zeros(1) as y:
        wide(1, x=x, y=y)
        assert y.item() == 3
    refused = pytest.raises(LayoutError, match=rf"kernel wide: x is .*; tensor 'rows' has {4 * bad}: pad its rows")
    with Tensor.zeros(bad, name="rows") as x, Tensor.zeros(1) as y, refused:
        wide(1, x=x, y=y)


def test_empty_tensors_are_bound() -> None:
    source = """
    @group(0) @binding(0) var<storage, read> x: array<vec4f>;
    @group(0) @binding(1) var<storage, read_write> y: array<f32>;
    @compute @workgroup_size(1) fn main() { y[0] = 5.0; }
    """
    with Tensor.zeros((0, 4)) as x, Tensor.zeros(1) as y:
        Kernel(source.replace("5.0", "f32(arrayLength(&x)) + 4.0"), "main", "empty")(1, x=x, y=y)
        assert y.item() == 5


def test_a_failed_call_keeps_the_values_of_its_outputs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The block has changed when creating the bind group fails: the values must be restored."""

    def refuse(**_: object) -> None:
        raise wgpu.GPUValidationError("not today")

    with vector(1, 2) as x, x.clone() as clone:
        block = x.block
        fresh = Kernel(PUT, "main", "fresh")
        monkeypatch.setattr(fresh.gpu.device, "create_bind_group", refuse, raising=False)
        with pytest.raises(ShaderError, match="kernel fresh: not today"):
            fresh(1, overwrites=("x",), x=x, count=1, value=0.0)
        assert x.block is clone.block is block
        assert x.numpy().tolist() == [1, 2]


# overwritten tensors --------------------------------------------------------------------------------------------


def test_overwritten_tensors_are_not_copied_first(gpu: Gpu) -> None:
    with vector(1, 2, 3) as x, x.clone() as clone:
        before = gpu.meter.read()["geometry"]["device_to_device"]
        kernel(PUT)(3, overwrites=("x",), x=x, count=3, value=7.0)
        assert gpu.meter.read()["geometry"]["device_to_device"] == before
        assert x.numpy().tolist() == [7, 7, 7]
        assert clone.numpy().tolist() == [1, 2, 3]


def test_overwriting_a_view_keeps_the_rest_of_the_block() -> None:
    with vector(1, 2, 3, 4) as x, x.clone() as clone:
        with x[1:3] as middle:
            kernel(PUT)(2, overwrites=("x",), x=middle, count=2, value=7.0)
        assert x.numpy().tolist() == [1, 7, 7, 4]
        assert clone.numpy().tolist() == [1, 2, 3, 4]


# compiling ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("trusted", [False, True])
def test_wgsl_that_does_not_compile_is_an_error_with_its_name(trusted: bool) -> None:
    with pytest.raises(ShaderError, match=r"(?s)broken.wgsl: .*unknwon") as caught:
        Kernel(PUT.replace("params.value", "unknwon"), "main", "broken.wgsl", trusted=trusted)
    assert isinstance(caught.value.__cause__, wgpu.GPUError)


def test_a_binding_of_the_wrong_kind_is_an_error() -> None:
    source = NO_UNIFORM.replace("read_write", "read")
    with pytest.raises(ShaderError, match="half"):
        Kernel(source, "main", "half")


def test_trusted_kernels_compute_the_same() -> None:
    with vector(1, 2, 3) as x, Tensor.empty(3) as y:
        Kernel(AFFINE, "main", "trusted", trusted=True)(3, x=x, y=y, count=3, scale=3.0, shift=1.0)
        assert y.numpy().tolist() == [4, 7, 10]


def test_checks_can_be_turned_on_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = []
    monkeypatch.setattr(kernel_module.native, "trusted_module", lambda *a: compiled.append(a) or _untrusted(*a))
    Kernel(STEP, "main", "k", trusted=True)
    assert len(compiled) == 1
    monkeypatch.setenv("VERTIGRAD_CHECKED", "1")
    Kernel(STEP, "main", "k", trusted=True)
    assert len(compiled) == 1


def _untrusted(device: wgpu.GPUDevice, code: str, label: str) -> wgpu.GPUShaderModule:
    return device.create_shader_module(label=label, code=code)


def test_files_are_compiled_once_for_each_set_of_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shaders").mkdir()
    (tmp_path / "shaders" / "k.wgsl").write_text(
        "@group(0) @binding(0) var<storage, read_write> x: array<f32>;\n"
        "@compute @workgroup_size(1) fn main() { x[0] = f32(${VALUE}); }\n"
        "@compute @workgroup_size(1) fn other() { x[0] = -f32(${VALUE}); }\n"
    )
    monkeypatch.setattr(resources, "root", lambda: tmp_path)
    monkeypatch.setattr(kernel_module, "_alive", {})
    monkeypatch.setattr(kernel_module, "_recent", OrderedDict())
    shader._environment.cache_clear()
    one = Kernel.load("k.wgsl", defines={"VALUE": 1})
    assert one.name == "shaders/k.wgsl"
    assert Kernel.load("k.wgsl", defines={"VALUE": 1}) is one
    assert Kernel.load("k.wgsl", "other", {"VALUE": 1}) is not one
    assert "f32(1.0)" in Kernel.load("k.wgsl", defines={"VALUE": 1.0}).source
    assert Kernel.load("k.wgsl", defines={"VALUE": 1, "LIST": [1, 2]}) is not one
    shader._environment.cache_clear()


def test_bind_groups_are_created_once(gpu: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    fresh = Kernel(STEP, "main", "fresh")
    created = []
    create = gpu.device.create_bind_group
    monkeypatch.setattr(
        gpu.device, "create_bind_group", lambda **what: created.append(what) or create(**what), raising=False
    )
    with vector(1) as x, vector(2) as y:
        for tensor in (x, y, x, y, x):
            fresh(1, x=tensor, count=1, factor=1.0, value=1.0)
        assert len(created) == 2
        assert x.numpy().tolist() == [4]
        assert y.numpy().tolist() == [4]


def test_a_reused_block_reuses_its_bind_group(gpu: Gpu) -> None:
    for i in range(10):
        with vector(float(i)) as x:
            kernel(STEP)(1, x=x, count=1, factor=1.0, value=1.0)
            assert x.numpy().tolist() == [i + 1]
        gpu.wait_idle()


# the cache of loaded kernels ------------------------------------------------------------------------------------


def optimizer(**changes: object) -> Kernel:
    defines = {"RULE": "sgd", "MOMENTUM": False, "NESTEROV": False, "DECOUPLED": False}
    return Kernel.load("learn/optimize.wgsl", defines=defines | changes)


def test_values_that_are_equal_but_render_differently_are_different_kernels() -> None:
    assert optimizer() is optimizer()
    kernels = [optimizer(DECOUPLED=value) for value in (False, 0, 0.0, np.int32(0), (False,), [0])]
    assert len(set(map(id, kernels))) == len(kernels)


def test_unused_kernels_are_evicted_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_module, "MOST_KERNELS", len(kernel_module._recent) + 2)
    held, dropped = optimizer(DECOUPLED=10), weakref.ref(optimizer(DECOUPLED=11))
    for name in list(kernel_module._recent)[:-2]:
        kernel_module._recent.move_to_end(name)
    others = [optimizer(DECOUPLED=number) for number in (12, 13)]
    gc.collect()
    assert dropped() is None and optimizer(DECOUPLED=10) is held
    assert len(kernel_module._recent) <= kernel_module.MOST_KERNELS
    assert {held, *others} <= set(kernel_module.loaded({"learn/optimize.wgsl"}))


def test_kernels_compute_in_f64_where_the_adapter_can(gpu: Gpu) -> None:
    """In f32, 1 + 1e-12 is 1, and the square root of 1e80 does not exist."""
    if "shader-f64" not in gpu.adapter.adapter.features:
        pytest.skip("no f64 here")
    source = """
    @group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(1) fn main() {
        let small = 1e-12lf * f64(x[0]);
        x[0] = f32((1.0lf + small - 1.0lf) * 1e12lf);
        x[1] = f32(sqrt(f64(x[1]) * 1e80lf) / 1e40lf);
    }
    """
    with Tensor.from_numpy(np.array([3, 4], np.float32)) as x:
        Kernel(source, "main", "doubles")(1, x=x)
        assert x.numpy() == pytest.approx([3, 2], rel=1e-3)
