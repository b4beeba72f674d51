"""Views alias, clones are independent, and a write copies exactly when another holder would be affected."""

from __future__ import annotations

import gc
import threading

import numpy as np
import pytest

from vertigrad import ops
from vertigrad.errors import LayoutError, ShapeError, UseAfterFree
from vertigrad.gpu import Gpu
from vertigrad.memory import State
from vertigrad.tensor import Publication, Tensor

pytestmark = pytest.mark.usefixtures("steady")


def counting(n: int = 6, name: str = "x") -> Tensor:
    return Tensor.from_numpy(np.arange(n, dtype=np.float32), name)


def copied(gpu: Gpu) -> int:
    return gpu.meter.read()["geometry"]["device_to_device"]


# views ----------------------------------------------------------------------------------------------------------


def test_views_are_the_same_bytes() -> None:
    with (
        counting(12) as x,
        x.reshape(3, 4) as grid,
        grid.T as turned,
        grid[1] as row,
        x[::-1] as back,
        x.detach() as leaf,
    ):
        for view in (grid, turned, row, back, leaf):
            assert view.owner is x.owner
            assert view.block.owners == 1
        assert x.owner.handles == 6
        row[...] = -1.0
        turned[0, 2] = 50.0
        back[0] = 99.0
        leaf[1] = 7.0
        assert x.numpy().tolist() == [0, 7, 2, 3, -1, -1, -1, -1, 50, 9, 10, 99]
        assert grid.numpy().tolist() == [[0, 7, 2, 3], [-1, -1, -1, -1], [50, 9, 10, 99]]


def test_writes_are_shared_between_a_tensor_and_its_views() -> None:
    with counting() as x, x[2:4] as view:
        x.add_(100.0)
        assert view.numpy().tolist() == [102, 103]
        view.mul_(0.0)
        assert x.numpy().tolist() == [100, 101, 0, 0, 104, 105]


def test_a_view_keeps_the_block_when_its_tensor_closes(gpu: Gpu) -> None:
    x = counting()
    view, block = x[2:4], x.block
    x.close()
    assert view.numpy().tolist() == [2, 3]
    assert block.state is State.LIVE
    view.close()
    gpu.wait_idle()
    assert block.state is State.FREE
    with pytest.raises(UseAfterFree):
        view.numpy()


def test_expanded_views_read_many_and_write_none() -> None:
    with Tensor.from_numpy(np.array([[1], [2]], np.float32), "column") as x, x.expand(2, 3) as wide:
        assert (wide.strides, wide.nbytes, wide.extent) == ((4, 0), 24, 8)
        assert wide.numpy().tolist() == [[1, 1, 1], [2, 2, 2]]
        with pytest.raises(LayoutError, match=r"'column' .*repeats elements"):
            wide[...] = 5.0
        with pytest.raises(LayoutError, match="repeats elements"):
            wide.add_(1.0)
        x[0, 0] = 9.0
        assert wide.numpy()[0].tolist() == [9, 9, 9]


def test_a_reshape_that_needs_a_copy_reports_it() -> None:
    with Tensor.zeros((3, 4)) as x, x.T as turned:
        with pytest.raises(ShapeError, match=r"has no view of shape \(12,\); use .contiguous\(\).reshape"):
            turned.reshape(12)
        with turned.contiguous() as packed, packed.reshape(12) as flat:
            assert flat.block is not x.block
            assert flat.block is packed.block


def test_contiguous_is_a_view_where_it_can_be() -> None:
    with counting() as x, x.contiguous() as same, x[::2].contiguous() as packed:
        assert same.owner is x.owner
        assert packed.owner is not x.owner
        assert packed.numpy().tolist() == [0, 2, 4]


