package hook

import (
	"errors"
	"fmt"
	"slices"

	"metascript/controller/absent"
	"metascript/controller/object"
	"metascript/engine"
)

// A faultAt is the error about a value in an answer.
type faultAt struct {
	error
	path engine.Path
	hint string // may be empty
}

// Unwrap returns the error without the path.
func (e *faultAt) Unwrap() error { return e.error }

// within returns an error about a value in another value, which is at path. If err wraps an error with a path, that path is the
// rest.
func within(err error, path ...any) error {
	var inner *faultAt
	if !errors.As(err, &inner) {
		return &faultAt{error: err, path: path}
	}
	return &faultAt{error: err, path: append(slices.Clip(engine.Path(path)), inner.path...), hint: inner.hint}
}

// MaxWarnings is how many warnings about one answer are made. A last one says how many more there are: each costs the search for its place
// in the script and an event, and most often all have the same cause.
const MaxWarnings = 20

// warn adds a warning. what is called if it is one of the first.
func (r *Response) warn(what func() error) {
	if len(r.Warnings) == MaxWarnings {
		r.further++
		return
	}
	r.Warnings = append(r.Warnings, what())
}

// endWarnings adds the places to the warnings, and the last one if there are too many.
func (r *Response) endWarnings() {
	for i, warning := range r.Warnings {
		if r.locate != nil {
			r.Warnings[i] = r.locate(warning)
		}
	}
	if r.further > 0 {
		r.Warnings = append(r.Warnings, fmt.Errorf("and %d more warnings about the answer", r.further))
	}
}

// absentError returns the error about a text that was made of a missing value.
func absentError(found *absent.Text) error {
	path := found.At
	if last := len(path) - 1; found.Key {
		path = append(slices.Clone(path[:last]), engine.Key(path[last].(string)))
	}
	return &faultAt{error: errors.New(found.String()), path: path, hint: found.Hint()}
}

// Place returns where the hook returned a child, such as "children[0]"; "" if it did not return it.
func (r *Response) Place(child *object.Object) string {
	i, returned := r.Indexes[object.RefOf(child)]
	if !returned {
		return ""
	}
	return fmt.Sprintf("%s[%d]", r.Shape.children(), i)
}

// A Field is a field of an object, such as spec.replicas. If Key is set, its key is meant, and not its value.
type Field struct {
	Path string
	Key  bool
}

// in returns the path of the field in an object, or that of the innermost value around it, if the object does not have the field.
func (f Field) in(in map[string]any) engine.Path {
	path, complete := object.ParsePath(f.Path, in)
	if last := len(path) - 1; f.Key && complete && last >= 0 {
		if key, is := path[last].(string); is {
			path[last] = engine.Key(key)
		}
	}
	return path
}

// ChildField returns the path of a field of a child in the response, or of the innermost value around it. It is nil if the hook did
// not return the child.
func (r *Response) ChildField(child *object.Object, f Field) engine.Path {
	if r == nil {
		return nil
	}
	ref := object.RefOf(child)
	i, returned := r.Indexes[ref]
	if !returned {
		return nil
	}
	return append(engine.Path{r.Shape.children(), i}, f.in(r.Children.Get(ref.Kind, ref.Key).Map())...)
}

// StatusField returns the path of a field of the status in the response, such as status.phase, or of the innermost value around it.
func (r *Response) StatusField(f Field) engine.Path {
	return f.in(map[string]any{fieldStatus: r.Status})
}

// Problem returns an error about the value at a path in the response. If a script returned it, the error is an [*engine.Error] with
// the place where the script writes the value, as far as it is known. hint may be empty.
func (r *Response) Problem(at engine.Path, what, hint string) error {
	err := &faultAt{error: errors.New(what), path: at, hint: hint}
	switch {
	case r.locate != nil:
		return r.locate(err)
	case hint != "":
		return fmt.Errorf("%s; %s", what, hint)
	}
	return err.error
}

// Locate returns the error of the API server about the value at a path in the response, with the place where the script writes the value,
// as far as it is known: an [*engine.Located] or err itself.
func (r *Response) Locate(at engine.Path, err error) error {
	if r == nil || r.locate == nil || at == nil {
		return err
	}
	var in *engine.Error
	if !errors.As(r.Problem(at, "", ""), &in) || in.Pos.Line == 0 {
		return err
	}
	return &engine.Located{Pos: in.Pos, Source: in.Source, Err: err}
}

// With returns a copy of the response with other children, for example those of several responses. Only the children that are also
// in the response keep their places.
func (r *Response) With(children *object.Set) *Response {
	other := *r
	other.Children, other.Indexes = children, map[object.Ref]int{}
	for ref, i := range r.Indexes {
		if o := children.Get(ref.Kind, ref.Key); o != nil && o == r.Children.Get(ref.Kind, ref.Key) {
			other.Indexes[ref] = i
		}
	}
	return &other
}
