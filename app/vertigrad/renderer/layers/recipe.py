"""`Recipe`: the shader of a kind of layer, its stages, and the pipelines that draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import wgpu

from ...gpu import Gpu, shader, wgsl
from ..bindings import lighting_layout
from ..pipelines import draw_cache, render_pipeline
from ..target import NO_DEPTH_TEST, Drawn, PassStates
from .attributes import Attributes


@dataclass(frozen=True, eq=False)
class Stage:
    """A pair of entry points, VERTEX_vertex and FRAGMENT_fragment.

    FRAGMENT_depth and FRAGMENT_clear draw frames of these. `over`: it blends over what is there and leaves the depth;
    `rows`: it is also drawn in frames of rows.
    """

    vertex: str
    fragment: str
    over: bool = False
    rows: bool = True


@dataclass(frozen=True)
class Recipe:
    """What all drawings of one kind of layer share.

    `locations` are those of the attributes in the shader, `defines` are values for the shader in addition to those
    that every drawing has. With `depth` the shader reads the depth of solid things as its first resource, and does the
    depth test itself.
    """

    shader: str
    stages: Sequence[Stage]
    locations: Mapping[str, int] = field(default_factory=dict)
    topology: str = "triangle-list"
    cull: str = "none"
    depth: bool = False
    defines: Mapping[str, Any] = field(default_factory=dict)


def style_layout(gpu: Gpu, path: str, defines: Mapping[str, Any]) -> wgsl.UniformLayout:
    """How the uniform `Style` of a shader file is laid out, found once for each device. Raises `ShaderError`."""
    key = ("style layout", path, tuple(sorted(defines.items())))
    return draw_cache(gpu).get(key, lambda: wgsl.struct_layout(shader.render(path, defines), "Style", path))


def stage_pipeline(
    gpu: Gpu,
    recipe: Recipe,
    stage: Stage,
    drawn: Drawn,
    states: PassStates,
    layout: wgpu.GPUBindGroupLayout,
    vertices: Sequence[Attributes],
    defines: Mapping[str, Any],
) -> wgpu.GPURenderPipeline:
    """The pipeline of a stage in a pass, for attributes that are read as vertex buffers."""
    part = drawn if drawn in ("depth", "clear") else "fragment"
    return render_pipeline(
        gpu,
        recipe.shader,
        (f"{stage.vertex}_vertex", f"{stage.fragment}_{part}"),
        [layout] if drawn in ("depth", "rows") else [layout, lighting_layout(gpu)],
        states.targets,
        defines=defines,
        buffers=[shared.descriptor(recipe.locations) for one in vertices for shared in one.buffers],
        topology=recipe.topology,
        cull=recipe.cull,
        depth=NO_DEPTH_TEST if recipe.depth else states.depth,
        multisample=states.multisample,
    )
