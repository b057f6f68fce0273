# Sourced by tools/demo and tools/test: an environment with scattergen, what EXTRA asks for, and a C compiler.
#
#   root=<the checkout>; . "$root/tools/setup-env.sh"; scattergen_environment EXTRA
#
# sets $python. Plain POSIX sh and no other program than Python and the compiler, as there may be none.
# An active environment is used; else .venv at the top of the checkout is, and is made where it is missing.
# shellcheck shell=sh

say() { printf '%s\n' "$@" >&2; }
fail() { say "$@"; exit 1; }

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' >/dev/null 2>&1; }
can_make_venv() { "$1" -c 'import venv, ensurepip' >/dev/null 2>&1; }

# Sets $python to that of the active environment, or of .venv.
find_or_make_environment() {
    active=${VIRTUAL_ENV:-}
    if [ -z "$active" ] && [ "${CONDA_DEFAULT_ENV:-base}" != base ]; then
        active=${CONDA_PREFIX:-}
    fi
    if [ -n "$active" ]; then
        python=$active/bin/python
        new_enough "$python" || fail \
            "The active environment, $active, has no Python 3.10 or newer." \
            "Deactivate it (then .venv is made here) or activate another."
        return
    fi
    python=$root/.venv/bin/python
    new_enough "$python" && return
    base='' lacking=''
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python3.10 python; do
        new_enough "$candidate" || continue
        if can_make_venv "$candidate"; then
            base=$candidate
            break
        fi
        lacking=${lacking:-$candidate}
    done
    if [ -n "$base" ]; then
        say "Making an environment in $root/.venv ($("$base" --version 2>&1))"
        "$base" -m venv --clear "$root/.venv" || fail "The environment could not be made; see above."
    elif [ -n "$lacking" ] && command -v uv >/dev/null 2>&1; then
        say "Making an environment in $root/.venv with uv"
        uv venv --quiet --clear --seed --python "$lacking" "$root/.venv" || fail "uv could not make it; see above."
    elif [ -n "$lacking" ]; then
        version=$("$lacking" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
        fail "$lacking has no venv or ensurepip module, which an environment is made with." \
            "Debian and Ubuntu: apt install python$version-venv. Or activate an environment of your own first."
    else
        fail "No Python 3.10 or newer was found as python3, python3.10 to python3.14 or python." \
            "Install one (Debian and Ubuntu: apt install python3 python3-venv; macOS: brew install python)."
    fi
}

# install REQUIREMENT: from the top of the checkout, into the environment.
install() {
    if "$python" -m pip --version >/dev/null 2>&1; then
        (cd "$root" && "$python" -m pip install --quiet --disable-pip-version-check "$@")
    elif command -v uv >/dev/null 2>&1; then
        (cd "$root" && uv pip install --quiet --python "$python" "$@")
    elif "$python" -m ensurepip >/dev/null 2>&1; then
        (cd "$root" && "$python" -m pip install --quiet --disable-pip-version-check "$@")
    else
        fail "The environment of $python has no pip, and there is no uv either."
    fi
}

# Exit status 0: scattergen with this extra is as it was installed last; with "write", note that it is.
stamp() {
    "$python" -I -c '
import hashlib, importlib.util, pathlib, sys
root, extra, action = sys.argv[1:]
text = pathlib.Path(root, "pyproject.toml").read_bytes() + root.encode()
file = pathlib.Path(sys.prefix, f".scattergen-{extra}")
digest = hashlib.sha256(text).hexdigest()
if action == "write":
    file.write_text(digest)
elif not (file.exists() and file.read_text() == digest and importlib.util.find_spec("scattergen")):
    sys.exit(1)
' "$root" "$1" "$2"
}

works_as_compiler() {
    command -v "$1" >/dev/null 2>&1 &&
        printf '#include <stdint.h>\n#include <string.h>\nint unused;\n' | "$1" -x c -fsyntax-only - >/dev/null 2>&1
}

have_compiler() {
    [ -n "${SCATTERGEN_CC:-}${CC:-}" ] && return
    for candidate in cc gcc clang; do
        works_as_compiler "$candidate" && return
    done
    "$python" -I -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("ziglang") is None)'
}

scattergen_environment() {
    find_or_make_environment
    if ! stamp "$1" check; then
        say "Installing scattergen[$1] and what it needs (the first time: about a minute)"
        install -e ".[$1]" || fail "That did not work; see above. It needs the package index, or a mirror of it."
        stamp "$1" write || say "(noting that failed: the next start installs again)"
    fi
    if ! have_compiler; then
        say "No C compiler (cc, gcc, clang): installing the ziglang package, whose zig cc is one." \
            "Kernels built with it are serial: it has no OpenMP."
        install ziglang || fail "That did not work; see above. Install a C compiler (Debian, Ubuntu: apt install gcc)."
    fi
}
