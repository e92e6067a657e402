#!/usr/bin/env bash
# Runs Go tests:  test/go.sh [FLAG...] -- PACKAGE...
# A failed test runs once more, alone, after the others. If it passes then, the run is green, and the test is listed in
# bin/flaky.txt: mend it in the next change. It does not help after a data race, a panic, a leaked goroutine, more than
# five failures, or in a test that kills the service: such a fault may show once in a hundred runs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
flags=()
while [ "$1" != -- ]; do flags+=("$1"); shift; done
shift
mkdir -p bin
report=$(mktemp)
trap 'rm -f "$report"' EXIT

# It stops at once, so that the report is shown and no other test is blamed. Then nothing is left to report at the end,
# where it would sleep for a second in each package.
export GORACE='halt_on_error=1 atexit_sleep_ms=0'
export GOGC=400                # a tenth less CPU
go tool -modfile=tools/go.mod gotestsum --format pkgname-and-test-fails --format-icons text --hide-summary skipped \
  --rerun-fails=1 --rerun-fails-run-root-test --rerun-fails-max-failures=5 --rerun-fails-abort-on-data-race --rerun-fails-report="$report" \
  --packages="$*" -- -count=1 -vet=off -ldflags=-w -timeout 20m "${flags[@]}"

# A package that failed without a failed test has leaked goroutines, and may pass when it runs no test.
if grep -e '\.: ' -e '^wardroom/test/durable\.' "$report"; then exit 1; fi
sed 's/: .*//' "$report" >>bin/flaky.txt
