package place

import (
	"fmt"
	"strconv"

	"metascript/engine"
)

// Most is how many errors or warnings about one thing, such as an answer, are reported, and the next limits are the lengths of their texts
// in bytes. A script could otherwise make as many and as long ones as its answer may have.
const (
	Most      = 20
	maxText   = 2000
	maxInText = 300 // of the name of an object or a field
)

// A Few has the first errors about one thing, and counts the others. The zero value has none.
type Few struct {
	errors []*Error
	more   int
}

// Add adds an error, which make returns. make is not called if there are enough: to find the place of an error may take long.
func (f *Few) Add(make func() *Error) {
	if len(f.errors) >= Most {
		f.more++
		return
	}
	e := make()
	if e.more > 0 { // it stands for others
		f.more += e.more
		return
	}
	clipped := *e
	clipped.About, clipped.Field = engine.Clip(e.About, maxInText), engine.Clip(e.Field, maxInText)
	clipped.Msg, clipped.Hint = engine.Clip(e.Msg, maxText), engine.Clip(e.Hint, maxText)
	f.errors = append(f.errors, &clipped)
}

// All returns the errors. The last one says how many more there are.
func (f *Few) All() []*Error {
	if f.more == 0 {
		return f.errors
	}
	return append(f.errors[:len(f.errors):len(f.errors)], &Error{Msg: andMore(f.more), more: f.more})
}

// First returns the first of errors, and one that says how many more there are.
func First(all []*Error) []*Error {
	var few Few
	for _, e := range all {
		if e.more > 0 {
			few.more += e.more
			continue
		}
		few.Add(func() *Error { return e })
	}
	return few.All()
}

// FirstTexts is First for texts.
func FirstTexts(all []string) []string {
	var few []string
	for _, text := range all[:min(Most, len(all))] {
		few = append(few, engine.Clip(text, maxText))
	}
	if more := len(all) - Most; more > 0 {
		few = append(few, andMore(more))
	}
	return few
}

func andMore(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return fmt.Sprintf("and %s more", digits)
}
