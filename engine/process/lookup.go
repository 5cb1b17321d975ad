package process

import "metascript/engine"

// maxLookups is how many lookups of one program are sent. Of further functions none are sent.
const maxLookups = 10_000

// lookups writes the lookups of functions.
func (e *encoder) lookups(of [][]engine.Lookup) {
	left := maxLookups
	for _, list := range of {
		if left -= len(list); left < 0 {
			list = nil
		}
		e.uint(uint64(len(list)))
		for _, l := range list {
			e.texts([]string{l.Field, l.Key, l.Before, l.After})
			e.pos(l.Pos)
		}
	}
}

// lookups reads the lookups of n functions.
func (d *decoder) lookups(n int) [][]engine.Lookup {
	all := make([][]engine.Lookup, n)
	left := maxLookups
	for i := range all {
		count := d.count()
		if left -= count; left < 0 || count > engine.MaxLookups {
			d.fail()
			return all
		}
		for range count {
			texts, pos := d.texts(), d.pos()
			if len(texts) != 4 || d.err != nil {
				d.fail()
				return all
			}
			all[i] = append(all[i], engine.Lookup{Field: texts[0], Key: texts[1], Pos: pos, Before: texts[2], After: texts[3]})
		}
	}
	return all
}

// warnings writes the warnings of a program.
func (e *encoder) warnings(all []*engine.Error) {
	e.uint(uint64(len(all)))
	for _, w := range all {
		e.fault(w)
	}
}

// warnings reads the warnings of a program.
func (d *decoder) warnings() (all []*engine.Error) {
	count := d.count()
	if count > engine.MaxLookups {
		d.fail()
	}
	for range count {
		if w := d.fault(); d.err == nil {
			all = append(all, w)
		}
	}
	return all
}
