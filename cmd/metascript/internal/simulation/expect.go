package simulation

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/cmd/metascript/internal/controlplane"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/partial"
	"metascript/cmd/metascript/internal/report"
	"metascript/controller/object"
)

// A failure is an expectation that is not met.
type failure struct {
	field string // of the expectation in the step, such as ".expect.absent[0]"
	text  string
}

// failures collects failures.
type failures []failure

func (f *failures) add(field, format string, args ...any) {
	*f = append(*f, failure{field, fmt.Sprintf(format, args...)})
}

// check compares what exists with what a step expects, and prints what differs, with the place of the expectation. A sync that fails, and
// a controller that does not run, are errors unless the step expects them. at is the path of the step in the file, failed is the error of
// the action. check returns an error if nothing of a controller runs, so that the steps that follow make no sense.
func (s *simulation) check(at string, e *Expectation, failed error) error {
	var found failures
	if e != nil {
		s.compareAll(&found, e, failed)
	} else {
		e = &Expectation{}
	}
	events, errs := s.seen.seen()
	for i, want := range e.Events {
		if !slices.ContainsFunc(events, func(got event) bool { return got.matches(want) }) {
			found.add(fmt.Sprintf(".expect.events[%d]", i), "there is no event %q in this step; %s%s", want, listOf("the events are", reasons(events)), didYouMean(want, reasons(events)))
		}
	}
	for i, want := range e.SyncErrors {
		if !slices.ContainsFunc(errs, func(got syncError) bool { return strings.Contains(got.text, want) }) {
			found.add(fmt.Sprintf(".expect.syncErrors[%d]", i), "no sync failed with %q in this step", want)
		}
	}
	s.result.Expectations += e.count()
	for _, got := range unexpected(errs, e.SyncErrors) {
		found.add(".expect.syncErrors", "a sync of %s failed, and syncErrors does not expect it", got)
		s.result.Expectations++
	}
	broken, stop := s.broken(e, events)
	s.result.Expectations += len(broken)
	for _, text := range broken {
		found.add("", "%s", text)
	}
	s.result.Failed += len(found)
	s.out.Flush()
	for _, one := range found {
		problem := s.file.errorf(at+one.field, "not as expected: %s", one.text)
		s.report.Note(s.report.Style.Failure(problem.Error()))
		s.out.Flush()
	}
	return stop
}

// broken returns a text for each controller whose latest version does not run, if that is new in this step, and the step does not expect
// it: it expects conditions of the controller, or one of the events about it. The error is not nil if nothing of the controller runs.
func (s *simulation) broken(e *Expectation, events []event) (texts []string, stop error) {
	for _, doc := range manifest.Controllers(s.docs) {
		name := object.Describe(doc.Object)
		o, err := s.names.find(name)
		if err != nil {
			continue // a step has deleted it
		}
		before, now := s.notRunning[name], located(s.sources, doc, report.Problem(o))
		s.notRunning[name] = now
		if now == "" || now == before || e.about(o, events) {
			continue
		}
		if active, _, _ := unstructured.NestedInt64(o.Map(), "status", "activeGeneration"); active == 0 {
			stop = errors.New(now)
		}
		texts = append(texts, now)
	}
	return texts, stop
}

// located returns a text about a controller, with the place of a script in the lines after the first.
func located(in manifest.Sources, doc manifest.Document, text string) string {
	first, rest, more := strings.Cut(text, "\n")
	if !more {
		return text
	}
	return first + "\n" + in.LocatedText(doc, rest)
}

// about reports whether conditions of a controller are expected, or one of the events about it.
func (e *Expectation) about(controller *object.Object, events []event) bool {
	conditions := func(want controlplane.Fields) bool {
		o := object.New(want)
		_, has, _ := unstructured.NestedFieldNoCopy(want, "status", "conditions")
		return has && o.GetKind() == controller.GetKind() && o.GetName() == controller.GetName()
	}
	expected := func(got event) bool {
		return got.about == object.Describe(controller) && slices.ContainsFunc(e.Events, got.matches)
	}
	return slices.ContainsFunc(e.Objects, conditions) || slices.ContainsFunc(events, expected)
}

