#!/usr/bin/env bash
# fuzz.sh TIME|COUNTx: runs every fuzz target for TIME (such as 5m) or with COUNT inputs (such as 2000x). An input that makes a
# target fail is written to testdata/fuzz in the package of the target. From then on, "go test" runs it as a seed input. Before
# Go 1.27, a run with TIME sometimes fails with "context deadline exceeded" although no input fails (go.dev/issue/75804). A run with
# COUNT does not have this problem.
set -euo pipefail
cd "$(dirname "$0")/.."

grep -rl --include='*_test.go' '^func Fuzz' cmd controller engine runtimes scripts | xargs -n1 dirname | sort -u |
	while read -r package; do
		${GO:-go} test -list '^Fuzz' "./$package" | grep '^Fuzz' | while read -r target; do
			# Limit minimization: minimizing every input that increases coverage would take most of a short run.
			${GO:-go} test -run '^$' -fuzz "^$target\$" -fuzztime "$1" -fuzzminimizetime 10x "./$package" </dev/null
		done
	done
