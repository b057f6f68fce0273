"""The `scattergen` command: what its words mean, and which function each command is.

Exit status: 0 done; 1 done, and the answer is no (outputs differ, entries are damaged, a kernel does not
compile); 2 it could not be done.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from .. import __version__
from ..bench import bench
from ..errors import CompileError, ScattergenError
from . import answers, completion, running, terminal

_SPEC = (
    "text of an operator's spec (scatter_elements_f32_i64_r3a1_add) or of a kernel's (rows_f32_i64_add); Names in"
    " docs/guide.md has the parts"
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, and return the exit status."""
    chosen = parser().parse_args(arguments)
    try:
        terminal.prepare()
        status: int = chosen.function(chosen)
        sys.stdout.flush()
        return status
    except BrokenPipeError:  # whoever read us has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still to be flushed
        return 0
    except KeyboardInterrupt:
        return 130
    except (ScattergenError, ImportError, OSError, MemoryError) as error:
        print(f"scattergen: {type(error).__name__}: {error}", file=sys.stderr)
        return 1 if isinstance(error, CompileError) else 2


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    top = argparse.ArgumentParser(
        prog="scattergen",
        description="Kernels for the ONNX scatter operators: show, build, run and keep them.",
        epilog="Exit status: 0 done; 1 done, and the answer is no; 2 could not be done.",
    )
    top.add_argument("--version", action="version", version=f"scattergen {__version__}")
    top.set_defaults(function=_help(top))
    commands = top.add_subparsers(metavar="COMMAND")
    _show(commands)
    _build(commands)
    _run(commands)
    _bench(commands)
    _cache(commands)
    _command(commands, "env", "print versions, compiler, CPU, threads, paths and settings", answers.env)
    _completion(commands)
    return top


def _help(parser: argparse.ArgumentParser) -> answers.Command:
    """Return what answers where a command is missing: the help of those that there are."""

    def show(_: argparse.Namespace) -> int:
        parser.print_help(sys.stderr)
        return 2

    return show


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    function: answers.Command,
    *,
    json: bool = True,
    more: str = "",
) -> argparse.ArgumentParser:
    made = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[:1].upper()}{summary[1:]}.{more}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.set_defaults(function=function)
    if json:
        made.add_argument("--json", action="store_true", help="print JSON, for programs")
    return made


def _show(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    more = " Of an operator's spec, which has several kernels, print a list of them."
    made = _command(commands, "show", "print the C of a kernel exactly as it is compiled", answers.show, more=more)
    made.add_argument("spec", metavar="SPEC", help=_SPEC)
    shown = made.add_mutually_exclusive_group()
    shown.add_argument("--all", action="store_true", help="print the C of all kernels of the spec")
    shown.add_argument("--list", action="store_true", help="print only the names of the kernels")


def _build(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    summary = "build kernels ahead of time into a folder"
    more = """

The folder has C sources, headers, a shared and a static library, manifest.json, a CMake package, a
pkg-config file and a rule for make. C and C++ programs link it; Python takes kernels from it by
SCATTERGEN_AOT_PATH or scattergen.use(folder). It is made whole or not at all.

A list in a file has specs by name and products of fields:

    specs = ["scatter_nd_f32_i64_r3k1_add"]

    [[kernels]]
    operator = "scatter_elements"
    dtype = ["f32", "f64"]
    rank = [2, 3]
    axis = "*"
    reduction = "*"
"""
    made = _command(commands, "build", summary, answers.build, more=more)
    made.add_argument(
        "items",
        metavar="WHAT",
        nargs="+",
        help=f"{_SPEC}; `standard`, the standard set; a list (.toml, .json); a model (.onnx), for its scatter nodes",
    )
    made.add_argument("-o", "--output", metavar="FOLDER", type=Path, required=True, help="where to write it")
    made.add_argument("-j", "--jobs", metavar="N", type=_count, help="compilers at a time (default: the cores)")
    made.add_argument(
        "--target",
        default="",
        metavar="T",
        help="a level of x86-64 (default: x86-64-v2), or several by commas, of which the best is taken at load; or"
        " another machine such as aarch64-linux-gnu, built by zig cc",
    )
    made.add_argument("--name", default="scattergen_kernels", help="of the library (default: %(default)s)")
    made.add_argument("--no-openmp", action="store_true", help="without threads, and without OpenMP's runtime")
    made.add_argument("--python", action="store_true", help="also write a cffi build script of the kernels")


def _run(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    summary = "run a model, and compare each scatter node with ONNX's own operator"
    made = _command(commands, "run", summary, running.run)
    made.add_argument("model", metavar="MODEL", type=Path, help="an ONNX file")
    made.add_argument("--io", type=Path, metavar="FILE", help="an .npz of arrays named in/<input> and out/<output>")
    made.add_argument("--rtol", type=_tolerance, help="relative tolerance of floats; default 2e-5, more for halves")
    made.add_argument("--atol", type=_tolerance, help="absolute tolerance of floats; the same defaults")


def _bench(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    summary = "time scatters of your own, or those of a model, against NumPy"
    bench.configure(_command(commands, "bench", summary, bench.run, json=False))


def _cache(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    whole = commands.add_parser("cache", help="look after the store of built kernels", description="The kernel store.")
    whole.set_defaults(function=_help(whole))
    parts = whole.add_subparsers(metavar="COMMAND")
    _command(parts, "dir", "print where the store is", answers.cache_dir)
    _command(parts, "list", "list its kernels: size, age, compile time", answers.cache_list)
    _command(parts, "verify", "read every library, and remove those that are damaged", answers.cache_verify)
    more = " Without options that is what is above SCATTERGEN_CACHE_LIMIT."
    prune = _command(parts, "prune", "remove what has not been used for long", answers.cache_prune, more=more)
    prune.add_argument("--older-than", type=_age, metavar="AGE", help="unused for so long: 90d, 12h")
    prune.add_argument("--max-size", type=_size, metavar="SIZE", help="the longest unused above it: 256M, 1G")
    _command(parts, "clear", "remove all kernels", answers.cache_clear)


def _completion(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    more = """

    bash    eval "$(scattergen completion bash)"
    zsh     eval "$(scattergen completion zsh)"
    fish    scattergen completion fish | source
"""
    summary = "print a script by which a shell completes this command"
    made = _command(commands, "completion", summary, _print_completion, json=False, more=more)
    made.add_argument("shell", choices=sorted(completion.SHELLS))


def _print_completion(chosen: argparse.Namespace) -> int:
    print(completion.script(chosen.shell, parser()), end="")
    return 0


def _count(text: str) -> int:
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}: allowed is a whole number, 1 or more")
    return int(text)


def _tolerance(text: str) -> float:
    tolerance = float(text)
    if not 0 <= tolerance < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r}: allowed is a number, 0 or more")
    return tolerance


def _age(text: str) -> float:
    return _scaled(text, {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}, "90d, 12h or 30m")


def _size(text: str) -> int:
    return int(_scaled(text, {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}, "256M, 1G or a number of bytes"))


def _scaled(text: str, units: dict[str, int], examples: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([a-zA-Z]?)", text)
    if match is None or match[2] not in units:
        raise argparse.ArgumentTypeError(f"{text!r}: allowed is such as {examples}")
    return float(match[1]) * units[match[2]]
