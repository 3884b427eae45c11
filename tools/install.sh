#!/usr/bin/env bash
# Installs the package from the work tree: tools/install.sh LIBRARY LOG. The log is shown when it fails.
# Objects are removed before and after: R does not know that a changed header asks for a new object.
set -euo pipefail
cd "$(dirname "$0")/.."

mkdir -p "$1"
if ! MAKEFLAGS=-j2 R CMD INSTALL --preclean --clean --library="$1" . >"$2" 2>&1; then
  tail -40 "$2" >&2
  echo "install: failed, see $2" >&2
  exit 1
fi
