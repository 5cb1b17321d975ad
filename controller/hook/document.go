package hook

import "metascript/controller/object"

// Document returns the response as a hook would return it: with the completed children, and without empty fields. It shares
// the objects of the response.
func (r *Response) Document() map[string]any {
	doc := map[string]any{r.Shape.children(): objects(r.Children)}
	if r.Status != nil {
		doc[fieldStatus] = r.Status
	}
	if len(r.Labels) > 0 {
		doc[fieldLabels] = r.Labels.document()
	}
	if len(r.Annotations) > 0 {
		doc[fieldNotes] = r.Annotations.document()
	}
	if r.ResyncAfter > 0 {
		doc[fieldResync] = r.ResyncAfter.Seconds()
	}
	if r.Finalized || r.NotFinalized {
		doc[fieldFinalized] = r.Finalized
	}
	if len(r.Events) > 0 {
		doc[fieldEvents] = events(r.Events)
	}
	return doc
}

func objects(set *object.Set) []any {
	list := []any{}
	for o := range set.All() {
		list = append(list, o.Map())
	}
	return list
}

func (c Changes) document() map[string]any {
	m := map[string]any{}
	for key, value := range c {
		m[key] = nil
		if value != nil {
			m[key] = *value
		}
	}
	return m
}

func events(returned []Event) []any {
	var list []any
	for _, e := range returned {
		list = append(list, map[string]any{"type": e.Type, "reason": e.Reason, "message": e.Message})
	}
	return list
}
