package host

import "metascript/engine"

// The limits of the outlines of a program: how many expressions are read, and how deeply one may be in others, or in the
// functions and variables that they name.
const (
	maxOutline      = 4000
	maxOutlineDepth = 40
)

// An Outliner limits the work of making outlines, which follow names, in the source of scripts that are not trusted.
type Outliner struct{ read, depth int }

// Done reports whether a limit is reached.
func (o *Outliner) Done() bool { return o.read >= maxOutline || o.depth >= maxOutlineDepth }

// Within calls make for one expression, unless a limit is reached. Then it returns nil: the place is not known.
func (o *Outliner) Within(make func() *engine.Outline) *engine.Outline {
	if o.Done() {
		return nil
	}
	o.read++
	o.depth++
	defer func() { o.depth-- }()
	return make()
}

// AnyElement returns the outline of the elements of a list, without their order. list may be nil.
func AnyElement(list *engine.Outline) *engine.Outline {
	if list == nil {
		return nil
	}
	all := list.Each
	for _, item := range list.Items {
		all = all.Or(item)
	}
	for _, either := range list.Either {
		all = all.Or(AnyElement(either))
	}
	return all
}

// Parts returns the outline of the fields and elements of a value that becomes part of another one, without the value itself.
func Parts(o *engine.Outline) *engine.Outline {
	if o == nil {
		return nil
	}
	parts := &engine.Outline{Fields: o.Fields, Items: o.Items, Each: o.Each}
	for _, either := range o.Either {
		parts.Either = append(parts.Either, Parts(either))
	}
	return parts
}

// Unknown returns the outline of parts about which nothing is known; see [Known].
func Unknown() *engine.Outline { return &engine.Outline{} }

// Known reports whether all fields or elements of a value are in its outline. If not, others may be in front of those that are, or
// replace them.
func Known(o *engine.Outline) bool {
	if o == nil {
		return false
	}
	for _, either := range o.Either {
		if !Known(either) {
			return false
		}
	}
	return o.Fields != nil || o.Items != nil || o.Each != nil || len(o.Either) > 0
}

// Sum returns the outlines of what is in the sum of two lists, or in the union of two objects.
func Sum(left, right *engine.Outline) []*engine.Outline {
	sum := []*engine.Outline{fields(right)}
	if Known(right) {
		sum = append(sum, Parts(left))
	} else { // it may have the fields of left too
		sum = append(sum, &engine.Outline{Items: itemsOf(left)}, Unknown())
	}
	if each := AnyElement(right); each != nil && Known(left) {
		sum = append(sum, &engine.Outline{Each: each})
	} else if !Known(left) {
		sum = append(sum, Unknown())
	}
	return sum
}

func itemsOf(o *engine.Outline) []*engine.Outline {
	if o == nil {
		return nil
	}
	return o.Items
}

// A Step leads from a value to a field or an element of it.
type Step struct {
	Key     string
	At      engine.Pos // where the key is written
	Element bool       // any element of a list, not a field
}

// Set returns the outline of a value of which only a part is known, the one to which the steps lead.
func Set(steps []Step, part *engine.Outline) *engine.Outline {
	for i := len(steps) - 1; i >= 0; i-- {
		if step := steps[i]; step.Element {
			part = &engine.Outline{Each: part}
		} else {
			part = &engine.Outline{Fields: map[string]*engine.Outline{step.Key: {Key: step.At, Either: []*engine.Outline{part}}}}
		}
	}
	return part
}

// Variable returns the outline of a variable. values are its values, each the outlines of those elements that are appended to it, and
// changes those of what is set in it.
func Variable(values, each *engine.Outline, changes []*engine.Outline) *engine.Outline {
	more := &engine.Outline{Either: changes}
	if Known(values) {
		more.Each = each
	}
	if more.Each == nil && len(changes) == 0 {
		return values
	}
	return values.Or(more)
}

// fields is Parts without elements.
func fields(o *engine.Outline) *engine.Outline {
	if o == nil {
		return nil
	}
	only := &engine.Outline{Fields: o.Fields}
	for _, either := range o.Either {
		only.Either = append(only.Either, fields(either))
	}
	return only
}

// Text returns the text of a literal for an outline, or "" if it is too long to distinguish values by it.
func Text(literal string) string {
	if len(literal) > 100 {
		return ""
	}
	return literal
}
