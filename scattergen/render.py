"""Kernel spec → C text, through the templates.

A template sees one variable, `spec`: what it needs beyond the fields of `KernelSpec` is a property there.
"""

from __future__ import annotations

from functools import cache

import jinja2

from .kernel import KernelSpec
from .paths import templates


@cache
def environment() -> jinja2.Environment:
    """Return the environment that all templates are read in."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(templates()),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def render(spec: KernelSpec) -> str:
    """Return the C source of a kernel."""
    name = spec.form.template or spec.form.name
    return environment().get_template(f"{name}.c.j2").render(spec=spec)
