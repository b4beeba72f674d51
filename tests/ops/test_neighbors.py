"""Neighbor grids against all pairs: inside and outside of a box, without one, in two and three dimensions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vertigrad import Tensor, ops
from vertigrad.errors import DtypeError, LimitError, ShapeError
from vertigrad.gpu import Kernel, Plan, shader

from .layouts import examples, seeds
from .primitives import every_path, path, replayed_twice

# For each point, the number of points closer than params.reach, and the sum of their indices.
WALK = """// a test
//% import "common/grid.wgsl" as grid with context
struct Params {
    count: u32,
    reach: f32,
    ${grid.fields()}
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> positions: array<f32>;
@group(0) @binding(2) var<storage, read> starts: array<u32>;
@group(0) @binding(3) var<storage, read> order: array<u32>;
@group(0) @binding(4) var<storage, read_write> near: array<vec2u>;
//% include "common/grid.wgsl"

fn place(i: u32) -> vec3f {
    let z = ${"positions[3u * i + 2u]" if AXES == 3 else "0.0"};
    return vec3f(positions[${AXES}u * i], positions[${AXES}u * i + 1u], z);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3u) {
    if id.x >= params.count { return; }
    let here = place(id.x);
    var seen = vec2u(0u);
    //% call grid.neighbors("here", "starts")
    let other = order[k];
    if distance(place(other), here) < params.reach { seen += vec2u(1u, other); }
    //% endcall
    near[id.x] = seen;
}
"""


def walk(grid: ops.NeighborGrid, positions: Tensor, reach: float) -> np.ndarray:
    defines = grid.defines | {"AXES": grid.axes}
    source = shader._environment().from_string(WALK).render(defines)
    with Tensor.zeros((max(grid.count, 1), 2), "u32") as near:
        Kernel(source, "main", "walk")(
            grid.count,
            positions=positions,
            starts=grid.starts,
            order=grid.order,
            near=near,
            count=grid.count,
            reach=reach,
            **grid.fields,
        )
        return near.numpy()[: grid.count]


def all_pairs(p: np.ndarray, reach: float) -> np.ndarray:
    distances = np.linalg.norm(p[:, None].astype(np.float64) - p[None], axis=-1)
    near = distances < reach
    return np.stack([near.sum(1), near @ np.arange(len(p))], 1)


def spread(n: int, axes: int, seed: int, width: float = 2.0) -> np.ndarray:
    return (np.random.default_rng(seed).normal(size=(n, axes)) * width).astype(np.float32)


BOXES: dict[str, Any] = {
    "a box with points outside": lambda axes: {"low": [-2.0] * axes, "high": [2.5] * axes},
    "a flat box": lambda axes: {"low": [-2.0] * axes, "high": [2.5] * (axes - 1) + [-1.99]},
    "one cell": lambda axes: {"low": [0.0] * axes, "high": [0.1] * axes},
    "no box": lambda axes: {},
    "no box, from elsewhere": lambda axes: {"low": [7.3, -900.0, 1e3][:axes]},
}


@pytest.mark.turns(3)
@every_path
@pytest.mark.parametrize("axes", [2, 3])
@pytest.mark.parametrize("box", BOXES)
def test_iteration_visits_every_neighbor_once(name: str, axes: int, box: str):
    with path(name):
        for n in (1, 2, 50, 1500):
            p = spread(n, axes, n)
            with Tensor.from_numpy(p) as x, ops.neighbor_grid(x, 0.31, **BOXES[box](axes)) as grid:
                assert np.array_equal(walk(grid, x, 0.3), all_pairs(p, 0.3))


@examples
@given(
    n=st.integers(1, 60), seed=seeds, cell=st.floats(0.0625, 30, width=32), boxed=st.booleans(), axes=st.integers(2, 3)
)
def test_cells_of_any_size(n: int, seed: int, cell: float, boxed: bool, axes: int):
    p = spread(n, axes, seed, 1.0)
    box = {"low": [-1.0] * axes, "high": [1.0] * axes} if boxed else {}
    with Tensor.from_numpy(p) as x, ops.neighbor_grid(x, cell, **box) as grid:
        assert np.array_equal(walk(grid, x, 0.95 * cell), all_pairs(p, 0.95 * cell))


def test_cells_list_their_points_in_input_order():
    p = spread(3000, 3, 1)
    with Tensor.from_numpy(p) as x, ops.neighbor_grid(x, 0.5, low=[-3] * 3, high=[3] * 3) as grid:
        cell = np.clip(np.floor((p + np.float32(3)) / np.float32(0.5)).astype(int), 0, 11)
        keys = (cell[:, 2] * 12 + cell[:, 1]) * 12 + cell[:, 0]
        order = np.argsort(keys, kind="stable")
        assert grid.size == (12, 12, 12) and grid.cells == 1728
        assert np.array_equal(grid.order.numpy(), order)
        assert np.array_equal(grid.keys.numpy(), keys[order])
        assert np.array_equal(grid.starts.numpy(), np.searchsorted(keys[order], np.arange(1729)))


def test_no_points_and_points_that_are_not_finite():
    with Tensor.zeros((0, 3)) as x, ops.neighbor_grid(x, 1.0, low=[0] * 3, high=[2] * 3) as grid:
        assert not grid.starts.numpy().any()
    p = spread(100, 3, 2)
    p[::7] = np.nan, np.inf, 1e30
    good = np.isfinite(p).all(1)
    for box in ({}, {"low": [-1] * 3, "high": [1] * 3}):
        with Tensor.from_numpy(p) as x, ops.neighbor_grid(x, 0.5, **box) as grid:
            assert np.array_equal(np.sort(grid.order.numpy()), np.arange(100))
            assert grid.starts.numpy()[-1] == 100
            assert np.array_equal(walk(grid, x, 0.5)[good][:, 0], all_pairs(p[good], 0.5)[:, 0])


def test_strided_positions_are_read_in_place():
    state = spread(500, 8, 3)
    with Tensor.from_numpy(state) as whole, ops.neighbor_grid(whole[::-1, 6:3:-1], 0.6) as grid:
        p = np.ascontiguousarray(state[::-1, 6:3:-1])
        with Tensor.from_numpy(p) as x:
            assert np.array_equal(walk(grid, x, 0.6), all_pairs(p, 0.6))


def test_rows_in_the_order_of_the_cells():
    p = spread(700, 3, 4)
    with Tensor.from_numpy(p) as x, ops.neighbor_grid(x, 0.5) as grid, Tensor.zeros((700, 2)) as out:
        ops.reorder(x[:, ::-2], grid.order, out)
        assert np.array_equal(out.numpy(), p[grid.order.numpy()][:, ::-2])
        with pytest.raises(ShapeError, match="do not make"):
            ops.reorder(x, grid.order, out)
        with pytest.raises(DtypeError, match="u32, and 32 bits alike"):
            ops.reorder(x[:, :2], Tensor.zeros(700, "i32"), out)


def test_a_plan_follows_points_and_cells(steady: Any):
    a, b = spread(900, 3, 5), spread(900, 3, 6)
    with (
        Tensor.from_numpy(a) as x,
        ops.NeighborGrid(900, 3, 0.4) as grid,
        Tensor.empty((900, 3)) as near,
        Plan() as plan,
        Plan() as live,
    ):
        with plan.recording():
            grid.build(x)
            ops.reorder(x, grid.order, near)
        for p in (a, b):
            ops.assign(x, p)
            replayed_twice(plan, grid.order, grid.starts, near)
            assert np.array_equal(walk(grid, x, 0.4), all_pairs(p, 0.4))
            assert np.array_equal(near.numpy(), p[grid.order.numpy()])
        with live.recording():
            grid.build(x, live=True)
        live.replay(grid_low=(1.0, 2.0, 3.0), grid_cell=0.9)
        grid.low, grid.cell = (1.0, 2.0, 3.0), 0.9
        assert np.array_equal(walk(grid, x, 0.9), all_pairs(b, 0.9))


def test_errors():
    x = Tensor.zeros((4, 3))
    for cell in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ShapeError, match="it must be positive"):
            ops.neighbor_grid(x, cell)
    with pytest.raises(ShapeError, match="there are 2 or 3"):
        ops.neighbor_grid(Tensor.zeros((4, 4)), 1.0)
    with pytest.raises(ShapeError, match=r"positions have shape \(4,\)"):
        ops.neighbor_grid(Tensor.zeros(4), 1.0)
    with pytest.raises(DtypeError, match="positions are i32; they must be f32"):
        ops.neighbor_grid(Tensor.zeros((4, 3), "i32"), 1.0)
    with pytest.raises(ShapeError, match="is empty"):
        ops.neighbor_grid(x, 1.0, low=[0, 0, 0], high=[1, 0, 1])
    with pytest.raises(ShapeError, match="it must be 3 finite numbers"):
        ops.neighbor_grid(x, 1.0, low=[0, 0], high=[1, 1, 1])
    with pytest.raises(LimitError, match="1000 x 1000 x 1000 cells; 16,777,216 at most"):
        ops.neighbor_grid(x, 0.001, low=[0] * 3, high=[1] * 3)
    with (
        ops.NeighborGrid(5, 3, 1.0) as grid,
        pytest.raises(ShapeError, match=r"expected positions of shape \(5, 3\), got \(4, 3\)"),
    ):
        grid.build(x)
