"""From a library to a callable, out of the first place that has the kernel."""
