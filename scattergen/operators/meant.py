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
        or _elements(op, data, indices, updates, alike)
        or _repeated(updates, wanted)
    )
    return f"; {found}" if found else ""


def another_axis(data: Shape, indices: Shape) -> str:
    """Return the end of a message: the axis with which `indices`, too large off theirs, would fit `data`."""
    longer = [dim for dim, (size, extent) in enumerate(zip(data, indices, strict=True)) if extent > size]
    return f"; did you mean axis={longer[0]}?" if len(longer) == 1 else ""


def without_axis(data: Shape, indices: Shape) -> str:
    """Return the end of a message of what was given no axis: how `indices` would fit `data`, empty for not."""
    axes = " or ".join(f"axis={axis}" for axis in _axes(data, indices))
    if axes:
        return f"; without axis= it is about scatter_nd: for scatter_elements give {axes}"
    return "; for whole rows: indices[:, None]" if len(indices) == 1 and data else ""


def _axes(data: Shape, indices: Shape) -> list[int]:
    """Return the axes along which ScatterElements takes `indices`, whatever they hold."""
    if len(data) != len(indices):
        return []
    longer = {dim for dim, (size, extent) in enumerate(zip(data, indices, strict=True)) if extent > size}
    return [axis for axis in range(len(data)) if longer <= {axis}]


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


def _elements(op: Op, data: Shape, indices: Shape, updates: Shape, alike: str) -> str:
    """Answer for an index for each update, given to an operator whose indices are tuples."""
    axes = _axes(data, indices) if op.addressing == "tuples" and updates == indices else []
    if not axes:
        return ""
    more = "".join(f" or axis={axis}" for axis in axes[1:])
    return f"for an index for each update: scatter_elements(data, indices, updates, axis={axes[0]}{alike}){more}"


def _repeated(updates: Shape, wanted: Shape | None) -> str:
    """Answer for updates that NumPy would repeat."""
    if wanted is None or len(updates) > len(wanted):
        return ""
    last = wanted[len(wanted) - len(updates) :]
    fits = all(size in (1, whole) for size, whole in zip(updates, last, strict=True))
    return f"to repeat them: np.broadcast_to(updates, {wanted})" if fits else ""
