"""How operations get gradients: a decorator for those on tensors, and the rules that the files in `gradients` give.

An operation without a rule raises `GradientError` for operands that require a gradient: none is dropped silently.
Results that are not differentiable (indices, counts, comparisons, integers) are constants, and `backward` of them
raises with the reason.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..errors import GradientError
from ..tensor import DType, Tensor, graph, operators

Function = TypeVar("Function", bound=Callable[..., Any])
RESULT = "result"


class Rule(NamedTuple):
    """How gradients flow back through an operation.

    `vjp` takes the gradient of the result and a `Call`; it returns the gradients of operands by name. `saves` names the
    operands, and perhaps "result", whose values it reads. With `through`, which takes the arguments by name, other
    operations compute the result instead; these have rules. With neither the result is a constant: `why` has the
    reason.
    """

    vjp: Callable[[Tensor, Call], Mapping[str, Tensor]] | None = None
    saves: frozenset[str] = frozenset()
    through: Callable[..., Any] | None = None
    why: str = ""


class Call:
    """A call of an operation: its arguments by name, those that are tensors only if the rule saves them."""

    def __init__(self, arguments: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], requested: frozenset[str]):
        self._arguments = dict(arguments)
        self.shapes = shapes
        self.requested = requested  # the operands whose gradients are needed

    def __getitem__(self, name: str) -> Any:
        value = self._arguments[name]
        return value.value() if isinstance(value, graph.Saved) else value


class Derivative(NamedTuple):
    """Of an elementwise operation by one operand: the gradient g of the result times the derivative.

    `reads` is what `of` takes after g: letters of "abcr", the operands and the result.
    """

    reads: str
    of: Callable[..., Any]


RULES: dict[str, Rule] = {}
DERIVATIVES: dict[str, tuple[Derivative | None, ...]] = {}  # one for each operand; None where there is no gradient


def rule(name: str, *saves: str) -> Callable[[Function], Function]:
    """Make the function below it the rule of the operation `name`."""

    def decorate(vjp: Function) -> Function:
        RULES[name] = Rule(vjp, frozenset(saves))
        return vjp

    return decorate


def through(name: str) -> Callable[[Function], Function]:
    """Let gradients flow through the operation `name` as they do through the function below it, the same in steps."""

    def decorate(steps: Function) -> Function:
        RULES[name] = Rule(through=steps)
        return steps

    return decorate


def constant(why: str, *names: str) -> None:
    """Declare the results of these operations not differentiable; `why` is the reason."""
    RULES.update(dict.fromkeys(names, Rule(why=why)))


def requires_gradient(values: Iterable[Any]) -> bool:
    """Whether gradients flow to any of the values, or of those in lists of them, now."""
    return graph.enabled() and any(
        value.node is not None
        if isinstance(value, Tensor)
        else isinstance(value, list | tuple) and requires_gradient(value)
        for value in values
    )


def require_no_gradient(what: str, values: Iterable[Any]) -> None:
    """Raise `GradientError` if gradients flow to any of the values."""
    values = list(values)
    if requires_gradient(values):
        raise _missing(what, values)


def differentiable(function: Function) -> Function:
    """Let gradients flow through an operation on tensors, by the rule of its name."""
    signature = inspect.signature(function)

    @wraps(function)
    def tracked(*args: Any, **kwargs: Any) -> Any:
        if not requires_gradient((*args, *kwargs.values())):
            return function(*args, **kwargs)
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = bound.arguments
        operands = [arguments[key] for key in arguments if key != "out"]
        require_free(function.__name__, operands, arguments.get("out"))
        if arguments.get("activation") is not None:  # a node of its own
            return operators.call("activate", tracked(**{**arguments, "activation": None, "out": None}), arguments)
        steps = RULES[function.__name__].through if function.__name__ in RULES else None
        if steps is not None:
            out = arguments.pop("out", None)
            with _uploaded(arguments) as ready:
                return _into(out, steps(**ready))
        return attached(function.__name__, arguments, lambda: function(*args, **kwargs))

    return tracked  # type: ignore[return-value]


@contextmanager
def _uploaded(arguments: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The arguments, those that are arrays of floats as tensors for as long as the block runs."""
    uploaded = {key: Tensor.from_numpy(value) for key, value in arguments.items() if _is_floats(value)}
    try:
        yield {**arguments, **uploaded}
    finally:
        for tensor in uploaded.values():
            tensor.close()


