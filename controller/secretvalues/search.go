package secretvalues

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// A Found is a part of a text that is in a value.
type Found struct {
	From, To int    // in the text
	Plain    string // the part of the value, folded
}

// Search returns the parts of each text that are in one of values. These are
//
//   - each part of [Part] bytes or more of a value, in each reading that is not derived;
//   - each of the texts in a value as a whole, in each reading; see [Texts];
//   - a value of less than four bytes where it stands in quotes;
//   - the beginning of a text in a value, of four bytes or more, where a text was cut.
//
// Parts of values that overlap are one.
func Search(texts []string, values []*Values) (found [][]Found) {
	found = make([][]Found, len(texts))
	s := newSearch(texts, values)
	tiny := make([]map[string][]Found, len(texts))
	for i, text := range texts {
		tiny[i] = inQuotes(text)
	}
	for i, v := range values {
		s.in(i, v)
		if len(v.tiny) == 0 {
			continue
		}
		for i := range tiny {
			for value, at := range tiny[i] {
				if v.tiny[value] {
					found[i] = append(found[i], at...)
					delete(tiny[i], value) // many Secrets may have it
				}
			}
		}
	}
	for _, r := range s.readings {
		for _, run := range joined(r.runs) {
			found[r.text] = append(found[r.text], Found{r.Begins(run.from), r.Ends(run.to - 1), string(r.Text[run.from:run.to])})
		}
	}
	return found
}

// A search has the readings of all texts, and the places in them that may have a value. Most places are in no value at all, which the filter says,
// so that each value is compared with the others only.
type search struct {
	readings []*searched
	some     places
	all      places // those that the filter does not have too; none if it has all values
	others   []bool // which of the values the filter did not have when the readings were made: what it has changes meanwhile
	few      []start
	isFew    bool // most values have none of the places: they are in some, and begin with one of few
}

// A searched is a reading in which values are searched.
type searched struct {
	*Reading
	text int // the index of the text
	some starts
	all  starts // as in search
	runs []run  // what was found
	most int    // how many runs there may be before they are joined
	left int    // how many bytes may still be compared; below zero: all of it is found
}

// A run is a part of the text of a reading.
type run struct{ from, to int }

// manyRuns is from how many runs on those that overlap are joined before all values were searched.
const manyRuns = 1 << 16

func newSearch(texts []string, values []*Values) *search {
	s, now, all := &search{others: make([]bool, len(values))}, known.now(), false
	for i, v := range values {
		s.others[i] = !keeps(v.age.Load(), now)
		all = all || s.others[i]
	}
	for i, text := range texts {
		for reading := range Readings(text) {
			s.add(reading, i, all)
		}
	}
	if known.now() != now {
		return newSearch(texts, values) // another generation began
	}
	s.some.sort()
	s.all.sort()
	s.few, s.isFew = s.fewStarts()
	s.isFew = s.isFew && len(s.some.groups) <= mostFew
	return s
}

// add adds a reading of a text if it has places that may have a value. all: the filter does not have all values.
func (s *search) add(r *Reading, text int, all bool) {
	is, n, index := &searched{Reading: r, text: text, left: limitFor(r)}, len(s.some.list), int32(len(s.readings))
	if !r.Derived {
		grams(r.Text, func(g gram, at int) {
			one := place{g.hash(), index, int32(at)}
			if all {
				s.all.list = append(s.all.list, one)
			}
			if known.has(one.hash) {
				s.some.list = append(s.some.list, one)
			}
		})
	}
	for i := range max(0, len(r.Text)-shortest+1) {
		if all {
			is.all.at = append(is.all.at, i)
		}
		if known.has(startOf(r.Text[i:]).hash()) {
			is.some.at = append(is.some.at, i)
		}
	}
	if all || len(s.some.list) > n || len(is.some.at) > 0 {
		s.readings = append(s.readings, is)
	}
}

// mostFew is how many grams, and how many starts, are compared with each of the values before the readings are. Mostly all readings of all texts
// have the same one or two.
const mostFew = 8

func (s *search) fewStarts() (few []start, isFew bool) {
	for _, r := range s.readings {
		for _, at := range r.some.at {
			if begin := startOf(r.Text[at:]); !slices.Contains(few, begin) {
				few = append(few, begin)
			}
			if len(few) > mostFew {
				return nil, false
			}
		}
	}
	return few, true
}

// mayHave reports whether a value that the filter has may be in a text.
func (s *search) mayHave(v *Values) bool {
	return !s.isFew ||
		slices.ContainsFunc(s.few, v.whole.maybe) ||
		slices.ContainsFunc(s.some.groups, func(g group) bool { return v.parts.has(g.hash) })
}

// in adds what is in values[i], which is v, to the runs.
func (s *search) in(i int, v *Values) {
	in := &s.some
	if s.others[i] {
		in = &s.all
	} else if !s.mayHave(v) {
		return
	}
	in.take(v, func(p place) {
		r := s.readings[p.reading]
		r.runs = append(r.runs, run{int(p.at), int(p.at) + Part})
	})
	for _, r := range s.readings {
		if r.left < 0 {
			continue // all of it is found
		}
		r.addStarts(v, s.others[i])
		if len(r.runs) > max(r.most, manyRuns) { // many Secrets may have the same value
			r.runs = joined(r.runs)
			r.most = 2 * len(r.runs)
		}
	}
}

// A place is where a gram is.
type place struct {
	hash        uint64 // of the gram
	reading, at int32  // the index of the reading, and that in its text
}

