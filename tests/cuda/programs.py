"""Programs that tests run in a process of their own, since wgpu's instance is created once in a process.

`python programs.py NAME` runs the function of that name; an assertion that fails is the test's failure, and a program
that calls `skip` skips it.
"""

from __future__ import annotations

import gc
import os
import resource
import sys
import threading

import numpy as np
import wgpu
from layered import (
    COPY,
    PADDING,
    USAGE,
    expect_error,
    layered_device,
    mapped,
    shared_buffer,
    skip,
    software_adapter,
    wait_idle,
)

import vertigrad_cuda as vc
from vertigrad_cuda.library import library


def values_in_both_directions() -> None:
    device = layered_device()
    for size in (256, 4096, 12_000_000):
        buffer, memory = shared_buffer(device, size)
        assert memory.exportable and memory.size == size + PADDING and memory.offset == 0 and memory.memory_size >= size
        numbers = np.random.default_rng(size).integers(0, 2**32, size // 4, np.uint32)
        device.queue.write_buffer(buffer, 0, numbers)
        wait_idle(device)
        mapped(vc.export(memory.memory), size, numbers)[:] = (numbers * 3).view(np.uint8)
        assert np.array_equal(np.frombuffer(device.queue.read_buffer(buffer), np.uint32), numbers * 3)


def small_placeholders() -> None:
    """As on a GPU with memory of its own: wgpu's allocator gets 16 bytes for each buffer."""
    library().vertigrad_small_placeholders(1)
    values_in_both_directions()


def mapped_buffers() -> None:
    """A mapping of a marked buffer is useless, but stays in its bounds: other buffers are unchanged."""
    with vc.layer():
        device = software_adapter().request_device_sync(required_features=["mappable-primary-buffers"])
    usage = wgpu.BufferUsage.STORAGE | wgpu.BufferUsage.MAP_WRITE | wgpu.BufferUsage.COPY_SRC
    buffer, memory = shared_buffer(device, 4096, usage)
    assert memory.exportable
    others = [device.create_buffer(size=256, usage=USAGE) for _ in range(8)]
    for other in others:
        device.queue.write_buffer(other, 0, np.full(64, 7, np.uint32))
    wait_idle(device)
    buffer.map_sync(wgpu.MapMode.WRITE)
    buffer.write_mapped(np.full(1024, 9, np.uint32))
    buffer.unmap()
    for other in others:
        assert set(np.frombuffer(device.queue.read_buffer(other), np.uint32)) == {7}


def unmarked_buffers() -> None:
    device = layered_device()
    expect_error("no buffer inside exportable()", vc.last_buffer)
    device.create_buffer(size=4096, usage=USAGE)
    expect_error("no buffer inside exportable()", vc.last_buffer)
    _, copied = shared_buffer(device, 64, COPY)  # neither STORAGE nor VERTEX
    assert copied == vc.BufferMemory(0, 64, 0, 0, False)
    expect_error("no such exportable memory", vc.export, copied.memory)
    with vc.exportable():
        expect_error("no buffer inside exportable()", vc.last_buffer)
        with vc.exportable():
            device.create_buffer(size=256, usage=USAGE)
        device.create_buffer(size=512, usage=USAGE)
        assert vc.last_buffer().size == 512 + PADDING
    device.create_buffer(size=1024, usage=USAGE)
    assert vc.last_buffer().size == 512 + PADDING
    assert vc.statistics().memories <= 2


def destroyed_memory() -> None:
    device = layered_device()
    buffer, memory = shared_buffer(device, 4096)
    numbers = np.random.default_rng(1).integers(0, 2**32, 1024, np.uint32)
    device.queue.write_buffer(buffer, 0, numbers)
    wait_idle(device)
    fd = vc.export(memory.memory)
    buffer.destroy()
    wait_idle(device)
    expect_error("no such exportable memory", vc.export, memory.memory)
    expect_error("no such exportable memory", vc.export, 10**6)
    others = [shared_buffer(device, 4096) for _ in range(16)]
    for other, _ in others:
        device.queue.write_buffer(other, 0, np.full(1024, 7, np.uint32))
    wait_idle(device)
    assert np.array_equal(mapped(fd, 4096, numbers).view(np.uint32), numbers)


def resident_bytes() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def many_shares() -> None:
    device = layered_device()

    def share() -> None:
        buffer, memory = shared_buffer(device, 1 << 20)
        device.queue.write_buffer(buffer, 0, np.ones(1 << 18, np.uint32))
        wait_idle(device)
        os.close(vc.export(memory.memory))
        buffer.destroy()

    for _ in range(20):
        share()
    wait_idle(device)
    before, resident, files = vc.statistics(), resident_bytes(), len(os.listdir("/proc/self/fd"))
    for _ in range(200):
        share()
    gc.collect()
    wait_idle(device)
    after = vc.statistics()
    assert after.exports == before.exports + 200
    assert (after.devices, after.memories, after.bytes) == (1, 0, 0), after
    assert len(os.listdir("/proc/self/fd")) == files
    assert resident_bytes() - resident < 20 << 20, "200 MiB were shared, and more than 20 stayed"


def two_devices() -> None:
    first = layered_device()
    one = vc.last_device()
    second = software_adapter().request_device_sync()
    two = vc.last_device()
    assert one.id != two.id and one.uuid == two.uuid and len(one.uuid) == 16 and "llvmpipe" in one.name
    assert vc.statistics().devices == 2
    sums = []
    for device, factor in ((first, 1), (second, 5)):
        buffer, memory = shared_buffer(device, 4096)
        numbers = np.arange(1024, dtype=np.uint32) * factor + 1
        device.queue.write_buffer(buffer, 0, numbers)
        wait_idle(device)
        sums.append((buffer, memory, numbers))
    assert sums[0][1].memory != sums[1][1].memory
    for _, memory, numbers in sums:
        assert np.array_equal(mapped(vc.export(memory.memory), 4096, numbers).view(np.uint32), numbers)
    del buffer, device, sums, second  # the names of the loop are the second device's
    gc.collect()
    left = vc.statistics()
    assert left.devices in (1, 2)  # wgpu decides when
    if left.devices == 1:
        expect_error("no device", vc.last_device)
        expect_error("no such device", vc.semaphore, two.id, 0)
    wait_idle(first)
    shared_buffer(first, 256)


def two_threads() -> None:
    device = layered_device()
    problems, barrier = [], threading.Barrier(2)

    def share(size: int) -> None:
        try:
            expect_error("no device", vc.last_device)
            for i in range(100):
                barrier.wait(60)
                with vc.exportable():
                    buffer = device.create_buffer(size=size, usage=USAGE)
                barrier.wait(60)  # both have created one
                memory = vc.last_buffer()
                assert (memory.size, memory.exportable) == (size + PADDING, True), memory
                numbers = np.full(size // 4, size + i, np.uint32)
                device.queue.write_buffer(buffer, 0, numbers)
                device.queue.submit([])
                os.close(vc.export(memory.memory))
                assert np.array_equal(np.frombuffer(device.queue.read_buffer(buffer), np.uint32), numbers)
                buffer.destroy()
        except BaseException as problem:
            problems.append(problem)
            barrier.abort()

    threads = [threading.Thread(target=share, args=(size,)) for size in (1024, 8192)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems, problems
    wait_idle(device)
    assert vc.statistics().memories == 0


def marks_of_one_thread() -> None:
    """A buffer of another thread is not marked, while this one is inside `exportable()`."""
    device = layered_device()
    buffers: list[wgpu.GPUBuffer] = []
    with vc.exportable():
        thread = threading.Thread(target=lambda: buffers.append(device.create_buffer(size=4096, usage=USAGE)))
        thread.start()
        thread.join()
        expect_error("no buffer inside exportable()", vc.last_buffer)
    assert buffers and vc.statistics().memories == 0


def semaphores() -> None:
    device = layered_device()
    known = vc.last_device()
    expect_error("there are 0", vc.semaphore, known.id, 2)
    expect_error("no such device", vc.signal, known.id + 1, 0, 1)
    if not known.exports_semaphores:
        for call in (vc.signal, vc.wait):
            expect_error("exports no timeline semaphores", call, known.id, 0, 1)
        expect_error("exports no timeline semaphores", vc.semaphore, known.id, 0)
        skip(f"{known.name} exports no timeline semaphores")
    fds = [vc.semaphore(known.id, which) for which in (0, 1)]
    assert len(set(fds)) == 2
    vc.signal(known.id, 0, 1)
    vc.wait(known.id, 0, 1)
    expect_error("above that of the signal before", vc.signal, known.id, 0, 1)
    wait_idle(device)
    for fd in fds:
        os.close(fd)


def exhaustion() -> None:
    """More than there is raises an error of wgpu, and leaves nothing behind."""
    device = layered_device()
    library().vertigrad_small_placeholders(1)  # else the placeholder is what does not fit
    values_of_one(device)
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), resource.RLIM_INFINITY))
    buffers = []
    try:
        while len(buffers) < 64:
            buffers.append(shared_buffer(device, 128 << 20))
    except (RuntimeError, wgpu.GPUError) as error:
        assert "memory" in str(error).lower(), error
    assert 0 < len(buffers) < 16
    expect_error("no buffer inside exportable()", vc.last_buffer)
    assert vc.statistics().memories == len(buffers)
    while buffers:
        buffers.pop()[0].destroy()
    wait_idle(device)
    assert vc.statistics().memories == 0
    values_of_one(device)


def values_of_one(device: wgpu.GPUDevice) -> None:
    buffer, _ = shared_buffer(device, 256)
    device.queue.write_buffer(buffer, 0, np.arange(64, dtype=np.uint32))
    assert np.frombuffer(device.queue.read_buffer(buffer), np.uint32).tolist() == list(range(64))


def outside_the_layer() -> None:
    """Without the layer nothing is known, and errors say so."""
    device = software_adapter().request_device_sync()
    expect_error("no device of this thread's under the layer", vc.last_device)
    with vc.exportable():
        device.create_buffer(size=4096, usage=USAGE)
    expect_error("no buffer inside exportable() on a device under the layer", vc.last_buffer)
    assert vc.statistics() == vc.Statistics(0, 0, 0, 0)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
