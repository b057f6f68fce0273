"""NumPy's in-place idiom by compiled kernels: a NumPy program changes a name.

| NumPy                                        | here                                       |
|----------------------------------------------|--------------------------------------------|
| ``np.add.at(a, indices, b)``                 | ``at.add(a, indices, b)``                  |
| ``np.multiply.at(a, indices, b)``            | ``at.multiply(a, indices, b)``             |
| ``np.maximum.at(a, indices, b)``             | ``at.maximum(a, indices, b)``              |
| ``np.minimum.at(a, indices, b)``             | ``at.minimum(a, indices, b)``              |
| ``a[indices] = b``                           | ``at.assign(a, indices, b)``               |
| ``np.put_along_axis(arr, indices, values, axis)`` | ``at.put_along_axis(arr, indices, values, axis)`` |

Each follows NumPy, not ONNX: in casting, in broadcasting, in what an index may be. `indices` is an array or a list of
whole numbers of any type, a mask, or a tuple of those with slices, whole numbers, None and Ellipsis among them.
Results are bit for bit those of NumPy's loop in row-major order of the broadcast indices, but for this:

- ``a[indices] = b`` takes duplicates in the order of memory where `indices` and `b` lie backwards;
- of 0.0 and -0.0, max and min keep the one in `a`; NumPy's answer depends on the type and the processor;
- NumPy may fuse the steps of a complex product, which are rounded one by one here;
- no warning tells of an overflow or an invalid value in a sum or product, whatever `np.errstate` says.

Whatever kernels do not serve is done by NumPy's own function, on the same arguments: indices without any array (they
name each element once), a mask alone in an assignment, arrays of objects, strings, times, records or long doubles,
subclasses of NumPy's array, views whose elements share memory, complex max and min, and updates of a type in which
NumPy computes with other bits than the type of `a` would give (float64 values that no float32 is, added to float32;
floats added to integers). So are calls that NumPy refuses, so that the error is its own, and all calls whose kernel
cannot be had, for want of a compiler. `explain` says who answers a call and why.

An index out of bounds is an IndexError, and a failed call has written nothing, whoever answers it. There are two
exceptions: where `np.errstate` or a filter makes an error of a floating-point warning, NumPy raises it when it has
written; and a subclass of NumPy's array answers for itself. A read-only `a` is a ValueError in each (NumPy's
``ufunc.at`` writes into some), and something that is no NumPy array a TypeError.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from .at import add, assign, explain, maximum, minimum, multiply, put_along_axis

__all__ = ["add", "assign", "explain", "maximum", "minimum", "multiply", "put_along_axis"]

if not TYPE_CHECKING:  # to a type checker a wrong name stays wrong

    def __getattr__(name: str) -> NoReturn:
        from ..operators.elsewhere import missing

        raise missing(__name__, name, __all__)