def _is_floats(value: Any) -> bool:
    """Whether it is an array of floats; lists and arrays of indices are read as they are."""
    return isinstance(value, np.ndarray) and value.dtype.kind == "f"


def _into(out: Tensor | Sequence[Tensor] | None, result: Any) -> Any:
    """`result`, or the first of several, written to `out` if there is one."""
    targets, results = _several(out), result if isinstance(result, tuple) else (result,)
    written = [operators.call("assign", *pair) for pair in zip(targets, results, strict=False)]
    return (*written, *results[len(written) :]) if isinstance(result, tuple) else [*written, result][0]


def _several(out: Tensor | Sequence[Tensor] | None) -> Sequence[Tensor]:
    return () if out is None else (out,) if isinstance(out, Tensor) else out


def require_free(name: str, operands: Iterable[Any], outputs: Tensor | Sequence[Tensor] | None) -> None:
    """Raise `GradientError` if one of `outputs` is a leaf, or a view of one: a write would lose its gradients."""
    for out in _several(outputs):
        out.variable.require_writable(f"{name} into tensor {out.name or 'unnamed'!r}", requires_gradient(operands))


def attached(name: str, arguments: Mapping[str, Any], function: Callable[[], Any]) -> Any:
    """What `function`, the operation `name`, gives; it, or the first of several, with its node.

    Raises `GradientError` if the operation has no rule.
    """
    found = RULES.get(name)
    if found is None:
        raise _missing(name, arguments.values())
    if found.vjp is None:
        with graph.no_grad():
            result = function()
        for out in _several(arguments.get("out")):
            out.variable.write(None)
        mark_non_differentiable(name, arguments.values(), result)
        return result
    inputs = {key: value for key, value in arguments.items() if key != "out"}
    operands = {key: value for key, value in _flat(inputs) if isinstance(value, Tensor)}
    nodes = {key: value.node for key, value in operands.items() if value.node is not None}
    with _uploaded({key: value for key, value in arguments.items() if key in found.saves}) as ready:
        saved = {key: graph.Saved(value) for key, value in ready.items() if isinstance(value, Tensor)}
    with graph.no_grad():  # now: the result may be written over an operand
        results = function()
    result = results[0] if isinstance(results, tuple) else results
    if RESULT in found.saves:
        saved[RESULT] = graph.Saved(result)
    constants = {key: value for key, value in arguments.items() if key not in operands and key not in saved}
    call = Call({**constants, **saved}, {key: value.shape for key, value in operands.items()}, frozenset(nodes))
    rule, dtypes = found.vjp, {key: operands[key].dtype for key in nodes}

    def vjp(gradient: Tensor) -> list[Tensor | None]:
        parts = rule(gradient, call)
        return [as_type(parts[key], dtype) for key, dtype in dtypes.items()]

    in_place = arguments.get("out") is not None
    graph.attach(result, name, list(nodes.values()), vjp, list(saved.values()), in_place)
    return results


def as_type(part: Tensor, dtype: DType) -> Tensor:
    """A gradient in the type of its operand; itself, if it has that already."""
    return part if part.dtype is dtype else part.to(dtype)


def mark_non_differentiable(name: str, values: Iterable[Any], result: Any) -> None:
    """Set the reason that `backward` of `result`, of the operation `name` on `values`, raises with."""
    why = RULES[name].why if name in RULES else "it only says where to change"
    message = f"{name} of {_wanting(values)} has no gradient: {why}; use a smooth operation, or give it x.detach()"
    for each in result if isinstance(result, tuple) else (result,):
        each.non_differentiable_reason = message


def _missing(name: str, values: Iterable[Any]) -> GradientError:
    return GradientError(f"{name} of {_wanting(values)} has no gradient; give it x.detach() if it is to have none")


def _wanting(values: Iterable[Any]) -> str:
    parts = (each for value in values for each in (value if isinstance(value, list | tuple) else (value,)))
    names = [part.name or "unnamed" for part in parts if isinstance(part, Tensor) and part.node is not None]
    return "tensor " + ", ".join(map(repr, names))


def _flat(arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Arguments by name; those in a list as "name[0]", "name[1]", and so on."""
    for key, value in arguments.items():
        if isinstance(value, list | tuple):
            yield from ((f"{key}[{number}]", each) for number, each in enumerate(value))
        yield key, value
