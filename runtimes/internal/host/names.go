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

// Names say how a language's messages show names.
type Names struct {
	Max    int                // bytes of a name
	Quoted bool               // names that may have been meant are in quotes
	Dollar bool               // an identifier may contain $
	More   func(n int) string // what follows a list that leaves out n names
}

// maxListed is how many names a list has at most.
const maxListed = 20

// Quote puts a name in quotes.
func (n Names) Quote(name string) string { return strconv.Quote(engine.Clip(name, n.Max)) }

// List joins names with commas, as many as a reader wants.
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

// DidYouMean is a hint: the candidate that name is most likely a misspelling of; "" when there is none.
func (n Names) DidYouMean(name string, candidates []string) string {
	near := engine.Nearest(name, candidates)
	switch {
	case near == "":
		return ""
	case n.Quoted:
		near = n.Quote(near)
	}
	return "did you mean " + near + "?"
}

// Suggest is a hint for a name that is not among names: the one that was meant, or, behind intro, all there are.
func (n Names) Suggest(name string, names []string, intro string) string {
	switch hint := n.DidYouMean(name, names); {
	case hint != "":
		return hint
	case len(names) == 0:
		return intro + "nothing"
	}
	return intro + n.List(names)
}

// Identifier reports whether name can stand in a script without quotes, as behind a dot.
func (n Names) Identifier(name string) bool {
	for i, r := range name {
		if r >= 0x80 || !Letter(byte(r)) && (r != '$' || !n.Dollar) || i == 0 && r >= '0' && r <= '9' {
			return false
		}
	}
	return name != ""
}

// Field is the path of the field key in what has that path, such as parent.spec or children["Pod.v1"].
func (n Names) Field(path, key string) string {
	if n.Identifier(key) {
		return strings.TrimPrefix(path+"."+key, ".")
	}
	return path + "[" + n.Quote(key) + "]"
}

// Element is the path of an element of the list that has that path.
func Element(path string, index int) string { return path + "[" + strconv.Itoa(index) + "]" }

// NoFunction is the error of a call of a function that the script, whose entry file that is, does not define. It defines
// others, or else the hint is none.
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

// wholeName is the parameter that, alone, gets the whole request even if there is a field of that name.
const wholeName = "request"

// TakesWhole reports whether a function's only parameter, called name, gets the whole of arg, and not one of its fields.
func TakesWhole(name string, arg map[string]any) bool {
	_, field := arg[name]
	return !field || name == wholeName
}

// maxMeant is how many fields a hint says may have been meant.
const maxMeant = 3

// UnknownParameters is the error of a function with parameters, the first of them at at, that are named like no field of the request
// and have no default. For those in misspelled the hint says which fields may have been meant.
func (n Names) UnknownParameters(at engine.Pos, unknown, misspelled, fields []string) *engine.Error {
	e := &engine.Error{
		Kind: engine.KindParams, Pos: at,
		Msg:  fmt.Sprintf("the request has no %s; its fields are %s", n.List(unknown), n.List(fields)),
		Hint: "name parameters after fields, give the others a default, or take the whole request as the only parameter",
	}
	var meant []string
	for _, name := range misspelled {
		if near := engine.Nearest(name, fields); near != "" && !slices.Contains(meant, near) {
			meant = append(meant, near)
		}
	}
	if len(meant) > 0 {
		e.Hint = "did you mean " + strings.Join(meant[:min(len(meant), maxMeant)], " and ") + "?"
	}
	return e
}

// LibraryError is what a script is shown of an error of the library's, which says what is wrong with an argument; nil for
// another error, which continues as it is.
func LibraryError(err error) *engine.Error {
	var mistake *lib.Error
	if !errors.As(err, &mistake) {
		return nil
	}
	return &engine.Error{Kind: engine.KindRuntime, Msg: mistake.Msg, Hint: mistake.Hint}
}
