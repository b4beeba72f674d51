"""How operations get gradients: a decorator for those on tensors, and the rules that the files in `gradients` give.

An operation without a rule raises `GradientError` for operands that want a gradient: none is dropped in silence.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any, NamedTuple, TypeVar

from ..errors import GradientError
from ..tensor import Tensor, graph, operators

Function = TypeVar("Function", bound=Callable[..., Any])
RESULT = "result"


class Rule(NamedTuple):
    """How gradients flow back through an operation.

    `pull` takes the gradient of the result and a `Call`; it returns the gradients of operands by name. `saves` names
    the operands, and perhaps "result", whose values it reads. Without `pull` the result is constant: no gradient. With
    `through`, which takes the arguments by name, other operations work the result out instead; these have rules.
    """

    pull: Callable[[Tensor, Call], Mapping[str, Tensor]] | None = None
    saves: frozenset[str] = frozenset()
    through: Callable[..., Tensor] | None = None


class Call:
    """A call of an operation: its arguments by name, those that are tensors only if the rule saves them."""

    def __init__(self, given: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], wanted: frozenset[str]):
        self._given = dict(given)
        self.shapes = shapes
        self.wanted = wanted  # the operands whose gradients are to be worked out

    def __getitem__(self, name: str) -> Any:
        value = self._given[name]
        return value.value() if isinstance(value, graph.Saved) else value


class Derivative(NamedTuple):
    """Of an elementwise operation by one operand: the gradient g of the result times the derivative.

    `reads` says what `of` takes after g: letters of "abcr", the operands and the result.
    """

    reads: str
    of: Callable[..., Any]


RULES: dict[str, Rule] = {}
DERIVATIVES: dict[str, tuple[Derivative | None, ...]] = {}  # one for each operand; None where there is no gradient


def rule(name: str, *saves: str) -> Callable[[Function], Function]:
    """Make the function below it the rule of the operation `name`."""

    def decorate(pull: Function) -> Function:
        RULES[name] = Rule(pull, frozenset(saves))
        return pull

    return decorate


def through(name: str) -> Callable[[Function], Function]:
    """Let gradients flow through the operation `name` as they do through the function below it, the same in steps."""

    def decorate(steps: Function) -> Function:
        RULES[name] = Rule(through=steps)
        return steps

    return decorate


def constant(*names: str) -> None:
    """Let the results of these operations have no gradients."""
    RULES.update(dict.fromkeys(names, Rule()))


def wants_gradient(values: Iterable[Any]) -> bool:
    """Whether gradients flow to any of the values, or of those in lists of them, now."""
    return graph.enabled() and any(
        value.node is not None
        if isinstance(value, Tensor)
        else isinstance(value, list | tuple) and wants_gradient(value)
        for value in values
    )


def require_no_gradient(what: str, values: Iterable[Any]) -> None:
    """Raise `GradientError` if gradients flow to any of the values."""
    if wants_gradient(values):
        raise GradientError(f"{what} has no gradient; give it x.detach() if it is to have none")


def differentiable(function: Function) -> Function:
    """Let gradients flow through an operation on tensors, by the rule of its name."""
    signature = inspect.signature(function)

    @wraps(function)
    def tracked(*arguments: Any, **options: Any) -> Any:
        if not wants_gradient((*arguments, *options.values())):
            return function(*arguments, **options)
        bound = signature.bind(*arguments, **options)
        bound.apply_defaults()
        given = bound.arguments
        require_free(function.__name__, given.get("out"))
        if given.get("activation") is not None:  # a node of its own
            return operators.call("activate", tracked(**{**given, "activation": None, "out": None}), given)
        steps = RULES[function.__name__].through if function.__name__ in RULES else None
        if steps is not None:
            out = given.pop("out", None)
            result = steps(**given)
            return result if out is None else operators.call("assign", out, result)
        with graph.no_grad():
            result = function(*arguments, **options)
        attach(function.__name__, given, result)
        return result

    return tracked  # type: ignore[return-value]


def require_free(name: str, out: Tensor | None) -> None:
    """Raise `GradientError` if `out` is a leaf, or a view, to which gradients flow: a write would lose them."""
    if out is not None and out.node is not None and (out.is_leaf or out.node.name == "view"):
        raise GradientError(
            f"{name} into tensor {out.name or 'unnamed'!r}: gradients flow to it, and a write would cut them off; "
            "write it inside of vertigrad.no_grad(), or take the result as a tensor of its own"
        )


def attach(name: str, given: Mapping[str, Any], result: Tensor) -> None:
    """Give `result` its node. Raises `GradientError` if the operation has no rule."""
    found = RULES.get(name)
    if found is None:
        raise GradientError(f"{name} has no gradient; give it x.detach() if it is to have none")
    if found.pull is None:
        return
    operands = {key: value for key, value in _flat(given) if isinstance(value, Tensor) and key != "out"}
    nodes = {key: value.node for key, value in operands.items() if value.node is not None}
    saved = {key: graph.Saved(value) for key, value in operands.items() if key in found.saves}
    if RESULT in found.saves:
        saved[RESULT] = graph.Saved(result)
    plain = {key: value for key, value in given.items() if key not in operands}
    call = Call({**plain, **saved}, {key: value.shape for key, value in operands.items()}, frozenset(nodes))
    pull = found.pull

    def pulled(gradient: Tensor) -> list[Tensor | None]:
        parts = pull(gradient, call)
        return [parts[key] for key in nodes]

    graph.attach(result, name, list(nodes.values()), pulled, list(saved.values()))


def _flat(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Arguments by name; those in a list as "name[0]", "name[1]", and so on."""
    for key, value in given.items():
        if isinstance(value, list | tuple):
            yield from ((f"{key}[{number}]", each) for number, each in enumerate(value))
        yield key, value
