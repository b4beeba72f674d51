"""A tree over bodies in the order of a space-filling curve: what is far away pulls as a whole.

Bodies are sorted along Hilbert's curve (Skilling 2004, AIP Conf. Proc. 707, 381). `LEAF` of them in a row make a leaf,
`FAN` leaves or nodes in a row make a node, whatever they are: so the form of the tree depends on the number of bodies
alone, is computed once, and each level is one dispatch. A node knows its mass, center of mass, second moments and the
box around its bodies; from far enough away it pulls by those (Barnes & Hut 1986, Nature 324, 446; that its farthest
corner counts is from Salmon & Warren 1994, J. Comp. Phys. 111, 136).

Nodes are stored depth first, each with the number of the node that follows all within it, so a walk needs no stack.
`GROUP` bodies in a row walk together, and a node is far enough if it is for the box around them (Barnes 1990, J. Comp.
Phys. 87, 161): every invocation of a workgroup takes the same branch.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import ops
from ...gpu import Plan
from ...tensor import Tensor, u32
from ..kernels import Kernels
from ..parts import Parts

SHADER = "models/nbody_barnes_hut.wgsl"
LEAF, FAN, GROUP = 16, 4, 64
DEFINES = {"LEAF": LEAF, "GROUP": GROUP}
KEY_BITS = 30  # ten for each axis
NOT_A_LEAF = 0xFFFFFFFF


class Form(NamedTuple):
    """The form of a tree: `links` (nodes, 2) are the node after all within each, and its first body or `NOT_A_LEAF`.

    `levels` are the numbers of the nodes of each level, from the leaves to the root, left to right.
    """

    links: NDArray[np.uint32]
    levels: list[NDArray[np.uint32]]


def form(count: int) -> Form:
    """The form for `count` bodies, at least 1."""
    sizes = [np.ones(-(-count // LEAF), np.int64)]  # nodes within each, itself among them
    while len(sizes[-1]) > 1:
        sizes.append(1 + np.add.reduceat(sizes[-1], np.arange(0, len(sizes[-1]), FAN)))
    numbers = [np.zeros(1, np.int64)]
    for level in reversed(sizes[:-1]):
        before = np.cumsum(level) - level
        first = np.arange(len(level)) // FAN
        numbers.insert(0, numbers[0][first] + 1 + before - before[first * FAN])
    links = np.full((sizes[-1][0], 2), NOT_A_LEAF, np.uint32)
    for number, size in zip(numbers, sizes, strict=True):
        links[number, 0] = number + size
    links[numbers[0], 1] = LEAF * np.arange(len(numbers[0]))
    return Form(links, [number.astype(np.uint32) for number in numbers])


class BarnesHutTree:
    """The tree's tensors for bodies (count, 4): position and mass; created with those of a model and closed with them.

    `kernels` are those of the shader. They find the model's tensors as well.
    """

    def __init__(self, bodies: Tensor, parts: Parts):
        self._bodies, self.count = bodies, len(bodies)
        tree = form(self.count)
        self._levels = [parts.copied("level", level) for level in tree.levels]
        nodes, boxes = parts.empty("nodes", len(tree.links), 12), parts.empty("boxes", len(tree.links), 8)
        parts.copied("links", tree.links)
        self._center, self._spread = parts.empty("center", 3), parts.empty("spread", 3)
        self._keys, self._order = (parts.empty(what, self.count, dtype=u32) for what in ("keys", "order"))
        self._sorted = parts.empty("sorted", self.count, 4)
        tensors = parts.tensors | {"tree": nodes, "bounds": boxes, "level": self._levels[0]}
        self.kernels = Kernels(SHADER, tensors, {"count": self.count}, DEFINES)

    def record(self, plan: Plan) -> None:
        """Add to `plan` what builds the tree of the bodies as they are then."""
        positions, add = self._bodies[:, 0:3], self.kernels.add
        with plan.recording():
            ops.mean(positions, axis=0, out=self._center)
            ops.mean(ops.absolute(positions - self._center), axis=0, out=self._spread)
            add(plan, "assign_keys", self.count, "keys", replayed=())
            ops.argsort(self._keys, key_bits=KEY_BITS, out=self._order)
            ops.reorder(self._bodies, self._order, self._sorted)
        add(plan, "gather", len(self._levels[0]), replayed=())
        for level in self._levels[1:]:
            add(plan, "merge", len(level), level=level, count=len(level), replayed=())

    def walk(self, plan: Plan, entry: str) -> None:
        """Add to `plan` a walk of all bodies through the tree by the kernel `entry`."""
        self.kernels.add(plan, entry, -(-self.count // GROUP) * GROUP)
