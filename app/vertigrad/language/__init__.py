"""Causal transformers: their weights from files, their tokens chosen on the GPU, their text piece by piece."""

from .config import Config
from .generation import Generator
from .model import LanguageModel
from .sampling import Sampling
from .tokenizer import Tokenizer
from .transformer import Transformer

__all__ = ["Config", "Generator", "LanguageModel", "Sampling", "Tokenizer", "Transformer"]
