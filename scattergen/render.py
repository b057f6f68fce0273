"""Kernel spec → C text, through the templates.

A template sees one variable, `spec`: what it needs beyond the fields of `KernelSpec` is a property there.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import jinja2

from .common.paths import templates
from .lower.kernel import KernelSpec


@cache
def environment(kept: Path | None = None) -> jinja2.Environment:
    """Return the environment that all templates are read in.

    `kept` is a private folder where Jinja keeps what it compiled them to, which saves the next process
    half the time of its first render.
    """
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
        bytecode_cache=None if kept is None else jinja2.FileSystemBytecodeCache(str(kept)),
    )


def render(spec: KernelSpec, kept: Path | None = None) -> str:
    """Return the C source of a kernel; `kept` is as in `environment`."""
    name = spec.form.template or spec.form.name
    return environment(kept).get_template(f"{name}.c.j2").render(spec=spec)
