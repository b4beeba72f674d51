"""How well the advection of smoke and of heat conserves them, before what is missing is made good."""

from __future__ import annotations

from ... import ops
from ...tensor import Tensor
from ..base import DiagnosticSpec, Limit
from .smoke_params import Params

LEAST_PART = 0.01  # of a box full of emitted smoke, to which errors of less smoke are relative
BUDGET_LIMITS = {
    "advection_error": Limit(
        0.05, "advection creates or loses smoke or heat, which is made good elsewhere: lower time_step, or fewer cells"
    )
}
BUDGET_DIAGNOSTICS = {
    "advection_error": DiagnosticSpec(
        "smoke or heat that advection created or lost in the last step, which all of it then makes good; relative to "
        "what is there, or to a hundredth of a box full of emitted smoke"
    )
}


def advection_error(totals: Tensor, cells: int, params: Params) -> Tensor:
    """The larger one of density and temperature: `totals` (4,) are what both should be in all, and what they were."""
    errors = []
    for k, emitted in enumerate((params.density, params.temperature)):
        aim, found = totals[k : k + 1], totals[k + 2 : k + 3]
        errors.append(ops.absolute(found - aim) / ops.maximum(aim, max(LEAST_PART * cells * emitted, 1e-20)))
    return ops.maximum(*errors)
