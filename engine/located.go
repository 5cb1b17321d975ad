package engine

// A Located is an error about a value that a script returned, with the place where the script writes the value. The script did not
// fail, so that it does not wrap an [*Error].
type Located struct {
	Pos    Pos    // its Line is not 0
	Source string // the text of line Pos.Line; "" if unknown
	Err    error
}

// Error returns "file:line:col: message".
func (e *Located) Error() string { return e.Pos.String() + ": " + e.Err.Error() }

// Detail returns the error, and below it the source line with a caret.
func (e *Located) Detail() string {
	if e.Source == "" {
		return e.Error()
	}
	return e.Error() + "\n" + Excerpt(e.Source, e.Pos.Col)
}

// Line returns Source.
func (e *Located) Line() string { return e.Source }

// With returns a copy of e with another line and another error, for example without what must not be shown.
func (e *Located) With(line string, err error) error { return &Located{e.Pos, line, err} }

// Unwrap returns the error without the place.
func (e *Located) Unwrap() error { return e.Err }
