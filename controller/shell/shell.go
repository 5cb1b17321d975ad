// Package shell makes words of the commands that this program prints for people. Names, namespaces and other values come from a cluster, a
// file or a script, so that they may be any text.
package shell

import (
	"regexp"
	"strings"
)

// plain matches words that mean the same to a shell with and without quotes.
var plain = regexp.MustCompile(`^[A-Za-z0-9_.:/@,-]+$`)

// Quote returns a word as one word of a shell command, whatever is in it.
func Quote(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
