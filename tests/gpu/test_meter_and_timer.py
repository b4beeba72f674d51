"""Every byte is counted, and GPU time is measured by group."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from vertigrad.gpu import Gpu, Meter, Plan, Traffic, native
from vertigrad.gpu.meter import Direction, difference
from vertigrad.gpu.timer import GROUPS, Timer
from vertigrad.tensor import Tensor

from .kernels import SPIN, STEP, everything_arrives, kernel, long_rounds
from .test_submission import attachment, color_target

pytestmark = pytest.mark.usefixtures("steady")


class Counted:
    """The counts of a `with` block, without zeros."""

    def __init__(self, gpu: Gpu):
        self._meter = gpu.meter

    def __enter__(self) -> Counted:
        self._before = self._meter.read()
        return self

    def __exit__(self, *_: object) -> None:
        added = difference(self._meter.read(), self._before)
        self.bytes = {
            kind: {direction: n for direction, n in directions.items() if n}
            for kind, directions in added.items()
            if any(directions.values())
        }


def uniform_bytes(gpu: Gpu, *structs: int) -> int:
    return sum(gpu.uniforms.aligned(nbytes) for nbytes in structs)


def test_a_meter_always_has_every_kind_and_direction() -> None:
    meter = Meter()
    meter.count(Direction.HOST_TO_DEVICE, 5)
    meter.count(Direction.HOST_TO_DEVICE, 7)
    meter.count(Direction.DEVICE_TO_HOST, 3, Traffic.IMAGE)
    read = meter.read()
    assert set(read) == {"geometry", "snapshots", "uniforms", "image", "diagnostics"}
    assert read["geometry"] == {"host_to_device": 12, "device_to_device": 0, "device_to_host": 0}
    assert read["image"] == {"host_to_device": 0, "device_to_device": 0, "device_to_host": 3}


def test_uploads_and_readings_are_counted_in_full(gpu: Gpu) -> None:
    with Counted(gpu) as counted, Tensor.from_numpy(np.zeros(1001, np.float32)) as x:
        x.numpy()
    assert counted.bytes == {"geometry": {"host_to_device": 4004, "device_to_host": 4004}}


def test_slices_are_counted_with_their_own_size(gpu: Gpu) -> None:
    with Tensor.from_numpy(np.zeros(1001, np.float32)) as x, x[10:20] as part, Counted(gpu) as counted:
        part.numpy()
    assert counted.bytes == {"geometry": {"device_to_host": 40}}


def test_bools_count_with_their_size_on_the_gpu(gpu: Gpu) -> None:
    with Counted(gpu) as counted, Tensor.from_numpy(np.zeros(10, bool)) as x:
        x.numpy()
    assert counted.bytes == {"geometry": {"host_to_device": 40, "device_to_host": 40}}


def test_clones_views_and_plans_in_place_transfer_nothing(gpu: Gpu) -> None:
    with Tensor.zeros(1000) as x, Plan() as plan:
        plan.dispatch(kernel(STEP), 1000, x=x, count=1000, factor=1.0)
        gpu.submit()
        with Counted(gpu) as counted:
            x.clone().close()
            x[2:8].close()
            for i in range(5):
                plan.replay(value=float(i))
            gpu.submit()
    assert counted.bytes == {"uniforms": {"host_to_device": uniform_bytes(gpu, *[16] * 5)}}


def test_copy_on_write_counts_the_copy(gpu: Gpu) -> None:
    with Tensor.zeros(1001) as x, x.clone():
        gpu.submit()
        with Counted(gpu) as counted:
            kernel(STEP)(1, x=x, count=1, factor=1.0, value=0.0)
            kernel(STEP)(1, x=x, count=1, factor=1.0, value=0.0)
            gpu.submit()
    assert counted.bytes == {
        "geometry": {"device_to_device": 4004},
        "uniforms": {"host_to_device": uniform_bytes(gpu, 16, 16)},
    }


def test_borrowed_memory_counts_when_it_is_uploaded(gpu: Gpu) -> None:
    with Counted(gpu) as counted, Tensor.from_blob(np.zeros(1000, np.float32)) as x:
        x.numpy()
    assert counted.bytes == {}
    with Counted(gpu) as counted, Tensor.from_blob(np.zeros(1000, np.float32)) as x:
        gpu.make_resident(x.owner)
        gpu.make_resident(x.owner)
    assert counted.bytes == {"geometry": {"host_to_device": 4000}}
    with Counted(gpu) as counted, Tensor.from_blob(np.zeros(1000, np.float32)) as x:
        x.fill_(0.0)  # overwritten in full
        gpu.submit()
    assert "geometry" not in counted.bytes


def test_a_readback_is_counted_under_its_purpose(gpu: Gpu) -> None:
    with Tensor.zeros(3) as x, Counted(gpu) as counted:
        x.read_async(Traffic.DIAGNOSTICS).result()
    assert counted.bytes == {"diagnostics": {"device_to_host": 12}}


def test_submits_are_counted(gpu: Gpu) -> None:
    with Tensor.zeros(1) as x:
        gpu.submit()
        before = gpu.meter.submits
        for _ in range(3):
            x.add_(1.0)
            gpu.submit()
        assert gpu.meter.submits == before + 3


# times ----------------------------------------------------------------------------------------------------------


@pytest.fixture
def timed(gpu: Gpu) -> Iterator[Gpu]:
    if not gpu.timer.available:
        pytest.skip("no timestamp queries here")
    gpu.timer.enabled, gpu.timer.latest = True, {}
    yield gpu
    gpu.timer.enabled = False
    gpu.wait_idle()
    gpu.timer.latest = {}


def arrive(gpu: Gpu) -> dict[str, float]:
    gpu.wait_idle()
    everything_arrives(gpu)
    return gpu.timer.latest


def test_groups_appear_with_plausible_times(timed: Gpu) -> None:
    target = color_target(timed)
    with Tensor.zeros(1 << 13) as x, Plan("long") as long, Plan("short") as short:
        long.dispatch(kernel(SPIN), x.size, x=x, rounds=long_rounds(timed) // 5)
        short.dispatch(kernel(SPIN), x.size, x=x, rounds=long_rounds(timed) // 500)
        for plan in (long, short):
            plan.replay()
        arrive(timed)
        start = time.perf_counter()
        with timed.frames.frame():
            short.replay()
            long.replay()
            with timed.recorder.group("named"):
                kernel(SPIN)(x.size, x=x, rounds=40)
            kernel(SPIN)(x.size, x=x, rounds=1)
            with timed.recorder.render_pass(group="picture", color_attachments=[attachment(target)]):
                pass
        times = arrive(timed)
        wall = 1000 * (time.perf_counter() - start)
    assert set(times) == {"long", "short", "named", "compute", "picture"}
    assert all(ms >= 0 for ms in times.values())
    assert 0 < sum(times.values()) <= wall
    if timed.adapter.kind != "software":  # llvmpipe writes timestamps while a dispatch may still be running
        assert times["long"] > 5 * times["short"] > 0


def test_times_of_passes_of_one_group_are_summed(timed: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timed.timer, "_period", 2.5)  # ns a tick
    ticks = np.array([[100, 150], [150, 350], [400, 1000], [1000, 900]], np.uint64)
    timed.timer._store([(name, "") for name in "abab"], memoryview(ticks).cast("B"), 7, 1.5)
    assert timed.timer.latest == pytest.approx({"a": 650 * 2.5e-6, "b": 200 * 2.5e-6})
    newest = timed.timer.submissions[-1]
    assert (newest.frame, newest.recorded, len(newest.spans)) == (7, 1.5, 4)
    assert newest.spans[1].begin == pytest.approx(375)
    assert newest.spans[2].ms == pytest.approx(600 * 2.5e-6)


def test_ticks_have_the_period_of_the_queue(timed: Gpu, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "timestamp_period", lambda queue: 40.0 if queue is timed.queue else 1.0)
    timer = Timer(timed.device, timed.readback, timed.meter)
    timer._store([("a", "")], memoryview(np.array([[10, 20]], np.uint64)).cast("B"), 1, 0.0)
    assert timer.latest == pytest.approx({"a": 400e-6})


def test_times_are_counted_as_diagnostics(timed: Gpu) -> None:
    with Tensor.zeros(1) as x:
        timed.submit()
        with Counted(timed) as counted:
            x.add_(1.0)
            arrive(timed)
    assert counted.bytes["diagnostics"] == {"device_to_host": 16}


def test_nothing_is_measured_while_disabled(gpu: Gpu) -> None:
    gpu.timer.latest = {}
    with Tensor.zeros(1) as x, Counted(gpu) as counted:
        x.add_(1.0)
        arrive(gpu)
    assert gpu.timer.latest == {}
    assert "diagnostics" not in counted.bytes


def test_passes_beyond_the_timed_ones_are_counted(timed: Gpu) -> None:
    untimed = timed.timer.untimed
    with Tensor.zeros(1) as x, Plan("many") as plan:
        timed.submit()
        plan.dispatch(kernel(STEP), 1, x=x, count=1, factor=1.0, value=1.0)
        with timed.frames.frame():
            for _ in range(GROUPS + 5):
                plan.replay()
        assert list(arrive(timed)) == ["many"]
        assert timed.timer.untimed == untimed + 5
        assert x.item() == GROUPS + 5


def test_dropped_frames_leave_no_times_behind(timed: Gpu) -> None:
    with Tensor.zeros(1) as x, Plan("dropped") as dropped, Plan("held") as held:
        for plan in (dropped, held):
            plan.dispatch(kernel(STEP), 1, x=x, count=1, factor=1.0, value=1.0)
        arrive(timed)
        for _ in range(GROUPS):
            with pytest.raises(ZeroDivisionError), timed.frames.frame():
                dropped.replay()
                _ = 1 / 0
        with timed.frames.frame():
            held.replay()
        assert list(arrive(timed)) == ["held"]
        assert x.item() == 1


def test_timing_can_be_toggled_in_the_middle_of_a_recording(timed: Gpu) -> None:
    with Tensor.zeros(1) as x, Plan("plan") as plan:
        plan.dispatch(kernel(STEP), 1, x=x, count=1, factor=1.0, value=1.0)
        for i in range(6):
            timed.timer.enabled = i % 2 == 0
            plan.replay()
            x.add_(1.0)
        assert x.item() == 12


def test_each_kernel_is_timed_on_request(timed: Gpu) -> None:
    with Tensor.zeros(64) as x, Plan("plan") as plan:
        for factor in (1.0, 2.0, 3.0):
            plan.dispatch(kernel(STEP), 64, x=x, count=64, factor=factor, value=0.0)
        plan.dispatch(kernel(SPIN), 64, x=x, rounds=1)
        plan.replay()
        arrive(timed)
        assert [(span.group, span.kernel) for span in timed.timer.submissions[-1].spans] == [("plan", "")]
        before = x.numpy()
        timed.timer.each_kernel = True
        try:
            plan.replay()
            x.add_(0.0)
            arrive(timed)
        finally:
            timed.timer.each_kernel = False
        newest = timed.timer.submissions[-1]
        labels = [kernel(STEP).label] * 3 + [kernel(SPIN).label]
        assert [(span.group, span.kernel) for span in newest.spans] == [
            *(("plan", label) for label in labels),
            ("compute", "elementwise"),
        ]
        assert set(timed.timer.latest) == {"plan", "compute"}
        assert timed.timer.latest["plan"] == pytest.approx(sum(span.ms for span in newest.spans[:4]))
        plan.replay()
        assert not np.array_equal(before, x.numpy()), "it ran"


def test_kernels_timed_one_by_one_compute_the_same(timed: Gpu) -> None:
    results = []
    for each in (False, True):
        with Tensor.full((100,), 1.5) as x, Plan("plan") as plan:
            for i in range(GROUPS + 6):  # more than are timed by default
                plan.dispatch(kernel(STEP), 100, x=x, count=100, factor=1.0 + i / 100)
                if i == 40:  # another pipeline between them
                    plan.dispatch(kernel(SPIN), 100, x=x, rounds=2)
            timed.timer.each_kernel = each
            try:
                for value in (0.5, 0.25):
                    plan.replay(value=value)
                    arrive(timed)
                assert len(timed.timer.submissions[-1].spans) == (GROUPS + 7 if each else 1)
            finally:
                timed.timer.each_kernel = False
            results.append(x.numpy())
    assert np.array_equal(*results)


def test_a_submission_knows_its_frame_and_when_it_was_recorded(timed: Gpu) -> None:
    with Tensor.zeros(4) as x, Plan("plan") as plan:
        plan.dispatch(kernel(STEP), 4, x=x, count=4, factor=1.0, value=1.0)
        begun = time.perf_counter()
        with timed.frames.frame() as number:
            plan.replay()
        ended = time.perf_counter()
        arrive(timed)
        newest = timed.timer.submissions[-1]
        assert newest.frame == number
        assert begun < newest.recorded < ended < newest.arrived
