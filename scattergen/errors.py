"""The exceptions: one small tree, each with attributes for programs and a text for people.

Where Python has a class that callers already catch (``ValueError``, ``TypeError``, ``IndexError``),
ours derives from it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


class ScattergenError(Exception):
    """Anything that scattergen refuses or fails to do."""


class SpecError(ScattergenError, ValueError):
    """A descriptor that names no kernel, or an attribute that no call has: which field, its value, what is allowed.

    ``near`` are texts that a wrong one may have meant, the likeliest first.
    """

    def __init__(self, field: str, value: object, allowed: str, near: tuple[str, ...] = ()) -> None:
        super().__init__(field, value, allowed, near)
        self.field, self.value, self.allowed, self.near = field, value, allowed, near

    def __str__(self) -> str:
        near = f"; near: {', '.join(self.near)}" if self.near else ""
        return f"{self.field}={self.value!r}: allowed is {self.allowed}{near}"


class SettingError(ScattergenError, ValueError):
    """An environment variable or a setting with a value that means nothing."""


class ShapeError(ScattergenError, ValueError):
    """Arrays whose shapes do not fit the operator, or an attribute that does not fit the arrays."""


class DTypeError(ScattergenError, TypeError):
    """An array (or another object) whose type the operator does not take."""


class IndexOutOfBounds(ScattergenError, IndexError):
    """Index values outside of their dim.

    ``positions`` are the first few places in ``indices`` (tuples), ``values`` what stands there, and
    ``limits`` the half-open range ``(-size, size)`` that each had to lie in. ``argument`` is what the
    operator calls its indices.
    """

    MOST = 8
    """Places that are looked for: where so many are named, there may be more."""

    def __init__(
        self,
        operator: str,
        positions: tuple[tuple[int, ...], ...],
        values: tuple[int, ...],
        limits: tuple[tuple[int, int], ...],
        argument: str = "indices",
        reason: str = "",
    ) -> None:
        super().__init__(operator, positions, values, limits, argument, reason)
        self.operator, self.positions, self.values, self.limits = operator, positions, values, limits
        self.argument, self.reason = argument, reason

    def __str__(self) -> str:
        if not self.positions:
            return f"{self.operator}: {self.argument} changed while the call was reading them"
        place = ", ".join(map(str, self.positions[0]))
        low, high = self.limits[0]
        allowed = f"in [{low}, {high - 1}]" if high else "none, that dim of data has size 0"
        why = f" {self.reason}" if self.reason else ""
        return f"{self.operator}: {self.argument}[{place}] is {self.values[0]}, allowed is {allowed}{why}{self._more()}"

    def _more(self) -> str:
        more = len(self.positions) - 1
        if more < 1:
            return ""
        if more + 1 < self.MOST:
            return f" ({more} more found)"
        # Graph functions take no negative ones, and NumPy's idiom has indices of many kinds: it lists others for them.
        lists = "; scattergen.find_bad lists them" if self.operator.startswith("Scatter") else ""
        return f" (at least {more} more{lists})"


class DuplicateTargets(ScattergenError, ValueError):
    """Two updates for one element (or slice) of the result, where the call refuses that.

    ``positions`` are two places in ``indices`` (of tuples: without the last dim), in row-major order, and
    ``target`` is the place in ``data`` that both name.
    """

    def __init__(
        self, operator: str, positions: tuple[tuple[int, ...], tuple[int, ...]], target: tuple[int, ...]
    ) -> None:
        super().__init__(operator, positions, target)
        self.operator, self.positions, self.target = operator, positions, target

    def __str__(self) -> str:
        one, other = (f"indices[{', '.join(map(str, place))}]" for place in self.positions)
        return f"{self.operator}: {one} and {other} both name data[{', '.join(map(str, self.target))}]"


class CompilerNotFound(ScattergenError, RuntimeError):
    """No C compiler where one was looked for."""


class CompileError(ScattergenError, RuntimeError):
    """The C compiler failed: the kernel, the command, what the compiler said, where the source lies.

    ``refused`` says that it ended by itself and said no; one that hung, crashed or could not start said nothing.
    ``variables`` are those that the user has set and that may be why. ``passing`` says that the source goes with this
    process.
    """

    def __init__(
        self,
        spec: str,
        command: tuple[str, ...],
        output: str,
        source_path: Path,
        why: str,
        refused: bool = False,
        variables: tuple[str, ...] = (),
        passing: bool = False,
    ) -> None:
        super().__init__(spec, command, output, source_path, why, refused, variables, passing)
        self.spec, self.command, self.output = spec, command, output
        self.source_path, self.why, self.refused = source_path, why, refused
        self.variables, self.passing = variables, passing

    def but(self, **other: Any) -> CompileError:
        """Return the same error with other values in some of its attributes."""
        names = ("spec", "command", "output", "source_path", "why", "refused", "variables", "passing")
        return type(self)(**{**{name: getattr(self, name) for name in names}, **other})

    def __str__(self) -> str:
        said = "\n".join(f"  {line}" for line in self.output.strip().splitlines()[-40:])
        return (
            f"{self.spec}: {self.why}\n{said}\n"
            f"  command: {' '.join(self.command)}\n"
            f"  source:  {self.source_path}{' (goes with this process)' if self.passing else ''}\n"
            f"  {self._advice()}"
        )

    def _advice(self) -> str:
        chosen = [word.partition("=")[2] for word in self.command if word.startswith(("-march=", "-mcpu="))]
        if chosen and f"'{chosen[-1]}'" in self.output:
            return (
                f"This compiler knows no instruction set {chosen[-1]}: set SCATTERGEN_CPU (or --target, of a build) to"
                " one that it has, or leave it out."
            )
        bug = "this is a bug in scattergen: please report the lines above."
        if self.variables:
            are, them = ("is", "it") if len(self.variables) == 1 else ("are", "them")
            return f"{' and '.join(self.variables)} {are} set: try without {them} first. If that fails too, {bug}"
        return f"If your compiler works otherwise, {bug}"


class CacheError(ScattergenError, RuntimeError):
    """The kernel store cannot be trusted or used; the text says which directory and what to do."""


class KernelUnavailable(ScattergenError, RuntimeError):
    """A kernel is neither loaded, nor ahead of time, nor in the store, and a setting forbids building it."""


class ModelError(ScattergenError, ValueError):
    """An ONNX model, or a file of its inputs, that cannot be read, or that ONNX's evaluator does not run."""


class AheadOfTimeError(ScattergenError, ValueError):
    """A list of kernels to build, or a folder of built ones, that says something else than it may."""
