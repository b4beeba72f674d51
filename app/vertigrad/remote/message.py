"""Messages of the protocol: JSON-RPC 2.0, read from text and checked; errors with what is wrong and what fits."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import pydantic

from ..errors import InputError

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
REFUSED = -32000  # the session cannot do it: the message says why


class Params(pydantic.BaseModel):
    """The `params` of one method: nothing else may be in them."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True, strict=True)


class MessageError(InputError):
    """A message that cannot be used, with JSON-RPC's code for it."""

    def __init__(self, code: int, message: str):
        super().__init__(message)
        self.code = code


class Message(NamedTuple):
    """A request; one without an `id` is a notification, to which nothing is answered."""

    method: str
    params: dict[str, Any]
    id: int | str | None


def read_message(text: str) -> Message:
    """The message in a text. Raises `MessageError`."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MessageError(PARSE_ERROR, f"this is no JSON: {error}") from None
    if not isinstance(values, dict):
        raise MessageError(INVALID_REQUEST, "expected one object, with jsonrpc, method, params and id")
    method, params, id = values.get("method"), values.get("params", {}), values.get("id")
    if values.get("jsonrpc") != "2.0":
        raise MessageError(INVALID_REQUEST, 'expected "jsonrpc": "2.0"')
    if not isinstance(method, str):
        raise MessageError(INVALID_REQUEST, 'expected "method": the name of a method')
    if not isinstance(params, dict):
        raise MessageError(INVALID_REQUEST, f"{method[:40]}: expected params by name, in an object")
    if isinstance(id, bool) or not isinstance(id, int | str | None):
        raise MessageError(INVALID_REQUEST, f"{method[:40]}: expected an id that is a number or a string")
    return Message(method, params, id)


def read_id(text: str) -> int | str | None:
    """The id of a message that cannot be used otherwise, for the answer; None if there is none."""
    try:
        id = json.loads(text).get("id")
    except (ValueError, RecursionError, AttributeError):
        return None
    return id if isinstance(id, int | str) and not isinstance(id, bool) else None


def checked(method: str, kind: type[pydantic.BaseModel], params: dict[str, Any]) -> Any:
    """The `params` as an instance of `kind`. Raises `MessageError` with every problem."""
    try:
        return kind.model_validate_json(json.dumps(params))
    except (pydantic.ValidationError, RecursionError) as error:
        raise MessageError(INVALID_PARAMS, f"{method}: {_problems(error)}") from None


def _problems(error: Exception) -> str:
    if not isinstance(error, pydantic.ValidationError):
        return "values are nested too deeply"
    found = [f"{'.'.join(map(str, one['loc'])) or 'params'}: {one['msg']}" for one in error.errors()]
    return "; ".join(text[:200] for text in found[:4])


def result(id: int | str | None, value: Any) -> str:
    """The answer to a request."""
    return written({"jsonrpc": "2.0", "id": id, "result": value})


def failure(id: int | str | None, code: int, message: str) -> str:
    """The answer to a request that failed."""
    return written({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})


def notification(method: str, params: dict[str, Any]) -> str:
    """What the server reports by itself."""
    return written({"jsonrpc": "2.0", "method": method, "params": params})


def written(value: Any) -> str:
    """JSON; numbers that are not finite are the strings "NaN", "Infinity" and "-Infinity", which JSON lacks."""
    return json.dumps(_finite(value), allow_nan=False, separators=(",", ":"))


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case dict():
            return {str(key): _finite(entry) for key, entry in value.items()}
        case list() | tuple():
            return [_finite(entry) for entry in value]
    return value
