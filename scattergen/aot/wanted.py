"""What to build ahead of time: texts, lists in files, models → operator specs → kernels.

A list in a file (TOML, or JSON of the same form) has specs by name and products of fields::

    specs = ["scatter_nd_f32_i64_r3k1_add"]

    [[kernels]]
    operator = "scatter_elements"
    dtype = ["f32", "f64"]
    rank = [2, 3]
    axis = "*"
    reduction = "*"
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import AheadOfTimeError, SpecError
from ..lower import standard
from ..lower.kernel import KernelSpec, parse_either
from ..lower.lower import variants
from ..operators import dtypes
from ..operators.ops import OPS, REDUCTIONS, Op
from ..operators.spec import MAX_RANK, OpSpec

STANDARD = "standard"
"""The word for the standard set."""

FIELDS = ("operator", "dtype", "index", "rank", "axis", "k", "reduction", "mode", "opset")
_NEEDED = ("operator", "dtype", "rank")
_NUMBERS = ("rank", "axis", "k", "opset")
_ONE_BY_ONE = ("rank", "opset")
"""Fields of which nobody can ask for every value."""
_ENDINGS = (".toml", ".json", ".onnx")
_NO_SPECS = (f"`{STANDARD}`", "a list (.toml, .json)", "a model (.onnx)")
"""What may be asked for beside specs, in words."""

_TEXTS: dict[str, tuple[str, ...]] = {
    "operator": tuple(OPS),
    "dtype": tuple(row.tag for row in (*dtypes.TENSORS, *dtypes.OPAQUE)),
    "index": tuple(row.tag for row in dtypes.INDEX_TYPES),
    "reduction": REDUCTIONS,
    "mode": tuple({mode: None for op in OPS.values() for version in op.versions for mode in version.modes}),
}
"""The fields that are texts, and the values of each that some operator has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Kernels to build, sorted by name, and what asked for them."""

    specs: tuple[OpSpec, ...]
    kernels: tuple[KernelSpec, ...]
    files: tuple[Path, ...]
    """Files that were read, as they were named."""
    left_out: tuple[str, ...]
    """A line for each node of a model whose kernels are known only when it runs."""


def gather(items: Iterable[OpSpec | KernelSpec | str | Path]) -> Wanted:
    """Return the kernels that `items` need.

    An item is a spec, the text of an operator's or a kernel's, ``standard``, or the name of a .toml, .json
    or .onnx file. Raises `SpecError` and `AheadOfTimeError` for those that mean nothing.
    """
    specs: dict[str, OpSpec] = {}
    kernels: dict[str, KernelSpec] = {}
    files: list[Path] = []
    left_out: list[str] = []
    for item in items:
        found: list[OpSpec | KernelSpec] = []
        if isinstance(item, OpSpec | KernelSpec):
            found.append(item)
        elif isinstance(item, Path) or item.endswith(_ENDINGS):
            files.append(Path(item))
            found, missing = _of_file(files[-1])
            left_out += missing
        elif item == STANDARD:
            found += [*map(OpSpec.parse, standard.SPECS), *map(KernelSpec.parse, standard.HELPING)]
        else:
            found.append(parse_either(item, *_NO_SPECS))
        specs |= {str(spec): spec for spec in found if isinstance(spec, OpSpec)}
        kernels |= {str(spec): spec for spec in found if isinstance(spec, KernelSpec)}
    needing = {spec: variants(spec) for spec in specs.values()}
    for several in needing.values():
        kernels |= {str(kernel): kernel for kernel in several}
    if not kernels:
        none = [f"{spec}: such calls are answered without a kernel" for spec, several in needing.items() if not several]
        raise AheadOfTimeError("no kernel is asked for" + "".join(f"\n  {line}" for line in (*left_out, *none)))
    return Wanted(
        specs=tuple(specs[name] for name in sorted(specs)),
        kernels=tuple(kernels[name] for name in sorted(kernels)),
        files=tuple(files),
        left_out=tuple(left_out),
    )


def _of_file(path: Path) -> tuple[list[OpSpec | KernelSpec], list[str]]:
    if not path.is_file():
        raise AheadOfTimeError(f"{path} is no file")
    if path.suffix == ".onnx":
        return _of_model(path)
    if path.suffix not in _ENDINGS:
        raise AheadOfTimeError(f"{path}: allowed is a file of kind {', '.join(_ENDINGS)}")
    return _of_table(_read(path), path), []


def _of_model(path: Path) -> tuple[list[OpSpec | KernelSpec], list[str]]:
    from ..onnx import nodes

    found = nodes(path)
    left_out = [f"{path}: {node.name}: {node.reason}" for node in found if node.spec is None]
    return [node.spec for node in found if node.spec is not None], left_out


def _read(path: Path) -> Mapping[str, Any]:
    try:
        if path.suffix == ".json":
            import json

            table = json.loads(path.read_text(encoding="utf-8"))
        else:
            table = _toml(path)
    except (ValueError, RecursionError) as error:
        raise AheadOfTimeError(f"{path}: {error}") from None
    if not isinstance(table, dict):
        raise AheadOfTimeError(f"{path}: allowed is a table with specs and kernels")
    return table


def _toml(path: Path) -> Any:
    import importlib

    for name in ("tomllib", "tomli"):
        try:
            reader = importlib.import_module(name)
        except ImportError:
            continue
        return reader.loads(path.read_text(encoding="utf-8"))
    raise AheadOfTimeError(f"{path}: TOML needs Python 3.11, or the tomli package; JSON of the same form does without")


def _of_table(table: Mapping[str, Any], path: Path) -> list[OpSpec | KernelSpec]:
    unknown = sorted(set(table) - {"specs", "kernels"})
    if unknown:
        raise AheadOfTimeError(f"{path}: {unknown[0]!r} means nothing here; allowed are specs and kernels")
    for name, kind, words in (("specs", str, "texts"), ("kernels", dict, "tables")):
        listed = table.get(name, [])
        if not isinstance(listed, list) or not all(isinstance(one, kind) for one in listed):
            raise AheadOfTimeError(f"{path}: {name} is {listed!r}: allowed is a list of {words}")
    found: list[OpSpec | KernelSpec] = []
    try:
        place = "specs"
        found += [parse_either(text) for text in table.get("specs", [])]
        for number, row in enumerate(table.get("kernels", [])):
            place = f"kernels[{number}]"
            found += _product(row)
    except (SpecError, AheadOfTimeError) as error:
        raise AheadOfTimeError(f"{path}, {place}: {error}") from error
    return found


def _product(row: Mapping[str, Any]) -> list[OpSpec]:
    """Return the specs of a product; where a field is ``*``, those of all its values that are valid."""
    for name in row:
        if name not in FIELDS:
            raise AheadOfTimeError(f"{name!r} means nothing here; allowed are {', '.join(FIELDS)}")
        _check_value(name, row[name])
    for name in _NEEDED:
        if name not in row:
            raise AheadOfTimeError(f"{name} is missing")
    found = []
    for operator in _values(row["operator"], tuple(OPS)):
        found += _of_operator(OPS[operator], row)
    if not found:
        raise AheadOfTimeError("nothing that it says is valid together")
    return found


def _check_value(name: str, value: Any) -> None:
    """Raise `AheadOfTimeError` for a value that a field has nowhere; what goes together is asked later."""
    kind, words = (int, "a whole number") if name in _NUMBERS else (str, "a text")
    # True is an int to isinstance.
    if not all(type(one) is kind for one in _values(value)) and not (value == "*" and name not in _ONE_BY_ONE):
        every = "" if name in _ONE_BY_ONE else ', or "*"'
        raise AheadOfTimeError(f"{name} is {value!r}: allowed is {words}, or a list of such{every}")
    allowed = _TEXTS.get(name, ())
    for one in _values(value, allowed) if allowed else ():
        if one not in allowed:
            from ..operators.near import near_value

            near = near_value(one, allowed)
            meant = f"did you mean {near!r}? Allowed" if near else "allowed"
            raise AheadOfTimeError(f"{name}={one!r}: {meant} is one of {', '.join(filter(None, allowed))}")
    if name == "rank":
        for rank in _values(value):
            if not 1 <= rank <= MAX_RANK:
                raise SpecError(name, rank, f"1 to {MAX_RANK}")


def _of_operator(op: Op, row: Mapping[str, Any]) -> list[OpSpec]:
    field = op.place.field
    if field not in row:
        raise AheadOfTimeError(f"{field} is missing, which {op} needs")
    found = []
    for opset, rank in itertools.product(_values(row.get("opset", op.default_opset)), _values(row["rank"])):
        version, places = op.version(opset), [place for place in op.place.allowed(rank) if place or field == "axis"]
        choices = itertools.product(
            _values(row["dtype"], tuple(known.tag for known in version.dtypes)),
            _values(row.get("index", "i64"), tuple(known.tag for known in version.index_types)),
            _values(row[field], tuple(places)),
            _values(row.get("reduction", "none"), version.reductions),
            _values(row.get("mode", ""), version.modes),
        )
        for dtype, index, place, reduction, mode in choices:
            try:
                found.append(
                    OpSpec(
                        op=op,
                        dtype=dtypes.lookup(dtype),
                        index=dtypes.lookup(index, "index"),
                        rank=rank,
                        place=place + rank if place < 0 else place,
                        reduction=reduction,
                        opset=opset,
                        mode=mode,
                    )
                )
            except SpecError:
                if "*" not in row.values():
                    raise
    return found


def _values(given: Any, every: tuple[Any, ...] = ()) -> tuple[Any, ...]:
    if given == "*" and every:
        return every
    return tuple(given) if isinstance(given, list) else (given,)
