"""A user's own shapes, or a model's scatters, against NumPy: `scattergen bench`."""
