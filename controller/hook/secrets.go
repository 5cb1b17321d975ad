package hook

import (
	"errors"
	"iter"

	"metascript/controller/object"
	"metascript/engine"
)

// hush gives a script's error without what is in the Secrets that a request has, since it may quote a value.
func (req *Request) hush(err error) error {
	if err == nil {
		return nil
	}
	secrets := object.Secrets(req.objects())
	text := object.Redact(err.Error(), secrets)
	var fault *engine.Error
	if !errors.As(err, &fault) {
		if text == err.Error() {
			return err
		}
		return &hiddenError{text, err}
	}
	clean := *fault
	for _, field := range []*string{&clean.Msg, &clean.Hint, &clean.Stack} {
		*field = object.Redact(*field, secrets)
	}
	switch {
	case text == err.Error() && clean.Msg == fault.Msg && clean.Hint == fault.Hint && clean.Stack == fault.Stack:
		return err
	case err == error(fault):
		return &clean
	}
	return &hushed{text, &clean}
}

// A hushed error is one about a fault of a script.
type hushed struct {
	text  string
	fault *engine.Error
}

func (h *hushed) Error() string { return h.text }

func (h *hushed) Unwrap() error { return h.fault }

// objects are all that a request has.
func (req *Request) objects() iter.Seq[*object.Object] {
	return func(yield func(*object.Object) bool) {
		if !yield(req.Parent) {
			return
		}
		for _, set := range []*object.Set{req.Children, req.Related} {
			if set == nil {
				continue
			}
			for o := range set.All() {
				if !yield(o) {
					return
				}
			}
		}
	}
}
