package shadow

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/observe"
)

// oneChild is a script with one ConfigMap.
const oneChild = `
def sync(parent, children):
    return {"status": {"n": 1}, "children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": parent.metadata.name}, "data": {"a": "1"}}]}
`

func TestDifferences(t *testing.T) {
	other := func(from, to string) string { return strings.Replace(oneChild, from, to, 1) }
	for _, c := range []struct {
		name, live, candidate, want string
	}{
		{"the same", oneChild, oneChild, "agrees"},
		{"written otherwise", oneChild, other(`"n": 1`, `"n": 2 - 1`), "agrees"},
		{"status", oneChild, other(`"n": 1`, `"n": 2`), "differs status.n"},
		{"no status", oneChild, other(`"status": {"n": 1}, `, ""), "differs status is only in the answer of the script that runs"},
		{"another value of a child", oneChild, other(`"a": "1"`, `"a": "2"`), "differs ConfigMap default/w: data.a (create ConfigMap default/w: desired and missing, with another content)"},
		{"another child", oneChild, other(`parent.metadata.name`, `"x"`), "differs ConfigMap default/w is only in the answer of the script that runs (create ConfigMap default/x: desired and missing, not create ConfigMap default/w: desired and missing)"},
		{"resync", oneChild, other(`{"status"`, `{"resyncAfterSeconds": 5, "status"`), "differs resyncAfterSeconds"},
		{"events", oneChild, other(`{"status"`, `{"events": [{"type": "Normal", "reason": "R", "message": "m"}], "status"`), "differs events"},
		{"an error", oneChild, "def sync(parent): return parent.spec.image", `error sync.star:1:33: in sync: field or method "spec" is not in the dict`},
		{"an error of both", "def sync(parent): fail('a')", "def sync(parent): fail('b')", "agrees"},
		{"an error that is corrected", "def sync(parent): fail('a')", oneChild, "differs the candidate answers, and the script that runs fails: sync.star:1:23: in sync: a"},
		{"the time", "def sync(request): return {'status': {'now': request.now}, 'children': []}", "def sync(request): return {'status': {'now': request.now}, 'children': []}\n", "agrees"},
		{"another hook", oneChild, oneChild + "def finalize(parent): return {'finalized': True, 'children': []}\n", "differs only the candidate has the hook finalize"},
		{"a hook is missing", oneChild + "def finalize(parent): return {'finalized': True, 'children': []}\n", oneChild, "differs the candidate does not have the hook finalize"},
		{
			"other related objects", oneChild + "def customize(parent): return {'relatedResources': [{'apiVersion': 'v1', 'resource': 'pods'}]}\n",
			oneChild + "def customize(parent): return {'relatedResources': [{'apiVersion': 'v1', 'resource': 'pods'}, {'apiVersion': 'v1', 'resource': 'secrets'}]}\n",
			"differs customize: relatedResources[1] is only in the answer of the candidate",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, script("script", c.live)+shadowOf(c.candidate, ""))
			w.loaded()
			w.reconcile(widget("w"))
			got := w.next()
			if first, _, _ := strings.Cut(got, "\n"); !strings.HasPrefix(first, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// What would be written shows what the difference means for the children that exist.
func TestWritesOfBothVersions(t *testing.T) {
	w := newWorld(t, script("script", oneChild)+shadowOf(`
def sync(parent, children):
    return {"status": {"n": 1}, "children": []}
`, ""))
	w.loaded()
	parent := widget("w")
	w.reconcile(parent, objecttest.With(objecttest.ConfigMap("w", parent), func(o *object.Object) { o.Map()["data"] = map[string]any{"a": "1"} }))
	got := w.next()
	if !strings.Contains(got, "delete ConfigMap default/w: no longer desired") {
		t.Error(got)
	}
	r := w.until(func(r *Report) bool { return r.Differ == 1 })
	if r.First.Parent.String() != "default/w" || !strings.Contains(r.First.Text, "the candidate would delete ConfigMap default/w") || r.Comparisons() != 1 {
		t.Errorf("%+v", r)
	}
	if event := <-w.events; !strings.HasPrefix(event, "ShadowDiffers for the parent default/w: ConfigMap default/w is only in the answer of the script that runs; the candidate would delete") {
		t.Error(event)
	}
	w.reconcile(widget("v"))
	w.next()
	if len(w.events) > 0 {
		t.Errorf("another event: %s", <-w.events)
	}
}

func TestFinalizeIsCompared(t *testing.T) {
	hooks := oneChild + "def finalize(parent): return {'finalized': %s, 'children': []}\n"
	w := newWorld(t, script("script", fmt.Sprintf(hooks, "True"))+shadowOf(fmt.Sprintf(hooks, "False"), ""))
	w.loaded()
	w.reconcile(objecttest.With(widget("w"), objecttest.Deleting))
	if got := w.next(); got != "differs finalized" {
		t.Error(got)
	}
}

// A candidate that is no script, or serves no hook, is reported, and nothing is compared.
func TestCandidateThatDoesNotLoad(t *testing.T) {
	for _, c := range []struct{ name, fields, want string }{
		{"a syntax error", script("script", oneChild) + shadowOf("def sync(parent) return 1", ""), "spec.shadow.script: sync.star:1:"},
		{"a missing file", script("script", oneChild) + "shadow: {script: {file: a/sync.star}}\n", "spec.shadow.script: "},
		{"only webhooks", "hooks: {sync: {webhook: {url: 'http://127.0.0.1:1/'}}}\n" + shadowOf(oneChild, ""), "spec.shadow.script: it serves no hook"},
		{"a share", script("script", oneChild) + "shadow: {share: 200%, script: " + objecttest.Inline("Starlark", oneChild) + "}\n", `spec.shadow.share is "200%"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.fields)
			r := w.until(func(r *Report) bool { return r.Err != nil })
			if !strings.HasPrefix(r.Err.Error(), c.want) || r.Digest != "" {
				t.Errorf("%v, %+v", r.Err, r)
			}
			if w.in.Live.Sync != nil && !strings.Contains(c.fields, "webhook") {
				w.reconcile(widget("w"))
			}
			if w.waiting.Load() != 0 {
				t.Error("it waits to be compared")
			}
		})
	}
}

// An edit of the candidate begins to count again; a correct one is compared.
func TestEditOfCandidate(t *testing.T) {
	w := newWorld(t, script("script", oneChild)+shadowOf("def sync(parent) return 1", ""))
	w.until(func(r *Report) bool { return r.Err != nil })
	w.load(script("script", oneChild) + shadowOf(oneChild, ""))
	w.loaded()
	w.reconcile(widget("w"))
	if got := w.next(); got != "agrees" {
		t.Error(got)
	}
	w.until(func(r *Report) bool { return r.Agree == 1 && r.Err == nil })
	w.load(script("script", oneChild+"\n") + shadowOf(oneChild, ""))
	w.until(func(r *Report) bool { return r.Comparisons() == 0 && r.Digest != "" })
	if r := w.Update(w.ctx, Input{Declaration: w.in.Declaration, Object: w.in.Object}); r == nil {
		t.Error("there is no report while nothing runs")
	}
	w.in.Live = nil
	w.until(func(r *Report) bool {
		return strings.HasPrefix(r.Waiting, "nothing is compared until spec.script runs")
	})
	w.load(script("script", oneChild))
	if r := w.Update(w.ctx, w.in); r != nil {
		t.Errorf("without a candidate: %+v", r)
	}
}

// Settings that the candidate does not set are those of spec.script.
func TestCandidateHasLimitsOfScript(t *testing.T) {
	loop := "def sync(parent):\n    n = 0\n    for i in range(100000): n += 1\n    return {'children': []}\n"
	w := newWorld(t, "script: {language: Starlark, inline: "+objecttest.Quoted(oneChild)+", limits: {steps: 10000}}\n"+shadowOf(loop, ""))
	w.loaded()
	w.reconcile(widget("w"))
	if got := w.next(); !strings.HasPrefix(got, "error ") || !strings.Contains(got, "10000 steps") {
		t.Error(got)
	}
}

// No text has the value of a Secret that the scripts see, nor its base64.
func TestSecretIsNotShown(t *testing.T) {
	const value = "correct-horse-battery"
	secret := object.New(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": "s", "namespace": "default", "uid": "s", "resourceVersion": "1"},
		"data": map[string]any{"p": base64.StdEncoding.EncodeToString([]byte(value))},
	})
	const read = `
def sync(parent, related):
    secret = related["Secret.v1"].values()[0]["data"]["p"]
`
	for _, c := range []struct{ name, candidate string }{
		{"a key", read + `    return {"status": {"n": 1}, "children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": parent.metadata.name}, "data": {"a": "1", secret: ""}}]}`},
		{"an error", read + `    fail("the password is " + secret)`},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, script("script", oneChild)+shadowOf(c.candidate, ""))
			w.loaded()
			w.reconcile(widget("w"), secret)
			got := w.next()
			r := w.until(func(r *Report) bool { return r.First != nil })
			got += "\n" + r.First.Text + "\n" + <-w.events
			if strings.Contains(got, value) || strings.Contains(got, base64.StdEncoding.EncodeToString([]byte(value))) || !strings.Contains(got, "redacted") && !strings.Contains(got, "*") && !strings.Contains(got, "[") {
				t.Error(got)
			}
		})
	}
}

// A candidate that uses up its limits is stopped, and reconciles never wait for it.
func TestCandidateThatBurnsItsCPU(t *testing.T) {
	loop := "def sync(parent):\n    n = 0\n    for i in range(1000000000): n += 1\n    return {'children': []}\n"
	w := newWorld(t, script("script", oneChild)+shadowOf(loop, ", limits: {steps: 100000}"))
	w.loaded()
	for i := range 2 * maxExceeded {
		w.reconcile(widget(fmt.Sprint("w", i)))
	}
	r := w.until(func(r *Report) bool { return r.Stopped != nil })
	if r.Errors != maxExceeded || r.Digest == "" {
		t.Errorf("%+v", r)
	}
	<-w.events
	if event := <-w.events; !strings.HasPrefix(event, "ShadowStopped the candidate in spec.shadow exceeded its limits 10 times") {
		t.Error(event)
	}
	w.reconcile(widget("more"))
	w.load(script("script", oneChild) + shadowOf(oneChild, ""))
	w.until(func(r *Report) bool { return r.Stopped == nil && r.Digest != "" })
}

// For one parent it is held after two times, and this is counted as dropped.
func TestCandidateIsHeldForParent(t *testing.T) {
	t.Parallel() // it waits for counts to be published again
	loop := "def sync(parent):\n    n = 0\n    for i in range(1000000000): n += 1\n    return {'children': []}\n"
	w := newWorld(t, script("script", oneChild)+shadowOf(loop, ", limits: {steps: 1000}"))
	w.loaded()
	var got []string
	for range 4 {
		w.reconcile(widget("w"))
		result, _, _ := strings.Cut(w.next(), " ")
		got = append(got, result)
	}
	if text := strings.Join(got, " "); text != "error error dropped dropped" {
		t.Error(text)
	}
	w.until(func(r *Report) bool { return r.Dropped == 2 && r.Comparisons() == 2 })
}

// A queue that is full drops reconciles, and counts them. The caller does not wait.
func TestFullQueueDrops(t *testing.T) {
	t.Parallel() // it waits for counts to be published again
	w := newWorld(t, script("script", oneChild)+shadowOf(oneChild, ""))
	w.loaded()
	for range calls { // nothing is compared
		w.slots <- struct{}{}
	}
	for i := range maxWaiting + 11 {
		w.reconcile(widget(fmt.Sprint("w", i)))
	}
	for range calls {
		<-w.slots
	}
	w.until(func(r *Report) bool { return r.Agree+r.Dropped == maxWaiting+11 && r.Dropped >= 10 })
	if n := w.waiting.Load(); n != 0 {
		t.Errorf("a weight of %d is not given back", n)
	}
}

func TestShareIsTheSameParents(t *testing.T) {
	const parents = 400
	shared := map[string]bool{}
	w := newWorld(t, script("script", oneChild)+"shadow: {share: 10%, script: "+objecttest.Inline("Starlark", oneChild)+"}\n")
	w.loaded()
	for round := range 2 {
		for i := range parents {
			w.reconcile(widget(fmt.Sprint("w", i)))
		}
		n := 0
		for i := range parents {
			if isShared(widget(fmt.Sprint("w", i)).GetUID(), 10) {
				n++
			}
		}
		for range n {
			c := <-w.sink.compared
			if name := c.Parent.Name; round == 0 {
				shared[name] = true
			} else if !shared[name] {
				t.Errorf("%s is compared the second time only", name)
			}
		}
		if n < parents/20 || n > parents/5 || len(shared) != n {
			t.Errorf("%d of %d parents are compared, want about a tenth", n, parents)
		}
	}
}

func TestIsDue(t *testing.T) {
	for _, c := range []struct {
		name        string
		before, now Counts
		since       time.Duration
		want        bool
	}{
		{"nothing changed", Counts{Agree: 1}, Counts{Agree: 1}, time.Hour, false},
		{"the first", Counts{}, Counts{Agree: 1}, 0, true},
		{"the first difference", Counts{Agree: 100}, Counts{Agree: 100, Differ: 1}, 0, true},
		{"one more", Counts{Agree: 100}, Counts{Agree: 101}, publishSoon, false},
		{"one more, later", Counts{Agree: 100}, Counts{Agree: 101}, publishEvery, true},
		{"twice as many", Counts{Agree: 10}, Counts{Agree: 20}, publishSoon, true},
		{"twice as many at once", Counts{Agree: 10}, Counts{Agree: 20}, 0, false},
	} {
		if got := isDue(c.before, c.now, c.since); got != c.want {
			t.Errorf("%s: %t", c.name, got)
		}
	}
}

func TestTallyCountsParentsOnce(t *testing.T) {
	n := newTally()
	for _, c := range []observe.Comparison{{UID: "a", Result: observe.Agrees}, {UID: "a", Result: observe.Agrees}, {UID: "b", Result: observe.Failed}, {UID: "c", Result: observe.Dropped}} {
		n.note(&c)
	}
	if want := (Counts{Parents: 2, Agree: 2, Errors: 1, Dropped: 1}); n.Counts != want || n.Comparisons() != 3 {
		t.Errorf("%+v", n.Counts)
	}
}
