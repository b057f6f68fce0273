"""Small cases with results worked out by hand, and an oracle in plain Python that they and the rest meet.

Each case comes from a defect that users of some scatter implementation reported in public; cases whose ids
share a number come from one report.
"""

from __future__ import annotations

from . import bfloat16, dtypes, floats, index_range, meaning, memory, shapes, strings
from .case import Case

_PARTS = (meaning, index_range, shapes, dtypes, floats, memory, bfloat16, strings)

CASES: tuple[Case, ...] = tuple(case for part in _PARTS for case in part.CASES)
