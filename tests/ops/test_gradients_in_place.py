"""Gradients where tensors share memory: views, writes in place through them, and the gradients themselves."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from vertigrad import Tensor, learn, no_grad, ops
from vertigrad.errors import GradientError
from vertigrad.gpu import Gpu, Plan
from vertigrad.ops import launch

pytestmark = pytest.mark.usefixtures("steady")


def leaf(*values: float) -> Tensor:
    x = Tensor.from_numpy(np.array(values, np.float32), "x")
    x.requires_grad = True
    return x


def grad(x: Tensor) -> list:
    assert x.grad is not None
    return x.grad.numpy().tolist()


# writes in place and views ------------------------------------------------------------------------------------------


def test_a_view_created_before_a_write_has_its_gradient() -> None:
    with leaf(1, 2, 3) as x:
        y = x * 2.0
        view = y[:2]
        of_view = view[1:]
        y.mul_(3.0)
        (view.sum() + of_view.sum() * 10.0).backward()
        assert grad(x) == [6, 66, 0]


def test_results_of_a_view_before_a_write_are_not_changed_by_it() -> None:
    with leaf(1, 2) as x:
        y = x * 2.0
        view = y[:1]
        before = view * 5.0
        y.mul_(3.0)
        before.backward()
        assert grad(x) == [10, 0]


def test_a_write_through_a_view_of_a_constant_carries_gradients() -> None:
    weights = np.array([1, 10, 100, 1000], np.float32)
    with leaf(1, 2) as x, Tensor.zeros(4) as buffer:
        buffer[:2].add_(x)
        buffer[2:] = x * 3.0
        assert buffer.requires_grad and not buffer.is_leaf
        (buffer * weights).sum().backward()
        assert grad(x) == [1 + 300, 10 + 3000]
        assert buffer.numpy().tolist() == [1, 2, 3, 6]


def test_a_write_through_a_view_removes_the_gradient_of_the_old_values() -> None:
    with leaf(1, 2, 3) as x, leaf(5) as z:
        y = x * 2.0
        whole = y.reshape(3, 1)
        y[1:2] = z
        (whole.reshape(3) * np.array([1, 10, 100], np.float32)).sum().backward()
        assert grad(x) == [2, 0, 200]
        assert grad(z) == [10]
        assert y.numpy().tolist() == [2, 5, 6]


def test_a_part_that_becomes_constant_has_no_gradient() -> None:
    with leaf(1, 2, 3) as x:
        y = x * 2.0
        y[1:] = 7.0
        y.sum().backward()
        assert grad(x) == [2, 0, 0]
        x.grad = None
        y = x * 2.0
        y.fill_(1.0)
        assert not y.requires_grad


def test_writes_through_transposed_reversed_and_repeated_views() -> None:
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    with Tensor.from_numpy(values, "x") as x, leaf(2, 3) as z:
        x.requires_grad = True
        y = x * 1.0
        y.T[::-1][0].mul_(z)  # the last column
        y[None].expand(1, 2, 3)[0, 0, :1].add_(z[:1])
        (y * y).sum().backward()
        result = values.copy()
        result[:, 2] *= [2, 3]
        result[0, 0] += 2
        assert np.array_equal(y.numpy(), result)
        expected = 2 * result
        expected[:, 2] *= [2, 3]
        assert np.array_equal(grad(x), expected)
        column = 2 * result[:, 2] * values[:, 2]
        assert np.allclose(grad(z), column + np.array([2 * result[0, 0], 0]))


def test_a_write_through_a_view_of_a_clone_in_another_order() -> None:
    """The view is contiguous in the memory of the clone, but not in a gradient of its shape."""
    values = np.arange(6, dtype=np.float32).reshape(2, 3)
    with Tensor.from_numpy(values, "x") as x, leaf(10, 20) as z:
        x.requires_grad = True
        turned = x.T.clone()
        turned.T.reshape(6)[1:3] = z
        (turned * turned).sum().backward()
        expected = 2 * values
        expected[0, 1:] = 0
        assert np.array_equal(grad(x), expected)
        assert grad(z) == [20, 40]
        turned.close()


def test_other_operations_write_through_views_too() -> None:
    with Tensor.from_numpy(np.eye(2, dtype=np.float32) * 2, "a") as a, Tensor.zeros((2, 4)) as buffer:
        a.requires_grad = True
        ops.matmul(a, np.ones((2, 2), np.float32), out=buffer[:, :2])
        ops.sum(a, 0, out=buffer[1, 2:])
        (buffer * 3.0).sum().backward()
        assert grad(a) == [[6 + 3, 6 + 3]] * 2


def test_an_operation_written_over_its_operand_has_the_gradient_of_the_old_value() -> None:
    weights = np.array([[1, 2], [3, 4]], np.float32)
    with Tensor.from_numpy(weights, "w") as w, leaf(5, 6) as x:
        w.requires_grad = True
        y = x * 1.0
        ops.matmul(y, w, out=y)
        y.mul_(y)
        y.sum().backward()
        found = np.array([5, 6]) @ weights
        assert np.array_equal(grad(x), 2 * weights @ found)
        assert np.array_equal(grad(w), 2 * np.outer([5, 6], found))


def test_a_leaf_and_its_views_are_not_written() -> None:
    with leaf(1, 2) as x:
        for write in (
            lambda: x[:1].mul_(2.0),
            lambda: x.reshape(2, 1).T.fill_(0.0),
            lambda: x.__setitem__(0, 1.0),
            lambda: ops.exp(np.zeros(2, np.float32), out=x),
        ):
            with pytest.raises(GradientError, match="no_grad"):
                write()
        with no_grad():
            x[:1] = 7.0
        assert x.numpy().tolist() == [7, 2]


def test_a_view_created_without_gradients_is_not_written_with_them() -> None:
    with leaf(1, 2) as x, Tensor.zeros(2) as buffer:
        y = x * 1.0
        with no_grad():
            of_buffer, of_y = buffer[:1], y[:1]
        with pytest.raises(GradientError, match="a view that was taken inside"):
            of_buffer.add_(x[:1])
        with pytest.raises(GradientError, match="a view that was taken inside"):
            of_y.add_(x[:1])
        assert not of_y.requires_grad


def test_operations_without_a_gradient_do_not_write_over_differentiable_values() -> None:
    with leaf(1, 2) as x, Tensor.zeros(2) as other:
        y = x * 1.0
        with pytest.raises(GradientError, match=r"into tensor .* does not pass them on"):
            launch.prepare_output("an operation", (2,), y.dtype, y)
        ops.floor(other, out=y)
        assert not y.requires_grad


# in recordings ------------------------------------------------------------------------------------------------------


def test_writes_through_views_are_recorded_with_their_gradients() -> None:
    with leaf(1, 2) as x, Plan() as plan:
        with plan.recording():
            buffer = Tensor.zeros(4)
            view = buffer[1:]
            buffer[:2].add_(x)
            view.mul_(x[:1])
            copied = buffer.clone()
            buffer.mul_(buffer)
            (buffer.sum() + copied.sum()).backward()
        for values in ([1, 2], [3, 5]):
            plan.replay()
            a, b = values
            # buffer = (a, b·a, 0, 0), of which the squares and the values are summed
            assert grad(x) == [2 * a + 2 * b * b * a + 1 + b, 2 * b * a * a + a]
            with no_grad():
                x[...] = np.array([3, 5], np.float32)
        for tensor in (buffer, copied):
            tensor.close()


# the gradients of leaves --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", [False, True])
def test_gradients_are_owned_by_their_leaves(recorded: bool) -> None:
    array = np.array([5, 7], np.float32)
    with leaf(1, 2) as a, leaf(3, 4) as b, Tensor.from_numpy(array, "g") as g, Plan() as plan:
        if recorded:
            with plan.recording():
                (a + b).backward(g)
            plan.replay()
        else:
            (a + b).backward(g)
        assert a.grad is not None and b.grad is not None
        a.grad.mul_(10.0)
        assert (grad(a), grad(b), g.numpy().tolist()) == ([50, 70], [5, 7], [5, 7])
        b.grad.add_(1.0)
        assert (grad(a), grad(b), g.numpy().tolist()) == ([50, 70], [6, 8], [5, 7])
        g.fill_(0.0)
        assert (grad(a), grad(b)) == ([50, 70], [6, 8])


@pytest.mark.parametrize("recorded", [False, True])
def test_gradients_can_be_written(recorded: bool) -> None:
    """Gradients of sums are expanded, of transposes transposed, of slices a slice."""
    with Tensor.from_numpy(np.ones((2, 3), np.float32), "x") as x, Plan() as plan:
        for loss in (
            lambda x: x.sum(),
            lambda x: (x.T * np.ones((3, 2), np.float32)).sum(),
            lambda x: x.expand(4, 2, 3).mean(),
            lambda x: ops.concatenate([x, x * 2.0]).sum(),
            lambda x: x.reshape(6)[1:].sum(),
        ):
            x.requires_grad, x.grad = True, None
            if recorded:
                with plan.recording():
                    loss(x).backward()
                plan.replay()
            else:
                loss(x).backward()
            assert x.grad is not None and x.grad.is_contiguous and x.grad.shape == (2, 3)
            before = x.grad.numpy()
            x.grad.mul_(0.5)
            assert np.array_equal(grad(x), before * 0.5)


def test_a_gradient_of_a_custom_rule_is_not_shared_with_the_leaf() -> None:
    with Tensor.full(2, 3.0, name="other") as unchanged, leaf(1, 2) as a, leaf(1, 2) as b:
        operation = learn.custom("same", lambda a, b: a + b, lambda gradient, result, a, b: [unchanged, unchanged])
        operation(a, b).sum().backward()
        assert a.grad is not None
        a.grad.mul_(2.0)
        assert (unchanged.numpy().tolist(), grad(a), grad(b)) == ([3, 3], [6, 6], [3, 3])


def test_gradients_that_are_not_shared_are_not_copied(gpu: Gpu) -> None:
    """A recorded training step has no kernel that only copies a gradient."""
    with Tensor.full((3, 3), 0.5, name="w") as w, Plan() as plan:
        w.requires_grad = True
        x = np.ones((2, 3), np.float32)
        with plan.recording():
            loss = ops.square(ops.matmul(x, w)).sum()
            before = len(plan)
            loss.backward()
        labels = [dispatch.kernel.label for dispatch in plan._dispatches[before:]]
        assert labels == ["elementwise", "gemv"], "the derivative of the square, the product; the one is a constant"
        loss.close()


def test_the_first_gradient_of_a_recorded_pass_has_no_launch_of_its_own(gpu: Gpu) -> None:
    """The other launches behind `loss` are the mean's 1/n, the derivative of the square, and the copy for the leaf."""
    with leaf(1, 2, 4) as x, Tensor.from_numpy(np.ones(3, np.float32), "target") as target, Plan() as plan:
        with plan.recording():
            loss = learn.l2_loss(x, target)
            before = len(plan)
            loss.backward()
        assert len(plan) - before == 3
        for _ in range(2):
            plan.replay()
            np.testing.assert_allclose(grad(x), [0.0, 2 / 3, 2.0], rtol=1e-6)
        loss.close()


