//go:build !race

package javascript

const raced = false
