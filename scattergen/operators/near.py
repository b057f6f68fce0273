"""What a wrong text of a spec may have meant; imported only when one is met."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence

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


def type_called_here(name: str, allowed: Iterable[dtypes.DType]) -> str:
    """Return the end of a message: what a type that is none of `allowed` by this name is called here."""
    short = _short_names().get(name, "")
    return f'; "{name}" is called "{short}" here' if any(row.tag == short for row in allowed) else ""


def near_names(text: str, parse: Callable[[str], object]) -> tuple[str, ...]:
    """Return texts that `parse` takes, the likeliest first: `text` with another word that is like it, or one more.

    Words that other libraries have for types and reductions are written as here. It takes some 20 ms.
    """
    if len(text) > LONGEST:
        return ()
    renamed = _renamed(text)
    words = renamed.split("_")
    if len(words) not in WORDS or not ELSEWHERE.keys().isdisjoint(words):
        return ()
    if renamed != text and _takes(parse, renamed):
        return (renamed,)
    vocabulary = _vocabulary(renamed)
    candidates = {
        "_".join((*words[:at], word, *words[end:]))
        for at in range(len(words) + 1)
        for end, known in ((at, vocabulary), (at + 1, most_like("".join(words[at : at + 1]), vocabulary, None)))
        for word in known
    }
    return most_like(renamed, [one for one in sorted(candidates) if _takes(parse, one)])


def _renamed(text: str) -> str:
    """Return `text` with the words of other libraries, which may hold underscores, as they are here."""
    names = {**_short_names(), **SYNONYMS}
    longest_first = sorted(names, key=len, reverse=True)
    return re.sub(rf"(?<=_)({'|'.join(longest_first)})(?=_|$)", lambda found: names[found[0]], text)


def _vocabulary(text: str) -> list[str]:
    """Return the words of specs; of ranks, that of `text` alone if it has one."""
    rank = re.search(r"_r([0-9]{1,2})(?![0-9])", text)
    ranks = (int(rank[1]),) if rank else range(1, 7)
    numbers = [f"r{rank}{letter}{number}" for rank in ranks for letter in "ak" for number in range(rank + 1)]
    words_of = [word for op in ops.OPS.values() for word in (*op.prefix.split("_"), *op.versions[-1].modes)]
    tags = (row.tag for row in (*dtypes.TENSORS, *dtypes.OPAQUE))
    return sorted({*tags, *ops.REDUCTIONS, *numbers, *ops.OPS, *words_of} - {""})


def near_value(text: str, allowed: Sequence[str]) -> str:
    """Return the one of `allowed` that a wrong text is like, or that is short for it as a type; "" for none."""
    short = _short_names().get(text, "")
    return short if short in allowed else "".join(most_like(text, allowed)[:1])


def _short_names() -> dict[str, str]:
    """Return the names that NumPy and ONNX have for types, but for those that are used here, and the names here."""
    rows = dtypes.DTYPES.values()
    return {name: row.tag for row in rows for name in (row.onnx, row.numpy_name) if name not in ("", row.tag)}


def most_like(text: str, names: Sequence[str], most: int | None = MOST) -> tuple[str, ...]:
    """Return those of `names` that are like `text`, the likeliest first, `most` at most."""
    return tuple(difflib.get_close_matches(text, names, n=most or max(len(names), 1), cutoff=LIKENESS))


def _takes(parse: Callable[[str], object], text: str) -> bool:
    try:
        parse(text)
    except SpecError:
        return False
    return True
