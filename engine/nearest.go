package engine

import (
	"fmt"
	"slices"
	"strings"
)

const (
	maxCompared   = 64      // longer names are not compared
	maxCandidates = 100_000 // further candidates are ignored
	maxDistances  = 1000    // how many candidates with mostly the same letters are compared exactly
)

// Nearest returns the candidate of which name is most likely a misspelling, or "" if there is none: about a third of the letters of
// the longer one differ at most, apart from case and underscores. Two letters that changed places are one difference. It is for hints ("did you
// mean ...?"), and all of them use it, so that a name has the same hint everywhere.
func Nearest(name string, candidates []string) string {
	if len(name) > maxCompared {
		return ""
	}
	word := fold(name)
	best, least, compared := "", maxCompared, 0
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		if c == name || len(c) > maxCompared || compared == maxDistances {
			continue
		}
		other := fold(c)
		limit := min(least-1, most(max(len(word), len(other))))
		if otherLetters(word, other) > limit { // the distance is at least as large
			continue
		}
		compared++
		if d := distance(word, other); d <= limit {
			best, least = c, d
		}
	}
	return best
}

// most returns how many letters of a word of n letters may differ.
func most(n int) int {
	if n < 3 {
		return 0
	}
	return (n + 1) / 3
}

// fold removes the differences that do not count: case and underscores.
func fold(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }

// otherLetters returns how many bytes of the longer of a and b are not in the other one, in any order.
func otherLetters(a, b string) int {
	var count [256]int8
	for i := range len(a) {
		count[a[i]]++
	}
	same := 0
	for i := range len(b) {
		if count[b[i]] > 0 {
			count[b[i]]--
			same++
		}
	}
	return max(len(a), len(b)) - same
}

// distance returns the number of bytes to insert, remove, replace, or exchange with the next one, to make b of a. It is the algorithm of
// Wagner and Fischer with exchanges, and needs the memory of three rows.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j]+cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}

// OneOf lists the words that are allowed in place of word, and the one that was probably meant: `Never or Always; did you mean "Always"?`.
func OneOf(word string, words []string) string {
	list := words[0]
	if last := len(words) - 1; last > 0 {
		list = strings.Join(words[:last], ", ") + " or " + words[last]
	}
	return list + meant(word, words)
}

// List is like OneOf, without the word "or".
func List(word string, words []string) string { return strings.Join(words, ", ") + meant(word, words) }

// languages are the languages of scripts that have other names.
var languages = map[string]string{"js": "javascript", "node": "javascript", "ts": "typescript", "python": "starlark", "py": "starlark", "libsonnet": "jsonnet"}

// meant returns the hint about the word that was probably meant, or "".
func meant(word string, words []string) string {
	if i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, languages[strings.ToLower(word)]) }); i >= 0 {
		return fmt.Sprintf("; did you mean %q?", words[i])
	}
	if like := Nearest(word, words); like != "" {
		return fmt.Sprintf("; did you mean %q?", like)
	}
	return ""
}
