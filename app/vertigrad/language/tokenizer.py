"""`Tokenizer`: text as tokens and back, by the package `tokenizers` and a model's tokenizer.json."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InputError, RequirementError

FILE = "tokenizer.json"
INSTALL = "the package tokenizers is not installed here; install it with `pip install vertigrad[language]`"


class Tokenizer:
    """A tokenizer from its file. Raises `InputError` for files that are none, `RequirementError` without the package.

    Tokens are below `vocabulary`, the model's; others raise `InputError` when they come up.
    """

    def __init__(self, path: Path, vocabulary: int):
        try:
            import tokenizers
        except ImportError:
            raise RequirementError(INSTALL) from None
        if not path.is_file():
            raise InputError(f"{path}: there is no such file; a prompt of text needs it, tokens as numbers do not")
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(str(path))
        except Exception as error:  # the package raises no narrower class
            raise InputError(f"{path}: not a tokenizer ({error})") from error
        self._path, self._vocabulary = path, vocabulary

    def encode(self, text: str) -> list[int]:
        """Tokens of a text, with those that the model expects at its beginning."""
        found = self._tokenizer.encode(text).ids
        if found and max(found) >= self._vocabulary:
            raise InputError(
                f"{self._path}: token {max(found)} of the prompt is not among the {self._vocabulary} of the model; "
                "the file belongs to another model"
            )
        return found

    def decode(self, tokens: Sequence[int]) -> str:
        """Text of tokens, without those that stand for no text."""
        return self._tokenizer.decode(list(tokens))

    def stream(self) -> TextStream:
        """For tokens that come one at a time."""
        return TextStream(self._tokenizer)


class TextStream:
    """Text of tokens that come one at a time: a character may need several."""

    def __init__(self, tokenizer: Any):
        from tokenizers.decoders import DecodeStream

        self._tokenizer, self._stream = tokenizer, DecodeStream(skip_special_tokens=True)

    def step(self, token: int) -> str:
        """The text that this token completes; empty if it is part of a character, or stands for no text."""
        return self._stream.step(self._tokenizer, token) or ""