def test_overlapping_views_are_assigned_correctly() -> None:
    with counting() as x:
        x[1:] = x[:-1]
        assert x.numpy().tolist() == [0, 0, 1, 2, 3, 4]
    with counting() as x:
        x[...] = x[::-1]
        assert x.numpy().tolist() == [5, 4, 3, 2, 1, 0]
    with counting(9) as x, x.reshape(3, 3) as grid:
        grid[...] = grid.T
        assert x.numpy().tolist() == [0, 3, 6, 1, 4, 7, 2, 5, 8]


# clones and copy-on-write ---------------------------------------------------------------------------------------


def test_a_clone_shares_until_the_first_write(gpu: Gpu) -> None:
    with counting(1000) as x:
        gpu.submit()
        before = gpu.meter.read()
        with x.clone("copy") as y:
            assert y.block is x.block
            assert (x.block.owners, y.name) == (2, "copy")
            assert y.owner is not x.owner
            assert gpu.meter.read() == before
            old = x.block
            y.add_(1.0)
            assert x.block is old
            assert y.block is not old
            assert (old.owners, y.block.owners) == (1, 1)
            assert copied(gpu) - before["geometry"]["device_to_device"] == 4000
            assert x.numpy().tolist() == list(range(1000))
            assert y.numpy().tolist() == list(range(1, 1001))


def test_augmented_assignment_writes_in_place(gpu: Gpu) -> None:
    """As NumPy's: the same tensor afterwards, its views and the rows written through an index included."""
    values = np.arange(12, dtype=np.float32).reshape(4, 3)
    with Tensor.from_numpy(values, "x") as x, x[1:3] as rows:
        same, block = x, x.block
        x += 2.0
        x *= 3.0
        rows -= 1.0
        x[0] /= 2.0
        assert same is x
        assert x.block is block
        values = (values + 2.0) * 3.0
        values[1:3] -= 1.0
        values[0] /= 2.0
        assert np.array_equal(x.numpy(), values)


def test_a_sole_owner_writes_in_place(gpu: Gpu) -> None:
    with counting() as x:
        block, before = x.block, copied(gpu)
        for _ in range(5):
            x.add_(1.0)
            x[0] = 3.0
        with x.clone() as y:
            y.close()
            x.add_(1.0)
        assert x.block is block
        assert copied(gpu) == before
        assert x.block.generation == block.generation


@pytest.mark.parametrize("clone_first", [False, True])
def test_the_first_writer_gets_a_new_block(clone_first: bool) -> None:
    with counting() as x, x.clone() as y:
        block = x.block
        writer, other = (y, x) if clone_first else (x, y)
        writer.add_(1.0)
        assert other.block is block is not writer.block
        other.add_(10.0)
        assert other.block is block  # sole owner by now
        assert writer.numpy().tolist() == [1, 2, 3, 4, 5, 6]
        assert other.numpy().tolist() == [10, 11, 12, 13, 14, 15]


def test_views_of_a_clone_move_together() -> None:
    with counting() as x, x.clone() as y, y[2:4] as part, y[::-1] as back, x[2:4] as other:
        part[...] = -1.0
        assert part.block is y.block is back.block
        assert y.block is not x.block
        assert other.block is x.block
        assert y.numpy().tolist() == [0, 1, -1, -1, 4, 5]
        assert back.numpy().tolist() == [5, 4, -1, -1, 1, 0]
        assert x.numpy().tolist() == [0, 1, 2, 3, 4, 5]
        assert other.numpy().tolist() == [2, 3]


def test_a_clone_of_a_view_is_a_clone_of_the_whole_block() -> None:
    with counting() as x, x[2:4] as part, part.clone() as y:
        assert y.block is x.block
        y.add_(100.0)
        assert y.numpy().tolist() == [102, 103]
        assert x.numpy().tolist() == [0, 1, 2, 3, 4, 5]
        assert y.block.nbytes == x.block.nbytes


