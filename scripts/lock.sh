#!/usr/bin/env bash
# Writes requirements.lock from pyproject.toml: the core and the extras named below, with
# hashes, one file for every supported Python. Torch, and whatever torch alone needs, is left
# out: the Makefile installs it first, in the build that the machine calls for.
# docs/requirements.lock holds what the extra `docs` needs, in the versions of requirements.lock
# where that has them: only `make docs` installs it.
# Existing pins are kept; `scripts/lock.sh --upgrade` moves them.
set -euo pipefail
cd "$(dirname "$0")/.."

extras=(dev lab)

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"${PYTHON:-python3}" -m venv "$tools/venv"
"$tools/venv/bin/pip" install --quiet uv
echo torch > "$tools/excludes.txt"

compile() { # compile OUTPUT ARGUMENT…
  "$tools/venv/bin/uv" pip compile "${@:2}" \
    --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
    --no-config --excludes "$tools/excludes.txt" --no-emit-index-url --no-emit-find-links \
    --custom-compile-command "make lock" --output-file "$1" --quiet
}

compile requirements.lock pyproject.toml "${extras[@]/#/--extra=}" "$@"
"$tools/venv/bin/python" -c 'import tomllib
project = tomllib.load(open("pyproject.toml", "rb"))["project"]
print(*project["optional-dependencies"]["docs"], sep="\n")' > "$tools/docs.txt"
compile docs/requirements.lock "$tools/docs.txt" --constraints requirements.lock \
  --no-annotate "$@"
