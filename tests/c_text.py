"""How C should look: a checker of indentation and white space, for the texts that templates make."""

from __future__ import annotations

import re
from itertools import pairwise

WIDTH = 120
STEP = 4

_HEADER = re.compile(r"(\} )?(for|while|if|else if|else|switch|do)\b")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def problems(text: str) -> list[str]:
    """Return what is wrong with the white space of a C file, a line for each."""
    lines = text.split("\n")
    found = [] if lines[-1] == "" and len(lines) > 1 and lines[-2] else ["the file does not end with one newline"]
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            found.append(f"{number}: a tab")
        if line != line.rstrip():
            found.append(f"{number}: trailing blanks")
        if len(line) > WIDTH:
            found.append(f"{number}: {len(line)} columns")
    for number, (line, following) in enumerate(pairwise(lines[:-1]), 1):
        if not line and not following:
            found.append(f"{number}: two blank lines")
        if line.endswith("{") and not following:
            found.append(f"{number}: a blank line after an opening brace")
        if not line and following.lstrip().startswith("}"):
            found.append(f"{number}: a blank line before a closing brace")
        if (
            re.match(r"(static|typedef|enum|int|SCATTERGEN_EXPORT)\b", following)
            and line
            and not _may_precede(line, following)
        ):
            found.append(f"{number + 1}: no blank line before {following!r}")
    return found + _Indentation().check(lines)


def _may_precede(line: str, following: str) -> bool:
    """Whether a top-level item may follow a line at once: after comments and directives, and among its like."""
    ends = [re.sub(r" */\*.*\*/$", "", text).endswith(";") for text in (line, following)]
    alike = line.split(" ", 1)[0] == following.split(" ", 1)[0] and all(ends)
    return alike or line.startswith(("#", "} ")) or line.endswith("*/")


class _Indentation:
    """The state of a walk over the lines: open braces and brackets, and the statement that goes on."""

    def __init__(self) -> None:
        self.blocks: list[int] = []
        """The column of each block's statement."""
        self.brackets: list[int] = []
        """The column that the rest of each open bracket is aligned to."""
        self.start: int | None = None
        """The column of a statement that has not ended."""
        self.headers: list[int] = []
        """The columns of loops and conditions whose body, without braces, comes next."""
        self.chain: list[int] = []
        """The columns where an `else` may stand."""
        self.comment: int | None = None
        self.found: list[str] = []

    def check(self, lines: list[str]) -> list[str]:
        for number, line in enumerate(lines, 1):
            code = self._without_comments(number, line)
            if code.strip() and not code.startswith("#"):
                self._line(number, code)
        if self.blocks or self.brackets:
            self.found.append("an open brace at the end")
        return self.found

    def _without_comments(self, number: int, line: str) -> str:
        """Return the line with blanks for its comments and strings."""
        column = len(line) - len(line.lstrip())
        if self.comment is not None:
            if line.strip() and (column != self.comment + 1 or line[column] != "*"):
                self.found.append(f"{number}: a comment goes on in column {column}")
            if "*/" in line:
                self.comment = None
            return ""
        code = _STRING.sub(lambda match: '"' + "_" * (len(match[0]) - 2) + '"', line)
        code = re.sub(r"/\*.*?\*/", lambda match: " " * len(match[0]), code)
        if "/*" in code:
            self.comment = code.index("/*")
            code = code[: self.comment]
        if line.strip() and not code.strip():
            self._expect(number, column, {self._column()})
        return code

    def _column(self) -> int:
        """Return where a new statement begins."""
        if self.headers:
            return self.headers[-1] + STEP
        return self.blocks[-1] + STEP if self.blocks else 0

    def _expect(self, number: int, column: int, allowed: set[int]) -> None:
        if column not in allowed:
            self.found.append(f"{number}: column {column} instead of {' or '.join(map(str, sorted(allowed)))}")

    def _line(self, number: int, code: str) -> None:
        column, words = len(code) - len(code.lstrip()), code.strip()
        if self.brackets:
            self._expect(number, column, {self.brackets[-1]})
        elif words.startswith("}"):
            self._expect(number, column, {self.blocks[-1]} if self.blocks else set())
            self.start = column
        elif words.startswith("{"):
            self._expect(number, column, {self.start if self.start is not None else self._column()})
        elif self.start is not None:
            if column < self.start + STEP:
                self.found.append(f"{number}: a statement goes on in column {column}, it began in {self.start}")
        elif words.startswith("else"):
            self._expect(number, column, set(self.chain))
            self.headers = [header for header in self.headers if header < column]
            self.start = column
        elif re.match(r"(case\b.*|default|\w+):", words):
            self.start = column  # a label may stand left of its block
        else:
            self._expect(number, column, {self._column()})
            self.start = column
        if self.start is None:
            self.start = column
        if _HEADER.match(words) and not self.brackets:
            self.header = True
        elif column == self.start and not self.brackets:
            self.header = False
        self._brackets(code)
        if not self.brackets:
            self._end(words)

    def _brackets(self, code: str) -> None:
        for at, letter in enumerate(code):
            if letter in "([":
                last = not code[at + 1 :].strip()
                assert self.start is not None
                self.brackets.append(self.start + STEP if last else at + 1)
            elif letter in ")]":
                self.brackets.pop()
            elif letter == "{":
                assert self.start is not None
                self.blocks.append(self.start)
            elif letter == "}":
                self.blocks.pop()

    def _end(self, words: str) -> None:
        """Note whether a statement has ended, or only the head of a loop or condition."""
        assert self.start is not None
        if words.endswith(("{", ",")):
            if words.endswith("{") or self.blocks:
                self.start = None
            if words.endswith("{"):
                self.headers = []
        elif words.endswith((";", "}")):
            self.chain = [*self.headers, self.start]
            self.headers, self.start = [], None
        elif self.header and words.endswith((")", "else", "do")):
            self.headers.append(self.start)
            self.start = None