def test_chains_of_clones() -> None:
    with counting(3) as x:
        clones = [x.clone()]
        for _ in range(9):
            clones.append(clones[-1].clone())
        assert x.block.owners == 11
        for i, clone in enumerate(clones):
            clone.add_(float(i + 1))
        assert len({clone.block.id for clone in clones} | {x.block.id}) == 11
        for i, clone in enumerate(clones):
            assert clone.numpy().tolist() == [i + 1, i + 2, i + 3]
            clone.close()


def test_a_clone_outlives_its_original(gpu: Gpu) -> None:
    x = counting()
    y, block = x.clone(), x.block
    x.close()
    before = copied(gpu)
    y.add_(1.0)  # sole owner now: no copy
    assert y.block is block
    assert copied(gpu) == before
    assert y.numpy().tolist() == [1, 2, 3, 4, 5, 6]
    y.close()


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7])
def test_odd_numbers_of_bytes_are_copied_in_full(n: int) -> None:
    values = np.arange(200, 200 + n, dtype=np.uint8)
    with Tensor.from_numpy(values) as x, x.clone() as y:
        y[0] = 7
        assert y.numpy().tolist() == [7, *values[1:]]
        assert x.numpy().tolist() == values.tolist()


def test_detach_shares_writes_included() -> None:
    with counting() as x, x.detach() as y:
        assert y.block is x.block
        assert x.block.owners == 1
        y[0] = 42.0
        assert x.numpy()[0] == 42


def test_out_of_an_operation_copies_only_the_retained_part(gpu: Gpu) -> None:
    with counting(1000) as x, x.clone() as y, Tensor.full(1000, 2.0) as z:
        gpu.submit()
        before, old = copied(gpu), x.block
        ops.multiply(z, z, out=x)  # overwritten in full
        assert x.block is not old
        assert copied(gpu) == before
        assert set(x.numpy()) == {4.0}
        assert y.numpy().tolist() == list(range(1000))
    with counting(1000) as x, x.clone() as y, x[:10] as part:
        before = copied(gpu)
        ops.multiply(part, part, out=part)  # the other 990 must not change
        assert copied(gpu) == before + 4000
        assert x.numpy()[8:12].tolist() == [64, 81, 10, 11]
        assert y.numpy()[8:12].tolist() == [8, 9, 10, 11]


def test_reading_a_clone_while_writing_the_original() -> None:
    with counting(4) as x, x.clone() as y:
        ops.add(y, y, out=x)
        assert x.numpy().tolist() == [0, 2, 4, 6]
        assert y.numpy().tolist() == [0, 1, 2, 3]


# publications ---------------------------------------------------------------------------------------------------


def test_published_blocks_are_copied_before_they_are_written(gpu: Gpu) -> None:
    drawn = Publication()
    with counting() as x, x[3:] as part:
        drawn.publish([x, part])
        shown = x.block
        assert (shown.published, shown.pins) == (1, 1)
        part[...] = 0.0
        assert x.block is part.block is not shown
        assert shown.owners == 0
        assert shown.state is State.LIVE
        reading = gpu.recorder.read(shown, 0, 24, gpu_traffic())
        gpu.submit()
        assert np.frombuffer(gpu.readback.wait(reading), np.float32).tolist() == [0, 1, 2, 3, 4, 5]
        assert x.numpy().tolist() == [0, 1, 2, 0, 0, 0]
        block = x.block
        x.add_(1.0)
        assert x.block is block
        drawn.publish([x])
        gpu.wait_idle()
        assert shown.state is State.FREE
        assert block.published == 1
    assert block.state is State.LIVE
    drawn.withdraw()
    drawn.withdraw()
    gpu.wait_idle()
    assert block.state is State.FREE


def gpu_traffic():
    from vertigrad.gpu import Traffic

    return Traffic.DIAGNOSTICS


def test_republishing_uses_the_current_block_of_a_tensor_that_moved_or_was_closed() -> None:
    drawn = Publication()
    with counting() as x:
        drawn.publish([x])
        before = x.block
        x.add_(1.0)
        assert x.block is not before
        drawn.publish([x])
        assert (before.published, x.block.published) == (0, 1)
        drawn.withdraw()
    with pytest.raises(UseAfterFree):
        drawn.publish([x])


