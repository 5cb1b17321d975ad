package hook

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
)

func TestRequestHasFieldsOfMetacontroller(t *testing.T) {
	req := observing(t, newRequest(t), "a", "b")
	req.Finalizing = true
	req.Related = &object.Set{}
	req.Related.Put(parseObject(t, `{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}}`))
	check := unchanged(t, req)
	want := parse(t, `
controller: {apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: cats}}
parent: {apiVersion: example.com/v1, kind: CatSet, metadata: {name: cats, namespace: default, uid: u1}, spec: {replicas: 3}, status: {ready: 1}}
children:
  Pod.v1:
    a: {apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {image: x}}
    b: {apiVersion: v1, kind: Pod, metadata: {name: b, namespace: default}, spec: {image: x}}
  StatefulSet.apps/v1: {}
  Zone.example.com/v1: {}
related:
  ConfigMap.v1:
    c: {apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: default}}
finalizing: true
`)
	if diff := cmp.Diff(want, encode(req, V1)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
	check()
}

func TestEmptyGroupsArePresent(t *testing.T) {
	for _, version := range []string{"", V1, V2} {
		got := encode(newRequest(t), version)
		want := parse(t, `{Pod.v1: {}, StatefulSet.apps/v1: {}, Zone.example.com/v1: {}}`)
		if diff := cmp.Diff(any(want), got["children"]); diff != "" {
			t.Errorf("version %q: children (-want +got):\n%s", version, diff)
		}
		if diff := cmp.Diff(any(map[string]any{}), got["related"]); diff != "" {
			t.Errorf("version %q: related without any, want {} (-want +got):\n%s", version, diff)
		}
		if got["finalizing"] != false {
			t.Errorf("version %q: finalizing is %v, want false", version, got["finalizing"])
		}
	}
}

func TestKeyOfObjectDependsOnVersionAndScopes(t *testing.T) {
	for _, c := range []struct {
		version, parent, namespace, want string
	}{
		{V1, "default", "default", "a"},
		{V1, "default", "", "a"},
		{V1, "", "default", "default/a"},
		{V1, "", "", "a"},
		{"", "default", "default", "a"},
		{"", "", "default", "default/a"},
		{V2, "default", "default", "default/a"},
		{V2, "default", "", "a"},
		{V2, "", "default", "default/a"},
		{V2, "", "", "a"},
	} {
		req := newRequest(t)
		req.Parent.SetNamespace(c.parent)
		o := parseObject(t, `{apiVersion: v1, kind: Pod, metadata: {name: a}}`)
		o.SetNamespace(c.namespace)
		req.Children.Put(o)
		req.Related = &object.Set{}
		req.Related.Put(o)
		got := encode(req, c.version)
		for _, field := range []string{"children", "related"} {
			group := got[field].(map[string]any)["Pod.v1"].(map[string]any)
			if len(group) != 1 || group[c.want] == nil {
				t.Errorf("version %q, parent in %q, object in %q: keys of %s are %v, want %s", c.version, c.parent, c.namespace, field, group, c.want)
			}
		}
	}
}

// An answer that breaks a rule of the protocol, and how it is told. It is the same for scripts and webhooks except
// where a table says otherwise.
type refusal struct{ name, answer, want string }

func checkRefusals(t *testing.T, req *Request, who []string, refusals []refusal) {
	t.Helper()
	for _, speaker := range who {
		for _, c := range refusals {
			t.Run(speaker+": "+c.name, func(t *testing.T) {
				check := unchanged(t, req)
				h := speakers[speaker](t, c.answer)
				resp, err := h.Call(t.Context(), req)
				if got := fault(t, h, err); got != c.want {
					t.Errorf("error\n got %q\nwant %q", got, c.want)
				}
				if err != nil && resp != nil {
					t.Errorf("a response beside an error: %+v", resp)
				}
				check()
			})
		}
	}
}

func TestWrongTypeIsAnError(t *testing.T) {
	checkRefusals(t, newRequest(t), all, []refusal{
		{"status is text", `{status: ok}`, `status in the answer is a string, want an object`},
		{"status is a list", `{status: []}`, `status in the answer is a list, want an object`},
		{"status is true", `{status: true}`, `status in the answer is a boolean, want an object`},
		{"children is an object", `{children: {}}`, `children in the answer is an object, want a list of objects`},
		{"children is text", `{children: ""}`, `children in the answer is a string, want a list of objects`},
		{"children is a number", `{children: 0}`, `children in the answer is a number, want a list of objects`},
		{"children is a fraction", `{children: 0.5}`, `children in the answer is a number, want a list of objects`},
		{"children is false", `{children: false}`, `children in the answer is a boolean, want a list of objects`},
		{"resyncAfterSeconds is text", `{resyncAfterSeconds: "5"}`, `resyncAfterSeconds in the answer is a string, want a number of seconds`},
		{"resyncAfterSeconds is true", `{resyncAfterSeconds: true}`, `resyncAfterSeconds in the answer is a boolean, want a number of seconds`},
		{"resyncAfterSeconds is a list", `{resyncAfterSeconds: [5]}`, `resyncAfterSeconds in the answer is a list, want a number of seconds`},
		{"resyncAfterSeconds is an object", `{resyncAfterSeconds: {}}`, `resyncAfterSeconds in the answer is an object, want a number of seconds`},
		{"finalized is text", `{finalized: "true"}`, `finalized in the answer is a string, want true or false`},
		{"finalized is a number", `{finalized: 1}`, `finalized in the answer is a number, want true or false`},
		{"finalized is a list", `{finalized: []}`, `finalized in the answer is a list, want true or false`},
		{"finalized is an object", `{finalized: {}}`, `finalized in the answer is an object, want true or false`},
	})
	// A ported script may answer with a status code.
	checkRefusals(t, newRequest(t), []string{"script", "webhook"}, []refusal{
		{"status is a number", `{status: 200}`, `status in the answer is a number, want an object`},
	})
}

var badEvents = []refusal{
	{"events is an object", `{events: {}}`, `events in the answer is an object, want a list of {type, reason, message}`},
	{"events is text", `{events: Ready}`, `events in the answer is a string, want a list of {type, reason, message}`},
	{"an event is text", `{events: [Ready]}`, `events[0] in the answer: is a string, want {type, reason, message}`},
	{"an event is null", `{events: [null]}`, `events[0] in the answer: is null, want {type, reason, message}`},
	{"the second event is a list", `{events: [{reason: A, message: b}, []]}`, `events[1] in the answer: is a list, want {type, reason, message}`},
	{"type is a number", `{events: [{type: 1, reason: A, message: b}]}`, `events[0] in the answer: type is a number, want a string`},
	{"reason is a boolean", `{events: [{reason: true, message: b}]}`, `events[0] in the answer: reason is a boolean, want a string`},
	{"message is an object", `{events: [{reason: A, message: {}}]}`, `events[0] in the answer: message is an object, want a string`},
	{"an unknown type", `{events: [{type: Error, reason: A, message: b}]}`, `events[0] in the answer: type is "Error", want Normal or Warning`},
	{"an empty type", `{events: [{type: "", reason: A, message: b}]}`, `events[0] in the answer: type is "", want Normal or Warning`},
	{"no reason", `{events: [{message: b}]}`, `events[0] in the answer: reason and message must not be empty`},
	{"an empty message", `{events: [{reason: A, message: ""}]}`, `events[0] in the answer: reason and message must not be empty`},
	{"an unknown key", `{events: [{reason: A, message: b, note: c}]}`, `events[0] in the answer: unknown key "note": it may have type, reason and message`},
	{"several faults, the first by its key", `{events: [{z: x, reason: 1, message: 2}]}`, `events[0] in the answer: message is a number, want a string`},
}

func TestInvalidEventFromScriptIsAnError(t *testing.T) {
	checkRefusals(t, newRequest(t), strict, badEvents)
}

// Metacontroller knows no events in an answer and ignores them, so that such a webhook must go on to work.
func TestInvalidEventFromWebhookIsAWarning(t *testing.T) {
	for _, speaker := range lenient {
		for _, c := range badEvents {
			resp := ask(t, speakers[speaker](t, c.answer), newRequest(t))
			if diff := cmp.Diff([]string{c.want}, warnings(resp)); diff != "" || resp.Events != nil {
				t.Errorf("%s: %s: events %v, warnings (-want +got):\n%s", speaker, c.name, resp.Events, diff)
			}
		}
	}
}

func TestDefaultEventTypeIsNormal(t *testing.T) {
	text := `{events: [{reason: A, message: a b}, {type: Normal, reason: B, message: b}, {type: Warning, reason: C, message: c}]}`
	want := []Event{{"Normal", "A", "a b"}, {"Normal", "B", "b"}, {"Warning", "C", "c"}}
	for _, speaker := range all {
		if diff := cmp.Diff(want, ask(t, speakers[speaker](t, text), newRequest(t)).Events); diff != "" {
			t.Errorf("%s: events (-want +got):\n%s", speaker, diff)
		}
		for _, none := range []string{`{}`, `{events: null}`, `{events: []}`} {
			if got := ask(t, speakers[speaker](t, none), newRequest(t)).Events; len(got) != 0 {
				t.Errorf("%s: %s: events %v, want none", speaker, none, got)
			}
		}
	}
}

func TestUnknownKeyFromScriptIsAnError(t *testing.T) {
	const mayHave = ` in the answer: it may have status, children, resyncAfterSeconds, finalized and events`
	checkRefusals(t, newRequest(t), strict, []refusal{
		{"a misspelled one", `{childs: []}`, `unknown key "childs" in the answer: did you mean "children"?`},
		{"another case", `{Children: []}`, `unknown key "Children" in the answer: did you mean "children"?`},
		{"another language's case", `{resync_after_seconds: 5}`, `unknown key "resync_after_seconds" in the answer: did you mean "resyncAfterSeconds"?`},
		{"British spelling", `{finalised: true}`, `unknown key "finalised" in the answer: did you mean "finalized"?`},
		{"the singular", `{event: []}`, `unknown key "event" in the answer: did you mean "events"?`},
		{"another letter", `{statos: {}}`, `unknown key "statos" in the answer: did you mean "status"?`},
		{"nothing alike", `{foo: 1}`, `unknown key "foo"` + mayHave},
		{"no name at all", `{"": 1}`, `unknown key ""` + mayHave},
		{"the other kind's name for children", `{attachments: []}`, `unknown key "attachments" in the answer: did you mean "children"?`},
		{"the first of several, by name", `{zoo: 1, stattus: {}, bar: 2}`, `unknown key "bar"` + mayHave},
		{"beside good ones", `{status: {}, children: [], childrn: []}`, `unknown key "childrn" in the answer: did you mean "children"?`},
	})
}

func TestUnknownKeyFromWebhookIsIgnored(t *testing.T) {
	for _, speaker := range lenient {
		resp := ask(t, speakers[speaker](t, `{childs: [], foo: 1, status: {a: 1}}`), newRequest(t))
		if diff := cmp.Diff(map[string]any{"a": int64(1)}, resp.Status); diff != "" || len(resp.Warnings) != 0 {
			t.Errorf("%s: warnings %v, status (-want +got):\n%s", speaker, resp.Warnings, diff)
		}
	}
}

func TestMissingChildrenFromScriptIsAnError(t *testing.T) {
	const one = `no children in the answer, which would delete the 1 there is: return children, or [] to delete them on purpose`
	const three = `no children in the answer, which would delete the 3 there are: return children, or [] to delete them on purpose`
	checkRefusals(t, observing(t, newRequest(t), "a"), strict, []refusal{
		{"missing", `{status: {}}`, one},
		{"null", `{children: null}`, one},
		{"an empty answer", `{}`, one},
	})
	checkRefusals(t, observing(t, newRequest(t), "a", "b", "c"), strict, []refusal{{"missing", `{}`, three}})

	finalizing := observing(t, newRequest(t), "a")
	finalizing.Finalizing = true
	checkRefusals(t, finalizing, strict, []refusal{{"missing while finalizing", `{finalized: true}`, one}})
}

func TestMissingChildrenWithoutObservedChildren(t *testing.T) {
	for _, speaker := range all {
		for _, text := range []string{`{}`, `{children: null}`, `{children: []}`} {
			if resp := ask(t, speakers[speaker](t, text), newRequest(t)); resp.Children == nil || resp.Children.Len() != 0 {
				t.Errorf("%s: %s: children %v, want an empty set", speaker, text, resp.Children)
			}
		}
	}
}

func TestEmptyListDeletesAllChildren(t *testing.T) {
	for _, speaker := range all {
		resp := ask(t, speakers[speaker](t, `{children: []}`), observing(t, newRequest(t), "a", "b"))
		if resp.Children.Len() != 0 || len(resp.Warnings) != 0 {
			t.Errorf("%s: children %v, warnings %v, want none", speaker, children(resp), resp.Warnings)
		}
	}
}

func TestMissingChildrenFromWebhookDeletesAll(t *testing.T) {
	for _, speaker := range lenient {
		for _, text := range []string{`{}`, `{children: null}`} {
			if resp := ask(t, speakers[speaker](t, text), observing(t, newRequest(t), "a", "b")); resp.Children.Len() != 0 {
				t.Errorf("%s: %s: children %v, want none", speaker, text, children(resp))
			}
		}
	}
}

func TestMissingStatus(t *testing.T) {
	for _, text := range []string{`{}`, `{status: null}`} {
		if got := ask(t, script(t, text), newRequest(t)).Status; got != nil {
			t.Errorf("script: %s: status %v, want nil, which leaves it", text, got)
		}
		for _, speaker := range lenient {
			if got := ask(t, speakers[speaker](t, text), newRequest(t)).Status; got == nil || len(got) != 0 {
				t.Errorf("%s: %s: status %#v, want an empty one, which replaces it", speaker, text, got)
			}
		}
	}
	for _, speaker := range all {
		if got := ask(t, speakers[speaker](t, `{status: {}}`), newRequest(t)).Status; got == nil || len(got) != 0 {
			t.Errorf("%s: an empty status is decoded as %#v", speaker, got)
		}
		want := parse(t, `{a: 1, b: null, c: {d: [x]}}`)
		if diff := cmp.Diff(want, ask(t, speakers[speaker](t, `{status: {a: 1, b: null, c: {d: [x]}}}`), newRequest(t)).Status); diff != "" {
			t.Errorf("%s: status (-want +got):\n%s", speaker, diff)
		}
	}
}

func TestResyncAfterSeconds(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	for text, want := range map[string]time.Duration{
		`{}`:                                        0,
		`{resyncAfterSeconds: null}`:                0,
		`{resyncAfterSeconds: 0}`:                   0,
		`{resyncAfterSeconds: 5}`:                   5 * time.Second,
		`{resyncAfterSeconds: 0.5}`:                 500 * time.Millisecond,
		`{resyncAfterSeconds: 2.25}`:                2250 * time.Millisecond,
		`{resyncAfterSeconds: -1}`:                  0,
		`{resyncAfterSeconds: -0.5}`:                0,
		`{resyncAfterSeconds: 86400}`:               24 * time.Hour,
		`{resyncAfterSeconds: 1e300}`:               century,
		`{resyncAfterSeconds: -1e300}`:              0,
		`{resyncAfterSeconds: 9223372036854775807}`: century,
	} {
		for _, speaker := range all {
			if got := ask(t, speakers[speaker](t, text), newRequest(t)).ResyncAfter; got != want {
				t.Errorf("%s: %s: resync after %s, want %s", speaker, text, got, want)
			}
		}
	}
	if got, err := decodeSeconds(5.0); got != 5*time.Second || err != nil {
		t.Errorf("5.0 is %s, %v, want 5s", got, err)
	}
	if got, err := decodeSeconds(math.Inf(1)); got != century || err != nil {
		t.Errorf("infinity is %s, %v, want %s", got, err, century)
	}
}

func TestFinalizedIsFalseByDefault(t *testing.T) {
	for text, want := range map[string]bool{`{}`: false, `{finalized: null}`: false, `{finalized: false}`: false, `{finalized: true}`: true} {
		for _, speaker := range all {
			if got := ask(t, speakers[speaker](t, text), newRequest(t)).Finalized; got != want {
				t.Errorf("%s: %s: finalized is %v, want %v", speaker, text, got, want)
			}
		}
	}
}
