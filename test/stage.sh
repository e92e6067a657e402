#!/usr/bin/env bash
# Runs one stage of `make test` and prints how long it took:
#   test/stage.sh NAME COMMAND [ARGUMENT...]
#   test/stage.sh --times       prints the finished stages with their seconds and CPU seconds
# Stages may run in parallel: the output of each goes to bin/stages and is printed when
# the stage ends.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=bin/stages
mkdir -p "$folder"
if [ "$1" = --times ]; then
  printf '\n== seconds and CPU seconds by stage\n'
  cat "$folder/times"
  exit
fi
name=$1
shift
log="$folder/${name//[^a-zA-Z0-9]/-}.log"
printf '== %s: started\n' "$name"
begin=$SECONDS
code=0
TIMEFORMAT='%U %S'
cpu=$( { time "$@" >"$log" 2>&1; } 2>&1 ) || code=$?
took=$((SECONDS - begin))
used=$(awk '{ printf "%d", $1 + $2 }' <<<"$cpu")
printf '\n== %s\n' "$name"
cat "$log"
printf '%6d %6d  %s\n' "$took" "$used" "$name" >>"$folder/times"
if [ "$code" -ne 0 ]; then
  printf '== %s: FAILED after %d s\n' "$name" "$took"
  exit "$code"
fi
printf '== %s: ok, %d s\n' "$name" "$took"
