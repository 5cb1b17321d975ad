#!/usr/bin/env bash
# build.sh OUTPUT VERSION [MODFILE]: build the test cluster with this version of Kubernetes, from the modules of MODFILE (go.mod). The
# program is kept in the cache directory of the user under a hash of what it is built from, so that a new clone of the repository does
# not compile it again. The cache has the size of a few programs: those that were not used for a month are removed.
set -euo pipefail
output=$(realpath -m "$1") version=$2 modfile=${3:-go.mod}
cd "$(dirname "$0")"

go=${GO:-go}
built_from() { echo "$version"; "$go" env GOVERSION GOOS GOARCH; cat "$modfile" "${modfile%.mod}.sum"; find . -name '*.go' -not -name '*_test.go' | sort | xargs tail -n +1; }
cache=${XDG_CACHE_HOME:-$HOME/.cache}/metascript
kept=$cache/cluster-$(built_from | git hash-object --stdin)

if [ ! -x "$kept" ]; then
  echo "building the test cluster with Kubernetes $version; the first build takes 5 to 10 minutes, and the program is kept in $cache" >&2
  mkdir -p "$cache"
  "$go" build -modfile="$modfile" -trimpath -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$version" -o "$kept.$$" .
  mv "$kept.$$" "$kept"
fi
touch "$kept"
find "$cache" -name 'cluster-*' -mtime +30 -delete
mkdir -p "$(dirname "$output")"
cp "$kept" "$output.$$"
mv "$output.$$" "$output"
