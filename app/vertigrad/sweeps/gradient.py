"""`gradient`: the derivatives of an outcome with respect to the swept parameters, by automatic differentiation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from .. import ops
from ..errors import GradientError, InputError
from ..headless import render
from ..scene.settings import entry
from ..session import Session
from ..session.measurements import parse_watch
from ..tensor import Tensor
from .outcomes import Diagnostic, FinishedRun, Function, Outcome, Statistic

STATISTICS: Mapping[str, Callable[[Tensor], Tensor]] = {
    "min": lambda x: x.min(),
    "max": lambda x: x.max(),
    "mean": lambda x: x.mean(),
    "std": ops.std,
    "norm": ops.norm,
}
TOLERANCE = 1e-3  # of the outcome, between the run and the same with gradients


def column(metric: str, name: str) -> str:
    """The name of the outcome that is the derivative of `metric` with respect to the parameter `name`."""
    return f"d({metric})/d({name})"


def gradient(
    session: Session, metric: str, outcomes: Sequence[Outcome], names: Sequence[str], frames: int, seed: int | None
) -> tuple[float, dict[str, float]]:
    """Compute a run of a session that was just opened; returns the outcome `metric` and its derivatives by parameter.

    Its operations are kept until the end, so it takes memory for each frame. Raises `InputError` if a model that takes
    part has no gradients, or if the outcome is not calculated with tensor operations.
    """
    leaves = _differentiated(session, names)
    session.reset()
    render(session, frames, (1, 1), draw=False)
    _require_differentiable(session)
    value = _metric(FinishedRun(session, seed), metric, outcomes)
    try:
        value.sum().backward()
    except GradientError as error:
        raise InputError(f"{metric}: {error}") from error
    if missing := [name for name, leaf in leaves.items() if leaf.grad is None]:
        raise InputError(f"{metric}: does not depend on {', '.join(missing)}; leave it out of the search")
    return float(value.item()), {
        name: float(leaf.grad.item()) for name, leaf in leaves.items() if leaf.grad is not None
    }


def require_same(metric: str, expected: float, found: float) -> None:
    """Raise `InputError` if a run and the same with gradients have different outcomes."""
    if not math.isclose(expected, found, rel_tol=TOLERANCE, abs_tol=1e-6):
        raise InputError(
            f"{metric}: is {expected:.6g}, but {found:.6g} where gradients are calculated: the run is chaotic, or its "
            "parameters are animated"
        )


def _differentiated(session: Session, names: Sequence[str]) -> dict[str, Tensor]:
    """The tensors of the parameters. Every model calculates with gradients from here on, if it can."""
    by_model: dict[str, dict[str, str]] = {}
    for name in names:
        path = entry(name)
        if len(path) != 3 or path[0] != "models":
            raise InputError(f"{name}: is no parameter of a model; only these have gradients")
        by_model.setdefault(str(path[1]), {})[str(path[2])] = name
    found: dict[str, Tensor] = {}
    for model, instance in session.stage.instances.items():
        own = by_model.get(model, {})
        if own or instance.model.differentiable:
            leaves = instance.model.differentiate(list(own))
            found |= {own[key]: leaf for key, leaf in leaves.items()}
    return found


def _require_differentiable(session: Session) -> None:
    """Raise `InputError` if a model without gradients reads outputs with gradients."""
    instances = session.stage.instances
    for name, spec in session.scene.models.items():
        if not instances[name].model.differentiable:
            for ref in spec.inputs.values():
                if instances[ref.model].outputs[ref.output].requires_grad:
                    raise InputError(f"{name}: {spec.type} has no gradients, so those of its input {ref} end there")


def _metric(run: FinishedRun, metric: str, outcomes: Sequence[Outcome]) -> Tensor:
    found = next((value for one in outcomes if (value := _value(run, metric, one)) is not None), None)
    if not isinstance(found, Tensor) or found.size != 1:
        raise InputError(
            f"{metric}: expected a tensor of one element, got {found!r}; a function returns the result of tensor "
            'operations if its gradient is needed, such as run.outputs["model.position"].max()'
        )
    return found


def _value(run: FinishedRun, metric: str, outcome: Outcome) -> object | None:
    """The metric as a tensor, if it is this outcome."""
    match outcome:
        case Diagnostic(name) if name in ("", metric):
            model, _, key = metric.partition(".")
            instance = run.session.stage.instances.get(model)
            return None if instance is None else instance.model.diagnostics().get(key)
        case Statistic(text) if text == metric:
            watch = parse_watch(text)
            if watch.statistic not in STATISTICS:
                raise InputError(f"{metric}: has no gradient; it is a count")
            return STATISTICS[watch.statistic](run.tensor(watch.tensor))
        case Function():
            return outcome.values(run).get(metric)
    return None
