"""What a picture is read by: color bars, rulers, a scale bar, names, a floor."""
