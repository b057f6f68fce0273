"""`bind`: a call whose arrays stay where they are, for loops: all but the indices is checked and looked up once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from ..arguments.arrays import Arguments, Array
from ..errors import ShapeError
from ..load import caller, loader
from ..load.loader import NULL
from . import dispatch
from .calls import arguments_of


class Bound:
    """A call that is bound to its arrays: ``bound()`` runs it on what they hold at that time and returns `out`.

    Indices are checked before the first write: where one is out of bounds, `IndexOutOfBounds` is raised and
    `out` is as it was. The arrays are kept alive, and the number of threads is that of the time of binding.
    """

    __slots__ = ("__call__", "__weakref__", "_spec", "out")

    __call__: Callable[[], Array]
    """Run the call on what its arrays hold now; return `out`, or raise `IndexOutOfBounds` (IndexError).

    A slot and no method, which would cost a third of a small call again.
    """

    def __init__(self, arguments: Arguments, threads: int | None) -> None:
        if arguments.copies:
            raise ShapeError(
                f"{arguments.spec.op}: bind reads arrays where they are, which it cannot: {'; '.join(arguments.copies)}"
            )
        out = arguments.out
        if out is None:
            out = dispatch.unwritten(arguments.data)
            arguments = arguments.writing(out)
        caller.make()
        self._spec = arguments.spec
        self.out: Array = out
        """Where results go."""
        self.__call__ = _resolved(arguments, threads) or _composed(arguments, threads)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a bound call cannot be copied or pickled: its arrays stay where they are; bind it again there")

    def __repr__(self) -> str:
        return f"<Bound {self._spec}>"


def bind(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Bound:
    """Return ``function(*args, **kwargs)`` bound to its arrays, to be run in a loop.

    Args:
        function: one of scattergen's operators.
        *args: the arguments of the call, arrays of the shapes and types that it takes: no lists, and nothing else that
            cannot be read where it is.
        **kwargs: its other arguments, but ``duplicates="refuse"``. Without `out` an array is made: `Bound.out`. With
            ``out=data`` each run goes on from the result of the one before. Nothing else may write to it during a
            run, not even to elements that no index names.

    Raises:
        ShapeError and SpecError (ValueError), DTypeError (TypeError): what the call would raise, but for the values of
            indices, which each run checks; arrays that cannot be read where they are.
        CompilerNotFound, CompileError, KernelUnavailable (RuntimeError): the kernel cannot be had.
        ScattergenError: `function` is another one.

    """
    return Bound(*arguments_of("bind", function, *args, **kwargs))


def _composed(arguments: Arguments, threads: int | None) -> Callable[[], Array]:
    if arguments.accumulates:
        from . import accumulated

        return lambda: accumulated.execute(arguments, threads)
    return lambda: dispatch.execute(arguments, threads)


def _resolved(arguments: Arguments, threads: int | None) -> Callable[[], Array] | None:
    """Return the call as one call of C; None where it takes more than that."""
    target, in_place = dispatch.target_of(arguments)
    data, out = arguments.data, arguments.out
    if arguments.foreign or arguments.accumulates or out is None or target is not out or not arguments.updates.size:
        return None
    if not in_place and not dispatch.same_memory_order(data, target, out):
        return None
    found, packed = dispatch.planned(arguments, threads)
    call = found.call
    if call is None or packed is not arguments:
        return None
    arrays = (out, data, arguments.indices, arguments.updates)  # `run` holds them, by `arguments`
    to, start, at, by = (loader.untyped(loader.address(array)) for array in arrays)
    if in_place:
        start = NULL
    invoke, checked, scratch, functions = loader.invoke, call.checked, call.scratch, loader.functions

    def failed() -> Array:
        raise dispatch.out_of_bounds(arguments)

    def run() -> Array:
        return out if invoke(checked, to, start, at, by, scratch()) == -1 else failed()

    if functions is None or call.scratch_bytes:  # scratch is of the thread that calls
        return run
    numbers = map(loader.number, (checked, to, start, at, by))
    traffic = sum(array.nbytes for array in arrays)
    return functions.bind_call(out, failed, (call, arguments), traffic, *numbers)
