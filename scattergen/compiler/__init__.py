"""From C text to a library: the C compiler, what it can do, the key of what it makes, and one build at a time."""
