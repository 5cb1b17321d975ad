//go:build race

package process

// weight is how much memory the system sees for each byte that Go uses: the race detector has shadows of it.
const weight = 5