// A places has the places of grams that were not found yet in a value. Those of the same gram are a group: the readings of a text have many grams
// in common.
type places struct {
	list   []place
	groups []group  // sorted by entry
	found  int      // how many groups are empty
	bits   []uint64 // of the entries of all groups, also of those that were dropped
}

// A group are the places list[from:to], which have the same gram. It is empty if they were found.
type group struct {
	hash     uint64
	from, to int32
}

// sort makes the groups.
func (p *places) sort() {
	slices.SortFunc(p.list, func(a, b place) int {
		return cmp.Or(cmp.Compare(entryOf(a.hash), entryOf(b.hash)), cmp.Compare(a.hash, b.hash))
	})
	for i, one := range p.list {
		if n := len(p.groups); n == 0 || p.groups[n-1].hash != one.hash {
			p.groups = append(p.groups, group{one.hash, int32(i), int32(i)})
		}
		p.groups[len(p.groups)-1].to++
	}
	p.bits = make([]uint64, 1<<bits.Len(uint(len(p.groups)/8))) // eight bits for each group, so that most entries of others end there
	for _, g := range p.groups {
		word, bit := p.bit(entryOf(g.hash))
		p.bits[word] |= bit
	}
}

func (p *places) bit(entry uint32) (word int, bit uint64) {
	return int(entry/64) & (len(p.bits) - 1), 1 << (entry % 64)
}

// take calls found with each place whose gram is in v, and removes it: it need not be looked for in other values. The shorter of both is looked up
// in the other one.
func (p *places) take(v *Values, found func(place)) {
	in := func(g *group) {
		if g.from == g.to || !v.parts.has(g.hash) {
			return
		}
		for _, one := range p.list[g.from:g.to] {
			found(one)
		}
		g.to = g.from
		p.found++
	}
	if len(p.groups) <= len(v.parts.table) {
		for i := range p.groups {
			in(&p.groups[i])
		}
	} else {
		for _, entry := range v.parts.table {
			if word, bit := p.bit(entry); entry == 0 || p.bits[word]&bit == 0 {
				continue
			}
			i, _ := slices.BinarySearchFunc(p.groups, entry, func(g group, entry uint32) int { return cmp.Compare(entryOf(g.hash), entry) })
			for ; i < len(p.groups) && entryOf(p.groups[i].hash) == entry; i++ {
				in(&p.groups[i])
			}
		}
	}
	if 2*p.found > len(p.groups) {
		p.groups = slices.DeleteFunc(p.groups, func(g group) bool { return g.from == g.to })
		p.found = 0
	}
}

// starts has the places of a reading where a text may begin.
type starts struct {
	at     []int
	begins map[start][]int // the same by what is there; nil: not made yet
}

func (s *starts) byStart(text []byte) map[start][]int {
	if s.begins == nil {
		s.begins = map[start][]int{}
		for _, at := range s.at {
			begin := startOf(text[at:])
			s.begins[begin] = append(s.begins[begin], at)
		}
	}
	return s.begins
}

// addStarts adds the texts in v to the runs. all: the filter does not have v.
func (s *searched) addStarts(v *Values, all bool) {
	in := &s.some
	if all {
		in = &s.all
	}
	if len(in.at) <= len(v.whole.lengths) {
		for _, at := range in.at {
			s.startsAt(v, at)
		}
		return
	}
	begins := in.byStart(s.Text)
	for start := range v.whole.lengths {
		for _, at := range begins[start] {
			s.startsAt(v, at)
		}
	}
}

// startsAt adds the text in v that starts at a place to the runs.
func (s *searched) startsAt(v *Values, at int) {
	start := startOf(s.Text[at:])
	if s.left < 0 || !v.whole.maybe(start) {
		return
	}
	s.left -= Part // for places where nothing is compared
	if n, _ := v.whole.at(s.Text, at, start, every, &s.left); n > 0 {
		s.runs = append(s.runs, run{at, at + n})
	} else if n := s.clipped(at); n > 0 && v.whole.hasLonger(start, n) {
		s.runs = append(s.runs, run{at, at + n})
	}
	if s.left < 0 {
		s.runs = append(s.runs, run{0, len(s.Text)})
	}
}

// clip ends a text that was cut; see engine.Clip. What is before it may be the beginning of a value.
const clip = "…"

// clipped returns how many bytes are between at and the end of a text that was cut; zero if that is not near: a longer beginning is found as a part.
func (s *searched) clipped(at int) int {
	for n := shortest; n < Part && at+n < len(s.Text); n++ {
		if bytes.HasPrefix(s.Text[at+n:], []byte(clip)) {
			return n
		}
	}
	return 0
}

func every(struct{}) bool { return true }

// joined sorts runs, and joins those that overlap.
func joined(runs []run) []run {
	slices.SortFunc(runs, func(a, b run) int { return a.from - b.from })
	out := runs[:0]
	for _, r := range runs {
		if n := len(out); n > 0 && r.from < out[n-1].to {
			out[n-1].to = max(out[n-1].to, r.to)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// inQuotes returns the places of all texts in quotes that are too short for an Index.
func inQuotes(text string) (found map[string][]Found) {
	for i := range len(text) {
		if strings.IndexByte("\"'`", text[i]) < 0 {
			continue
		}
		for n := 1; n < shortest; n++ {
			from, to := i+1, i+1+n
			if end := strings.TrimPrefix(text[min(to, len(text)):], `\`); to >= len(text) || end == "" || end[0] != text[i] {
				continue
			}
			if found == nil {
				found = map[string][]Found{}
			}
			found[text[from:to]] = append(found[text[from:to]], Found{from, to, Fold(text[from:to])})
		}
	}
	return found
}
