package engine

import "fmt"

// CheckAnswer returns an error if a JSON-shaped value, which was made of a part of an answer, is not within l: a text in an answer may have
// more values in it than an answer may have.
func CheckAnswer(v any, l Limits) *Error { return NewWalk(l).all(v) }

// all counts a value with its elements.
func (w *Walk) all(v any) *Error {
	switch v := v.(type) {
	case string:
		return w.Count(len(v) + 2)
	case map[string]any:
		for key, value := range v {
			if err := w.EnterKey(key); err != nil {
				return err
			}
			if err := w.all(value); err != nil {
				return err
			}
			w.Leave()
		}
		return w.Count(2)
	case []any:
		for i, value := range v {
			if err := w.EnterIndex(i); err != nil {
				return err
			}
			if err := w.all(value); err != nil {
				return err
			}
			w.Leave()
		}
		return w.Count(2)
	}
	return w.Count(8)
}

// CheckText returns an error if the JSON in a text has so many values that it cannot be within l. It is called before the text is decoded,
// since values need many times the memory of their text.
func CheckText(text []byte, l Limits) *Error {
	limit := l.WithDefaults().Nodes
	values, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			quoted = !quoted
		case ',', '[', '{':
			if !quoted {
				values++
			}
		}
	}
	if values/2 <= limit { // {} is one value and not two
		return nil
	}
	return tooManyValues(limit)
}

func tooManyValues(limit int) *Error {
	return &Error{
		Kind: KindOutput, Msg: fmt.Sprintf("the answer has more than %d values", limit),
		Hint: "return less, or split the controller: this limit cannot be changed",
	}
}
