"""From a call to its result: dispatch and its faster roads (`fast`, `bound`, `prepared`), threads, and `explain`."""
