"""What the README says is so."""

from __future__ import annotations

import doctest
import os
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def test_the_examples_give_what_they_say() -> None:
    result = doctest.testfile(str(README), module_relative=False, optionflags=doctest.ELLIPSIS)
    assert result.attempted >= 8
    assert result.failed == 0


def test_the_first_lines_are_the_two_commands_and_these_can_be_started() -> None:
    commands = re.findall(r"^\./(\S+)", README.read_text(encoding="utf-8").split("\n#")[0], re.MULTILINE)
    assert commands == ["tools/demo", "tools/test"]
    assert all(os.access(ROOT / command, os.X_OK) for command in commands)


def test_every_file_that_the_pages_point_to_is_there() -> None:
    for page in (README, ROOT / "CONTRIBUTING.md"):
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            assert target.startswith("http") or (ROOT / target).exists(), f"{page.name} points to {target}"
