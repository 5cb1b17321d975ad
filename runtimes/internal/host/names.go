package host

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"metascript/engine"
	"metascript/scripts/lib"
)

// Names says how the messages of a language show names.
type Names struct {
	Max    int                // the maximum length of a name, in bytes; longer ones are cut
	Quoted bool               // suggested names are in quotes
	Dollar bool               // an identifier may contain $
	More   func(n int) string // returns the end of a list from which n names are left out
}

// maxListed is the maximum number of names in a list.
const maxListed = 20

// Quote returns a name in quotes.
func (n Names) Quote(name string) string { return strconv.Quote(engine.Clip(name, n.Max)) }

// List joins names with commas, at most maxListed of them.
func (n Names) List(names []string) string {
	shown := make([]string, 0, maxListed+1)
	for _, name := range names[:min(len(names), maxListed)] {
		shown = append(shown, engine.Clip(name, n.Max))
	}
	if more := len(names) - maxListed; more > 0 {
		shown = append(shown, n.More(more))
	}
	return strings.Join(shown, ", ")
}

// DidYouMean returns a hint with the candidate that is most similar to name, or "" if none is similar.
func (n Names) DidYouMean(name string, candidates []string) string {
	nearest := Nearest(name, candidates)
	switch {
	case nearest == "":
		return ""
	case n.Quoted, !n.Identifier(nearest):
		nearest = n.Quote(nearest)
	}
	return "did you mean " + nearest + "?"
}

// NoSuchName is the hint for a name that is not defined and not similar to another one.
const NoSuchName = "no variable, parameter or function has this name here"

// Nearest returns the candidate that is most similar to name, or "" if none is similar. If no candidate is similar as a whole, those
// with a dot are compared up to the dot: instead of the group Pod.v1, authors write Pod, pods and pods.core.
func Nearest(name string, candidates []string) string {
	if nearest := engine.Nearest(name, candidates); nearest != "" {
		return nearest
	}
	var firsts []string
	byFirst := map[string]string{}
	for _, candidate := range candidates {
		if first, _, dotted := strings.Cut(candidate, "."); dotted && first != "" && byFirst[first] == "" {
			firsts, byFirst[first] = append(firsts, first), candidate
		}
	}
	first, _, _ := strings.Cut(name, ".")
	if exact := byFirst[first]; exact != "" {
		return exact
	}
	return byFirst[engine.Nearest(first, firsts)]
}

// Suggest returns a hint for a name that is not in names: the most similar name or, if none is similar, intro and all names.
func (n Names) Suggest(name string, names []string, intro string) string {
	switch hint := n.DidYouMean(name, names); {
	case hint != "":
		return hint
	case len(names) == 0:
		return intro + "nothing"
	}
	return intro + n.List(names)
}

// Identifier reports whether name can be written in a script without quotes, for example after a dot.
func (n Names) Identifier(name string) bool {
	for i, r := range name {
		if r >= 0x80 || !Letter(byte(r)) && (r != '$' || !n.Dollar) || i == 0 && r >= '0' && r <= '9' {
			return false
		}
	}
	return name != ""
}

// Field returns the path of the field key of the object at path, such as parent.spec or children["Pod.v1"].
func (n Names) Field(path, key string) string {
	if n.Identifier(key) {
		return strings.TrimPrefix(path+"."+key, ".")
	}
	return path + "[" + n.Quote(key) + "]"
}

// Element returns the path of an element of the list at path, such as ports[0].
func Element(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

// NoFunction returns the error for a call of a function that the script does not define. entry is the entry file, others are the
// functions that the script defines, and none is the hint if there are no others.
func (n Names) NoFunction(entry, name string, others []string, none string) *engine.Error {
	e := &engine.Error{
		Kind: engine.KindMissing, Pos: engine.Pos{File: entry},
		Msg: "the script defines no function " + n.Quote(name), Hint: none,
	}
	if len(others) > 0 {
		e.Hint = n.Suggest(name, others, "it defines ")
	}
	return e
}

// wholeName is the name of a parameter that gets the whole request if it is the only parameter, even if the request has a field of
// that name.
const wholeName = "request"

// TakesWhole reports whether the only parameter of a function, with that name, gets the whole of arg and not one of its fields.
func TakesWhole(name string, arg map[string]any) bool {
	_, field := arg[name]
	return !field || name == wholeName
}

// otherKind has the fields that are in the request of one kind of controller only, and those of the other kind in their place.
var otherKind = map[string]string{"parent": "object", "children": "attachments", "object": "parent", "attachments": "children"}

// SimilarField returns the field of a request that is meant by a name that is not one, or "" if none is similar.
func SimilarField(name string, fields []string) string {
	if other := otherKind[name]; slices.Contains(fields, other) {
		return other
	}
	return engine.Nearest(name, fields)
}

// maxSuggested is the maximum number of fields that a hint suggests.
const maxSuggested = 3

// UnknownParameters returns the error for parameters that have no default and whose names are not fields of the request. at is the
// position of the first one. The hint suggests fields for the names in misspelled.
func (n Names) UnknownParameters(at engine.Pos, unknown, misspelled, fields []string) *engine.Error {
	e := &engine.Error{
		Kind: engine.KindParams, Pos: at,
		Msg:  fmt.Sprintf("the request has no %s; its fields are %s", n.List(unknown), n.List(fields)),
		Hint: "name parameters after fields, give the others a default, or take the whole request as the only parameter",
	}
	var suggested []string
	for _, name := range misspelled {
		if nearest := SimilarField(name, fields); nearest != "" && !slices.Contains(suggested, nearest) {
			suggested = append(suggested, nearest)
		}
	}
	if len(suggested) > 0 {
		e.Hint = "did you mean " + strings.Join(suggested[:min(len(suggested), maxSuggested)], " and ") + "?"
	}
	return e
}

// LibraryError converts an error of the library, about an argument or a random value, to the error that the script's author sees. It
// returns nil for other errors, which the caller returns unchanged.
func LibraryError(err error) *engine.Error {
	var mistake *lib.Error
	var fault *engine.Error
	switch {
	case errors.As(err, &mistake):
		return &engine.Error{Kind: engine.KindRuntime, Msg: mistake.Msg, Hint: mistake.Hint}
	case errors.As(err, &fault):
		return fault
	}
	return nil
}
