#!/usr/bin/env bash
# Installs the agent gateway of package-lock.json, with the Node that runs it,
# into a cache folder, and prints that folder. About 860 MB; reused when present.
#   WARDROOM_CACHE   where caches go (default: wardroom in the user's cache folder)
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${WARDROOM_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/wardroom}

say() { echo "gateway: $*" >&2; }

hash() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi
}

# The same lock file has other contents on another kind of machine.
key=$({ uname -sm; cat "$here/package-lock.json"; } | hash | cut -c 1-16)
folder=$cache/gateway-$key

complete() { # complete FOLDER: does the Node in it run, and is the gateway there?
  [ -f "$1/node_modules/openclaw/openclaw.mjs" ] &&
    "$1/bin/node" --version >/dev/null 2>&1
}

if complete "$folder"; then
  echo "$folder"
  exit 0
fi

mkdir -p "$cache"
# Two installations at once would only get in each other's way. The system lets
# go of this lock when the process ends, however it ends. Where there is no
# flock, the rename below still lets only a whole folder appear.
if command -v flock >/dev/null 2>&1; then
  exec 9>"$cache/gateway.lock"
  flock -n 9 || { say "waiting for another installation"; flock 9; }
  if complete "$folder"; then
    echo "$folder"
    exit 0
  fi
fi

"$here/../needs.sh" node >&2
begin=$SECONDS
say "installing into $folder (about 860 MB, this happens once)"
new=$(mktemp -d "$cache/new.XXXXXX")
trap 'rm -rf "$new"' EXIT
cp "$here/package.json" "$here/package-lock.json" "$new/"

# No script of any package runs: none is needed, and none is trusted.
# A dropped connection in 330 downloads should not fail the tests.
for attempt in 1 2 3; do
  if npm ci --prefix "$new" --ignore-scripts --no-audit --no-fund --loglevel=error 9>&- >&2; then break; fi
  if [ "$attempt" = 3 ]; then
    say "npm could not install it"
    exit 1
  fi
  say "npm failed, trying again"
done
# Only some versions of npm make this link.
mkdir "$new/bin"
for node in "$new"/node_modules/node-{linux,bin}-*/bin/node; do
  if [ -x "$node" ]; then ln -s "..${node#"$new"}" "$new/bin/node"; fi
done
complete "$new" || { say "there is no Node for $(uname -sm) in package.json"; exit 1; }

rm -rf "$folder" # what an earlier clean-up of the cache may have left of it
mv "$new" "$folder" || complete "$folder"
say "installed in $((SECONDS - begin)) s"
echo "$folder"
