//go:build race

package e2e

// raced says whether the tests were built with the race detector: then every server is, too.
const raced = true
