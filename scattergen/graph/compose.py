"""Which steps a reduction is made of, what targets start from, and what empty ones hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..arguments import arrays
from ..arguments.advice import not_writable
from ..arguments.arrays import Array, as_indices
from ..call import accumulated, direct, dispatch
from ..call.threads import require as require_threads
from ..common.record import Record
from ..errors import DTypeError, ShapeError, SpecError
from ..operators import dtypes
from ..operators.dtypes import DType
from ..operators.shapes import dim_of
from . import steps
from .extremes import extremes
from .targets import Rows, as_numbers, expanded, number_of_targets, rows

_STEP = {"sum": "add", "mul": "mul", "mean": "add", "max": "max", "min": "min"}
"""What each reduction does with a row."""

_COMPARES = ("max", "min")


class How(Record):
    """What a call says of the way, not of the result's meaning."""

    threads: int | None
    accumulate: str | None


def reduced(
    who: str,
    name: str,
    src: Any,
    index: Any,
    dim: Any,
    dim_size: Any,
    out: Any,
    how: How,
) -> Array:
    """Return the rows of `src` reduced to targets."""
    given, size = _asked(who, name, src, index, dim, dim_size, out, how)
    if out is None:
        try:
            work = dispatch.empty(given.shape(size), given.src.dtype.newbyteorder("="))
        except ValueError as error:
            raise ShapeError(f"{who}: the result would have shape {given.shape(size)}: {error}") from None
        work.fill(steps.neutral(name, work.dtype))
    else:
        out = _checked(out, given.shape(size), given)
        given, work = given.apart(out), _worked_on(out, apart=not _is_one_step(name, how))
    _reduce(work, given, name, how, 0)
    if out is None and name in _COMPARES:
        _clear_empty(work, given, name, how)
    return _returned(work, out)


def extreme(
    who: str, name: str, src: Any, index: Any, dim: Any, dim_size: Any, out: Any, threads: int | None
) -> tuple[Array, Array]:
    """Return the greatest or least rows of `src` by targets, and where they come from."""
    given, size = _asked(who, name, src, index, dim, dim_size, out, How(threads, None))
    if out is not None:
        out = _checked(out, given.shape(size), given)
    try:
        values, places = extremes(given, size, name, out, threads)
    except ValueError as error:
        raise ShapeError(f"{who}: the result would have shape {given.shape(size)}: {error}") from None
    return _returned(values, out), places


def _asked(who: str, name: str, src: Any, index: Any, dim: Any, dim_size: Any, out: Any, how: How) -> tuple[Rows, int]:
    """Return the checked rows of a call, and how many targets there are."""
    given = rows(who, src, index, dim)
    _refuse(given, name, how)
    return given, number_of_targets(given, dim_size if out is None else _size_of(out, given, dim_size))


def reduced_into(data: Any, dim: Any, index: Any, src: Any, name: str, include_self: bool, out: Any, how: How) -> Array:
    """Return `data` with `src` reduced into it, as torch's ``scatter_reduce`` does."""
    who = "scatter_reduce"
    data, src, index = as_numbers(who, data, "data"), as_numbers(who, src, "src"), as_indices(index, "index", who)
    if data.ndim == 0 or data.ndim != src.ndim:
        raise ShapeError(f"{who}: data has rank {data.ndim}, src {src.ndim}: allowed is one common rank, 1 or more")
    place = dim_of(dim, data.ndim, "dim", who)
    fitted = index if index.ndim == data.ndim else expanded(who, index, src, place)
    for at, (extent, most, size) in enumerate(zip(fitted.shape, src.shape, data.shape, strict=True)):
        limit = most if at == place else min(most, size)
        if extent > limit:
            raise ShapeError(f"{who}: index.shape[{at}] is {extent}, allowed is {limit} or less")
    if src.dtype.newbyteorder("=") != data.dtype.newbyteorder("="):
        raise DTypeError(f"{who}: src is {src.dtype}, data is {data.dtype}: use src.astype({str(data.dtype)!r})")
    given = Rows(who, src[tuple(map(slice, fitted.shape))], fitted, place, index)
    _refuse(given, name, how)
    number_of_targets(given, data.shape[place])
    if out is not None:
        target = out = _checked(out, data.shape, given)
        given = given.apart(target)
        if include_self and _is_one_step(name, how):
            steps.apply(data, given.targets, given.src, place, _STEP[name], how.threads, target)
            return target
    work = np.array(data, data.dtype.newbyteorder("="), order="C")
    if not include_self:
        _start_afresh(work, given, name, how)
    _reduce(work, given, name, how, int(bool(include_self)))
    return _returned(work, out)


def _is_one_step(name: str, how: How) -> bool:
    """Whether one kernel makes a reduction, which writes nothing where it cannot be had."""
    return name != "mean" and how.accumulate is None


