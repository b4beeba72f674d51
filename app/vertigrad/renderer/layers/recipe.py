"""`Recipe`: the shader of a kind of layer, its stages, and the pipelines that draw them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import wgpu

from ...gpu import Gpu, shader, wgsl
from ..bindings import BOTH, COMPUTE, Bindings, hidden_layout, lighting_layout
from ..pipelines import draw_cache, render_pipeline
from ..target import NO_DEPTH_TEST, Colors, Drawn, handles_samples, pass_states
from ..view_uniforms import VIEW_SIZE
from .attributes import Attributes
from .styles import NONE


@dataclass(frozen=True, eq=False)
class Stage:
    """A pair of entry points, VERTEX_vertex and FRAGMENT_fragment.

    FRAGMENT_depth and FRAGMENT_clear draw "depth" and "clear" frames. `over`: it blends and does not write depth;
    `rows`: it is also drawn in frames of rows.
    """

    vertex: str
    fragment: str
    over: bool = False
    rows: bool = True


@dataclass(frozen=True)
class Recipe:
    """What all drawings of one type of layer have in common.

    `locations` are those of the attributes in the shader, `defines` are values for the shader in addition to those
    that every drawing has. With `depth` the shader reads the depth of opaque objects as its first resource, and does
    the depth test itself. With `computes` compute shaders read the same resources. With `deferred`
    the stages that do not blend can also draw into a G-buffer: shaders/common/pixel.wgsl. With `slim_depth` the shader
    has a DEPTH_ONLY variant for depth passes.
    """

    shader: str
    stages: Sequence[Stage]
    locations: Mapping[str, int] = field(default_factory=dict)
    topology: str = "triangle-list"
    cull: str = "none"
    depth: bool = False
    computes: bool = False
    deferred: bool = False
    slim_depth: bool = False
    defines: Mapping[str, Any] = field(default_factory=dict)


class StagePipelines:
    """The pipelines of the stages of `recipe`, for `vertices` that are read as vertex buffers.

    `bindings` has the uniforms `View` and `Style`, with the layout `style`, and a resource of each of `kinds`. Raises
    `ShaderError`.
    """

    def __init__(
        self,
        gpu: Gpu,
        recipe: Recipe,
        vertices: Sequence[Attributes],
        kinds: Sequence[str],
        defines: Mapping[str, Any],
    ):
        self._gpu, self._recipe, self._vertices = gpu, recipe, vertices
        types = {name: next(filter(None, (one.wgsl(name) for one in vertices)), "") for name in recipe.locations}
        self.defines: Mapping[str, Any] = {
            **{name.upper(): type_ for name, type_ in types.items()},
            "COLOR_COMPONENTS": vertices[0].components("color") if vertices else 0,
            "SAMPLE_MASK": handles_samples(gpu),
            "PICKING": False,
            "GBUFFER": False,
            "DISPLAY_REFERRED": False,
            "TONE_MAP": NONE,
            "DEPTH_ONLY": False,
            **recipe.defines,
            **defines,
        }
        self.style = self._style_layout()
        self.bindings = Bindings(gpu, (VIEW_SIZE, self.style.size), kinds, BOTH | COMPUTE if recipe.computes else BOTH)
        self._pipelines: dict[tuple[Stage, Drawn, Colors, str | None, bool], wgpu.GPURenderPipeline] = {}

    def get(
        self, stage: Stage, drawn: Drawn, colors: Colors, tone_map: str | None, area_lights: bool = False
    ) -> wgpu.GPURenderPipeline:
        """The pipeline of a stage in a pass, perhaps with area lights; `tone_map` is None where colors are light."""
        if drawn not in ("color", "soft"):
            colors, tone_map = Colors(), None
        key = stage, drawn, colors, tone_map, area_lights and drawn in ("color", "clear")
        if key not in self._pipelines:
            self._pipelines[key] = self._create(*key)
        return self._pipelines[key]

    def pack_style(self, values: Mapping[str, Any]) -> bytearray:
        """The uniform `Style` with these values. Names that are keywords of WGSL have a trailing underscore there."""
        packed = bytearray(self.style.size)
        for name in self.style.fields:
            if not name.startswith("pad"):
                self.style.pack(packed, 0, name, values[name.removesuffix("_")])
        return packed

    def _create(
        self, stage: Stage, drawn: Drawn, colors: Colors, tone_map: str | None, area_lights: bool
    ) -> wgpu.GPURenderPipeline:
        recipe, is_display = self._recipe, tone_map is not None
        states = pass_states(self._gpu, drawn, stage.over, colors, is_display)
        part = drawn if drawn in ("depth", "clear") else "fragment"
        return render_pipeline(
            self._gpu,
            recipe.shader,
            (f"{stage.vertex}_vertex", f"{stage.fragment}_{part}"),
            self._layouts(drawn),
            states.targets,
            defines={
                **self.defines,
                "PICKING": drawn == "rows",
                "GBUFFER": drawn == "gbuffer",
                "DISPLAY_REFERRED": is_display,
                "TONE_MAP": tone_map or NONE,
                "AREA_LIGHTS": area_lights,
                "DEPTH_ONLY": recipe.slim_depth and drawn == "depth",
            },
            buffers=[shared.descriptor(recipe.locations) for one in self._vertices for shared in one.buffers],
            topology=recipe.topology,
            cull=recipe.cull,
            depth=NO_DEPTH_TEST if recipe.depth and drawn == "color" else states.depth,
            multisample=states.multisample,
        )

    def _layouts(self, drawn: Drawn) -> list[wgpu.GPUBindGroupLayout]:
        if drawn in ("depth", "rows", "soft"):
            return [self.bindings.layout]
        return [self.bindings.layout, (hidden_layout if drawn == "gbuffer" else lighting_layout)(self._gpu)]

    def _style_layout(self) -> wgsl.UniformLayout:
        path, defines = self._recipe.shader, self.defines
        key = ("style layout", path, tuple(sorted(defines.items())))
        return draw_cache(self._gpu).get(key, lambda: wgsl.struct_layout(shader.render(path, defines), "Style", path))
