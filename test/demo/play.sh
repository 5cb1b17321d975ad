#!/usr/bin/env bash
# The story of demo.sh in a simulated cluster: it needs only metascript. The script writes the controllers of four examples and the
# steps in play.yaml to a directory, so that they can be edited and simulated again.
set -euo pipefail
cd "$(dirname "$0")/../.."

metascript=${METASCRIPT:-build/metascript}
dir=${1:-build/play}
rm -rf "$dir"
mkdir -p "$dir"
for file in controller crd parent; do
  for example in immortalcontainer immortalcontainer-js immortalcontainer-jsonnet pythonlambda; do
    echo ---
    cat "examples/$example/$file.yaml"
  done >"$dir/$file.yaml"
done
cp test/demo/play.yaml "$dir/simulate.yaml"

# Print one line for each change, without the diff, which has an indent of four; but with the lines of an error of a script.
"$metascript" simulate "$dir" | awk '/^[^ ]/ { message = /does not load/ } message || !/^    /'
cat <<END

To see each change as a diff: $metascript simulate $dir
Edit $dir/controller.yaml (the scripts) or $dir/simulate.yaml (the steps), and run this command again.
END
