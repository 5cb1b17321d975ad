package pattern

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"unicode"
)

// A set is a set of characters. It is normal if its spans are sorted and do not touch.
type set []span

// A span has all characters from lo to hi.
type span struct{ lo, hi rune }

var (
	digits         = set{{'0', '9'}}
	wordCharacters = set{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
	lineEnds       = set{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}}
	spaces         = set{{'\t', '\r'}, {' ', ' '}, {0xa0, 0xa0}, {0x1680, 0x1680}, {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f},
		{0x205f, 0x205f}, {0x3000, 0x3000}, {0xfeff, 0xfeff}}
)

// normal returns s as a normal set. It may change s.
func (s set) normal() set {
	slices.SortFunc(s, func(a, b span) int { return int(a.lo - b.lo) })
	var n set
	for _, next := range s {
		if last := len(n) - 1; last >= 0 && next.lo <= n[last].hi+1 {
			n[last].hi = max(n[last].hi, next.hi)
		} else {
			n = append(n, next)
		}
	}
	return n
}

// inverted returns the characters that are not in s, which is normal.
func (s set) inverted() set {
	var other set
	next := rune(0)
	for _, span := range s {
		if span.lo > next {
			other = append(other, set{{next, span.lo - 1}}...)
		}
		next = span.hi + 1
	}
	if next <= unicode.MaxRune {
		other = append(other, span{next, unicode.MaxRune})
	}
	return other
}

// union returns the characters that are in one of the sets.
func union(sets ...set) set { return slices.Concat(sets...).normal() }

// without returns the characters of s that are not in other; both are normal.
func (s set) without(other set) set {
	return union(s.inverted(), other).inverted()
}

// ofTable returns the characters of a table.
func ofTable(table *unicode.RangeTable) set {
	var s set
	add := func(lo, hi, stride rune) {
		if stride == 1 {
			s = append(s, span{lo, hi})
			return
		}
		for r := lo; r <= hi; r += stride {
			s = append(s, span{r, r})
		}
	}
	for _, r := range table.R16 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	for _, r := range table.R32 {
		add(rune(r.Lo), rune(r.Hi), rune(r.Stride))
	}
	return s.normal()
}

// A folding says which characters are the same when case is ignored.
type folding struct {
	characters []rune   // those for which there are others, sorted
	same       [][]rune // for each of them, all that are the same
}

// of returns s, which is normal, and all characters that are the same as one of s.
func (f *folding) of(s set) set {
	var more set
	for _, part := range s {
		at, _ := slices.BinarySearch(f.characters, part.lo)
		for ; at < len(f.characters) && f.characters[at] <= part.hi; at++ {
			for _, r := range f.same[at] {
				if (r < part.lo || r > part.hi) && !s.has(r) {
					more = append(more, span{r, r})
				}
			}
		}
	}
	if len(more) == 0 {
		return s
	}
	return append(more, s...).normal()
}

// has reports whether r is in s, which is normal.
func (s set) has(r rune) bool {
	_, found := slices.BinarySearchFunc(s, r, func(part span, r rune) int {
		switch {
		case part.hi < r:
			return -1
		case part.lo > r:
			return 1
		}
		return 0
	})
	return found
}

// folded returns s and all characters that are the same as one of s. It remembers the results, since a pattern often has the same class
// many times.
func (t *translator) folded(s set) set {
	if len(s) == 1 && s[0].lo == s[0].hi {
		return t.folding().of(s)
	}
	key := fmt.Sprint(s)
	if t.known[key] == nil {
		if t.known == nil {
			t.known = map[string]set{}
		}
		t.known[key] = t.folding().of(s)
	}
	return t.known[key]
}

func (t *translator) folding() *folding {
	if t.unicode {
		return simpleFolding()
	}
	return upperFolding()
}

// simpleFolding is that of patterns with the flag u.
var simpleFolding = sync.OnceValue(func() *folding { return newFolding(folded) })

// folded returns the first of the characters that are the same as r in Unicode's simple case folding.
func folded(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return least
}

// upperFolding is that of other patterns.
var upperFolding = sync.OnceValue(func() *folding { return newFolding(upper) })

// upper returns the same as toUpperCase, if that is one code unit, and not ASCII for another character.
func upper(r rune) rune {
	up := unicode.ToUpper(r)
	if r > 0xffff || up > 0xffff || r >= 0x80 && up < 0x80 || twoUpper.has(r) {
		return r
	}
	return up
}

// twoUpper are the characters that have an upper case of one character in Unicode's simple mapping, but two for toUpperCase.
var twoUpper = set{{0x1f80, 0x1faf}, {0x1fb3, 0x1fb3}, {0x1fbc, 0x1fbc}, {0x1fc3, 0x1fc3}, {0x1fcc, 0x1fcc}, {0x1ff3, 0x1ff3}, {0x1ffc, 0x1ffc}}

// newFolding returns the folding in which characters are the same if canonical returns the same for them.
func newFolding(canonical func(rune) rune) *folding {
	classes := map[rune][]rune{}
	for _, cased := range unicode.CaseRanges {
		for r := rune(cased.Lo); r <= rune(cased.Hi); r++ {
			c := canonical(r)
			if !slices.Contains(classes[c], r) {
				classes[c] = append(classes[c], r)
			}
		}
	}
	all := map[rune][]rune{}
	for c, class := range classes {
		if !slices.Contains(class, c) {
			class = append(class, c)
		}
		for _, r := range class {
			if len(class) > 1 {
				all[r] = class
			}
		}
	}
	f := &folding{characters: slices.Sorted(maps.Keys(all))}
	for _, r := range f.characters {
		f.same = append(f.same, all[r])
	}
	return f
}
