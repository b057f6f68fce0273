"""What other libraries call a function or an argument, and what to write here; imported only where a name is wrong."""

from __future__ import annotations

from collections.abc import Iterable

from .near import SYNONYMS, most_like
from .ops import OPS, REDUCTIONS

Advice = dict[str, str]
"""A name → what to use in its place."""

_WORDS: dict[str, str] = {**{name: name for name in REDUCTIONS}, **SYNONYMS}
"""Words for reductions, and their names in ONNX."""

_OF_NUMPY: dict[str, str] = {"none": "assign", "add": "add", "mul": "multiply", "max": "maximum", "min": "minimum"}
_OF_GRAPHS: dict[str, str] = {"add": "sum", "mul": "mul", "max": "max", "min": "min"}
_STEPS = {word: name for word, name in _WORDS.items() if name in _OF_GRAPHS}

_UFUNCS = (
    "divide true_divide floor_divide remainder mod fmod power float_power arctan2 hypot logaddexp logaddexp2 fmax fmin"
    " gcd lcm bitwise_and bitwise_or bitwise_xor left_shift right_shift logical_and logical_or logical_xor negative"
)

_ROWS = "for whole rows: scattergen.at.{}(a, indices, b)"

_HERE: Advice = {
    **{op.name: f"use scattergen.{prefix}" for prefix, op in OPS.items()},
    **{
        f"scatter_{word}": f"use scatter_elements(data, indices, updates, axis, {name!r}), or"
        f" scattergen.graph.scatter_{_OF_GRAPHS[name]} for the arguments of torch_scatter"
        for word, name in _STEPS.items()
    },
    **{
        f"{lead}_{word}": f"use scatter_nd(data, indices, updates, {name!r})"
        for lead in ("scatter_nd", "tensor_scatter_nd")
        for word, name in {**_STEPS, "update": "none"}.items()
    },
    **{f"segment_{word}": f"use scattergen.graph.scatter_{of}" for word, of in (*_OF_GRAPHS.items(), ("sum", "sum"))},
    **{name: f"use scattergen.at.{name}(a, indices, b)" for name in _OF_NUMPY.values()},
    "put_along_axis": "use scattergen.at.put_along_axis(a, indices, b, axis)",
    "scatter_mean": "use scattergen.graph.scatter_mean",
    "scatter_reduce": "use scattergen.graph.scatter_reduce",
    "index_add": _ROWS.format("add"),
    "index_copy": _ROWS.format("assign"),
    "index_put": "use scattergen.at.assign(a, indices, b)",
    "gather_elements": "NumPy has it: np.take_along_axis(data, indices, axis)",
    "gather": "NumPy has it: np.take(data, indices, axis)",
}

_AT: Advice = {
    **{word: f"use scattergen.at.{_OF_NUMPY[name]}" for word, name in _WORDS.items() if name in _OF_NUMPY},
    **{name: f"there is no kernel for it: use np.{name}.at" for name in _UFUNCS.split()},
    "subtract": "use scattergen.at.add(a, indices, np.negative(b, dtype=a.dtype))",
    "put": "use scattergen.at.assign",
}

_GRAPH: Advice = {
    **{
        f"{lead}{word}": f"use scattergen.graph.scatter_{_OF_GRAPHS[name]}(src, index, 0)"
        for lead in ("", "scatter_", "segment_", "unsorted_segment_")
        for word, name in _STEPS.items()
    },
    **{
        f"{lead}mean": "use scattergen.graph.scatter_mean(src, index, 0)"
        for lead in ("", "segment_", "unsorted_segment_")
    },
    **{
        f"{lead}softmax": "along dim 0: e = np.exp(src - scatter_max(src, index, 0)[0][index]), and then"
        " e / scatter_sum(e, index, 0)[index]"
        for lead in ("", "scatter_", "segment_")
    },
    "segment_coo": "use scattergen.graph.scatter(src, index, 0)",
    "segment_csr": "along dim 0: scatter(src, np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), 0,"
    " len(indptr) - 1)",
    "gather_coo": "NumPy has it: np.take(src, index, axis)",
    "gather_csr": "NumPy has it: np.repeat(src, np.diff(indptr), axis)",
    **{prefix: f"use scattergen.{prefix}" for prefix in OPS},
}

NAMES: dict[str, Advice] = {"scattergen": _HERE, "scattergen.at": _AT, "scattergen.graph": _GRAPH}
"""A module that users call → the names that it has not, and what to use for each."""

KEYWORDS: dict[str, tuple[str, ...]] = {
    "reduce": ("reduction",),
    "reduction": ("reduce",),
    "dim": ("axis",),
    "axis": ("dim",),
    "data": ("past_cache",),
    "input": ("data", "past_cache"),
    "index": ("indices", "write_indices"),
    "indices": ("write_indices",),
    "src": ("updates", "update"),
    "updates": ("update",),
    "num_threads": ("threads",),
}
"""What other libraries, or other operators, call an argument → what it may be called here."""


def missing(module: str, name: str, known: Iterable[str]) -> AttributeError:
    """Return the error for a `name` that `module` has not, with what to use in its place; `known` are those it has."""
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return AttributeError(text)
    if name in NAMES[module]:
        return AttributeError(f"{text}: {NAMES[module][name]}")
    near = most_like(name, [*known])
    return AttributeError(f"{text}: did you mean {' or '.join(near)}?" if near else text)


def keywords(given: Iterable[str], known: Iterable[str]) -> str:
    """Return the end of a message: what those of the keywords `given` that are none of the `known` are called here."""
    names = [*known]
    wrong = {word: [name for name in KEYWORDS.get(word, ()) if name in names] for word in given if word not in names}
    return "".join(f"; {word}= is called {meant[0]}= here" for word, meant in wrong.items() if meant)
