"""The `scattergen` command."""
