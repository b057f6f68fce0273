"""What a call whose shapes do not fit may have meant; imported only when one is met."""

from __future__ import annotations

from .ops import Op

Shape = tuple[int, ...]


def reading(
    op: Op, axis: int, data: Shape, indices: Shape, updates: Shape, reduction: str, wanted: Shape | None
) -> str:
    """Return the end of a message: a call in which these shapes fit, empty where there is none.

    `axis` is not negative, and 0 for an operator that has none; `wanted` is the shape that updates should have, where
    the indices leave one.
    """
    alike = "" if reduction == "none" else f", reduction={reduction!r}"
    found = (
        _rows(axis, data, indices, updates, alike)
        or _along_another_axis(op, axis, data, indices, updates, alike)
        or _tuples(op, axis, data, indices, updates, alike)
        or _repeated(updates, wanted)
    )
    return f"; {found}" if found else ""


def another_axis(data: Shape, indices: Shape) -> str:
    """Return the end of a message: the axis with which `indices`, too large off theirs, would fit `data`."""
    longer = [dim for dim, (size, extent) in enumerate(zip(data, indices, strict=True)) if extent > size]
    return f"; did you mean axis={longer[0]}?" if len(longer) == 1 else ""


def _rows(axis: int, data: Shape, indices: Shape, updates: Shape, alike: str) -> str:
    """Answer for an index that names a row, with updates for all of it."""
    if axis or updates != indices + data[1:]:
        return ""
    what = "whole rows" if len(data) > 1 else "single elements"
    dots = ":" if len(indices) == 1 else "..."
    return f"for {what}: scatter_nd(data, indices[{dots}, None], updates{alike})"


def _along_another_axis(op: Op, axis: int, data: Shape, indices: Shape, updates: Shape, alike: str) -> str:
    """Answer for the same along another axis, for which no operator has tuples."""
    after = data[axis + 1 :]
    if not axis or len(indices) != 1 or updates != data[:axis] + indices + after:
        return ""
    column = f"np.reshape(indices, {(-1, *(1 for _ in after))})" if after else "indices"
    return f"for whole slices: {op.prefix}(data, np.broadcast_to({column}, updates.shape), updates, axis={axis}{alike})"


def _tuples(op: Op, axis: int, data: Shape, indices: Shape, updates: Shape, alike: str) -> str:
    """Answer for indices as ScatterND has them, given to an operator with an axis."""
    if op.addressing != "axis" or axis or len(indices) < 2 or indices[-1] > len(data):
        return ""
    fits = updates == indices[:-1] + data[indices[-1] :]
    return f"for index tuples along the last dim: scatter_nd(data, indices, updates{alike})" if fits else ""


def _repeated(updates: Shape, wanted: Shape | None) -> str:
    """Answer for updates that NumPy would repeat."""
    if wanted is None or len(updates) > len(wanted):
        return ""
    last = wanted[len(wanted) - len(updates) :]
    fits = all(size in (1, whole) for size, whole in zip(updates, last, strict=True))
    return f"to repeat them: np.broadcast_to(updates, {wanted})" if fits else ""
