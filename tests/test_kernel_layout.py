"""The numbers of `layout`: Python packs them where C reads them, in kernels and in the header for programs in C."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from scattergen.aot.packaging import Package
from scattergen.common import paths
from scattergen.common.config import Settings
from scattergen.compiler import toolchain
from scattergen.lower import layout, standard
from scattergen.lower.forms import FORMS
from scattergen.lower.kernel import KernelSpec
from scattergen.lower.layout import LAYOUTS
from scattergen.operators.spec import MAX_RANK
from scattergen.render import render

KERNELS: dict[str, KernelSpec] = {kernel.form.name: kernel for kernel in standard.kernels()}  # the deepest of each
LOOPS = 3
LIMITS = {name: getattr(layout, name) for name in ("BLOCK", "MOST_LOOPS", "MOST_THREADS")}


def places(form: str, depth: int) -> dict[str, int]:
    """Return where Python packs each number, the first where there are several."""
    values: dict[str, int | list[int]] = {}
    for name in LAYOUTS[form].meanings:
        several = {"SIZES": depth, "STRIDES": depth, "FIRST_LOOP": LOOPS * len(layout.LOOP)}
        values[name] = [0] * several[name] if name in several else 0
    found = {}
    for name, value in values.items():
        marked = LAYOUTS[form].pack({**values, name: [1] * len(value) if isinstance(value, list) else 1})
        found[name] = marked.index(1)
    return found


def compiles(folder: Path, text: str) -> str:
    """Return what a compiler says to C."""
    (folder / "asserted.c").write_text(text)
    for header in paths.HEADERS:
        (folder / header).write_bytes((paths.templates() / header).read_bytes())
    compiler = toolchain.find(Settings()).command
    words = [*compiler, "-std=gnu11", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "asserted.c"]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True).stderr


def test_the_arrays_of_a_kernel_have_room_for_any_nest() -> None:
    assert layout.MOST_LOOPS >= 2 * MAX_RANK - 1


def test_every_form_has_a_layout() -> None:
    assert LAYOUTS.keys() == FORMS.keys() == KERNELS.keys()


@pytest.mark.parametrize("form", LAYOUTS)
def test_the_kernels_read_where_python_packs(form: str, tmp_path: Path) -> None:
    kernel = KERNELS[form]
    asserted = [f'_Static_assert({name} == {at}, "");' for name, at in places(form, kernel.depth).items()]
    text = render(kernel)
    asserted += [f'_Static_assert({name} == {limit}, "");' for name, limit in LIMITS.items() if f" {name} =" in text]
    assert compiles(tmp_path, text + "\n".join(asserted)) == ""
    assert "static assertion" in compiles(tmp_path, f'{text}_Static_assert({next(iter(places(form, 1)))} == 1, "");')


def test_the_header_names_the_numbers_of_every_form(tmp_path: Path) -> None:
    package = Package(
        name="scattergen_kernels", version="1", kernels=tuple(KERNELS.values()), shared="", static="", link_flags=""
    )
    header = package.sources()["include/scattergen_kernels.h"]
    asserted = []
    for form, found in LAYOUTS.items():
        for depth in (1, 2, 5) if found.has_components else (1,):
            at = places(form, depth)
            for place in found.places:
                name = f"SCATTERGEN_{form.upper()}_{place.name}" + (f"({depth})" if place.depths else "")
                asserted.append(f'_Static_assert({name} == {at[place.name]}, "");')
    another = header.replace("SCATTERGEN_KERNELS_", "OTHER_KERNELS_")
    assert compiles(tmp_path, header + another + "\n".join(asserted)) == "", "two libraries' headers in one program"


@pytest.mark.parametrize("form", LAYOUTS)
def test_what_is_packed_is_unpacked(form: str) -> None:
    found, depth, number = LAYOUTS[form], 2, iter(range(1000))
    several = {"SIZES": depth, "STRIDES": depth, "FIRST_LOOP": LOOPS * len(layout.LOOP)}
    values = {
        name: tuple(next(number) for _ in range(several[name])) if name in several else next(number)
        for name in found.meanings
    }
    packed = found.pack(values)
    assert packed == tuple(range(len(packed)))
    assert found.unpack(packed, depth) == values


def test_a_number_that_is_missing_or_unknown_is_refused() -> None:
    whole = dict.fromkeys(LAYOUTS["rows"].meanings, 1)
    for wrong in ({**whole, "WARM": 1}, {name: whole[name] for name in list(whole)[1:]}):
        with pytest.raises(KeyError, match="OUT_ROW"):
            LAYOUTS["rows"].pack(wrong)
