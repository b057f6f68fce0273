"""Scripts by which shells complete the command line, made from its parser."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from ..lower.standard import SPECS

_BASH = """_scattergen() {
    local line words
    line="${COMP_WORDS[*]:1:COMP_CWORD-1}"
    case "$line" in
CASES
        *) words="" ;;
    esac
    COMPREPLY=($(compgen -W "$words" -- "${COMP_WORDS[COMP_CWORD]}"))
    [ ${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=($(compgen -f -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -o filenames -F _scattergen scattergen
"""

_ZSH = """autoload -U +X compinit && compinit -u
autoload -U +X bashcompinit && bashcompinit
"""


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """Return the script for one of `SHELLS`."""
    return SHELLS[shell](parser)


def _bash(parser: argparse.ArgumentParser) -> str:
    # The longest commands first: a case takes the first pattern that fits.
    found = sorted(_words(parser), key=lambda pair: -len(pair[0]))
    cases = [f'        "{command}"*) words="{" ".join(words)}" ;;' for command, words in found if command]
    top = next(words for command, words in found if not command)
    return _BASH.replace("CASES", "\n".join((*cases, f'        "") words="{" ".join(top)}" ;;')))


def _zsh(parser: argparse.ArgumentParser) -> str:
    return _ZSH + _bash(parser)


def _fish(parser: argparse.ArgumentParser) -> str:
    lines = []
    for command, words in _words(parser):
        test = " ; and ".join(f"__fish_seen_subcommand_from {word}" for word in command.split())
        lines.append(f'complete -c scattergen -n "{test or "__fish_use_subcommand"}" -a "{" ".join(words)}"')
    return "\n".join(lines) + "\n"


SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}


def _words(parser: argparse.ArgumentParser, command: str = "") -> Iterator[tuple[str, list[str]]]:
    """Yield each command (``cache list``) and the words that may follow it."""
    words: list[str] = []
    deeper: list[tuple[str, argparse.ArgumentParser]] = []
    for action in parser._actions:
        words += action.option_strings
        if isinstance(action, argparse._SubParsersAction):
            deeper += action.choices.items()
            words += action.choices
        elif action.choices is not None and not action.option_strings:
            words += map(str, action.choices)
        elif action.dest in ("spec", "items", "subject"):
            words += SPECS
    yield command, words
    for name, inner in deeper:
        yield from _words(inner, f"{command} {name}".strip())
