"""The files of an ahead-of-time folder around its libraries: header, table, CMake, pkg-config, make, cffi."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ..common.paths import HEADERS, templates
from ..lower.forms import FORMS
from ..lower.kernel import KernelSpec
from ..lower.layout import LAYOUTS
from ..render import environment, render


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """What the files say: the library's name, version, kernels and paths, and flags for those who link it."""

    name: str
    version: str
    kernels: tuple[KernelSpec, ...]
    shared: str
    static: str
    link_flags: str
    """What a program needs that links the static library."""
    install_name: str = ""
    """Under which name programs of macOS look for the shared library."""

    def sources(self) -> dict[str, str]:
        """Return the C files: path in the folder → text."""
        forms = sorted({kernel.form.name for kernel in self.kernels})
        abi, own = HEADERS
        return {
            f"include/{abi}": _header(abi),
            f"include/{self.name}.h": self._render(
                "kernels.h.j2", forms=[(FORMS[name], LAYOUTS[name]) for name in forms]
            ),
            f"src/{own}": _header(own),
            **{f"src/{kernel}.c": render(kernel) for kernel in self.kernels},
            "src/table.c": self._render("table.c.j2"),
        }

    def descriptions(self, inputs: Iterable[Path]) -> dict[str, str]:
        """Return what build systems read: path in the folder → text; `inputs` are the files that asked for it."""
        cmake = f"lib/cmake/{self.name}/{self.name}-config"
        return {
            f"{cmake}.cmake": self._render("config.cmake.j2"),
            f"{cmake}-version.cmake": self._render("config-version.cmake.j2"),
            f"lib/pkgconfig/{self.name}.pc": self._render("pkgconfig.pc.j2"),
            f"{self.name}.d": _make_rule(inputs),
        }

    def python(self, flags: tuple[str, ...]) -> str:
        """Return the Python file that declares the kernels as a cffi extension, compiled with `flags`."""
        plain = re.split(
            r"/\* (?:plain declarations: what cffi reads|end of plain declarations) \*/", _header(HEADERS[0])
        )[1]
        # One library of many kernels has the table, not the object of a library of one.
        declarations = re.sub(r"/\*.*?\*/|extern const struct scattergen_kernel scattergen_kernel;", "", plain)
        return self._render(
            "build.py.j2",
            declarations=re.sub(r"\n\n+", "\n\n", declarations).strip(),
            compile_flags=list(flags),
            extra_link=self.link_flags.split(),
        )

    def _render(self, template: str, **more: object) -> str:
        upper = self.name.upper()
        return (
            environment()
            .get_template(f"package/{template}")
            .render(
                name=self.name,
                version=self.version,
                kernels=[str(kernel) for kernel in self.kernels],
                shared=self.shared,
                static=self.static,
                link_flags=self.link_flags,
                install_name=self.install_name,
                guard=f"{upper}_H",
                prefix=upper,
                **more,
            )
        )


def _header(name: str) -> str:
    return (templates() / name).read_text(encoding="utf-8")


def _make_rule(inputs: Iterable[Path]) -> str:
    """Return a rule that make reads by `include`: the folder is as new as its manifest, which needs the inputs."""
    names = [str(path).replace("$", "$$").replace(" ", "\\ ").replace("#", "\\#") for path in inputs]
    manifest = "$(dir $(lastword $(MAKEFILE_LIST)))manifest.json:"
    # An empty rule for each input, so that removing one is no error before the folder is built again.
    return "\n".join((" ".join((manifest, *names)), *(f"{name}:" for name in names))) + "\n"
