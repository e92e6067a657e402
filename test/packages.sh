#!/usr/bin/env bash
# Lists packages with tests, for the Makefile:
#   test/packages.sh raced    those that start goroutines
#   test/packages.sh plain    the others
#   test/packages.sh stored   those with tests on a database
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# folders turns the paths of files into the packages they are in.
folders() { xargs -n 1 dirname | sort -u | sed 's,^,./,'; }
tested() { find cmd internal test web -name '*_test.go' -not -path '*/node_modules/*' | folders; }
raced() {
  grep -rlE --include='*.go' '^[[:space:]]*go (func|[A-Za-z.]+\()|\.Go\(' cmd internal web test/faults | grep -v '_test\.go$' | folders
}

case "$1" in
raced) comm -12 <(raced) <(tested) ;;
plain) comm -13 <(raced) <(tested) ;;
stored) grep -rl --include='*_test.go' 'platform/db/dbtest"' cmd internal test | folders ;;
*) echo "usage: test/packages.sh raced|plain|stored" >&2; exit 2 ;;
esac
