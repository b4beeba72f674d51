"""Causal transformers: their weights from files, their text token by token."""
