package hookcall

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/mistakes"
	"metascript/cmd/metascript/internal/place"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/redact"
	"metascript/controller/schemas"
	"metascript/engine"
)

// InputProblems returns what is wrong with the objects of the call, without missing fields: the objects of a test are often only a part
// of those in a cluster. Each has the place in the file and the object. It must be called before Do, which drops unknown fields.
func (c *Call) InputProblems() ([]*place.Error, error) {
	var all []*place.Error
	for _, doc := range slices.Concat([]manifest.Document{c.Parent}, c.Children, c.Related) {
		problems, err := c.validate(doc.Object)
		if err != nil {
			return nil, err
		}
		all = append(all, doc.Problems(schemas.OfPart(problems))...)
	}
	redactor, few := c.redactor(), place.Few{}
	for _, e := range all {
		few.Add(func() *place.Error { return redactor.Error(e).(*place.Error) })
	}
	return few.All(), nil
}

// AnswerProblems returns the first things that are wrong with the children and the status in an answer of the hook. Each has the field in the answer, such
// as children[0].spec.replicas, and the place in the script and in the file with the script. A child that exists may be a part of the
// object, since it is merged.
func (c *Call) AnswerProblems(answer *hook.Response) ([]*place.Error, error) {
	redactor := c.redactor()
	redactor.AddSets(answer.Children)
	var few place.Few
	labels := map[string]bool{} // the texts about labels: objects of one answer most often have the same
	together := mistakes.Answer{Children: inOrder(answer), Others: slices.Concat(objectsOf(c.Children), objectsOf(c.Related)), Partial: c.observed}
	for _, child := range together.Children {
		problems, err := c.validate(child)
		if err != nil {
			return nil, err
		}
		problems = schemas.OfNew(problems)
		if c.observed(child) {
			problems = schemas.OfPart(problems)
		}
		if answer.Shape == hook.Composite { // the children of a decorator belong to others
			problems = append(problems, together.Of(child)...)
		}
		for _, p := range withoutOwners(problems) {
			if p.Cause == schemas.Label {
				if labels[p.Text] {
					continue
				}
				labels[p.Text] = true
			}
			field := p
			if field.Path = answer.Place(child); p.Path != "" {
				field.Path += "." + p.Path
			}
			few.Add(func() *place.Error {
				return c.problem(redactor, answer, answer.ChildField(child, fieldOf(p)), field, child)
			})
		}
	}
	err := c.statusProblems(redactor, answer, &few)
	return few.All(), err
}

// withoutOwners returns the problems of a child with one in place of all those about its owners.
func withoutOwners(all []schemas.Problem) []schemas.Problem {
	const owners = "metadata.ownerReferences"
	var others []schemas.Problem
	for _, p := range all {
		if strings.HasPrefix(p.Path, owners) {
			p = schemas.Problem{Path: owners, Cause: schemas.Invalid, Text: "the server sets ownerReferences: leave them out"}
		}
		if !slices.Contains(others, p) {
			others = append(others, p)
		}
	}
	return others
}

// Warnings returns the first warnings of Do: that the controller does not select the parent, and those about an answer, which is nil if the call
// has failed.
func (c *Call) Warnings(answer *hook.Response) []*place.Error {
	warnings := c.warnings
	if answer != nil {
		warnings = slices.Concat(warnings, answer.Warnings)
	}
	var few place.Few
	for _, err := range warnings {
		few.Add(func() *place.Error { return c.placed(err) })
	}
	return few.All()
}

// placed returns an error about an answer with its place in the file with the script, if it is known.
func (c *Call) placed(err error) *place.Error {
	if e := (*place.Error)(nil); errors.As(c.located(err), &e) {
		return e
	}
	return &place.Error{Msg: engine.DetailOf(err)}
}

// fieldOf returns the field that a problem is about.
func fieldOf(p schemas.Problem) hook.Field {
	key := p.Cause == schemas.Unknown || p.Cause == schemas.Label && strings.Contains(p.Text, " is not valid: a key must ")
	return hook.Field{Path: p.Path, Key: key}
}

// problem returns the error for a problem of an object in an answer. at is the path of the field, and p.Path its name for people.
func (c *Call) problem(redactor *redact.Redactor, answer *hook.Response, at engine.Path, p schemas.Problem, in *object.Object) *place.Error {
	what, hint := p.Hint()
	e := c.placed(redactor.Error(answer.Problem(at, fmt.Sprintf("%s (%s %q): %s", p.Path, in.GetKind(), in.GetName(), what), hint)))
	e.Field = p.Path
	return e
}

// inOrder returns the children in the order of the answer.
func inOrder(answer *hook.Response) []*object.Object {
	all := slices.Collect(answer.Children.All())
	slices.SortFunc(all, func(a, b *object.Object) int {
		return answer.Indexes[object.RefOf(a)] - answer.Indexes[object.RefOf(b)]
	})
	return all
}

// validate returns the problems of an object; none if its kind is not known.
func (c *Call) validate(o *object.Object) ([]schemas.Problem, error) {
	kind, err := c.Schemas.Kind(o.GroupVersionKind())
	if unknown := (*schemas.UnknownKindError)(nil); errors.As(err, &unknown) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return kind.Validate(o.Map()), nil
}

// observed reports whether a child in an answer is one of the observed children, which may have no namespace.
func (c *Call) observed(child *object.Object) bool {
	return slices.ContainsFunc(c.Children, func(doc manifest.Document) bool {
		return doc.GroupVersionKind() == child.GroupVersionKind() && doc.GetName() == child.GetName() &&
			(doc.GetNamespace() == "" || doc.GetNamespace() == child.GetNamespace())
	})
}

// filledIn are the fields of a status that the server sets.
var filledIn = []string{".observedGeneration", ".lastTransitionTime"}

// statusProblems adds the problems of the status in an answer.
func (c *Call) statusProblems(redactor *redact.Redactor, answer *hook.Response, few *place.Few) error {
	if answer.Status == nil {
		return nil
	}
	parent := object.Copy(c.Parent.Object)
	parent.Map()["status"] = answer.Status
	problems, err := c.validate(parent)
	for _, p := range problems {
		filled := p.Cause == schemas.Missing && slices.ContainsFunc(filledIn, func(field string) bool { return strings.HasSuffix(p.Path, field) })
		if p.InStatus() && !filled {
			few.Add(func() *place.Error {
				return c.problem(redactor, answer, answer.StatusField(fieldOf(p)), p, parent)
			})
		}
	}
	return err
}

// redactor returns a Redactor for texts about the objects of the call and about answers.
func (c *Call) redactor() *redact.Redactor {
	r := redact.New(c.Parent.GetKind(), c.Parent.GetNamespace(), c.Parent.GetName())
	r.Add(c.Parent.Object)
	r.AddPublic(c.Parent.Object)
	r.Add(objectsOf(c.Children)...)
	r.Add(objectsOf(c.Related)...)
	return r
}
