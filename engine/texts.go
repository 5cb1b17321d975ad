package engine

// Texts returns a copy of e with each text that may contain data of a script replaced by text(it), and the source line by line(it).
// line must not change the length, since Detail shows the position of the column below the source line.
func (e *Error) Texts(text, line func(string) string) error {
	clean := *e
	clean.Func, clean.Msg, clean.Hint, clean.Stack = text(e.Func), text(e.Msg), text(e.Hint), text(e.Stack)
	clean.Source = line(e.Source)
	clean.Trace = make([]Frame, len(e.Trace))
	for i, frame := range e.Trace {
		clean.Trace[i] = Frame{text(frame.Func), frame.Pos, frame.Times}
	}
	return &clean
}