// unexpected returns the parents whose syncs failed with errors that are not expected, each once: the report of the sync has the error.
func unexpected(errs []syncError, expected []string) []string {
	var all []string
	for _, got := range errs {
		if !slices.ContainsFunc(expected, func(want string) bool { return strings.Contains(got.text, want) }) {
			all = append(all, got.parent)
		}
	}
	return unique(all)
}

// compareAll adds how the objects differ from the expected ones.
func (s *simulation) compareAll(found *failures, e *Expectation, failed error) {
	if e.Error != "" && (failed == nil || !strings.Contains(failed.Error(), e.Error)) {
		found.add(".expect.error", "the error of the action: want %q, got %v", e.Error, errorText(failed))
	}
	for i, want := range e.Objects {
		at := fmt.Sprintf(".expect.objects[%d]", i)
		for _, text := range s.compare(want) {
			found.add(at+fieldIn(want, text), "%s", text)
		}
	}
	for i, reference := range e.Absent {
		at := fmt.Sprintf(".expect.absent[%d]", i)
		resource, key, err := s.names.resolve(reference)
		switch {
		case err != nil:
			found.add(at, "%v", err)
		default:
			if got := s.api.Get(resource.GroupResource(), key); got != nil {
				found.add(at, "%s exists%s", reference, whyKept(got))
			}
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(e.Count)) {
		at := fmt.Sprintf(".expect.count[%s]", kind)
		names, err := s.names.all(kind)
		switch {
		case err != nil:
			found.add(at, "%v", err)
		case len(names) != e.Count[kind]:
			found.add(at, "want %s of kind %s, got %s", objects(e.Count[kind]), kind, strings.TrimSuffix(fmt.Sprintf("%d: %s", len(names), strings.Join(names, ", ")), ": "))
		}
	}
}

// whyKept returns why an object that is being deleted still exists, to follow "exists".
func whyKept(o *object.Object) string {
	if !object.Deleting(o) {
		return ""
	}
	for _, finalizer := range o.GetFinalizers() {
		if strings.HasPrefix(finalizer, "metacontroller.io/") {
			return ": the finalize hook has not returned finalized: true, so that the finalizer " + finalizer + " stays"
		}
	}
	return ": it is being deleted, and has the finalizers " + strings.Join(o.GetFinalizers(), ", ")
}

func objects(n int) string {
	if n == 1 {
		return "1 object"
	}
	return fmt.Sprintf("%d objects", n)
}

// fieldIn returns the path of the field with which the text about a difference begins, after the name of the object.
func fieldIn(want map[string]any, text string) string {
	_, rest, _ := strings.Cut(text, ": ")
	if path, _, found := strings.Cut(rest, ": "); found && !strings.Contains(path, " ") {
		return "." + path
	}
	if want["metadata"] != nil {
		return ".metadata.name"
	}
	return ""
}

func errorText(err error) string {
	if err == nil {
		return "none"
	}
	return err.Error()
}

// compare returns how an object differs from the fields that are expected.
func (s *simulation) compare(want map[string]any) []string {
	o := object.New(want)
	kind := o.GetKind()
	if o.GetAPIVersion() != "" {
		kind += "." + o.GetAPIVersion()
	}
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	got, err := s.names.find(kind + " " + name)
	if err != nil {
		return []string{err.Error()}
	}
	var problems []string
	for _, one := range partial.Differences(want, got.Map()) {
		problems = append(problems, object.Describe(got)+": "+one)
	}
	return problems
}

// matches reports whether an event is the one that a step expects: a reason, or "reason: part of the message".
func (e event) matches(want string) bool {
	reason, part, _ := strings.Cut(want, ": ")
	return e.reason == reason && strings.Contains(e.note, part)
}

func reasons(events []event) []string {
	var all []string
	for _, e := range events {
		all = append(all, e.reason)
	}
	return unique(all)
}

func listOf(text string, items []string) string {
	if len(items) == 0 {
		return "there are none"
	}
	return text + " " + strings.Join(items, ", ")
}

func unique(all []string) []string {
	sorted := slices.Sorted(slices.Values(all))
	return slices.Compact(sorted)
}
