"""WGSL files as templates: `//%` line statements and `${}` expressions, rendered with Jinja2."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from functools import cache
from typing import Any

import jinja2

from .. import resources
from ..errors import ShaderError


@cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FunctionLoader(_load),
        line_statement_prefix="//%",
        variable_start_string="${",
        variable_end_string="}",
        block_start_string="/*%",
        block_end_string="%*/",
        comment_start_string="/*#",
        comment_end_string="#*/",
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,  # an included file must not swallow the line after it into its last comment
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
        raise ShaderError(f"{_where(name, error)}: {error.message}; give it in defines") from error
    except (ArithmeticError, LookupError, TypeError, ValueError, jinja2.TemplateError) as error:
        raise ShaderError(f"{_where(name, error)}: {error}") from error


def _load(name: str) -> tuple[str, str, None]:
    """Text and path of a template; Jinja2 gives its traceback that path."""
    return resources.shader(name), f"shaders/{name}", None


def _where(name: str, error: Exception) -> str:
    """File and line of the template expression that raised `error`."""
    lines = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith("shaders/")]
    return f"{lines[-1].filename}:{lines[-1].lineno}" if lines else f"shaders/{name}"