def _reduce(work: Array, given: Rows, name: str, how: How, own: int) -> None:
    """Apply all rows to `work`, C-contiguous; a mean counts what `work` holds as `own` rows."""
    dtype, step = _row(given), _STEP[name]
    if dtype.kind != "half" or (name != "mean" and how.accumulate is None):
        steps.apply(work, given.targets, given.src, given.dim, step, how.threads)
        if name == "mean":
            _divide(work, given, own, how)
        return
    if how.accumulate is None:
        steps.apply(work, given.targets, given.src, given.dim, step, how.threads)
    wide = dispatch.empty(work.shape, np.dtype(np.float32))
    direct.widen(work, wide, how.threads)
    if how.accumulate is not None:
        steps.apply_wide(wide, work, given.targets, given.src, given.dim, step, how.threads)
    if name == "mean":
        _divide(wide, given, own, how)
    direct.narrow(wide, work, work, how.threads)


def _divide(work: Array, given: Rows, own: int, how: How) -> None:
    """Divide sums by the number of their rows, 1 at least; of integers, towards -infinity."""
    sums = work[_covered(given)]
    count = np.maximum(steps.counts(given, work.shape[given.dim], own, how.threads), 1)
    if work.dtype.kind in "iu":
        wide = count.astype(np.uint64) if work.dtype == np.uint64 else count
        np.floor_divide(sums, wide, out=sums, casting="unsafe")
    else:
        with np.errstate(all="ignore"):
            np.divide(sums, count.astype(sums.real.dtype), out=sums)


def _start_afresh(work: Array, given: Rows, name: str, how: How) -> None:
    """Write what changes no row to the targets that have one."""
    mask = steps.touched(given, work.shape[given.dim], how.threads)
    np.copyto(work[_covered(given)], steps.neutral(name, work.dtype), where=mask)


def _clear_empty(work: Array, given: Rows, name: str, how: How) -> None:
    """Write 0 to targets that have no row: these are among those that hold what they began with."""
    unchanged = work == steps.neutral(name, work.dtype)
    if unchanged.any():
        work[unchanged & ~steps.touched(given, work.shape[given.dim], how.threads)] = 0


def _covered(given: Rows) -> tuple[slice, ...]:
    """Return the part of the targets that the index can name: it may be smaller than `data` off `dim`."""
    return tuple(slice(None) if at == given.dim else slice(n) for at, n in enumerate(given.targets.shape))


def _row(given: Rows) -> DType:
    return dtypes.of_numpy(given.src.dtype, f"{given.who}: src")


def _refuse(given: Rows, name: str, how: How) -> None:
    """Raise `DTypeError` or `SpecError` for what a reduction has no meaning for, before anything is written."""
    row = _row(given)
    require_threads(how.threads)
    if name == "mean" and row.kind == "bool":
        raise DTypeError(f"{given.who}: src is bool, which has no mean: use src.astype('float32')")
    if name in _COMPARES and row.kind == "complex":
        raise DTypeError(f"{given.who}: src is {row.numpy_name}: complex numbers have no {name}")
    if how.accumulate is None:
        return
    if how.accumulate != accumulated.FLOAT32:
        raise SpecError("accumulate", how.accumulate, f"None or {accumulated.FLOAT32}")
    if row.kind != "half":
        raise DTypeError(
            f"{given.who}: src is {row.numpy_name}, allowed with accumulate={accumulated.FLOAT32!r}"
            " is float16 or bfloat16"
        )
    if name in _COMPARES:
        raise SpecError("accumulate", how.accumulate, f"None for {name}: nothing is rounded")


def _size_of(out: Any, given: Rows, dim_size: Any) -> int:
    """Return how many targets `out` has; `dim_size` may say the same."""
    if not isinstance(out, np.ndarray):
        raise not_writable(given.who, out, "out")
    if out.ndim != given.src.ndim:
        raise ShapeError(f"{given.who}: out has rank {out.ndim}, allowed is the rank of src, {given.src.ndim}")
    size = int(out.shape[given.dim])
    if dim_size is not None and not (np.ndim(dim_size) == 0 and dim_size == size):
        raise ShapeError(f"{given.who}: dim_size is {dim_size}, out has {size} along dim {given.dim}")
    return size


def _checked(out: Any, shape: tuple[int, ...], given: Rows) -> Array:
    """Return `out` if it may take a result, or raise `ShapeError` or `DTypeError`."""
    if isinstance(out, np.ndarray) and out.shape != shape:
        raise ShapeError(f"{given.who}: out has shape {out.shape}, must have {shape}")
    if isinstance(out, np.ndarray) and out.dtype.newbyteorder("=") != given.src.dtype.newbyteorder("="):
        raise DTypeError(f"{given.who}: out is {out.dtype}, must be {given.src.dtype} as src is")
    return arrays.check_out(given.who, out, np.broadcast_to(np.zeros((), given.src.dtype), shape), [])


def _worked_on(out: Array, *, apart: bool) -> Array:
    """Return `out` itself where steps can work in it, and may; else a C-contiguous copy."""
    native = out.astype(out.dtype.newbyteorder("="), copy=apart, order="C")
    return np.require(native, requirements=("C", "A"))


def _returned(work: Array, out: Array | None) -> Array:
    if out is None or work is out:
        return work
    np.copyto(out, work)
    return out
