"""What the README says is so, and what the pages point to is there. The examples are run by test_docs.py."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGES = [README, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_first_lines_are_the_two_commands_and_these_can_be_started() -> None:
    commands = re.findall(r"^\./(\S+)", README.read_text(encoding="utf-8").split("\n#")[0], re.MULTILINE)
    assert commands == ["tools/demo", "tools/test"]
    assert all(os.access(ROOT / command, os.X_OK) for command in commands)


def prose(page: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    """Return what links into a page may name: its headings, as GitHub spells them."""
    headings = re.findall(r"^#+ (.*)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_place_that_a_page_points_to_is_there(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if target.startswith(("http:", "https:")):
            continue
        path, _, anchor = target.partition("#")
        place = page.parent / path if path else page
        assert place.exists(), f"{page.name} points to {target}"
        assert not anchor or anchor in anchors(place), f"{page.name} points to {target}: no such heading"


def test_the_readme_leads_to_every_page() -> None:
    targets = {target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", prose(README))}
    assert targets >= {page.relative_to(ROOT).as_posix() for page in PAGES} - {"README.md"}
