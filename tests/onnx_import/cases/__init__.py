"""A case for every attribute, and every optional input and output, of every operator that is lowered."""

from . import elementwise, graphs, layers, reductions, selections, shapes, spectra
from .case import Case

_TABLES = (elementwise, shapes, reductions, layers, spectra, graphs, selections)
CASES: list[Case] = [case for table in _TABLES for case in table.CASES]
WITHOUT_EFFECT = {key: reason for table in _TABLES for key, reason in table.WITHOUT_EFFECT.items()}
