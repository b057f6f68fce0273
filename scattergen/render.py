"""Kernel spec → C text, through the templates.

A template sees one variable, `spec`: what it needs beyond the fields of `KernelSpec` is a property there. It also sees
the constants that Python has in common with C.
"""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket

from .common.digest import sha256
from .common.paths import templates
from .lower.kernel import KernelSpec
from .lower.layout import BLOCK, LOOP, MOST_LOOPS, MOST_THREADS

_DIGEST = 64
"""Length of a SHA-256 in hex."""


class Bytecode(jinja2.BytecodeCache):
    """What Jinja compiled templates to, a file for each in a folder: the SHA-256 of the rest, then the bytecode.

    Python runs any bytecode that it reads. A file that is not as it was written counts as none, and is written again.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give the bucket its code if there is a whole file of it."""
        try:
            with open(self._file(bucket), "rb") as file:
                whole = file.read()
        except OSError:
            return
        if whole[:_DIGEST] == sha256(whole[_DIGEST:]).encode():
            bucket.bytecode_from_string(whole[_DIGEST:])

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Write the code of the bucket; raise OSError where the folder cannot be written."""
        code = bucket.bytecode_to_string()
        descriptor, path = tempfile.mkstemp(dir=self.folder)
        try:
            with open(descriptor, "wb") as file:
                file.write(sha256(code).encode() + code)
            os.replace(path, self._file(bucket))
        except OSError:
            os.unlink(path)
            raise

    def _file(self, bucket: Bucket) -> str:
        return os.path.join(self.folder, bucket.key)


@cache
def environment(kept: Path | None = None) -> jinja2.Environment:
    """Return the environment that all templates are read in.

    `kept` is a private folder where Jinja keeps what it compiled them to, which saves the next process
    half the time of its first render.
    """
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        cache_size=-1,  # a dictionary: the usual cache has a lock, for which a signal handler could wait for ever
        autoescape=False,
        bytecode_cache=None if kept is None else Bytecode(kept),
    )
    made.globals.update(BLOCK=BLOCK, LOOP=LOOP, MOST_LOOPS=MOST_LOOPS, MOST_THREADS=MOST_THREADS)
    return made


def render(spec: KernelSpec, kept: Path | None = None) -> str:
    """Return the C source of a kernel; `kept` is as in `environment`."""
    name = spec.form.template or spec.form.name
    return environment(kept).get_template(f"{name}.c.j2").render(spec=spec)
