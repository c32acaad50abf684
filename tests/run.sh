#!/usr/bin/env bash
# The gate: everything that must hold before a change lands, in a virtual environment of its own made from pyproject.toml.
#
#   bash tests/run.sh            everything
#   bash tests/run.sh quick      without the wheel and the acceptance checks
#
# Long runs (fuzzing, oracles, benchmarks): .venv-gate/bin/python -m pytest -m long
# Patches compared with Codex's released program: LMX_CODEX=DIR .venv/bin/python -m pytest -m codex (tests/support/codex.py)
# A real model on this machine: .venv/bin/python -m pytest -m local_model (docs/how-to/local-models.md)
set -euo pipefail
cd "$(dirname "$0")/.."

venv=.venv-gate
python=${PYTHON:-python3}
stamp=$(cat pyproject.toml "$(command -v "$python")" 2>/dev/null | cksum | cut -d' ' -f1)
if [ ! -f "$venv/.made-from" ] || [ "$(cat "$venv/.made-from")" != "$stamp" ]; then
    echo "== venv"
    rm -rf "$venv"
    "$python" -m venv "$venv"
    "$venv/bin/python" -m pip install -q --disable-pip-version-check -e '.[dev]'
    echo "$stamp" > "$venv/.made-from"
fi
bin=$PWD/$venv/bin
export PATH="$bin:$PATH"
unset PYTHONDONTWRITEBYTECODE # without bytecode each worker would compile and rewrite every test anew: 13 s of CPU a worker

# One command a line: `set -e` does not see a failure on the left of `&&`.
echo "== ruff"
ruff format --check .
ruff check .
echo "== mypy"
mypy
echo "== imports"
lint-imports
echo "== size"
python tests/rules/size_table.py
echo "== tests"
python -m pytest -n "${JOBS:-auto}" --dist=worksteal -m "not long and not local_model and not codex" --junit-xml=junit.xml
[ "${1:-}" = quick ] && exit 0

echo "== wheel in a clean venv"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python -m build -q --no-isolation --outdir "$work/dist" . # an sdist, and the wheel out of that
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install -q --disable-pip-version-check "$work"/dist/*.whl
"$work/venv/bin/lmx" --version
LMX_CONSUMER_PYTHON="$work/venv/bin/python" python -m pytest tests/e2e/test_consumer.py -m long -n0
acceptance=$PWD/../shared/acceptance
if [ -d "$acceptance" ]; then
    echo "== acceptance"
    # From elsewhere and read-only: the checks see the installed program, never this checkout.
    cd "$work"
    LMX="$work/venv/bin/lmx" "$bin/python" -m pytest "$acceptance" -q -p no:cacheprovider -n "${JOBS:-auto}" --dist=worksteal
fi
