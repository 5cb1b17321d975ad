#!/usr/bin/env bash
# fuzz.sh TIME|COUNTx: runs every native fuzz target there is for TIME each, such as 5m, or for so many inputs, such as
# 2000x. What makes one fail is left in its package's testdata/fuzz, and is a unit test from then on. Before Go 1.27 a run
# that ends by the clock fails now and then with "context deadline exceeded" and no input (go.dev/issue/75804); a count cannot.
set -euo pipefail
cd "$(dirname "$0")/.."

grep -rl --include='*_test.go' '^func Fuzz' cmd controller engine runtimes scripts | xargs -n1 dirname | sort -u |
	while read -r package; do
		${GO:-go} test -list '^Fuzz' "./$package" | grep '^Fuzz' | while read -r target; do
			# Shrinking what is merely interesting would take most of a short run.
			${GO:-go} test -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 10x "./$package" </dev/null
		done
	done
