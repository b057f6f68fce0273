"""The templates, and the C that they make: what a reviewer would accept, for every form, element and operation."""

from __future__ import annotations

import pickle
import re
from collections.abc import Iterator
from pathlib import Path

import c_text
import jinja2
import pytest
from jinja2 import meta, nodes
from jinja2.bccache import Bucket, bc_magic

from scattergen.common import paths
from scattergen.lower.forms import FORMS, OPERATIONS
from scattergen.lower.kernel import KernelSpec
from scattergen.operators.dtypes import DTYPES, INDEX_TYPES
from scattergen.render import Bytecode, environment, render

TEMPLATES = sorted(paths.templates().glob("*.j2"))
DEPTHS = (0, 1, 3)
INCLUDES = {"<stdint.h>", "<string.h>", '"kernel.h"'}


def specs(form: str) -> Iterator[KernelSpec]:
    """Yield a form with every element and operation; index types take turns."""
    turn = 0
    for operation in FORMS[form].operations:
        kinds = OPERATIONS[operation].kinds
        for element in DTYPES.values():
            if element.kind in kinds and element.kind in FORMS[form].kinds:
                for depth in filter(FORMS[form].least_depth.__le__, DEPTHS) if FORMS[form].has_depth else (1,):
                    turn += 1
                    yield KernelSpec(
                        form=FORMS[form],
                        element=element,
                        index=INDEX_TYPES[turn % 2],
                        operation=operation,
                        depth=depth,
                    )


each_form = pytest.mark.parametrize("form", FORMS)
each_template = pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)


# Templates


def own_names(path: Path) -> set[str]:
    """Return the names that a template, or the one that it extends, imports or sets for its blocks."""
    tree = environment().parse(path.read_text())
    names = {node.target for node in tree.find_all(nodes.Import)}
    names |= {node.target.name for node in tree.body if isinstance(node, nodes.Assign)}
    for parent in tree.find_all(nodes.Extends):
        assert isinstance(parent.template, nodes.Const)
        names |= own_names(path.parent / parent.template.value)
    return names


@each_template
def test_a_template_needs_the_spec_alone(path: Path) -> None:
    needed = meta.find_undeclared_variables(environment().parse(path.read_text()))
    assert needed - own_names(path) <= {"spec"}


@each_template
def test_a_template_is_used(path: Path) -> None:
    used = {
        name for other in TEMPLATES for name in meta.find_referenced_templates(environment().parse(other.read_text()))
    }
    used |= {f"{form.template or form.name}.c.j2" for form in FORMS.values()}
    assert path.name in used


@each_template
def test_a_template_is_tidy(path: Path) -> None:
    text = path.read_text()
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert "\t" not in text
    assert not re.search(r" +$", text, re.MULTILINE)


def test_what_is_undefined_is_an_error() -> None:
    spec = KernelSpec.parse("rows_f32_i64_add")
    assert environment().undefined is jinja2.StrictUndefined
    for text in ("{{ nothing }}", "{{ spec.nothing }}", "{% if spec.nothing %}{% endif %}"):
        with pytest.raises(jinja2.UndefinedError, match="nothing"):
            environment().from_string(text).render(spec=spec)


# What Jinja compiled templates to, which is kept

