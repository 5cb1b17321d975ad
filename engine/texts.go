package engine

// Texts returns a copy of e in which the function text was applied to each text that may contain data of a script, and the
// function line to the source line. line must keep the length, since the position of the column is shown below it.
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
