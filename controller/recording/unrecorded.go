package recording

import (
	"cmp"
	"slices"

	"metascript/controller/observe"
)

// maxUnrecorded is how many parents of a controller an UnrecordedOf names.
const maxUnrecorded = 100

// note remembers that a reconcile of a parent was written.
func (r *run) note(about observe.About) {
	if r.options.Parents == nil || r.recorded[about] {
		return
	}
	if r.recorded == nil {
		r.recorded = map[observe.About]bool{}
	}
	about.Parent = about.Parent.Clone()
	r.recorded[about] = true
}

// unrecorded returns the parents that are selected, may be read and have no reconcile.
func (r *run) unrecorded() *Unrecorded {
	if r.options.Parents == nil {
		return nil
	}
	var left []observe.About
	for _, about := range r.options.Parents() {
		if r.options.Filter.Selects(about) && !r.recorded[about] && r.options.May(about.Parent.Kind, about.Parent.Namespace) {
			left = append(left, about)
		}
	}
	slices.SortFunc(left, func(a, b observe.About) int {
		return cmp.Or(cmp.Compare(a.Controller, b.Controller), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Parent.String(), b.Parent.String()))
	})
	found := Unrecorded{}
	for _, about := range left {
		if n := len(found); n == 0 || found[n-1].Kind != about.Kind || found[n-1].Controller != about.Controller {
			found = append(found, UnrecordedOf{Kind: about.Kind, Controller: about.Controller})
		}
		of := &found[len(found)-1]
		if of.Count++; of.Count <= maxUnrecorded {
			of.Parents = append(of.Parents, r.encoder.ref(about.Parent.Kind, about.Parent.Namespace, about.Parent.Name))
		}
	}
	return &found
}
