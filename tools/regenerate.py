#!/usr/bin/env python3
"""Refresh what is generated and checked in: `generated/*.c`, cffi's view of the header, the table of settings.

python tools/regenerate.py           write every file that differs, remove what nothing claims
python tools/regenerate.py --check   write nothing; exit 1 and name the files if there are any
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

ABI_MODULE = ROOT / "scattergen" / "load" / "_abi.py"
GENERATED = ROOT / "generated"
SETTINGS = ROOT / "docs" / "settings.md"
TABLE_BEGINS, TABLE_ENDS = "<!-- the table of config.py -->", "<!-- its end -->"


def abi_module() -> str:
    """Return the out-of-line ABI module that cffi writes for the header's plain declarations."""
    import tempfile

    import cffi

    from scattergen.common.paths import templates

    header = (templates() / "scattergen.h").read_text()
    plain = header.split("/* plain declarations: what cffi reads */")[1].split("/* end of plain declarations */")[0]
    ffi = cffi.FFI()
    ffi.cdef(plain + call_type())
    ffi.set_source("scattergen.load._abi", None, compiler_verbose=0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "_abi.py"
        ffi.emit_python_code(str(path))
        return path.read_text()


def call_type() -> str:
    """Return the C declaration of the caller's argument; read as text, since `_abi` may not exist yet."""
    source = (ROOT / "templates" / "python" / "call.c").read_text()
    start = source.index("struct scattergen_call {")
    return source[start : source.index("};", start) + 2]


def settings_page() -> str:
    """Return the page of settings, its table made afresh."""
    from scattergen.common import config

    rows = ["| variable | default | values | in the cache key | meaning |", "|---|---|---|---|---|"]
    for row in config.TABLE:
        default = config.Settings._field_defaults[row.field]
        values = ", ".join(row.choices) or ("a whole number" if isinstance(default, int) else "text")
        given = "unset" if default == "" else default
        rows.append(f"| `{row.variable}` | {given} | {values} | {'yes' if row.in_key else 'no'} | {row.meaning} |")
    above, _, rest = SETTINGS.read_text(encoding="utf-8").partition(TABLE_BEGINS)
    _, end, below = rest.partition(TABLE_ENDS)
    assert end, f"{SETTINGS} has no place for the table"
    return "".join((above, TABLE_BEGINS, "\n".join(["", *rows, ""]), TABLE_ENDS, below))


def wanted() -> dict[Path, str]:
    """Return every generated file and its fresh text."""
    from scattergen.lower.standard import kernels
    from scattergen.render import render

    files = {GENERATED / f"{spec}.c": render(spec) for spec in kernels()}
    return {ABI_MODULE: abi_module(), SETTINGS: settings_page(), **files}


def main(arguments: list[str]) -> int:
    """Refresh or check; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where a file differs")
    only_check = parser.parse_args(arguments).check
    fresh = wanted()
    stale = [path for path, text in fresh.items() if not path.exists() or path.read_text() != text]
    unclaimed = sorted(path for path in GENERATED.iterdir() if path not in fresh)
    for path in stale + unclaimed:
        print(f"{'unclaimed' if path in unclaimed else 'stale'}: {path.relative_to(ROOT)}")
    if only_check:
        print(f"{len(fresh)} generated files, {len(stale)} stale, {len(unclaimed)} unclaimed")
        return 1 if stale or unclaimed else 0
    for path in stale:
        path.parent.mkdir(exist_ok=True)
        path.write_text(fresh[path])
    for path in unclaimed:
        path.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