@pytest.mark.parametrize("recorded", [False, True])
def test_a_custom_rule_may_write_a_clone_of_its_gradient(recorded: bool) -> None:
    double = learn.custom("double", lambda a: a * 2.0, lambda gradient, result, a: [gradient.clone().mul_(2.0)])
    with leaf(3) as x, Plan() as plan:
        if recorded:
            with plan.recording():
                (double(x) + x).backward()
            plan.replay()
            plan.replay()
        else:
            (double(x) + x).backward()
        assert grad(x) == [3]


# empty tensors -----------------------------------------------------------------------------------------------------


def test_the_mean_of_an_empty_tensor_has_an_empty_gradient() -> None:
    with Tensor.zeros((0, 3), name="x") as x:
        x.requires_grad = True
        x.mean(0).backward(Tensor.full(3, 1.0))
        assert x.grad is not None and x.grad.shape == (0, 3)
        x.grad = None
        x.mean().backward()
        assert x.grad is not None and x.grad.shape == (0, 3)


def test_pooling_by_powers_leaks_nothing(gpu: Gpu) -> None:
    gpu.tracker.collect()
    leaks = gpu.tracker.leak_count
    with Tensor.from_numpy(np.ones((1, 1, 4), np.float32), "x") as x:
        x.requires_grad = True
        ops.lp_pool(x, 2, p=2.0).sum().backward()
        assert x.grad is not None
    gpu.wait_idle()
    assert gpu.tracker.leak_count == leaks


# copies by Python ---------------------------------------------------------------------------------------------------


def test_copies_by_python_are_clones() -> None:
    with leaf(1, 2) as x, copy.copy(x) as shallow:
        assert shallow.block is x.block and shallow.owner is not x.owner
        (shallow * 3.0).sum().backward()
        assert grad(x) == [3, 3]
        with copy.deepcopy(x) as deep:
            assert deep.is_leaf and deep.requires_grad and deep.name == "x"
            assert grad(deep) == [3, 3] and deep.grad is not x.grad
            with no_grad():
                deep.add_(1.0)
        assert x.numpy().tolist() == [1, 2]
        with pytest.raises(GradientError, match="a deep copy would lose its gradients"):
            copy.deepcopy(x * 2.0)
        twice = copy.deepcopy([x, x])
        assert twice[0] is twice[1]
        twice[0].close()
    assert x.grad is not None
