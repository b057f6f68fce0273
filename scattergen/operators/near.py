"""What a wrong text of a spec may have meant; imported only when one is met."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence

from ..errors import SpecError
from . import dtypes, ops

MOST = 4
"""Names that are offered."""

LONGEST = 80
"""Characters of a text that is looked at; no spec has as many."""

WORDS = range(4, 8)
"""How many words a spec has, or one less."""

LIKENESS = 0.6
"""Of a name that is offered, at least, as `difflib` has it: 1 for equal ones."""


SYNONYMS: dict[str, str] = {
    **dict.fromkeys(("sum", "plus"), "add"),
    **dict.fromkeys(("prod", "product", "multiply"), "mul"),
    **dict.fromkeys(("amax", "maximum"), "max"),
    **dict.fromkeys(("amin", "minimum"), "min"),
    **dict.fromkeys(("assign", "set", "replace"), "none"),
}
"""What other libraries call a reduction, and its name in ONNX."""

ELSEWHERE: dict[str, str] = {"mean": "scattergen.graph", "avg": "scattergen.graph", "average": "scattergen.graph"}
"""Reductions that no operator has, and the module that has them."""


def called_here(reduction: str, op: ops.Op, version: ops.Version) -> str:
    """Return the end of a message: what a reduction that `op` does not have is called here, or where it is."""
    word = reduction.lower()
    if word in ELSEWHERE:
        return f'; "{reduction}": see {ELSEWHERE[word]}'
    name = SYNONYMS.get(word, word)
    since = op.since(name)
    if since is None:
        return ""
    late = "" if name in version.reductions else f", which comes with opset {since}"
    return f'; did you mean "{name}"{late}?' if name == word else f'; "{reduction}" is called "{name}" here{late}'


def near_names(text: str, parse: Callable[[str], object]) -> tuple[str, ...]:
    """Return texts that `parse` takes, the likeliest first: `text` with another word, or one more.

    It takes some 20 ms.
    """
    words = text.split("_")
    if len(text) > LONGEST or len(words) not in WORDS:
        return ()
    if not ELSEWHERE.keys().isdisjoint(words):
        return ()
    renamed = "_".join(SYNONYMS.get(word, word) for word in words)
    if renamed != text and _takes(parse, renamed):
        return (renamed,)
    numbers = [f"r{rank}{letter}{number}" for rank in range(1, 7) for letter in "ak" for number in range(rank + 1)]
    words_of = [word for op in ops.OPS.values() for word in (*op.prefix.split("_"), *op.versions[-1].modes)]
    tags = (row.tag for row in (*dtypes.TENSORS, *dtypes.OPAQUE))
    vocabulary = [*tags, *ops.REDUCTIONS, *numbers, *ops.OPS, *words_of]
    places = [(at, end) for at in range(len(words) + 1) for end in (at, at + 1)]
    candidates = {"_".join((*words[:at], word, *words[end:])) for at, end in places for word in vocabulary}
    return most_like(text, [one for one in sorted(candidates) if _takes(parse, one)])


def near_value(text: str, allowed: Sequence[str]) -> str:
    """Return the one of `allowed` that a wrong text is like, or that is short for it as a type; "" for none."""
    short = {name: row.tag for row in dtypes.DTYPES.values() for name in (row.onnx, row.numpy_name)}.get(text, "")
    return short if short in allowed else "".join(most_like(text, [*allowed])[:1])


def most_like(text: str, names: list[str]) -> tuple[str, ...]:
    """Return those of `names` that are like `text`, the likeliest first."""
    return tuple(difflib.get_close_matches(text, names, n=MOST, cutoff=LIKENESS))


def _takes(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except SpecError:
        return False
    return True
