package secretvalues

import (
	"bytes"
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
	readings, others := readingsOf(texts, values)
	tiny := make([]map[string][]Found, len(texts))
	for i, text := range texts {
		tiny[i] = inQuotes(text)
	}
	few := fewPlaces(readings)
	for i, v := range values {
		if others[i] || few.tooMany || few.in(v) {
			for _, r := range readings {
				if r.left < 0 {
					continue // all of it is found
				}
				r.search(v, others[i])
				if len(r.runs) > max(r.most, manyRuns) { // many Secrets may have the same value
					r.runs = joined(r.runs)
					r.most = 2 * len(r.runs)
				}
			}
		}
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
	for _, r := range readings {
		for _, run := range joined(r.runs) {
			found[r.text] = append(found[r.text], Found{r.Begins(run.from), r.Ends(run.to - 1), string(r.Text[run.from:run.to])})
		}
	}
	return found
}

// readingsOf returns the readings of texts that may have a value, and says which of values the filter did not have when they were made: what it
// has changes meanwhile.
func readingsOf(texts []string, values []*Values) (readings []*searched, others []bool) {
	now, some := known.now(), false
	others = make([]bool, len(values))
	for i, v := range values {
		others[i] = !keeps(v.age.Load(), now)
		some = some || others[i]
	}
	for i, text := range texts {
		for reading := range Readings(text) {
			if s := newSearched(reading, some); s != nil {
				s.text = i
				readings = append(readings, s)
			}
		}
	}
	if known.now() != now {
		return readingsOf(texts, values) // another generation began
	}
	return readings, others
}

// manyRuns is from how many runs on those that overlap are joined before all values were searched.
const manyRuns = 1 << 16

// A run is a part of the text of a reading.
type run struct{ from, to int }

// A searched is a reading in which values are searched. Most of its places are in no value at all, which the filter says, so that each value is
// compared with the others only.
type searched struct {
	*Reading
	text int // the index of the text
	some places
	all  places // those that the filter does not have too; none if it has all values
	runs []run  // what was found
	most int    // how many runs there may be before they are joined
	left int    // how many bytes may still be compared; below zero: all of it is found
}

type places struct {
	parts  []place // where a part of a value may be, except for those that were found
	starts []int   // where a text may begin

	entries map[uint32][]place // parts, by their entries, if there are many: then parts is empty
	begins  map[start][]int    // starts by what is there; nil: not made yet
}

// manyParts is from how many parts on they are looked up by their entries.
const manyParts = 64

// take removes the parts that are in v, and calls found with where each is: it need not be looked for in other values. The shorter of both is looked
// up in the other one.
func (p *places) take(v *Values, found func(at int)) {
	if len(p.parts) > manyParts {
		p.entries = map[uint32][]place{}
		for _, one := range p.parts {
			entry := entryOf(one.hash)
			p.entries[entry] = append(p.entries[entry], one)
		}
		p.parts = nil
	}
	in := func(one place) bool {
		is := v.parts.has(one.hash)
		if is {
			found(one.at)
		}
		return is
	}
	p.parts = slices.DeleteFunc(p.parts, in)
	takeEntry := func(entry uint32) {
		if all := p.entries[entry]; len(all) > 0 {
			if all = slices.DeleteFunc(all, in); len(all) > 0 {
				p.entries[entry] = all
			} else {
				delete(p.entries, entry)
			}
		}
	}
	if len(p.entries) <= len(v.parts.table) {
		for entry := range p.entries {
			takeEntry(entry)
		}
		return
	}
	for _, entry := range v.parts.table {
		takeEntry(entry)
	}
}

func (p *places) byStart(text []byte) map[start][]int {
	if p.begins == nil {
		p.begins = map[start][]int{}
		for _, at := range p.starts {
			s := startOf(text[at:])
			p.begins[s] = append(p.begins[s], at)
		}
	}
	return p.begins
}

// A place is where a gram is in a reading.
type place struct {
	at   int
	hash uint64 // of the gram
}

// newSearched returns a reading with the places that may have a value; nil if there is none. all: the filter does not have all values.
func newSearched(r *Reading, all bool) *searched {
	s := &searched{Reading: r, left: limitFor(r)}
	if !r.Derived {
		grams(r.Text, func(g gram, at int) {
			hash := g.hash()
			if all {
				s.all.parts = append(s.all.parts, place{at, hash})
			}
			if known.has(hash) {
				s.some.parts = append(s.some.parts, place{at, hash})
			}
		})
	}
	for i := range max(0, len(r.Text)-shortest+1) {
		if all {
			s.all.starts = append(s.all.starts, i)
		}
		if known.has(startOf(r.Text[i:]).hash()) {
			s.some.starts = append(s.some.starts, i)
		}
	}
	if !all && len(s.some.parts)+len(s.some.starts) == 0 {
		return nil
	}
	return s
}

// mostFew is how many grams, and how many starts, are compared with each of the values before the readings are.
const mostFew = 8

// few are the grams and starts of all readings. Mostly all readings of all texts have the same one or two.
type few struct {
	grams   []uint64
	starts  []start
	tooMany bool
}

func fewPlaces(readings []*searched) (f few) {
	for _, r := range readings {
		for _, p := range r.some.parts {
			if !slices.Contains(f.grams, p.hash) {
				f.grams = append(f.grams, p.hash)
			}
			if f.tooMany = f.tooMany || len(f.grams) > mostFew; f.tooMany {
				return f
			}
		}
		for _, at := range r.some.starts {
			if s := startOf(r.Text[at:]); !slices.Contains(f.starts, s) {
				f.starts = append(f.starts, s)
			}
			if f.tooMany = f.tooMany || len(f.starts) > mostFew; f.tooMany {
				return f
			}
		}
	}
	return f
}

// in reports whether v may have one of them.
func (f *few) in(v *Values) bool {
	for _, s := range f.starts {
		if v.whole.maybe(s) {
			return true
		}
	}
	for _, hash := range f.grams {
		if v.parts.has(hash) {
			return true
		}
	}
	return false
}

// search adds what is in v to the runs. all: the filter does not have v.
func (s *searched) search(v *Values, all bool) {
	in := &s.some
	if all {
		in = &s.all
	}
	in.take(v, func(at int) { s.runs = append(s.runs, run{at, at + Part}) })
	if len(in.starts) <= len(v.whole.lengths) {
		for _, at := range in.starts {
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
