#!/usr/bin/env bash
# Runs one stage of `make test` and says how long it took:  test/stage.sh "in words" COMMAND [ARGUMENT...]
set -euo pipefail
name=$1
shift
printf '\n== %s\n' "$name"
begin=$SECONDS
code=0
"$@" || code=$?
took=$((SECONDS - begin))
if [ "$code" -ne 0 ]; then
  printf '== %s: FAILED after %d s\n' "$name" "$took"
  exit "$code"
fi
printf '== %s: ok, %d s\n' "$name" "$took"
