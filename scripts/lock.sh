#!/usr/bin/env bash
# Writes requirements.lock from pyproject.toml: the core and the extras named below, with
# hashes, one file for every supported Python. Torch, and whatever torch alone needs, is left
# out: the Makefile installs it first, in the build that the machine calls for.
# Existing pins are kept; `scripts/lock.sh --upgrade` moves them.
set -euo pipefail
cd "$(dirname "$0")/.."

extras=(dev lab)

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
"${PYTHON:-python3}" -m venv "$tools/venv"
"$tools/venv/bin/pip" install --quiet uv
echo torch > "$tools/excludes.txt"

"$tools/venv/bin/uv" pip compile pyproject.toml "${extras[@]/#/--extra=}" \
  --universal --python-version 3.11 --fork-strategy fewest --generate-hashes \
  --no-config --excludes "$tools/excludes.txt" --no-emit-index-url --no-emit-find-links \
  --custom-compile-command "make lock" --output-file requirements.lock --quiet "$@"