SIMPLE = KernelSpec.parse("rows_f32_i64_add")


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("kept")
    render(SIMPLE, folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def bucket_of(name: str, whole: bytes) -> Bucket:
    """Return a bucket that wants what a file holds."""
    checksum = pickle.loads(whole[64 + len(bc_magic) :])
    return Bucket(environment(), name, checksum)


def test_no_file_with_a_flipped_bit_is_read(kept: dict[str, bytes], tmp_path: Path) -> None:
    name, whole = min(kept.items(), key=lambda item: len(item[1]))
    cache, path = Bytecode(tmp_path), tmp_path / name
    path.write_bytes(whole)
    cache.load_bytecode(bucket := bucket_of(name, whole))
    assert bucket.code is not None
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        cache.load_bytecode(bucket := bucket_of(name, whole))
        assert bucket.code is None, place


PLACES = {"digest": 5, "magic": 65, "checksum": 64 + len(bc_magic) + 12, "code": 400, "end": -1}


@pytest.mark.parametrize("harm", [*PLACES, "cut short", "cut to the digest", "empty"])
def test_a_harmed_file_is_written_again(harm: str, kept: dict[str, bytes], tmp_path: Path) -> None:
    for name, whole in kept.items():
        changed = bytearray(whole)
        if harm in PLACES:
            changed[PLACES[harm]] ^= 4
        else:
            changed = changed[: {"cut short": len(whole) // 2, "cut to the digest": 64}.get(harm, 0)]
        (tmp_path / name).write_bytes(changed)
    assert render(SIMPLE, tmp_path) == render(SIMPLE)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == kept


# The C


@each_form
def test_the_text_is_tidy(form: str) -> None:
    wrong = {str(spec): found for spec in specs(form) if (found := c_text.problems(render(spec)))}
    few = [f"{name}: {'; '.join(found[:4])}" for name, found in list(wrong.items())[:5]]
    assert not wrong, f"{len(wrong)} kernels:\n" + "\n".join(few)


@each_form
def test_the_banner_is_short_and_says_nothing_of_here_and_now(form: str) -> None:
    for spec in specs(form):
        text = render(spec)
        banner = text[: text.index("*/") + 2]
        assert text.startswith("/* Generated by scattergen from ")
        assert len(banner.splitlines()) <= 3
        assert "Do not edit." in banner and str(spec) in banner and spec.form.summary in banner
        assert not re.search(r"\b20\d\d\b|\d:\d\d|\d\.\d|/home|/tmp", banner)
        assert str(paths.templates()) not in text


@each_form
def test_the_text_stands_alone(form: str) -> None:
    for spec in specs(form):
        text = render(spec)
        only_with_openmp = re.findall(r"^#ifdef _OPENMP\n#include <omp.h>\n#endif$", text, re.MULTILINE)
        found = re.findall(r"^ *# *include +(\S+)$", text, re.MULTILINE)
        assert len(found) == len(set(found))
        assert set(found) == INCLUDES | ({"<omp.h>"} if only_with_openmp else set())
        # every other name at file scope is static, a type or a constant
        assert len(re.findall(r"^SCATTERGEN_EXPORT\(", text, re.MULTILINE)) == 1
        assert f'SCATTERGEN_EXPORT({spec}) = {{SCATTERGEN_ABI, "{spec}", check, run, scratch_bytes}};\n' in text
        for line in re.findall(r"^[a-z].*", text, re.MULTILINE):
            assert line.startswith(("static ", "typedef ", "enum ")), line


@each_form
def test_the_text_has_no_open_ends(form: str) -> None:
    for spec in specs(form):
        assert not re.search(r"\{%|%\}|\{\{ | \}\}|#\}|None|True|False|TODO", render(spec))


@each_form
def test_rendering_again_gives_the_same(form: str) -> None:
    for spec in specs(form):
        first = render(spec)
        environment.cache_clear()
        assert render(KernelSpec.parse(str(spec))) == first
        break
    texts = [render(spec) for spec in specs(form)]
    assert len(set(texts)) == len(texts)


# The checker


GOOD = """\
/* A comment
 * of two lines. */
enum { A, B };

static int f(int a,
             int b)
{
    for (int i = 0; i < a; i++)
        for (int j = 0; j < b; j++) {
            if (i)
                return 1;
            else if (j)
                return 2;
            else {
                a++;
            }
        }
#ifdef X
    a = b ? 1
          : 2;
#endif
    do {
        g(
            a);
    } while (a);
    return a; /* } */
}
"""


def test_the_checker_accepts_good_text() -> None:
    assert c_text.problems(GOOD) == []


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("    return a;", "   return a;", "column 3 instead of 4"),
        ("                return 1;", "            return 1;", "column 12 instead of 16"),
        ("                a++;", "            a++;", "column 12 instead of 16"),
        ("            else if", "        else if", "column 8 instead of 12"),
        ("             int b)", "    int b)", "column 4 instead of 13"),
        ("        }\n#", "    }\n#", "column 4 instead of 8"),
        (" * of two", "* of two", "a comment goes on in column 0"),
        ("          : 2", "    : 2", "a statement goes on"),
        ("            a);", "         a);", "column 9 instead of 12"),
        ("B };\n\nstatic", "B };\n\n\nstatic", "two blank lines"),
        ("B };\n\nstatic", "B };\nstatic", "no blank line before"),
        ("{\n    for", "{\n\n    for", "after an opening brace"),
        (");\n    } while", ");\n\n    } while", "before a closing brace"),
        ("int i = 0", "int i =\t0", "a tab"),
        ("(i)\n", "(i) \n", "trailing blanks"),
        ("return a; /* } */", f"return a; /* {'x' * 110} */", "columns"),
    ],
)
def test_the_checker_sees_bad_text(old: str, new: str, what: str) -> None:
    assert GOOD.count(old) == 1
    assert any(what in problem for problem in c_text.problems(GOOD.replace(old, new)))


def test_the_checker_sees_the_end() -> None:
    for text in ("", "\n", GOOD + "\n", GOOD[:-1]):
        assert any("one newline" in problem for problem in c_text.problems(text))


def test_a_kernel_on_one_thread_waits_for_nobody() -> None:
    """Within OpenMP's threads of the caller's own, a barrier would wait for those."""
    waiting = 0
    for form in FORMS:
        text = render(next(specs(form)))
        waiting += "omp barrier" in text
        assert text.count("#pragma omp barrier") == text.count("if (all > 1) {\n#pragma omp barrier\n")
    assert waiting > 3