def test_two_publications_of_one_block() -> None:
    first, second = Publication(), Publication()
    with counting() as x:
        first.publish([x])
        second.publish([x])
        assert x.block.published == 2
        block = x.block
        first.withdraw()
        x.add_(1.0)
        assert x.block is not block
        second.withdraw()


def test_a_set_that_cannot_be_published_keeps_the_old_one() -> None:
    drawn = Publication()
    with counting() as x, counting() as y:
        drawn.publish([x])
        gone = counting(name="gone")
        gone.close()
        with pytest.raises(UseAfterFree, match="'gone'"):
            drawn.publish([y, gone])
        assert (x.block.published, y.block.published) == (1, 0)
        drawn.withdraw()


def test_published_shared_and_borrowed_at_once() -> None:
    source = np.arange(4, dtype=np.float32)
    drawn = Publication()
    with Tensor.from_blob(source) as x, x.clone() as y:
        drawn.publish([x])
        x.add_(1.0)
        y.add_(2.0)
        assert len({x.block.id, y.block.id}) == 2
        assert x.numpy().tolist() == [1, 2, 3, 4]
        assert y.numpy().tolist() == [2, 3, 4, 5]
        drawn.withdraw()
    assert source.tolist() == [0, 1, 2, 3]


# finalizers -----------------------------------------------------------------------------------------------------


def test_a_tensor_that_is_never_closed_is_finalized_and_reported(gpu: Gpu) -> None:
    gpu.wait_idle()
    leaks = gpu.tracker.leak_count
    x = Tensor.zeros((10, 10), name="forgotten")
    block = x.block
    del x
    gc.collect()
    assert block.owners == 1  # only at a safe point
    gpu.wait_idle()
    assert (block.owners, block.state) == (0, State.FREE)
    assert gpu.tracker.leak_count == leaks + 1
    leak = gpu.tracker.leaks.pop()
    assert (leak.name, leak.nbytes, leak.origin.file) == ("forgotten", 400, __file__)


def test_results_and_views_need_not_be_closed(gpu: Gpu) -> None:
    with counting() as x:
        leaks, live = gpu.tracker.leak_count, len(gpu.tracker.live)
        for _ in range(20):
            y = (x + 1.0) * x[0]
            assert y[2:].T.detach().numpy().shape == (4,)
            x[1:3] = np.zeros(2, np.float32)
            ops.add(x, np.ones(6, np.float32))
        del y
        gc.collect()
        gpu.wait_idle()
        assert gpu.tracker.leak_count == leaks
        assert len(gpu.tracker.live) == live


def test_closing_collects_views_that_were_dropped(gpu: Gpu) -> None:
    x = counting()
    block = x.block
    x[2:].T.detach()
    x.close()
    assert block.owners == 0


def test_a_tensor_in_a_cycle(gpu: Gpu) -> None:
    leaks = gpu.tracker.leak_count
    knot: list = [Tensor.zeros(4, name="in a cycle")]
    knot.append(knot)
    block = knot[0].block
    del knot
    gc.collect()
    gpu.wait_idle()
    assert block.owners == 0
    assert gpu.tracker.leak_count == leaks + 1
    gpu.tracker.leaks.pop()


def test_tensors_can_be_dropped_in_another_thread(gpu: Gpu) -> None:
    """As by the garbage collector; the recording thread releases the blocks."""
    with counting(1000) as x:
        blocks = []
        for _ in range(20):
            box = [x + float(i) for i in range(10)]
            blocks += [y.block for y in box]
            thread = threading.Thread(target=box.clear)
            thread.start()
            x.add_(1.0)
            thread.join()
            gpu.wait_idle()
        assert all(block.owners == block.pins == 0 for block in blocks)
        assert len({block.id for block in blocks}) < len(blocks)  # many were reused
        assert x.numpy()[0] == 20
