package redact

import (
	"fmt"
	"reflect"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A texter is an error with more texts than Error returns. Texts returns a copy of the error: each text is replaced by the
// result of text, and each source line, under which a position is shown, by that of line, which keeps its length.
type texter interface {
	error
	Texts(text, line func(string) string) error
}

// A located is an error that wraps another one, and has a source line, under which a position is shown. With returns a copy of it.
type located interface {
	error
	Line() string
	Unwrap() error
	With(line string, err error) error
}

// Error returns err without the values of Secrets; err itself if there are none in it. For errors.Is and errors.As the
// result is like err. An [apierrors.APIStatus] in it keeps its code, its reason and its causes.
func (r *Redactor) Error(err error) error {
	if r != nil && r.withholds {
		err = withheld(err)
	}
	if err == nil || r.Empty() {
		return err
	}
	var texts []string
	note := func(text string) string { texts = append(texts, text); return text }
	(&cleaner{note, note}).error(err)
	slices.Sort(texts)
	texts = slices.Compact(texts) // an error and those that wrap it have the same texts
	secret, enough := r.search(texts)
	if !enough {
		return (&cleaner{withoutAll, func(string) string { return "" }}).error(err)
	}
	with := func(replace func(string) string) func(string) string {
		return func(text string) string {
			i, noted := slices.BinarySearch(texts, text)
			if !noted {
				return replace(text) // a text that is another one each time
			}
			return without(text, secret[i], replace)
		}
	}
	return (&cleaner{with(func(string) string { return Mark }), with(stars)}).error(err)
}

// stars returns an asterisk for each character of text.
func stars(text string) string {
	all := make([]byte, 0, len(text))
	for range text {
		all = append(all, '*')
	}
	return string(all)
}

// A cleaner makes copies of errors with other texts.
type cleaner struct{ text, line func(string) string }

func (c *cleaner) error(err error) error {
	switch e := err.(type) {
	case nil:
		return nil
	case texter:
		return c.texter(e)
	case located:
		return c.located(e)
	case apierrors.APIStatus:
		return c.status(err, e.Status())
	case interface{ Unwrap() []error }:
		return c.several(err, e.Unwrap())
	case interface{ Unwrap() error }:
		return c.wrapped(err, e.Unwrap())
	}
	if text := c.text(err.Error()); text != err.Error() {
		return &opaque{text, err}
	}
	return err
}

func (c *cleaner) texter(e texter) error {
	changed := false
	note := func(clean func(string) string) func(string) string {
		return func(text string) string {
			got := clean(text)
			changed = changed || got != text
			return got
		}
	}
	if clean := e.Texts(note(c.text), note(c.line)); changed {
		return clean
	}
	return e
}

func (c *cleaner) located(e located) error {
	line, inner := c.line(e.Line()), c.error(e.Unwrap())
	if line == e.Line() && same(inner, e.Unwrap()) {
		return e
	}
	return e.With(line, inner)
}

func (c *cleaner) status(err error, said metav1.Status) error {
	clean := said.DeepCopy()
	clean.Message = c.text(said.Message)
	if d := clean.Details; d != nil {
		d.Name = c.text(d.Name)
		for i, cause := range d.Causes {
			d.Causes[i] = metav1.StatusCause{Type: cause.Type, Message: c.text(cause.Message), Field: c.text(cause.Field)}
		}
	}
	if text := c.text(err.Error()); text == err.Error() && reflect.DeepEqual(*clean, said) {
		return err
	}
	return &apierrors.StatusError{ErrStatus: *clean}
}

func (c *cleaner) several(err error, inner []error) error {
	clean := slices.Clone(inner)
	for i := range clean {
		clean[i] = c.error(inner[i])
	}
	text := c.text(err.Error())
	if text == err.Error() && slices.EqualFunc(clean, inner, same) {
		return err
	}
	return &joined{opaque{text, err}, clean}
}

func (c *cleaner) wrapped(err, inner error) error {
	clean, text := c.error(inner), c.text(err.Error())
	if text == err.Error() && same(clean, inner) {
		return err
	}
	return &wrapped{opaque{text, err}, clean}
}

// same reports whether a and b are the same error. Not all errors can be compared.
func same(a, b error) bool {
	if a == nil || b == nil || !reflect.TypeOf(a).Comparable() || !reflect.TypeOf(b).Comparable() {
		return a == nil && b == nil
	}
	return a == b
}

// An opaque error has another text than the error that it stands for.
type opaque struct {
	text string
	was  error
}

func (o *opaque) Error() string { return o.text }

// Format implements fmt.Formatter, so that no verb shows the original text.
func (o *opaque) Format(s fmt.State, verb rune) {
	format := "%s"
	if verb == 'q' {
		format = "%q"
	}
	fmt.Fprintf(s, format, o.text)
}

// Is reports whether target is the error that o stands for.
func (o *opaque) Is(target error) bool {
	return reflect.TypeOf(o.was).Comparable() && o.was == target
}

// As sets target to the error that o stands for, if it has that type. Callers use its fields, and take the text from o.
func (o *opaque) As(target any) bool {
	into := reflect.ValueOf(target).Elem()
	if into.Kind() == reflect.Interface || !reflect.TypeOf(o.was).AssignableTo(into.Type()) {
		return false
	}
	into.Set(reflect.ValueOf(o.was))
	return true
}

// A wrapped error is opaque and wraps another one.
type wrapped struct {
	opaque
	inner error
}

func (w *wrapped) Unwrap() error { return w.inner }

// A joined error is opaque and wraps several others.
type joined struct {
	opaque
	inner []error
}

func (j *joined) Unwrap() []error { return j.inner }
