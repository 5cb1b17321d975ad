package redact

import (
	"bytes"
	"index/suffixarray"
	"math"
	"slices"

	"metascript/controller/secretvalues"
)

// A publicText is the text of public objects. The letters and digits are those of all values, of all keys, of both in their order, and of
// each text, also those that are decoded from them.
type publicText struct {
	between []byte          // the texts, with one letter in place of each run of letters and digits
	parent  []string        // the texts of the parent that are not decoded yet
	joined  []byte          // its values, one after the other
	bare    [4][]byte       // letters and digits
	whole   map[string]bool // the short texts
	count   int             // of texts

	left int // how many bytes may still be decoded; unlimited while the parent is added

	compared int                // how many bytes were compared
	index    *suffixarray.Index // of the first bytes of each of bare, as indexed says; nil: not made
	indexed  [4]int
}

// What is in publicText.bare.
const (
	values = iota // of all values
	keys          // of all keys
	all           // of both in their order
	apart         // of each text, and of what is decoded from it, after a line break
)

// maxDecoded is how many bytes of children and related objects are decoded, and of what is decoded from them. All of the parent is decoded, and what is
// decoded from it too if the parent has at most twice bytes. What is decoded does not depend on anything but sizes.
const (
	maxDecoded = 4 << 20
	unlimited  = math.MaxInt
	twice      = 64 << 10
)

func (t *publicText) key(key string) {
	bare := t.add(key)
	t.bare[keys], t.bare[all] = append(t.bare[keys], bare...), append(t.bare[all], bare...)
}

func (t *publicText) value(text string) {
	if t.left == unlimited {
		t.joined = append(t.joined, text...)
	}
	bare := t.add(text)
	t.bare[values], t.bare[all] = append(t.bare[values], bare...), append(t.bare[all], bare...)
}

// add adds a text, and what is decoded from it, if it is not of the parent. It returns its letters and digits.
func (t *publicText) add(text string) []byte {
	t.count++
	from := len(t.bare[apart])
	t.addLine(text)
	bare := t.bare[apart][from : len(t.bare[apart])-1]
	if len(bare) < shortestJoined {
		t.whole[string(bare)] = true
	}
	if t.left == unlimited {
		t.parent = append(t.parent, text)
	} else if t.left -= len(text); t.left >= 0 {
		for plain := range secretvalues.Decoded(text, false) {
			if t.left -= len(plain); t.left < 0 {
				break
			}
			t.addLine(string(plain))
		}
	}
	return bare
}

// decodeParent adds what is decoded from the texts of the parent, and from all of its values together: a script may join the parts of what it decodes.
// What is added next is not of the parent.
func (t *publicText) decodeParent() {
	size := 0
	for _, text := range t.parent {
		size += len(text)
	}
	once, together := size > twice, secretvalues.Decoded(string(t.joined), false)
	if once {
		together = secretvalues.DecodedDigits(string(t.joined))
	}
	for _, text := range t.parent {
		for plain := range secretvalues.Decoded(text, once) {
			t.addLine(string(plain))
		}
	}
	for plain := range together {
		t.addLine(string(plain))
	}
	t.left, t.parent, t.joined = maxDecoded, nil, nil
}

// addLine adds a text as a line of its own.
func (t *publicText) addLine(text string) {
	bare, between := divided(t.bare[apart], t.between, text)
	t.bare[apart], t.between = append(bare, '\n'), append(between, '\n')
}

// divided appends the letters and digits of a text, in lower case, to bare, and the text with one letter in place of each run of these to between.
func divided(bare, between []byte, text string) (newBare, newBetween []byte) {
	word := false
	for _, c := range []byte(secretvalues.Fold(text)) {
		is := isWord(c)
		if is {
			bare = append(bare, c)
		}
		if !is || !word {
			between = append(between, 'a')
		}
		if word = is; !is {
			between[len(between)-1] = c
		}
	}
	return bare, between
}

// hasPart is has of public.
func (t *publicText) hasPart(part string) bool {
	bare, between := divided(nil, nil, part)
	switch n := len(bare); {
	case n == 0:
		return bytes.Contains(t.between, between)
	case len(part) < shortestJoined:
		return t.has(bare) || t.count <= fewTexts && t.joins(bare)
	default:
		return t.hasMost(bare) || (t.count <= fewTexts || n >= longJoined) && t.ends(bare)
	}
}

// Of n texts, n² can be joined of two, so that of many texts most short values can. A part with less than longJoined letters and digits is joined of
// fewTexts only, which most parents have.
const (
	fewTexts   = 256
	longJoined = 8
)

