"""The gradients of every operator, composed of walks over its updates."""
