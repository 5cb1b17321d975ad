package engine

import "strings"

const (
	maxCompared   = 64   // longer names are not compared
	maxCandidates = 1000 // further candidates are ignored
)

// Nearest returns the candidate of which name is most likely a misspelling, or "" if there is none: at most half of its
// letters differ, apart from case and underscores. It is for hints ("did you mean ...?").
func Nearest(name string, candidates []string) string {
	if len(name) > maxCompared {
		return ""
	}
	word := fold(name)
	best, least := "", len(word)/2+1
	for _, c := range candidates[:min(len(candidates), maxCandidates)] {
		if c == name || len(c) > maxCompared {
			continue
		}
		if d := distance(word, fold(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

// fold removes the differences that do not count: case and underscores.
func fold(s string) string { return strings.ToLower(strings.ReplaceAll(s, "_", "")) }

// distance returns the edit distance of a and b in bytes, with the algorithm of Wagner and Fischer and one row of memory.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
