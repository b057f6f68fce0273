"""The loop that a careful user writes with numba for one case: serial, checked, safe with duplicates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scattergen.bench.workload import Workload

_STEP = {
    "none": "out[{target}] = updates[{place}]",
    "add": "out[{target}] += updates[{place}]",
    "mul": "out[{target}] *= updates[{place}]",
    "max": "out[{target}] = max(out[{target}], updates[{place}])",
    "min": "out[{target}] = min(out[{target}], updates[{place}])",
}


def call(work: Workload) -> Callable[[], Any] | None:
    """Return the compiled loop on the arrays of `work`; None where numba has no such type or we no such loop."""
    import numba

    tuples = work.spec.op.addressing == "tuples"
    if work.spec.dtype.kind == "half" or (tuples and work.indices.ndim != 2):
        return None
    space: dict[str, Any] = {}
    exec(_by_tuples(work) if tuples else _along_axis(work), space)
    function = numba.njit(space["scatter"])
    data, indices, updates = work.data, work.indices, work.updates
    return lambda: function(data, indices, updates)


def _along_axis(work: Workload) -> str:
    places = [f"i{dim}" for dim in range(work.spec.rank)]
    targets = [*places]
    targets[work.spec.place] = "t"
    lines = [f"for {name} in range(indices.shape[{dim}]):" for dim, name in enumerate(places)]
    nested = [f"t = indices[{', '.join(places)}]", *_checked("t", work.spec.place), _step(work, targets, places)]
    return _function(lines, nested)


def _by_tuples(work: Workload) -> str:
    depth, rank = work.spec.place, work.spec.rank
    components = [f"t{number}" for number in range(depth)]
    slices = [f"i{dim}" for dim in range(depth, rank)]
    head = ["for n in range(indices.shape[0]):"]
    read = [f"{name} = indices[n, {number}]" for number, name in enumerate(components)]
    checks = [line for number, name in enumerate(components) for line in _checked(name, number)]
    loops = [f"for {name} in range(data.shape[{dim}]):" for dim, name in enumerate(slices, depth)]
    body = [*read, *checks, *(" " * number + line for number, line in enumerate(loops))]
    body.append(" " * len(loops) + _step(work, [*components, *slices], ["n", *slices]))
    return _function(head, body)


def _checked(name: str, dim: int) -> list[str]:
    return [
        f"if {name} < 0: {name} += data.shape[{dim}]",
        f"if {name} < 0 or {name} >= data.shape[{dim}]: raise IndexError",
    ]


def _step(work: Workload, targets: list[str], places: list[str]) -> str:
    return _STEP[work.reduction].format(target=", ".join(targets), place=", ".join(places))


def _function(loops: list[str], body: list[str]) -> str:
    nest = [" " * (number + 1) + line for number, line in enumerate(loops)]
    inner = [" " * (len(loops) + 1) + line for line in body]
    return "\n".join(["def scatter(data, indices, updates):", " out = data.copy()", *nest, *inner, " return out"])
