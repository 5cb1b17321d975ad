//go:build race

package e2e

// raced reports whether the tests were built with the race detector: then every server is, too.
const raced = true
