"""The reference implementation of a decoder from an ONNX file: ONNX's own, in NumPy, with a cache that grows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError
from .onnx_decoder import OWN, cache_of, present_of


def onnx_logits(path: Path, tokens: Sequence[int]) -> np.ndarray:
    """The logits after the last of `tokens`, (vocabulary,), which are taken one after the other.

    Raises `InputError` for a network with operators that ONNX's reference does not have.
    """
    from onnx.reference import ReferenceEvaluator

    evaluator, cache = ReferenceEvaluator(str(path)), cache_of(path)
    names, found = evaluator.input_names, np.zeros((1, 1, 0))
    for position, token in enumerate(tokens):
        own = ([[token]], np.ones((1, position + 1)), [[position]])
        feeds: dict[str, Any] = {name: np.asarray(value, np.int64) for name, value in zip(OWN, own, strict=True)}
        try:
            results = evaluator.run(None, {name: value for name, value in (feeds | cache).items() if name in names})
        except NotImplementedError as error:
            raise InputError(f"{path}: ONNX's reference in NumPy has not all of its operators: {error}") from error
        by_name = dict(zip(evaluator.output_names, results, strict=True))
        cache = {name: np.asarray(by_name[present_of(name)]) for name in cache}
        found = np.asarray(by_name["logits"])
    return found.reshape(-1, found.shape[-1])[-1]
