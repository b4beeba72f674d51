"""`Change`: the differences between a running scene and its edited file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..errors import ParameterError
from ..models.inside import Observed
from ..params import Params, same
from .schema import SETTINGS, InnerRef, ModelSpec, OutputRef, Scene

P = TypeVar("P", bound=Params)


@dataclass(frozen=True)
class Change:
    """`specs` and `params` are those of every model, `styles` those of every layer; `observed` are the tensors inside
    of models that others or layers read, for models where they are others than before.

    `built` are the models to build, in their order, `created_layers` the layers to create, `bound_layers` those to
    bind. `carried` are the models of `built` that take over their old state: only their code or inputs differ.
    """

    specs: Mapping[str, ModelSpec]
    params: Mapping[str, Params]
    styles: Mapping[str, Params]
    built: tuple[str, ...]
    carried: frozenset[str]
    observed: Mapping[str, Observed]
    created_layers: frozenset[str]
    bound_layers: frozenset[str]


def between(
    old: Scene,
    new: Scene,
    specs: Mapping[str, ModelSpec],
    params: Mapping[str, Params],
    styles: Mapping[str, Params],
    is_recorded: Callable[[str, Observed], bool],
) -> Change:
    """The change from the running scene, which was built from `old` and edited by the user, to `new`.

    `is_recorded` says whether a model, given by its name, can observe tensors without recording anything anew.
    Values that the user edited remain; all others are those of `new`. Raises `ParameterError` if values of the file and
    of the user are not valid together.
    """
    new_specs = {name: _spec(specs.get(name), old.models.get(name), spec) for name, spec in new.models.items()}
    new_params = {
        name: merged(params[name], old.models[name].params, spec.params)
        if name in old.models and old.models[name].type == spec.type
        else spec.params.model_copy()
        for name, spec in new.models.items()
    }
    now = {name: new.observed(name) for name in new.models}
    others = {
        name
        for name, one in now.items()
        if name in old.models and one != old.observed(name) and not is_recorded(name, one)
    }
    recorded_again = {InnerRef(name, tensor) for name in others for tensor in now[name].tensors}
    built, carried = _built(specs, new_specs, new.order, params, new_params, recorded_again)
    created = {
        name for name, spec in new.layers.items() if name not in old.layers or old.layers[name].type != spec.type
    }
    return Change(
        new_specs,
        new_params,
        {
            name: spec.style.model_copy()
            if name in created
            else merged(styles[name], old.layers[name].style, spec.style)
            for name, spec in new.layers.items()
        },
        built,
        carried,
        {name: one for name, one in now.items() if name not in built and one != old.observed(name)},
        frozenset(created),
        frozenset(
            name for name in new.layers if name in created or _draws_other(name, old, new, built, recorded_again)
        ),
    )


def merged(now: P, old: Params, new: P) -> P:
    """`new`, with the values in which `now` differs from `old`. Raises `ParameterError` if the result is not valid."""
    if type(now) is not type(new):
        return _refitted(now, old, new)
    return now.with_values({name: value for name, value in new if same(getattr(now, name), getattr(old, name))})


def _refitted(now: Params, old: Params, new: P) -> P:
    """`new`, of another class, with the user's values of parameters that both classes have, where they are valid."""
    found = new.model_copy()
    for name, value in now:
        if name in type(new).model_fields and not same(value, getattr(old, name, value)):
            with suppress(ParameterError):
                found = found.with_values({name: value})
    return found


def reshapes(old: Params, new: Params) -> bool:
    """Whether a change of parameters changes shapes of tensors, or what plans contain."""
    differ = any(spec.rebuild and getattr(old, spec.name, None) != getattr(new, spec.name) for spec in new.specs())
    return differ or old.recorded() != new.recorded()


def _built(
    specs: Mapping[str, ModelSpec],
    new_specs: Mapping[str, ModelSpec],
    order: Sequence[str],
    params: Mapping[str, Params],
    new_params: Mapping[str, Params],
    recorded_again: AbstractSet[OutputRef],
) -> tuple[tuple[str, ...], frozenset[str]]:
    """`built` and `carried` of `Change`."""
    built: list[str] = []
    carried: set[str] = set()
    for name in order:
        before, after = specs.get(name), new_specs[name]
        if before is None or reshapes(params[name], new_params[name]):
            built.append(name)
            continue
        rebuilt_inputs = {ref.model for ref in after.inputs.values() if ref.model in built or ref in recorded_again}
        same_arguments = (dict(before.inputs), before.seed) == (dict(after.inputs), after.seed)
        if before.kind is not after.kind or not same_arguments or rebuilt_inputs:
            built.append(name)
            if before.type == after.type and same_arguments and rebuilt_inputs.intersection(built) <= carried:
                carried.add(name)
    return tuple(built), frozenset(carried)


def _spec(now: ModelSpec | None, old: ModelSpec | None, new: ModelSpec) -> ModelSpec:
    """The model of the file, with the seed and the substeps that the user changed."""
    if now is None or old is None:
        return new
    ours: dict[str, Any] = {name: getattr(now, name) for name in SETTINGS if getattr(now, name) != getattr(old, name)}
    return replace(new, **ours)


def _draws_other(
    name: str, old: Scene, new: Scene, built: tuple[str, ...], recorded_again: AbstractSet[OutputRef]
) -> bool:
    before, after = old.layers[name].attributes, new.layers[name].attributes
    drawn = {value.model for value in after.values() if isinstance(value, OutputRef)}
    return dict(before) != dict(after) or not drawn.isdisjoint(built) or not recorded_again.isdisjoint(after.values())
