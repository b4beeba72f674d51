"""Networks of many kinds against onnxruntime; memory of their plans; replays allocate none."""

from __future__ import annotations

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator

from vertigrad.gpu import Gpu
from vertigrad.gpu import results as results_module
from vertigrad.gpu.packing import LiveRange, pack
from vertigrad.memory.pool import size_class
from vertigrad.onnx_import import Network

from . import zoo

onnxruntime = pytest.importorskip("onnxruntime", reason="compares with onnxruntime")


def reference(name: str, half: bool, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(
        zoo.make(name, half).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    names = [entry.name for entry in session.get_outputs()]
    try:
        return dict(zip(names, session.run(None, inputs), strict=True))
    except onnxruntime.capi.onnxruntime_pybind11_state.RuntimeException:  # it does not sum f16 by ScatterND
        return dict(zip(names, ReferenceEvaluator(zoo.make(name, half)).run(None, inputs), strict=True))


def difference(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Relative to the largest number."""
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype
    ours, theirs = ours.astype(float), theirs.astype(float)
    return float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-12))


@pytest.mark.parametrize("name", zoo.KINDS)
def test_a_network_is_equal_to_onnxruntime_for_random_shapes(gpu: Gpu, name: str) -> None:
    with Network(zoo.make(name)) as network:
        for seed in range(2):
            inputs = zoo.inputs(name, seed)
            found = network.run(inputs)
            for key, theirs in reference(name, False, inputs).items():
                assert difference(found[key], theirs) < 1e-4, (key, seed)


@pytest.mark.parametrize("name", zoo.KINDS)
def test_a_network_of_half_precision_is_equal_to_onnxruntime(gpu: Gpu, name: str) -> None:
    if "shader-f16" not in gpu.features:
        pytest.skip("this adapter has no f16")
    with Network(zoo.make(name, half=True)) as network:
        inputs = zoo.inputs(name, 1, half=True)
        found = network.run(inputs)
        for key, theirs in reference(name, True, inputs).items():
            assert difference(found[key], theirs) < 1e-2, key


@pytest.mark.parametrize("name", zoo.KINDS)
def test_a_plan_uses_little_more_memory_than_its_live_values(name: str, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """The sum of weights, inputs, outputs and intermediate values; buffers are multiples of 256 bytes."""
    transient: list[LiveRange] = []
    monkeypatch.setattr(results_module, "pack", lambda ranges, slots: transient.extend(ranges) or pack(ranges, slots))
    with Network(zoo.make(name)) as network:
        plan = network.program(zoo.inputs(name, 0)).plan
        owners = list(plan._owners)
        shared = sum(size_class(slot.nbytes) for slot in plan._results._slots)
        taken = sum(owner.block.capacity for owner in owners)
        lasting = taken - shared
        at_once = max(
            sum(size_class(s.nbytes) for s in transient if s.first <= now <= s.last) for now in range(len(plan))
        )
    print(f"\n{name}: {taken:,} bytes, at once {lasting + at_once:,}; transient {shared:,}, at once {at_once:,}")
    assert taken <= 1.2 * (lasting + at_once)


@pytest.mark.parametrize("name", zoo.KINDS)
def test_replaying_allocates_and_leaks_nothing(steady: Gpu, name: str) -> None:
    with Network(zoo.make(name)) as network:
        inputs = zoo.inputs(name, 0)
        program = network.program(inputs)
        program.set(inputs)
        program.replay()
        first = program.read()
        live, held = len(steady.tracker.live), steady.pool.held_bytes
        for _ in range(5):
            program.replay()
            assert (len(steady.tracker.live), steady.pool.held_bytes) == (live, held)
        for key, array in program.read().items():
            if name == "graph_convolution":  # it sums floats by scattering, in any order
                np.testing.assert_allclose(array, first[key], rtol=1e-5, atol=1e-6)
            else:
                np.testing.assert_array_equal(array, first[key])