// shortestJoined is the length in bytes of a value from which it can be joined from parts of two texts. A shorter one can be joined from two whole
// texts only: otherwise most short values would be public by chance.
const shortestJoined = 6

// joins reports whether bare is two whole texts.
func (t *publicText) joins(bare []byte) bool {
	for i := 1; i < len(bare); i++ {
		if t.whole[string(bare[:i])] && t.whole[string(bare[i:])] {
			return true
		}
	}
	return false
}

// slack is how many characters at the beginning and at the end of a part need not be public. Beside a public text, a text may have some characters of
// another one, of a constant or of an escape that are by chance those of the value.
const slack = 2

// hasMost reports whether bare is a part of a public text, but for slack characters at its ends, and no more than a sixth.
func (t *publicText) hasMost(bare []byte) bool {
	most := min(len(bare)/6, 2*slack)
	for skip := max(0, most-slack); skip <= min(most, slack); skip++ { // with fewer, more of it would have to be public
		if t.has(bare[skip : len(bare)-(most-skip)]) {
			return true
		}
	}
	return false
}

// longestJoined is the maximum number of letters and digits of a part that is joined from two texts.
const longestJoined = 256

// ends reports whether bare is the end of one text and the beginning of another one.
func (t *publicText) ends(bare []byte) bool {
	if len(bare) > longestJoined {
		return false
	}
	if t.makeIndex(); t.index != nil {
		for i := 1; i < len(bare); i++ {
			if t.contains(append(slices.Clone(bare[:i]), '\n'), apart) && t.contains(append([]byte{'\n'}, bare[i:]...), apart) {
				return true
			}
		}
		return false
	}
	t.compared += endsCost * len(t.bare[apart])
	first, second := endsOfLines(bare, t.bare[apart], false), endsOfLines(bare, t.bare[apart], true)
	for i := 1; i < len(bare); i++ {
		if first[i] && second[len(bare)-i] {
			return true
		}
	}
	return false
}

// endsOfLines returns for each n whether a line of text ends with the first n bytes of part, or, in reverse, begins with the last n. There is a line
// break before and after each line. The algorithm is that of Knuth, Morris and Pratt: "Fast Pattern Matching in Strings", SIAM Journal on Computing 6
// (1977).
func endsOfLines(part, text []byte, reverse bool) []bool {
	at, step := 0, 1
	if reverse {
		part, at, step = slices.Clone(part), len(text)-1, -1
		slices.Reverse(part)
	}
	shorter := make([]int, len(part)+1) // for each n, the longest beginning of part with which its first n bytes end
	for i, n := 1, 0; i < len(part); i++ {
		for n > 0 && part[n] != part[i] {
			n = shorter[n]
		}
		if part[n] == part[i] {
			n++
		}
		shorter[i+1] = n
	}
	ends, n := make([]bool, len(part)+1), 0
	for ; at >= 0 && at < len(text); at += step {
		c := text[at]
		if c == '\n' {
			for ; n > 0 && !ends[n]; n = shorter[n] {
				ends[n] = true
			}
			n = 0
			continue
		}
		for n > 0 && (n == len(part) || part[n] != c) {
			n = shorter[n]
		}
		if part[n] == c {
			n++
		}
	}
	return ends
}

func (t *publicText) has(bare []byte) bool { return t.contains(bare, values, all, keys, apart) }

// contains reports whether one of the texts in bare has a part. Only one that is apart has line breaks before or after letters that others do not
// have, so the index need not know which of them has it.
func (t *publicText) contains(part []byte, in ...int) bool {
	if t.makeIndex(); t.index != nil && len(t.index.Lookup(part, 1)) > 0 {
		return true
	}
	for _, i := range in {
		text := t.bare[i][max(0, t.indexed[i]-len(part)):]
		if t.compared += len(text); bytes.Contains(text, part) {
			return true
		}
	}
	return false
}

// largest is the size of public texts after which no more children and related objects are added. A parent is always added, with all that is decoded
// from it. indexCost is how many bytes can be compared in the time in which an index of one byte is made. How much is compared has no limit that
// depends on how much was found: what is replaced would tell. endsCost is the time of the search for both ends of a part, in comparisons.
const (
	largest   = 8 << 20
	indexCost = 32
	endsCost  = 8
)

func (t *publicText) size() (n int) {
	for _, text := range t.bare {
		n += len(text)
	}
	return n
}

// makeIndex makes the index if so much was compared that it would have cost no more.
func (t *publicText) makeIndex() {
	if t.index != nil || t.compared <= indexCost*t.size() {
		return
	}
	t.index = suffixarray.New(bytes.Join(t.bare[:], []byte{0}))
	for i, text := range t.bare {
		t.indexed[i] = len(text)
	}
}
