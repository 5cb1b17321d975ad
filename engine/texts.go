package engine

// Texts returns a copy of e in which each text that a script may have a part in has passed text, and the source line, under
// which the column is shown, has passed line, which is to keep its length.
func (e *Error) Texts(text, line func(string) string) error {
	clean := *e
	clean.Func, clean.Msg, clean.Hint, clean.Stack = text(e.Func), text(e.Msg), text(e.Hint), text(e.Stack)
	clean.Source = line(e.Source)
	clean.Trace = make([]Frame, len(e.Trace))
	for i, frame := range e.Trace {
		clean.Trace[i] = Frame{text(frame.Func), frame.Pos}
	}
	return &clean
}
