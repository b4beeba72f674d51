"""`build`: a tree of boxes around primitives, for shaders/common/trace_scene.wgsl.

A linear bounding volume hierarchy: primitives are sorted along a Morton curve, and a range of them is split where the
highest bit changes that its codes do not share (Lauterbach et al. 2009; Karras 2012, "Maximizing Parallelism in the
Construction of BVHs, Octrees, and k-d Trees"). All nodes of a level are split together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MOST_PRIMITIVES = 1 << 28  # their numbers have 28 bits in a leaf
LEAF = 4  # primitives of a leaf at most
IS_LEAF = np.uint32(0x80000000)
NOWHERE = np.float32(1e30)


class Tree(NamedTuple):
    """`nodes` u32 (n, 4, 4): low corner and number of the first child, its high corner and 0, the same of the second.

    The number of a child is that of a node, or of a leaf: 1, 28 bits of its first primitive, 3 of how many it has.
    `order` are the numbers of the primitives in the order of the leaves. `depth` counts the levels of nodes: at
    most 63, since each splits at another bit of the keys.
    """

    nodes: np.ndarray
    order: np.ndarray
    depth: int


def build(low: np.ndarray, high: np.ndarray) -> Tree:
    """The tree of boxes with these corners, f32 (n, 3); at least one."""
    keys, order = _sorted_keys(0.5 * (low.astype(np.float64) + high))
    low, high = low[order].astype(np.float32), high[order].astype(np.float32)
    levels = _levels(keys)
    count = sum(len(level) for level in levels)
    nodes = np.zeros((count, 2, 8), np.uint32)
    boxes = nodes.view(np.float32)
    boxes[..., 0:3] = boxes[..., 4:7] = NOWHERE  # a single primitive has no second child: a leaf without primitives
    nodes[..., 3] = IS_LEAF
    end = count
    for level in reversed(levels):
        begin = end - len(level)
        first, last = level[..., 0], level[..., 1]
        is_leaf, is_used = last - first < LEAF, last >= first
        _fill_leaves(nodes[begin:end], first, last, is_leaf & is_used, low, high)
        inner = ~is_leaf & is_used
        child = end + np.arange(np.count_nonzero(inner), dtype=np.uint32)  # the next level has them in this order
        own, below = nodes[begin:end], boxes[child]
        own[..., 3][inner] = child
        own.view(np.float32)[..., 0:3][inner] = below[..., 0:3].min(axis=1)
        own.view(np.float32)[..., 4:7][inner] = below[..., 4:7].max(axis=1)
        end = begin
    return Tree(nodes.reshape(count, 4, 4), order, len(levels))


def _sorted_keys(centers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Morton codes in order, with the rank in their lowest bits, so that none are alike; and where each comes from."""
    low, count = centers.min(axis=0), len(centers)
    rank_bits = max(count - 1, 1).bit_length()
    bits = (63 - rank_bits) // 3
    span = max(float((centers.max(axis=0) - low).max()), 1e-300)
    cells = np.minimum((centers - low) / span * (1 << bits), (1 << bits) - 1).astype(np.int64)
    codes = np.zeros(count, np.int64)
    for bit in range(bits):
        for axis in range(3):
            codes |= (cells[:, axis] >> bit & 1) << (3 * bit + axis)
    order = np.argsort(codes, kind="stable")
    return codes[order] << rank_bits | np.arange(count), order


def _levels(keys: np.ndarray) -> list[np.ndarray]:
    """For each level the ranges (first, last) of the two children of its nodes, (n, 2, 2)."""
    ranges = np.array([[0, len(keys) - 1]])
    levels = []
    while len(ranges):
        first, last = ranges.T
        bit = _highest_bit(keys[first] ^ keys[last])
        split = np.searchsorted(keys, keys[last] >> bit << bit)
        split[first == last] = last[first == last] + 1  # a single primitive has no second child
        children = np.stack([np.stack([first, split - 1], axis=1), np.stack([split, last], axis=1)], axis=1)
        levels.append(children)
        flat = children.reshape(-1, 2)
        ranges = flat[flat[:, 1] - flat[:, 0] >= LEAF]
    return levels


def _highest_bit(values: np.ndarray) -> np.ndarray:
    """The position of the highest bit of 63-bit integers; 0 of 0. Doubles hold halves of them exactly."""
    upper, lower = values >> 32, values & 0xFFFFFFFF
    return np.where(upper > 0, 32 + np.frexp(upper)[1], np.maximum(np.frexp(lower)[1], 1)) - 1


def _fill_leaves(
    nodes: np.ndarray, first: np.ndarray, last: np.ndarray, is_leaf: np.ndarray, low: np.ndarray, high: np.ndarray
) -> None:
    begin, count = first[is_leaf], (last - first + 1)[is_leaf]
    if not len(begin):
        return
    nodes[..., 3][is_leaf] = IS_LEAF | begin.astype(np.uint32) << 3 | count.astype(np.uint32)
    rows = begin[:, None] + np.minimum(np.arange(LEAF), count[:, None] - 1)
    boxes = nodes.view(np.float32)
    boxes[..., 0:3][is_leaf] = low[rows].min(axis=1)
    boxes[..., 4:7][is_leaf] = high[rows].max(axis=1)
