package replay

import (
	"fmt"
	"slices"
	"strings"

	"metascript/controller/object"
	"metascript/controller/recording"
)

// Words for --expect that stand for several shapes.
const (
	expectErrors      = "errors"
	expectDeletes     = "deletes"
	expectNotReplayed = "not replayed"
	expectVarying     = "varying"
)

// Matches reports whether an expectation names a shape: it is equal, or is the beginning of it, up to a space, a dot or an index. So
// "Pod" names all differences of Pods, and "Pod spec" those in their specs.
func Matches(expectation, shape string) bool {
	rest, begins := strings.CutPrefix(shape, expectation)
	return begins && (rest == "" || strings.ContainsRune(" .[", rune(rest[0])))
}

// expect marks what is expected, and counts what is not.
func (r *Report) expect(all []string) {
	used := map[string]bool{}
	expected := func(names ...string) bool {
		found := false
		for _, expectation := range all {
			if slices.ContainsFunc(names, func(name string) bool { return Matches(expectation, name) }) {
				used[expectation], found = true, true
			}
		}
		if !found {
			r.Unexpected++
		}
		return found
	}
	for _, g := range r.Differences {
		names := []string{g.Shape}
		if strings.HasPrefix(g.Shape, "error ") {
			names = append(names, expectErrors)
		}
		if strings.HasSuffix(g.Shape, removed) {
			names = append(names, expectDeletes)
		}
		g.Expected = expected(names...)
	}
	for i := range r.NotReplayed {
		r.NotReplayed[i].Expected = expected(expectNotReplayed)
	}
	if r.Recording.Unread {
		expected(expectNotReplayed)
	}
	if r.Varying != nil {
		r.Varying.Expected = expected(expectVarying)
	}
	for _, expectation := range all {
		if !used[expectation] {
			r.Unused = append(r.Unused, expectation)
		}
	}
}

// notes returns what a reader of the report should know.
func (r *run) notes(report *Report) []string {
	var all []string
	note := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	recorded := map[object.Kind]bool{}
	for _, c := range r.versions {
		for _, resource := range c.Children {
			recorded[kindOf(resource.APIVersion, resource.Kind)] = true
		}
	}
	newKinds, gone := map[object.Kind]bool{}, map[object.Kind]bool{}
	for _, kind := range r.edited.children {
		if !recorded[kind] {
			newKinds[kind] = true
		}
	}
	for kind := range recorded {
		if _, declared := r.edited.Kinds[kind]; !declared {
			gone[kind] = true
		}
	}
	if len(newKinds) > 0 {
		note("the recording has no children of the kind %s, which the controller did not declare then: the calls were made as if there were none", strings.Join(kindNames(newKinds), ", "))
	}
	if len(gone) > 0 {
		note("the controller does not declare the kind %s any more: the calls were made without these children, which would stay as they are", strings.Join(kindNames(gone), ", "))
	}
	for _, problem := range report.Recording.Problems {
		note("%s: %s", r.File.Path, problem)
	}
	if n := report.Recording.Dropped; n > 0 {
		note("the server did not record %s, since it was too busy", count(n, "reconcile", "reconciles"))
	}
	if r.File.End != nil {
		if of := r.File.End.Unrecorded.Of(r.Controller.GetKind(), r.Controller.GetName()); of.Count > 0 {
			note("the recording has no reconcile of %s of the controller, so that it is not known what the edit does to them: %s", count(of.Count, "parent", "parents"), namesOf(of))
		}
	}
	if report.Unrelated > 0 {
		note("the recorded script itself answers %s differently now: these differences are not of the edit, and are not counted", count(report.Unrelated, "call", "calls"))
	}
	if report.Redacted > 0 {
		note("%s with a difference had a value that the recording replaced: the difference may come from that", count(report.Redacted, "call", "calls"))
	}
	for _, c := range r.versions {
		if len(c.Scripts) > 0 && r.recorded[c.ID] == nil {
			note("the recorded script does not load, so that it is not known which differences are of the edit: %v", r.failed[c.ID])
			break
		}
	}
	if len(report.Differences) > 0 && r.edited.Revisions != nil && !r.edited.declaration.ScriptRevisions {
		note("scriptRevisions is off: an edit of the script changes all children at once, also those with a rolling update method")
	}
	return all
}

// namesOf names the first parents without a reconcile.
func namesOf(of recording.UnrecordedOf) string {
	var names []string
	for _, parent := range of.Parents[:min(len(of.Parents), maxNames)] {
		names = append(names, object.Key{Namespace: parent.Namespace, Name: parent.Name}.String())
	}
	if of.Count > len(names) {
		names = append(names, "and others")
	}
	return strings.Join(names, ", ")
}

// count returns a number with its noun.
func count(n int, one, several string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, several)
}
