package check

import (
	"strings"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/place"
	"metascript/cmd/metascript/internal/style"
	"metascript/controller/object"
)

// The values of [Result.Result].
const (
	Valid     = "valid"
	Invalid   = "invalid"
	Unchecked = "unchecked" // the definition of the kind is not known
)

// A Result is what was found out about an object.
type Result struct {
	File       string   `json:"file"`
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Namespace  string   `json:"namespace,omitempty"`
	Name       string   `json:"name"`
	Result     string   `json:"result"`               // valid, invalid or unchecked
	Errors     []string `json:"errors,omitempty"`     // why it is invalid
	Warnings   []string `json:"warnings,omitempty"`   // those of the condition SpecSound, and those about keys that scripts look for
	Hooks      []string `json:"hooks,omitempty"`      // of a valid controller
	Caches     []string `json:"caches,omitempty"`     // what the server has in its caches for a valid controller
	Extensions []string `json:"extensions,omitempty"` // the fields of a valid controller to remove before Metacontroller runs it again

	Diagnostics []place.Diagnostic `json:"diagnostics,omitempty"` // the errors and warnings with their places

	errors, warnings place.Few
	about, note      string // the name of the object, and what is printed about it last
}

// Results are the results for all objects. Their JSON form is the output of "metascript check -o json".
type Results struct {
	Valid   bool     `json:"valid"` // no object is invalid
	Objects []Result `json:"objects"`

	Diagnostics []place.Diagnostic `json:"diagnostics,omitempty"` // why a file cannot be read; then there are no objects
}

// newResult returns the result of a valid object.
func newResult(doc manifest.Document) Result {
	return Result{
		File: doc.File, APIVersion: doc.GetAPIVersion(), Kind: doc.GetKind(), Namespace: doc.GetNamespace(), Name: doc.GetName(),
		Result: Valid, about: doc.File + ": " + object.Describe(doc.Object), note: "ok",
	}
}

// fail adds an error.
func (r *Result) fail(e *place.Error) {
	r.Result, r.note = Invalid, ""
	r.errors.Add(func() *place.Error { return e })
}

// warn adds a warning.
func (r *Result) warn(e *place.Error) {
	r.warnings.Add(func() *place.Error { return e })
}

// finish sets what the output for programs has of the errors and the warnings.
func (r *Result) finish() {
	for _, e := range r.errors.All() {
		r.Errors, r.Diagnostics = append(r.Errors, e.Msg), append(r.Diagnostics, e.Diagnostic("error"))
	}
	for _, e := range r.warnings.All() {
		r.Warnings, r.Diagnostics = append(r.Warnings, e.Msg), append(r.Diagnostics, e.Diagnostic("warning"))
	}
}

// Text returns a result for people: a text for each error and each warning, and whether the object is valid, with its hooks and caches. If a text has several lines,
// only the first has the name of the object.
func (r *Result) Text(in style.Styler) string {
	var b strings.Builder
	for _, e := range r.errors.All() {
		b.WriteString(head(in, e) + in.Failure(e.Body()) + "\n")
	}
	for _, e := range r.warnings.All() {
		b.WriteString(head(in, e) + in.Warning("warning: "+e.Body()) + "\n")
	}
	if r.note != "" {
		b.WriteString(in.Strong(r.about) + ": " + r.note + "\n")
	}
	if len(r.Caches) > 0 && r.Result == Valid {
		b.WriteString(in.Strong(r.about) + ": caches: " + strings.Join(r.Caches, "; ") + "\n")
	}
	if len(r.Extensions) > 0 && r.Result == Valid {
		b.WriteString(in.Strong(r.about) + ": not in Metacontroller 4.17: " + strings.Join(r.Extensions, ", ") + "\n")
	}
	return b.String()
}

// head returns what is printed before an error, which may be about no place.
func head(in style.Styler, e *place.Error) string {
	if text := e.Head(); text != "" {
		return in.Strong(text) + ": "
	}
	return ""
}
