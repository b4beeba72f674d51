"""What a picture is read by: colour bars, rulers, a scale bar, names, a floor."""
