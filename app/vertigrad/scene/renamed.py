"""Old names in scene files: files with old names are read as if they had the new names.

The text is changed before anything else reads it, so saving, reloading and messages use only new names.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from .locate import KeyPath, TooDeep, locate

Names = Mapping[str, str]  # old ones and new ones
Types = Mapping[tuple[str, str], str]  # of the models and layers of a scene: ("models", "galaxy") is of type "nbody"

MODELS: Names = {"nbody_far": "nbody_barnes_hut"}  # types
_ARROWS: Names = {"longest": "max_length", "even": "normalize"}
PARAMETERS: Mapping[tuple[str, str], Names] = {  # by section and type; the view has no type
    ("models", "cloth"): {
        **{"centre": "center", "wind_centre": "wind_center", "obstacle_centre": "obstacle_center"},
        **{"small_steps": "solver_substeps", "sphere": "sphere_center"},
    },
    ("models", "flock"): {
        **{"length": "time_step", "rate": "time_scale", "radius": "perception_radius", "near": "separation_radius"},
        **{"slack": "speed_variation", "agility": "max_acceleration", "sight": "field_of_view", "fear": "flee_radius"},
        **{"levelling": "leveling", "hunt": "predator_speed", "obstacle": "obstacle_center"},
    },
    ("models", "flow"): {"rate": "morph_speed", "rest": "hold_time"},
    ("models", "fluid"): {
        **{"rate": "time_scale", "smoothing": "artificial_viscosity", "column_at": "column_offset"},
        **{"body_at": "body_center", "obstacle_at": "obstacle_center"},
    },
    ("models", "gray_scott"): {"longest_step": "time_step", "rate": "time_scale", "spots": "initial_spots"},
    ("models", "image"): {"rate": "fps"},
    ("models", "lattice_boltzmann"): {"rate": "steps_per_second", "attack": "angle_of_attack", "section": "naca"},
    ("models", "mesh"): {"samples": "sdf_resolution", "reach": "sdf_extent"},
    ("models", "mpm"): {
        **{"rate": "time_scale", "bulk": "bulk_modulus", "poisson": "poissons_ratio", "ball_at": "ball_center"},
        **{f"{matter}_at": f"{matter}_center" for matter in ("water", "jelly", "snow", "sand")},
        **{f"{matter}_young": f"{matter}_youngs_modulus" for matter in ("jelly", "snow", "sand")},
    },
    ("models", "nbody"): {"pericentre": "pericenter", "rate": "time_scale"},
    ("models", "nbody_barnes_hut"): {"pericentre": "pericenter", "rate": "time_scale"},
    ("models", "nca_fit"): {
        **{"picture": "image", "rate": "learning_rate", "pace": "steps_per_second", "play": "playback_rate"},
    },
    ("models", "sdf_surface"): {
        **{"rate": "morph_speed", "rest": "hold_time", "samples": "sdf_resolution", "reach": "sdf_extent"},
    },
    ("models", "shallow_water"): {"rate": "time_scale", "parts": "max_substeps", "spring_at": "spring_position"},
    ("models", "smoke"): {
        **{"lift": "buoyancy", "fading": "dissipation", "sway": "jitter"},
        **{"length": "time_step", "life": "lifetime", "ball": "ball_center"},
    },
    ("models", "splat_fit"): {
        **{f"{what}_rate": f"{what}_learning_rate" for what in ("position", "scale", "rotation", "opacity", "color")},
        **{"half": "learning_rate_half_life", "divide": "densify_interval", "held_out": "test_view"},
        "pace": "steps_per_second",
    },
    ("models", "splat_mesh"): {
        **{"each": "subdivisions", "cover": "size_factor", "stroke": "elongation", "variety": "color_variation"},
        **{"lift": "wave_height", "front": "wave_vector", "rate": "frequency"},
    },
    ("models", "train"): {
        **{"optimiser": "optimizer", "rate": "learning_rate", "decay": "weight_decay", "batch": "batch_size"},
    },
    ("models", "video"): {"rate": "time_scale"},
    ("models", "wave_source"): {"rate": "learning_rate", "pace": "steps_per_second", "play": "playback_rate"},
    ("models", "wind"): {"centre": "center"},
    ("layers", "arrows"): _ARROWS,
    ("layers", "image"): {"centre": "center", "place": "placement", "share": "screen_fraction"},
    **{("layers", kind): {"tone_mapped": "tone_map"} for kind in ("lines", "marks", "slices")},
    ("layers", "splats"): {"dense": "opacity_scale", "dimmed": "antialiased"},
    ("layers", "streamlines"): {
        "rows": "vertices",
        "ways": "direction",
        "pulse": "dashes",
        "tone_mapped": "tone_map",
        "pulse_length": "dash_spacing",
        "pulse_speed": "dash_speed",
    },
    ("layers", "trails"): {"every": "sample_interval", "tone_mapped": "tone_map"},
    ("layers", "vectors"): _ARROWS,
    ("layers", "volume"): {"forward": "anisotropy", "detail": "steps_per_cell"},
    ("view", ""): {
        "look": "theme",
        "sun_width": "sun_angle",
        "occlusion_reach": "occlusion_radius",
        **{f"clip_place{number}": f"clip_origin{number}" for number in ("", "_2", "_3")},
    },
}
CHOICES: Mapping[tuple[str, str, str], Names] = {  # by section, type and parameter, which has its new name
    ("models", "lattice_boltzmann", "collision"): {"regularised": "regularized"},
    ("models", "lattice_boltzmann", "ends"): {"repeat": "periodic"},
    ("models", "lattice_boltzmann", "obstacle"): {"aerofoil": "airfoil"},
    ("models", "lattice_boltzmann", "sides"): {"repeat": "periodic"},
    ("view", "", "theme"): {"own": "custom"},
}
_UNLIT = ("lines", "marks", "slices", "streamlines", "trails")
SWITCHES: Mapping[tuple[str, str, str], Mapping[bool, str]] = {  # that are choices now, by their new names
    ("layers", kind, "tone_map"): {False: "none", True: "view"} for kind in _UNLIT
}
_WRITTEN = {"true": True, "false": False}
ANIMATION: Names = {"rate": "frequency"}  # keys of an animation
DETAILS: Names = {"soft_min": "slider_min", "soft_max": "slider_max"}  # of a parameter of a model of type "wgsl"
OUTPUTS: Mapping[str, Names] = {  # by type of model
    "flock": {"neighbours": "neighbors"},
    "nca_fit": {"picture": "image"},
    "splat_fit": {"picture": "image"},
}

_TABLES = (MODELS, DETAILS, *PARAMETERS.values(), *CHOICES.values(), *OUTPUTS.values(), ANIMATION)
_OLD = re.compile(rf"\b({'|'.join({old for names in _TABLES for old in names})})\b")
_PARAMETER = re.compile(r"""(?:(models|layers)\.)?(["']?)([^"']+)\2\.(\w+)""")  # as a preset's key: galaxy.softening


def renewed(text: str) -> str:
    """`text` with new names; unchanged if it has no old ones, or is not TOML."""
    return renewed_with_notice(text)[0]


def renewed_with_notice(text: str) -> tuple[str, str]:
    """`text` with new names, and a notice with the old and new names: empty if it has no old ones."""
    changes = _changes(text)
    if not changes:
        return text, ""
    names = {text[start:end].strip("\"'"): new.strip("\"'") for start, end, new in changes}
    written = ", ".join(f"{old} is now {new}" for old, new in names.items())
    for start, end, new in sorted(changes, reverse=True):
        text = text[:start] + new + text[end:]
    return text, f"old names are read as new ones, which saving writes: {written}"


def _changes(text: str) -> list[tuple[int, int, str]]:
    """The start and end of each old name, and its replacement."""
    if not _OLD.search(text):
        return []
    try:
        types, source_map = types_of(tomllib.loads(text)), locate(text)
    except (ValueError, RecursionError, TooDeep):
        return []
    changes: list[tuple[int, int, str]] = []
    for path, start, end in source_map.parts:
        if (new_path := renewed_path(path, types)) != path:
            quote = text[start] if text[start] in "\"'" else ""
            changes.append((start, end, f"{quote}{new_path[-1]}{quote}"))
    for path, (start, end) in source_map.values.items():
        if (switch := _WRITTEN.get(text[start:end])) is not None:
            if (new := renewed_value(path, switch, types)) is not switch:
                changes.append((start, end, f'"{new}"'))
            continue
        quote, value = text[start], text[start + 1 : end - 1]
        if quote in "\"'" and (new := renewed_value(path, value, types)) != value:
            changes.append((start, end, f"{quote}{new}{quote}"))
    return changes


def renewed_path(path: KeyPath, types: Types) -> KeyPath:
    """The path of a key by its new name."""
    match path:
        case ("models" | "layers" as section, str(name), str(key)) | (
            "models" | "layers" as section,
            str(name),
            "ui",
            str(key),
        ):
            return (*path[:-1], PARAMETERS.get((section, types.get((section, name), "")), {}).get(key, key))
        case ("models", str(name), "params", _, str(key)) if types.get(("models", name)) == "wgsl":
            return (*path[:-1], DETAILS.get(key, key))
        case ("view", str(key)):
            return ("view", PARAMETERS["view", ""].get(key, key))
        case ("animations", _, str(key)):
            return (*path[:-1], ANIMATION.get(key, key))
        case ("presets", _, str(key)) | ("animations", str(key)) if parameter := _parameter(key):
            (*_, new) = renewed_path(parameter, types)
            return (*path[:-1], key.removesuffix(parameter[-1]) + str(new))
    return path


def types_of(values: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """The types of the models and layers in a scene's values."""
    found = {}
    for section in ("models", "layers"):
        tables = values.get(section)
        for name, table in tables.items() if isinstance(tables, dict) else ():
            if isinstance(table, dict) and isinstance(table.get("type"), str):
                kind = table["type"]
                found[section, name] = MODELS.get(kind, kind) if section == "models" else kind
    return found


def renewed_value(path: KeyPath, value: Any, types: Types) -> Any:
    """A value with new names, if it is the name of an output, a choice, or a switch that became one."""
    if not isinstance(value, str | bool):
        return value
    model, dot, output = value.partition(".") if isinstance(value, str) else ("", "", "")
    if output in (names := OUTPUTS.get(types.get(("models", model), ""), {})):
        return model + dot + names[output]
    match path:
        case ("models", _, "type"):
            return MODELS.get(str(value), value)
        case ("presets", _, str(key)):
            path = _parameter(key) or path
    match renewed_path(path, types):
        case ("view", str(key)):
            parameter = "view", "", key
        case (str(section), str(name), str(key)):
            parameter = section, types.get((section, name), ""), key
        case _:
            return value
    choices: Mapping[Any, str] = (SWITCHES if isinstance(value, bool) else CHOICES).get(parameter, {})
    return choices.get(value, value)


def _parameter(key: str) -> tuple[str, ...] | None:
    """The path of the parameter that a preset's key names: `galaxy.softening`, `layers.stars.size` or `view.bloom`."""
    if key.startswith("view."):
        return ("view", key.removeprefix("view."))
    found = _PARAMETER.fullmatch(key)
    return (found[1] or "models", found[3], found[4]) if found else None
