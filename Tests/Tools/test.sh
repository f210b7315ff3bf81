#!/usr/bin/env bash
# Runs every test and fails if none ran: `swift test` exits 0 on an empty selection.
set -uo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
swift build --build-tests "$@" || exit 1
swift test --skip-build 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
ran=$(sed -nE 's/.*Test run with ([0-9]+) tests?.*/\1/p' "$log" | tail -n 1)
if [ "${ran:-0}" -eq 0 ]; then
  echo "no test ran" >&2
  exit 1
fi
failed=$(grep -cE '^. Test .* failed after' "$log")
echo "$((ran - failed)) passed, $failed failed"
exit "$status"
