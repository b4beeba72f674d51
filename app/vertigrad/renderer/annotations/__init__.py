"""Annotations of the viewport: color bars, axes, a scale bar, labels, a floor."""
