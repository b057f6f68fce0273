"""The public functions: names and arguments as graph libraries have them."""

from __future__ import annotations

from typing import Any

from ..arguments.arrays import Array
from ..errors import SpecError
from .compose import How, extreme, reduced, reduced_into

_NAMES = {"sum": "sum", "add": "sum", "mul": "mul", "prod": "mul", "mean": "mean", "max": "max", "min": "min"}
_TORCH_NAMES = {"sum": "sum", "prod": "mul", "mean": "mean", "amax": "max", "amin": "min"}


def scatter(
    src: Any,
    index: Any,
    dim: int = -1,
    dim_size: int | None = None,
    reduce: str = "sum",
    *,
    out: Any = None,
    threads: int | None = None,
    accumulate: str | None = None,
) -> Array:
    """Return the rows of `src` reduced by `index`, as torch_scatter does: entry i along `dim` goes to target index[i].

    The result has the type of `src`, and its shape but for `dim_size` along `dim`.

    Args:
        src: rank r >= 1, numbers or bool (no mean of bool, no max and min of complex numbers).
        index: int32 or int64, each in [0, dim_size): of rank 1, along `dim`; or of the shape of `src`, or
            lacking its last dims, or with size 1 in some.
        dim: in [-r, r-1].
        dim_size: how many targets the result has along `dim`; None: one more than the greatest index.
        reduce: sum (or add), mul (or prod), mean, max, min.
        out: holds what the reduction starts from, and the result: rows are added to it, multiplied into it,
            compared with it; a mean is ``(out + sum) / max(count, 1)``. Without it, targets without a row are 0,
            of mul 1. Nothing else may write to it meanwhile, not even to elements that no index names.
        threads: most threads of this call; the result does not depend on it.
        accumulate: float32: sums, products and means of float16 and bfloat16 are kept in float32 and rounded once.

    Raises:
        IndexOutOfBounds (IndexError), ShapeError and SpecError (ValueError), DTypeError (TypeError).

    """
    name = _named(reduce, _NAMES)
    return reduced("scatter", name, src, index, dim, dim_size, out, How(threads, accumulate))


def scatter_sum(
    src: Any,
    index: Any,
    dim: int = -1,
    *,
    dim_size: int | None = None,
    out: Any = None,
    threads: int | None = None,
    accumulate: str | None = None,
) -> Array:
    """Return the sum of the rows of each target, 0 where there is none: torch_scatter's function of that name.

    Arguments, shapes, types and exceptions are those of `scatter`.
    """
    return reduced("scatter_sum", "sum", src, index, dim, dim_size, out, How(threads, accumulate))


scatter_add = scatter_sum


def scatter_mul(
    src: Any,
    index: Any,
    dim: int = -1,
    *,
    dim_size: int | None = None,
    out: Any = None,
    threads: int | None = None,
    accumulate: str | None = None,
) -> Array:
    """Return the product of the rows of each target, 1 where there is none: torch_scatter's function of that name.

    Arguments, shapes, types and exceptions are those of `scatter`.
    """
    return reduced("scatter_mul", "mul", src, index, dim, dim_size, out, How(threads, accumulate))


def scatter_mean(
    src: Any,
    index: Any,
    dim: int = -1,
    *,
    dim_size: int | None = None,
    out: Any = None,
    threads: int | None = None,
    accumulate: str | None = None,
) -> Array:
    """Return the mean of the rows of each target, 0 where there is none: torch_scatter's function of that name.

    That of integers is rounded towards -infinity. Arguments, shapes, types and exceptions are those of `scatter`.
    """
    return reduced("scatter_mean", "mean", src, index, dim, dim_size, out, How(threads, accumulate))


def scatter_max(
    src: Any,
    index: Any,
    dim: int = -1,
    *,
    dim_size: int | None = None,
    out: Any = None,
    threads: int | None = None,
) -> tuple[Array, Array]:
    """Return the greatest of each target's rows, element by element, and where along `dim` it comes from.

    Targets without a row have the value 0 and the place ``src.shape[dim]``, and so has the place where `out` already
    held what no row exceeds. Of equal ones the first counts; a NaN is the greatest, and the first NaN's place is
    given. The function is torch_scatter's of that name. Both arrays have the shape of the result of `scatter`; the
    places are int64. Arguments, types and exceptions are those of `scatter`.
    """
    return extreme("scatter_max", "max", src, index, dim, dim_size, out, threads)


def scatter_min(
    src: Any,
    index: Any,
    dim: int = -1,
    *,
    dim_size: int | None = None,
    out: Any = None,
    threads: int | None = None,
) -> tuple[Array, Array]:
    """Return the least of each target's rows, element by element, and where along `dim` it comes from.

    As `scatter_max`, also in arguments and exceptions: here a NaN is the least.
    """
    return extreme("scatter_min", "min", src, index, dim, dim_size, out, threads)


def scatter_reduce(
    data: Any,
    dim: int,
    index: Any,
    src: Any,
    reduce: str,
    include_self: bool = True,
    *,
    out: Any = None,
    threads: int | None = None,
    accumulate: str | None = None,
) -> Array:
    """Return `data` with the elements of `src` reduced into it, as ``torch.Tensor.scatter_reduce`` does.

    The result has the shape and type of `data`.

    Args:
        data: rank r >= 1, numbers or bool (no mean of bool, no amax and amin of complex numbers).
        dim: in [-r, r-1].
        index: int32 or int64, each in [0, data.shape[dim]): rank r, in no dim larger than `src`, off `dim` no larger
            than `data`. One of rank 1 lies along `dim` and is repeated.
        src: the type of `data`; what lies beyond `index` is not used.
        reduce: sum, prod, mean, amax, amin.
        include_self: whether what `data` holds takes part. Else targets that `index` names start afresh; all others
            keep what they hold, in either case.
        out: array of the shape and type of `data` for the result; may be `data` itself. Nothing else may write to it
            meanwhile, not even to elements that no index names.
        threads: most threads of this call; the result does not depend on it.
        accumulate: as in `scatter`.

    Raises:
        IndexOutOfBounds (IndexError), ShapeError and SpecError (ValueError), DTypeError (TypeError).

    """
    return reduced_into(
        data, dim, index, src, _named(reduce, _TORCH_NAMES), include_self, out, How(threads, accumulate)
    )


def _named(reduce: Any, names: dict[str, str]) -> str:
    found = names.get(reduce) if isinstance(reduce, str) else None
    if found is None:
        raise SpecError("reduce", reduce, f"one of {', '.join(names)}")
    return found
