#!/usr/bin/env bash
# types.sh METASCRIPT [--update]: checks the types that "metascript types -f" writes, with TypeScript, which npx downloads. In testdata of
# the package types, the scripts correct.* must have no error, and the errors of mistakes.* must be those in mistakes.*.txt; --update
# writes these files. The scripts of the examples and of new controllers must have no error, and the types of all kinds of Kubernetes
# must be valid.
set -euo pipefail
metascript=$(realpath "$1")
update=${2:-}
root=$(realpath "$(dirname "$0")/..")
data=$root/cmd/metascript/internal/types/testdata
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

npx --yes -p typescript@7.0.2 tsc --version

tsc() { # tsc DIR SETTINGS: the errors, with the paths in DIR
	(cd "$1" && npx --yes -p typescript@7.0.2 tsc -p "$2" --pretty false) || [ $? -le 2 ]
}

for language in js ts; do
	mkdir "$dir/$language"
	cp "$data"/*.$language "$dir/$language"
	"$metascript" types -f "$data/controller.yaml" "$dir/$language" > "$dir/log"
	tsc "$dir/$language" ${language}config.json > "$dir/errors"
	[ -z "$update" ] || cp "$dir/errors" "$data/mistakes.$language.txt"
	diff -u "$data/mistakes.$language.txt" "$dir/errors"
done

for script in "$root"/examples/*/*.js; do
	example=$(dirname "$script")
	mkdir "$dir/example"
	cp "$script" "$dir/example"
	"$metascript" types -f "$example/controller.yaml" "$dir/example" > "$dir/log"
	tsc "$dir/example" jsconfig.json > "$dir/errors"
	diff -u /dev/null "$dir/errors"
	rm -r "$dir/example"
done

# The scripts of new controllers, with the types beside them.
for language in JavaScript TypeScript; do
	for project in "" "--children Deployment,Service,Redis.db.example.com/v1" "--children StatefulSet,Pod,Job,DaemonSet,NetworkPolicy" \
		"--kind Decorator --parent Deployment" "--kind Decorator --parent Namespace --children Deployment,NetworkPolicy,ConfigMap"; do
		# The words of project are arguments.
		# shellcheck disable=SC2086
		"$metascript" init app --dir "$dir/app" --language $language $project > "$dir/log"
		tsc "$dir/app" "$(basename "$dir"/app/[jt]sconfig.json)" > "$dir/errors"
		diff -u /dev/null "$dir/errors"
		rm -r "$dir/app"
	done
done

# One controller for each group version, because a controller may have a resource only in one version.
mkdir "$dir/all"
tail -n +2 "$root/controller/kinds/kubernetes.jsonl" | sed -E 's/.*"apiVersion":"([^"]*)","kind":"[^"]*","plural":"([^"]*)".*/\1 \2/' |
while read -r version plural; do
	printf '%s\n' --- 'apiVersion: metacontroller.k8s.io/v1alpha1' 'kind: DecoratorController' "metadata: {name: $plural-${version//\//-}}" \
		"spec: {resources: [{apiVersion: $version, resource: $plural}], attachments: [{apiVersion: $version, resource: $plural}], script: {language: JavaScript, inline: 'function sync() { return {}; }'}}"
done > "$dir/all.yaml"
"$metascript" types -f "$dir/all.yaml" "$dir/all" > "$dir/log"
tsc "$dir/all" jsconfig.json > "$dir/errors"
diff -u /dev/null "$dir/errors"
echo "the types are as expected"
