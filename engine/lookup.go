package engine

// A Lookup is a place in a script where a function looks for a constant key in a field of its request, such as
// children["Pod.v1"].
type Lookup struct {
	Field string // of the request
	Key   string
	Pos   Pos // of the key

	// Before and After are what the script has around the key, such as children[" and "].
	Before, After string
}

// With returns the text of the lookup with another key, for hints. The key must have no quotes.
func (l Lookup) With(key string) string { return l.Before + key + l.After }

// MaxLookups is how many lookups of one function are reported.
const MaxLookups = 100

// A Reading program knows which constant keys its functions look for, as far as the source text shows it with certainty.
type Reading interface {
	// Lookups returns the lookups in the function fn, in their order.
	Lookups(fn string) []Lookup
}

// Lookups implements [Reading]; there are none if the runtime's program is not Reading.
func (p *program) Lookups(fn string) []Lookup {
	if inner, ok := p.inner.(Reading); ok {
		return inner.Lookups(fn)
	}
	return nil
}

// LookupError implements [ErrorMaker].
func (p *program) LookupError(fn string, l Lookup, msg, hint string) *Error {
	e := &Error{Kind: KindMissing, Pos: l.Pos, Msg: msg, Hint: hint}
	return e.complete(fn, p.sources)
}

// A Warned program knows mistakes in its text, which fail only when they are reached.
type Warned interface {
	// Warnings returns at most MaxLookups errors.
	Warnings() []*Error
}

// Warnings implements [Warned]; there are none if the runtime's program is not Warned.
func (p *program) Warnings() (all []*Error) {
	inner, ok := p.inner.(Warned)
	if !ok {
		return nil
	}
	for _, e := range inner.Warnings() {
		completed := *e
		all = append(all, completed.complete("", p.sources))
	}
	return all
}
