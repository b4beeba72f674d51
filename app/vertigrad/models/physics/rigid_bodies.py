"""`RigidBodies`: obstacles as a medium moves them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ... import ops
from ...errors import InputError
from ...gpu import Plan
from ...tensor import Tensor
from ..base import DiagnosticSpec, OutputSpec
from ..energy import LEAST_GRAVITY, Energy
from ..kernels import Kernels
from ..parts import Parts
from ..reference.obstacle import HEADER, POINTS, blocks
from .movable import Movable, are_movable

SHADER = "models/rigid_body.wgsl"
MOST = 32  # obstacles that one medium moves
POSE = 16  # position, quaternion, half edges, force, torque
BOX = ("low", "high")  # given once, or at each replay
REPLAYED = {
    **{"predict": ("dt", "gravity", "obstacle_pace", *BOX), "answer": ()},
    **{"advance": ("dt", *BOX), "correct": ("dt",)},
}
BODY_STATE = ("bodies", "placements", "poses")
BODY_DIAGNOSTICS = {
    "obstacle_height": DiagnosticSpec("height of the center of the first obstacle", "m"),
    "obstacle_lift": DiagnosticSpec("upward force on the first obstacle", "N"),
    "obstacle_drag": DiagnosticSpec("magnitude of the horizontal force on the first obstacle", "N"),
    "obstacle_torque": DiagnosticSpec("magnitude of the torque on the first obstacle about its center of mass", "N m"),
}


def pose_outputs() -> dict[str, OutputSpec]:
    """Outputs of a medium that moves obstacles: where they are, and what is done to them."""
    columns = {
        "position": (slice(0, 3), "centers of the obstacles of the input obstacle [m]; without it, of none"),
        "rotation": (slice(3, 7), "their rotations as quaternions x, y, z, w"),
        "size": (slice(7, 10), "half the edges of their boxes [m], the size of instances"),
        "force": (slice(10, 13), "force on each [N]"),
        "torque": (slice(13, 16), "torque on each about its center of mass [N m]"),
    }
    return {
        f"obstacle_{name}": OutputSpec((None, part.stop - part.start), "f32", doc, "poses", part)
        for name, (part, doc) in columns.items()
    }


def body_outputs() -> dict[str, OutputSpec]:
    """The same, and the obstacles for other simulations."""
    moved = OutputSpec((None,), "f32", "the obstacles as they are moved, for other simulations", "bodies")
    return {"obstacle": moved, **pose_outputs()}


def with_bodies(placed: Tensor | None) -> Tensor | None:
    """The obstacles if a medium may move one of them, else None: it meets them as placed. Waits for the GPU."""
    if placed is None:
        return None
    array = placed.numpy()
    heads = np.array([array[begin : begin + HEADER] for begin in blocks(array)]).reshape(-1, HEADER)
    return placed if are_movable(heads).any() else None


class RigidBodies:
    """Obstacles that a medium gets from models, those with a density as bodies that it moves in a box; or none.

    `tensor` has them as they are now, in the form of shaders/common/obstacle.wgsl. The medium adds loads to `sums`, of
    `groups` workgroups. It gives the corners of the box, `low` and `high` [m], here or at each replay, and plays the
    entry points in the order that shaders/models/rigid_body.wgsl has. `flat`: they move along x and z alone and turn
    around y; the medium has a kernel `answer` of its own, and rows of three in `sums`. While `movable` is false, it may
    leave out the entry points of bodies in all steps but the last.
    """

    movable = False  # whether any may be a body, as of the last `update`

    def __init__(self, parts: Parts, placed: Tensor | None, name: str, groups: int, *, flat: bool = False, **box: Any):
        begins = [] if placed is None else blocks(placed.numpy())
        self.count, rows = len(begins), max(len(begins), 1)
        if self.count > MOST:
            raise InputError(f"{name}: obstacle has {self.count} obstacles; a medium moves {MOST} at most")
        self.tensor = parts.zeros("bodies", HEADER if placed is None else placed.size)
        self._poses, placements = parts.zeros("poses", rows, POSE), parts.zeros("placements", rows, 12)
        self.defines = {"OBSTACLES": self.count}
        self.bindings: dict[str, Tensor] = {}
        self._update, self._show, self._measure = parts.plans("update", "show_bodies", "measure_bodies")
        self._movable = None if placed is None else Movable(placed, begins)
        if placed is None:
            return
        answers = parts.zeros("body_answers", rows, 5, 4)
        sums = parts.zeros("body_sums", groups, rows, 3 if flat else 2, 4)
        starts = parts.copied("body_blocks", np.array(begins, np.uint32))
        self.bindings = {"blocks": starts, "answers": answers, "sums": sums}
        self._energies = parts.zeros("body_energies", rows, 2)
        tensors = {
            **self.bindings,
            "energies": self._energies,
            "placed": placed,
            "bodies": self.tensor,
            "placements": placements,
            "predicted": parts.zeros("body_predicted", rows, 2, 4),
            "contacts": parts.zeros("body_contacts", rows * POINTS * 4, 3, 4),
            "poses": self._poses,
        }
        self._kernels = Kernels(SHADER, tensors, {"groups": groups, **box}, {**self.defines, "FLAT": flat})
        self._record_update(parts, placed, [*begins[1:], placed.size], begins)
        self._kernels.add(self._show, "show", 64, replayed=())
        self._kernels.add(self._measure, "measure", 64, "energies", replayed=("gravity",))

    def update(self) -> None:
        """Take over what models have placed, at the beginning of a frame."""
        self._update.replay()
        self.movable = self._movable is not None and self._movable.look()

    def show(self) -> None:
        """Update `poses`."""
        self._show.replay()

    def reset(self) -> None:
        """Put them where they are placed."""
        ops.assign(self.tensor, 0.0)
        ops.assign(self._poses, 0.0)
        self.update()
        self.show()

    def add(self, plan: Plan, entry: str, **arguments: Any) -> None:
        """Add an entry point to a step of the medium."""
        if self.count:
            threads = 128 * self.count if entry == "answer" else 64
            self._kernels.add(plan, entry, threads, replayed=REPLAYED[entry], **arguments)

    def add_energy(self, energy: Energy, gravity: float, top: float) -> Energy:
        """The energy of the medium with that of the bodies that it moves, which may fall from `top` [m]."""
        if not self.count:
            return energy
        self._measure.replay(gravity=gravity)
        sums = ops.sum(self._energies, axis=0)
        return Energy(energy.total + sums[0:1], energy.scale + sums[1:2] * (max(gravity, LEAST_GRAVITY) * top))

    def diagnostics(self) -> dict[str, Tensor]:
        """Values of `BODY_DIAGNOSTICS`."""
        first = self._poses[0]
        return {
            "obstacle_height": first[1:2].contiguous(),
            "obstacle_lift": first[11:12].contiguous(),
            "obstacle_drag": ops.l2(first[10:13:2]),
            "obstacle_torque": ops.l2(first[13:16]),
        }

    def _record_update(self, parts: Parts, placed: Tensor, ends: list[int], begins: list[int]) -> None:
        for begin, end in zip(begins, ends, strict=True):
            if end > begin + HEADER:
                ours, theirs = (parts.enter_context(tensor[begin + HEADER : end]) for tensor in (self.tensor, placed))
                with self._update.recording():
                    ops.assign(ours, theirs)
        self._kernels.add(self._update, "update", 64 * self.count, replayed=())


def groups_of(threads: int, workgroup: int) -> int:
    """Workgroups that so many threads are dispatched in."""
    return math.ceil(threads / workgroup)
