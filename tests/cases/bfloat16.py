"""bfloat16, by bit patterns: 0x3F80 is 1, 0x4000 is 2, 0x4380 is 256, 0x7F80 infinity, 0x7FC0 a NaN."""

from __future__ import annotations

from .case import SE, Case, bf16_bits, i64

CASES = [
    Case(
        "B104a",
        SE,
        18,
        bf16_bits([0x4380]),
        i64([0, 0]),
        bf16_bits([0x3F80, 0x3F80]),
        reduction="add",
        expect=bf16_bits([0x4380]),
        note="256 + 1 + 1 stays 256 when each step rounds (one wide sum gives 258)",
    ),
    Case(
        "B104b",
        SE,
        18,
        bf16_bits([0x3F80]),
        i64([0]),
        bf16_bits([0x3C40]),
        reduction="add",
        expect=bf16_bits([0x3F82]),
        note="1 + 0.01171875: a tie goes to even; truncation gives 0x3F81",
    ),
    Case(
        "B41c",
        SE,
        18,
        bf16_bits([0x7F80, 0x3F80]),
        i64([1, 1]),
        bf16_bits([0x7FC0, 0x4000]),
        reduction="max",
        expect=bf16_bits([0x7F80, 0x7FC0]),
        note="a NaN stays",
    ),
    Case(
        "B41d",
        SE,
        18,
        bf16_bits([0xC000, 0x3F80]),
        i64([0, 1]),
        bf16_bits([0xBF80, 0xC000]),
        reduction="max",
        expect=bf16_bits([0xBF80, 0x3F80]),
        note="-2 and -1, 1 and -2: comparing the bits as integers gets signs wrong",
    ),
]
