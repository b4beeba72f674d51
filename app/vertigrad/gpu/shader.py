"""WGSL files as templates: `//%` line statements and `${}` expressions, rendered with Jinja2."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import jinja2

from .. import resources
from ..errors import ShaderError


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(resources.shader),
        line_statement_prefix="//%",
        variable_start_string="${",
        variable_end_string="}",
        block_start_string="/*%",
        block_end_string="%*/",
        comment_start_string="/*#",
        comment_end_string="#*/",
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(name: str, defines: Mapping[str, Any] | None = None) -> str:
    """The WGSL of the shader file `name` (relative to `shaders/`), its template values taken from `defines`.

    Raises `ShaderError` naming file and line if the template is wrong or a value is missing.
    """
    try:
        return _environment().get_template(name).render(defines or {})
    except jinja2.TemplateSyntaxError as error:
        raise ShaderError(f"shaders/{error.name or name}:{error.lineno}: {error.message}") from error
    except jinja2.UndefinedError as error:
        raise ShaderError(f"shaders/{name}: {error.message}; give it in defines") from error
