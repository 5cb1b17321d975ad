package host

import (
	"cmp"
	"slices"
	"strings"

	"metascript/engine"
)

// Groups are the fields of the request that have groups of objects, with keys such as Pod.v1.
var Groups = []string{"children", "attachments", "related"}

// otherFields are the other fields that a request may have.
var otherFields = []string{"parent", "object", "controller", "finalizing", "now"}

// MayTakeWhole is TakesWhole for a request that is not known yet.
func MayTakeWhole(name string) bool {
	return name == wholeName || !slices.Contains(Groups, name) && !slices.Contains(otherFields, name)
}

// A Part is a part of the request that an expression of a script is: a field, or the whole if Field is "".
type Part struct {
	Field string
	Text  string // the expression
}

// Of returns the field of p that key names, if it is one of the Groups. A function in the form of an HTTP handler has the request in
// request.body. text is the expression.
func (p Part) Of(key, text string) (Part, bool) {
	switch {
	case p.Field == "" && (slices.Contains(Groups, key) || key == wholeName):
		return Part{key, text}, true
	case p.Field == wholeName && key == "body":
		return Part{"", text}, true
	}
	return Part{}, false
}

// The limits of lookups: of their texts, since hints are about short ones, and of how many are found in a program, since their positions
// are those of characters in lines, which may be long.
const (
	maxKey     = 200
	maxText    = 200
	maxLookups = 1000
)

// A LookupCount counts the lookups in a program.
type LookupCount struct{ n int }

// Lookups collects the lookups of one function.
type Lookups struct {
	InProgram *LookupCount
	all       []engine.Lookup
}

// Add adds a lookup of a key in p, if that is one of the Groups. at returns the position.
func (l *Lookups) Add(p Part, key string, at func() engine.Pos, before, after string) {
	switch {
	case !slices.Contains(Groups, p.Field) || len(key) > maxKey || len(before)+len(after) > maxText:
	case len(l.all) >= engine.MaxLookups || l.InProgram.n >= maxLookups:
	default:
		l.InProgram.n++
		if pos := at(); pos.Line > 0 {
			l.all = append(l.all, engine.Lookup{Field: p.Field, Key: key, Pos: pos, Before: before, After: after})
		}
	}
}

// Sorted returns the lookups in the order of the text, each once: a compiler may have copied a part of the text.
func (l *Lookups) Sorted() []engine.Lookup {
	slices.SortFunc(l.all, func(a, b engine.Lookup) int {
		return cmp.Or(strings.Compare(a.Pos.File, b.Pos.File), cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return slices.Compact(l.all)
}
