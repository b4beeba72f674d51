"""`vertigrad generate`: a language model continues a text, which is printed as it comes."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

import typer

from ..errors import InputError
from .options import AdapterOption, console, errors_console, printable


def command(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="folder with config.json, weights and tokenizer.json")],
    prompt: Annotated[str, typer.Option("--prompt", "-p", metavar="TEXT", help="the text to continue")] = "",
    tokens: Annotated[
        str, typer.Option(metavar="N,N,...", help="tokens to continue instead, without a tokenizer")
    ] = "",
    max_tokens: Annotated[int, typer.Option("--max-tokens", "-n", min=1, metavar="N", help="how many at most")] = 256,
    temperature: Annotated[float, typer.Option(metavar="T", help="0 takes the most probable token")] = 0.0,
    top_k: Annotated[int, typer.Option(metavar="K", help="draw among the K most probable tokens; 0 for all")] = 0,
    top_p: Annotated[float, typer.Option(metavar="P", help="draw among those that have P of the probability")] = 1.0,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="the same seed gives the same text")] = 0,
    weights: Annotated[
        Literal["auto", "f16", "bf16", "int4"], typer.Option(help="how the weights are stored on the GPU")
    ] = "auto",
    context: Annotated[int | None, typer.Option(min=1, metavar="N", help="tokens of prompt and text at most")] = None,
    adapter: AdapterOption = "",
) -> None:
    """Continue a text by the language model in the folder MODEL, and print it as it comes."""
    from ..language import LanguageModel, Sampling
    from .running import open_gpu

    if bool(prompt) == bool(tokens):
        raise InputError("--prompt TEXT or --tokens N,N,... is needed, and not both")
    sampling = Sampling(temperature, top_k, top_p, seed)
    ids = _tokens(tokens)
    open_gpu(adapter)
    with LanguageModel(model, weights=weights, context=context) as found:
        if ids:
            numbers = found.generate_tokens(ids, max_tokens, sampling)
            _report(f"{',' if index else ''}{token}" for index, token in enumerate(numbers))
        else:
            _report(found.generate(prompt, max_tokens, **asdict(sampling)), prompt)


def _tokens(text: str) -> list[int]:
    try:
        return [int(number) for number in text.split(",")] if text else []
    except ValueError:
        raise InputError(f"--tokens {text}: expected integers with commas between them, such as 1,20,300") from None


def _report(pieces: Iterable[str], before: str = "") -> None:
    """Print `before` and pieces as they come, one for each token, and how fast they came."""
    count, begun = 0, time.perf_counter()
    first = begun
    for piece in pieces:
        first = time.perf_counter() if not count else first
        text = piece if count else before + piece
        sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
        count += 1
        sys.stdout.flush()
    console.print()
    taken = time.perf_counter() - first
    rate = f", {(count - 1) / taken:.1f} tokens/s" if count > 1 and taken > 0 else ""
    errors_console.print(f"{count} tokens, the first after {first - begun:.2f} s{rate}")
