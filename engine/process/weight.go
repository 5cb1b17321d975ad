//go:build !race

package process

// weight is how many bytes of memory the kernel counts for each byte that Go uses.
const weight = 1
