"""`Change`: what of a running scene is to become other when its file was edited, and what stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..errors import ParameterError
from ..params import Params, same
from .schema import SETTINGS, ModelSpec, OutputRef, Scene

P = TypeVar("P", bound=Params)


@dataclass(frozen=True)
class Change:
    """`specs` and `params` are those of every model, `styles` those of every layer.

    `built` are the models to be built, in their order, `made` the layers to be made; `bound` are those to be bound.
    `carried` are those of `built` that differ in their code at most, and in what other models of these give them.
    """

    specs: Mapping[str, ModelSpec]
    params: Mapping[str, Params]
    styles: Mapping[str, Params]
    built: tuple[str, ...]
    carried: frozenset[str]
    made: frozenset[str]
    bound: frozenset[str]


def between(
    old: Scene, new: Scene, specs: Mapping[str, ModelSpec], params: Mapping[str, Params], styles: Mapping[str, Params]
) -> Change:
    """From what runs, which was made of `old` and changed by the user since, to what `new` says.

    A value that the user changed stays; every other one is the file's. Raises `ParameterError` if values of the file
    and of the user do not go together.
    """
    new_specs = {name: _spec(specs.get(name), old.models.get(name), spec) for name, spec in new.models.items()}
    new_params = {
        name: merged(params[name], old.models[name].params, spec.params)
        if name in old.models and old.models[name].type == spec.type
        else spec.params.model_copy()
        for name, spec in new.models.items()
    }
    built, carried = _built(specs, new_specs, new.order, params, new_params)
    made = {name for name, spec in new.layers.items() if name not in old.layers or old.layers[name].type != spec.type}
    return Change(
        new_specs,
        new_params,
        {
            name: spec.style.model_copy() if name in made else merged(styles[name], old.layers[name].style, spec.style)
            for name, spec in new.layers.items()
        },
        built,
        carried,
        frozenset(made),
        frozenset(name for name in new.layers if name in made or _draws_other(name, old, new, built)),
    )


def merged(now: P, old: Params, new: P) -> P:
    """`new`, with the values in which `now` differs from `old`. Raises `ParameterError` if they do not go together."""
    if type(now) is not type(new):
        return _refitted(now, old, new)
    return now.with_values({name: value for name, value in new if same(getattr(now, name), getattr(old, name))})


def _refitted(now: Params, old: Params, new: P) -> P:
    """`new`, of another class, with the user's values of parameters that both have and that fit."""
    found = new.model_copy()
    for name, value in now:
        if name in type(new).model_fields and not same(value, getattr(old, name, value)):
            with suppress(ParameterError):
                found = found.with_values({name: value})
    return found


def reshapes(old: Params, new: Params) -> bool:
    """Whether a change of parameters needs tensors of other shapes."""
    return any(spec.rebuild and getattr(old, spec.name, None) != getattr(new, spec.name) for spec in new.specs())


def _built(
    specs: Mapping[str, ModelSpec],
    new_specs: Mapping[str, ModelSpec],
    order: Sequence[str],
    params: Mapping[str, Params],
    new_params: Mapping[str, Params],
) -> tuple[tuple[str, ...], frozenset[str]]:
    """`built` and `carried` of `Change`."""
    built: list[str] = []
    carried: set[str] = set()
    for name in order:
        before, after = specs.get(name), new_specs[name]
        if before is None or reshapes(params[name], new_params[name]):
            built.append(name)
            continue
        rebuilt_inputs = {ref.model for ref in after.inputs.values()}.intersection(built)
        same_arguments = (dict(before.inputs), before.seed) == (dict(after.inputs), after.seed)
        if before.kind is not after.kind or not same_arguments or rebuilt_inputs:
            built.append(name)
            if before.type == after.type and same_arguments and rebuilt_inputs <= carried:
                carried.add(name)
    return tuple(built), frozenset(carried)


def _spec(now: ModelSpec | None, old: ModelSpec | None, new: ModelSpec) -> ModelSpec:
    """As the file has it, but with the seed and the substeps that the user changed."""
    if now is None or old is None:
        return new
    ours: dict[str, Any] = {name: getattr(now, name) for name in SETTINGS if getattr(now, name) != getattr(old, name)}
    return replace(new, **ours)


def _draws_other(name: str, old: Scene, new: Scene, built: tuple[str, ...]) -> bool:
    before, after = old.layers[name].attributes, new.layers[name].attributes
    drawn = {value.model for value in after.values() if isinstance(value, OutputRef)}
    return dict(before) != dict(after) or not drawn.isdisjoint(built)
