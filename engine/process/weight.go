//go:build !race

package process

// weight is how much memory the system sees for each byte that Go uses.
const weight = 1
