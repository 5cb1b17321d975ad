#!/usr/bin/env bash
# fuzz.sh TIME: runs every native fuzz target there is for TIME each, such as 3s or 5m. What makes one fail is left in its
# package's testdata/fuzz, and is a unit test from then on.
set -euo pipefail
cd "$(dirname "$0")/.."

grep -rl --include='*_test.go' '^func Fuzz' cmd controller engine runtimes scripts | xargs -n1 dirname | sort -u |
	while read -r package; do
		${GO:-go} test -list '^Fuzz' "./$package" | grep '^Fuzz' | while read -r target; do
			# Shrinking what is merely interesting would take most of a short run.
			${GO:-go} test -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 10x "./$package" </dev/null
		done
	done
