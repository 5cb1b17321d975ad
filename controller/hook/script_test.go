package hook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/engine"
)

func TestScriptGetsRequestAndTime(t *testing.T) {
	var got map[string]any
	s := &Script{
		Function: "reconcile", Version: V2, Limits: engine.Limits{Steps: 7, Timeout: time.Minute},
		Now: func() time.Time {
			return time.Date(2024, 2, 29, 1, 2, 3, 999_999_999, time.FixedZone("", 3600))
		},
		Program: &program{call: func(_ context.Context, fn string, arg map[string]any, env engine.Env) (map[string]any, error) {
			if fn != "reconcile" {
				t.Errorf("function %q is called, want reconcile", fn)
			}
			if want := (engine.Limits{Steps: 7, Timeout: time.Minute}); env.Limits != want {
				t.Errorf("limits %+v, want %+v", env.Limits, want)
			}
			if env.Log != nil {
				t.Error("Env.Log is set without Script.Log")
			}
			got = arg
			return map[string]any{"children": []any{}}, nil
		}},
	}
	req := observing(t, newRequest(t), "a")
	check := unchanged(t, req)
	ask(t, s, req)
	want := encode(req, V2)
	want["now"] = "2024-02-29T00:02:03Z"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("argument (-want +got):\n%s", diff)
	}
	check()
}

func TestDefaultTimeIsUTCInSeconds(t *testing.T) {
	s := &Script{Function: Sync, Program: &program{call: func(_ context.Context, _ string, arg map[string]any, _ engine.Env) (map[string]any, error) {
		text, _ := arg["now"].(string)
		if now, err := time.Parse("2006-01-02T15:04:05Z", text); err != nil || now.IsZero() {
			t.Errorf("request.now is %v, want a time such as 2024-02-29T01:02:03Z", arg["now"])
		}
		return map[string]any{}, nil
	}}}
	ask(t, s, newRequest(t))
}

func TestScriptMessagesAreLoggedWithRequest(t *testing.T) {
	req, printed := newRequest(t), engine.Message{Level: engine.Warn, Pos: engine.Pos{File: "sync.star", Line: 3}, Text: "hm"}
	var got []engine.Message
	s := &Script{
		Function: Sync,
		Log: func(of *Request, m engine.Message) {
			if of != req {
				t.Error("the message comes with another request")
			}
			got = append(got, m)
		},
		Program: &program{call: func(_ context.Context, _ string, _ map[string]any, env engine.Env) (map[string]any, error) {
			env.Log(printed)
			return map[string]any{}, nil
		}},
	}
	ask(t, s, req)
	if diff := cmp.Diff([]engine.Message{printed}, got); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestScriptErrorIsReturnedUnchanged(t *testing.T) {
	for _, isPorted := range []bool{false, true} {
		failed := &engine.Error{Kind: engine.KindRaised, Msg: "no such image"}
		s := &Script{Function: Sync, Program: &program{ported: isPorted, call: func(context.Context, string, map[string]any, engine.Env) (map[string]any, error) {
			return nil, failed
		}}}
		if resp, err := s.Call(t.Context(), newRequest(t)); err != error(failed) || resp != nil {
			t.Errorf("ported %v: response %v, error %v, want the program's own error", isPorted, resp, err)
		}
	}
}

func TestScriptRunsWithContextOfCaller(t *testing.T) {
	s := &Script{Function: Sync, Program: &program{call: func(ctx context.Context, _ string, _ map[string]any, _ engine.Env) (map[string]any, error) {
		return nil, ctx.Err()
	}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Call(ctx, newRequest(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// echo answers with parts of the request: the parent's status, and every child.
func echo(_ context.Context, _ string, arg map[string]any, _ engine.Env) (map[string]any, error) {
	pods := arg["children"].(map[string]any)["Pod.v1"].(map[string]any)
	return map[string]any{"status": arg["parent"].(map[string]any)["status"], "children": []any{pods["a"], pods["b"]}}, nil
}

func TestEchoedResponseSharesNothingWithRequest(t *testing.T) {
	for _, isPorted := range []bool{false, true} {
		req := observing(t, newRequest(t), "a", "b")
		req.Expect.Labels = map[string]string{"controller-uid": "u1"}
		check := unchanged(t, req)
		resp := ask(t, &Script{Function: Sync, Program: &program{ported: isPorted, call: echo}}, req)
		if diff := cmp.Diff([]string{"Pod default/a", "Pod default/b"}, children(resp)); diff != "" {
			t.Errorf("children (-want +got):\n%s", diff)
		}
		check()
		objecttest.Scribble(resp.Status)
		for o := range resp.Children.All() {
			objecttest.Scribble(o.Map())
		}
		check()
	}
}

func TestResponsesOfSameAnswerShareNothing(t *testing.T) {
	s := script(t, `{status: {a: {b: 1}}, children: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {c: {}}}]}`)
	first := ask(t, s, newRequest(t))
	objecttest.Scribble(first.Status)
	objecttest.Scribble(first.Children.Group(podKind)[0].Map())
	second := ask(t, s, newRequest(t))
	if diff := cmp.Diff(parse(t, `{a: {b: 1}}`), second.Status); diff != "" {
		t.Errorf("status of the second response (-want +got):\n%s", diff)
	}
	want := parse(t, `{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {c: {}}}`)
	if diff := cmp.Diff(want, second.Children.Group(podKind)[0].Map()); diff != "" {
		t.Errorf("child of the second response (-want +got):\n%s", diff)
	}
}

func TestConcurrentScriptCalls(t *testing.T) {
	req := observing(t, newRequest(t), "a", "b")
	check := unchanged(t, req)
	s := &Script{Function: Sync, Program: &program{call: echo}}
	var calls sync.WaitGroup
	for range 16 {
		calls.Go(func() {
			if resp, err := s.Call(t.Context(), req); err != nil || resp.Children.Len() != 2 {
				t.Errorf("response %v, error %v, want two children", resp, err)
			}
		})
	}
	calls.Wait()
	check()
}

// A bare program is one of a runtime that knows nothing of ported programs.
type bare struct{ engine.Program }

func TestProgramWithoutPortedMethodIsStrict(t *testing.T) {
	s := script(t, `{childs: []}`)
	s.Program = bare{s.Program}
	_, err := s.Call(t.Context(), newRequest(t))
	if got, want := fault(t, s, err), `unknown key "childs" in the answer: did you mean "children"?`; got != want {
		t.Errorf("error %q, want %q", got, want)
	}
}

func TestPortedScriptReturnsHTTPResponse(t *testing.T) {
	for name, text := range map[string]string{
		"the body as an object":  `{status: 200, body: {status: {a: 1}, children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}}`,
		"the body as JSON":       `{status: 200, body: '{"status": {"a": 1}, "children": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]}'}`,
		"with headers":           `{status: 200, headers: {Content-Type: application/json}, body: {status: {a: 1}, children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}}`,
		"the answer without it":  `{status: {a: 1}, children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}`,
		"unknown keys beside it": `{status: 200, foo: 1, body: {foo: 1, status: {a: 1}, children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}}`,
	} {
		resp := ask(t, ported(t, text), newRequest(t))
		if diff := cmp.Diff(map[string]any{"a": int64(1)}, resp.Status); diff != "" {
			t.Errorf("%s: status (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff([]string{"Pod default/a"}, children(resp)); diff != "" {
			t.Errorf("%s: children (-want +got):\n%s", name, diff)
		}
	}
}

func TestStatusCodeCanBeFloat(t *testing.T) {
	s := ported(t, `{body: {status: {a: 1}}}`)
	call := s.Program.(*program).call
	s.Program.(*program).call = func(ctx context.Context, fn string, arg map[string]any, env engine.Env) (map[string]any, error) {
		answer, err := call(ctx, fn, arg, env)
		answer["status"] = 200.0
		return answer, err
	}
	if diff := cmp.Diff(map[string]any{"a": int64(1)}, ask(t, s, newRequest(t)).Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestIntegersInTextBodyAreExact(t *testing.T) {
	resp := ask(t, ported(t, `{status: 200, body: '{"status": {"big": 9007199254740993}}'}`), newRequest(t))
	if diff := cmp.Diff(map[string]any{"big": int64(9007199254740993)}, resp.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
}

func TestPortedScriptWithInvalidBodyIsAnError(t *testing.T) {
	checkRefusals(t, newRequest(t), []string{"ported"}, []refusal{
		{"missing", `{status: 200}`, `the body that the script answered is null, want an object or JSON text`},
		{"null", `{status: 200, body: null}`, `the body that the script answered is null, want an object or JSON text`},
		{"a list", `{status: 200, body: []}`, `the body that the script answered is a list, want an object or JSON text`},
		{"a number", `{status: 200, body: 1}`, `the body that the script answered is a number, want an object or JSON text`},
		{"text that is null", `{status: 200, body: "null"}`, `the body that the script answered is null, want an object or JSON text`},
		{"text that is a list", `{status: 200, body: "[]"}`, `the body that the script answered is a list, want an object or JSON text`},
		{"no text", `{status: 200, body: ""}`, `the body that the script answered is not JSON: unexpected end of JSON input`},
		{"a fault in it", `{status: 200, body: {children: {}}}`, `children in the answer is an object, want a list of objects`},
	})
	h := ported(t, `{status: 200, body: "{status}"}`)
	_, err := h.Call(t.Context(), newRequest(t))
	if got, want := fault(t, h, err), `the body that the script answered is not JSON: invalid character `; !strings.HasPrefix(got, want) {
		t.Errorf("error %q, want it to begin with %q", got, want)
	}
}

func TestPortedScriptWithOtherStatusIsAnError(t *testing.T) {
	for text, want := range map[string]string{
		`{status: 500, body: boom}`:                 `in sync: the script answered with status 500: boom`,
		`{status: 500, body: {error: "no <such>"}}`: `in sync: the script answered with status 500: {"error":"no \u003csuch\u003e"}`,
		`{status: 404}`:                             `in sync: the script answered with status 404: null`,
		`{status: 0, body: ""}`:                     `in sync: the script answered with status 0:`,
		`{status: 201, body: {children: []}}`:       `in sync: the script answered with status 201: {"children":[]}`,
	} {
		_, err := ported(t, text).Call(t.Context(), newRequest(t))
		var e *engine.Error
		if !errors.As(err, &e) || e.Kind != engine.KindRaised || e.Func != Sync {
			t.Errorf("%s: error %#v, want an *engine.Error of kind %s in %s", text, err, engine.KindRaised, Sync)
			continue
		}
		if got := strings.TrimSpace(err.Error()); got != want {
			t.Errorf("%s: error %q, want %q", text, got, want)
		}
	}
}

func TestLongBodyOfPortedScriptIsTruncatedInError(t *testing.T) {
	_, err := ported(t, `{status: 500, body: `+strings.Repeat("ü", 5000)+`}`).Call(t.Context(), newRequest(t))
	if err == nil || len(err.Error()) > 1200 || !strings.HasSuffix(err.Error(), "ü…") {
		t.Errorf("an error of %d bytes that ends in %q, want about a kilobyte cut at a character", len(fmt.Sprint(err)), fmt.Sprint(err)[len(fmt.Sprint(err))-8:])
	}
}

func TestPortedScriptReturnsRetryAfter(t *testing.T) {
	now := time.Date(2024, 2, 29, 1, 2, 3, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		`{status: 429, headers: {Retry-After: "30"}}`:                            30 * time.Second,
		`{status: 429, headers: {Retry-After: 30}, body: x}`:                     30 * time.Second,
		`{status: 429, headers: {retry-after: "30"}}`:                            30 * time.Second,
		`{status: 429, headers: {Retry-After: "Thu, 29 Feb 2024 01:03:03 GMT"}}`: time.Minute,
		`{status: 429, headers: {Retry-After: "Thu, 29 Feb 2024 01:00:00 GMT"}}`: time.Second,
		`{status: 429, headers: {Retry-After: soon}}`:                            time.Second,
		`{status: 429, headers: {Other: "30"}}`:                                  time.Second,
		`{status: 429, headers: null}`:                                           time.Second,
		`{status: 429}`:                                                          time.Second,
	} {
		s := ported(t, text)
		s.Now = func() time.Time { return now }
		resp, err := s.Call(t.Context(), newRequest(t))
		checkLater(t, text, resp, err, want)
	}
}

// checkLater checks that a hook asked to be called again.
func checkLater(t *testing.T, name string, resp *Response, err error, want time.Duration) {
	t.Helper()
	var later *RetryAfter
	if !errors.As(err, &later) || resp != nil {
		t.Errorf("%s: response %v, error %v, want a *RetryAfter", name, resp, err)
		return
	}
	if later.After != want {
		t.Errorf("%s: call again in %s, want %s", name, later.After, want)
	}
}

func TestUnportedScriptCannotReturnHTTPResponse(t *testing.T) {
	checkRefusals(t, newRequest(t), strict, []refusal{
		{"with a body", `{status: 200, body: {children: []}}`, `the answer is an HTTP response, with body and without children: answer with the object that is its body`},
		{"with 429", `{status: 429}`, `status in the answer is a number, want an object`},
	})
}

func TestRetryAfterError(t *testing.T) {
	if got, want := (&RetryAfter{After: 90 * time.Second}).Error(), "the hook asks to be called again in 1m30s"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
}

func TestTypeName(t *testing.T) {
	for want, v := range map[string]any{
		"null": nil, "a boolean": true, "a string": "", "a number": int64(1), "a list": []any{}, "an object": map[string]any{}, "a hook.Event": Event{},
	} {
		if got := typeName(v); got != want {
			t.Errorf("typeName(%#v) = %q, want %q", v, got, want)
		}
	}
	if got := typeName(1.5); got != "a number" {
		t.Errorf("typeName(1.5) = %q, want a number", got)
	}
}

func TestNilRelatedEqualsEmptySet(t *testing.T) {
	req := newRequest(t)
	req.Related = nil
	with := newRequest(t)
	with.Related = &object.Set{}
	if diff := cmp.Diff(encode(with, V1), encode(req, V1)); diff != "" {
		t.Errorf("request with an empty set and without one (-empty +none):\n%s", diff)
	}
}

func TestPathsOfInvalidAnswers(t *testing.T) {
	const pod = "apiVersion: v1, kind: Pod, metadata: "
	for answer, want := range map[string]engine.Path{
		`{childs: []}`:                                                      {engine.Key("childs")},
		`{status: 1}`:                                                       {"status"},
		`{children: {}}`:                                                    {"children"},
		`{children: [1]}`:                                                   {"children", 0},
		`{children: [{kind: Pod}]}`:                                         {"children", 0, "apiVersion"},
		`{children: [{` + pod + `1}]}`:                                      {"children", 0, "metadata"},
		`{children: [{` + pod + `{}}]}`:                                     {"children", 0, "metadata", "name"},
		`{children: [{` + pod + `{name: 1}}]}`:                              {"children", 0, "metadata", "name"},
		`{children: [{` + pod + `{name: a, namespace: b}}]}`:                {"children", 0, "metadata", "namespace"},
		`{children: [{` + pod + `{name: a, labels: {b: 1}}}]}`:              {"children", 0, "metadata", "labels", "b"},
		`{children: [{` + pod + `{name: a, annotations: 1}}]}`:              {"children", 0, "metadata", "annotations"},
		`{children: [{` + pod + `{name: a}}, {` + pod + `{name: a}}]}`:      {"children", 1, "metadata", "name"},
		`{children: [{apiVersion: v1, kind: Secret, metadata: {name: a}}]}`: {"children", 0, "kind"},
		`{children: [{apiVersion: a/b/c, kind: Pod, metadata: {name: a}}]}`: {"children", 0, "apiVersion"},
		`{events: [{type: Normal, reason: 1, message: b}]}`:                 {"events", 0, "reason"},
		`{events: [{typ: Normal}]}`:                                         {"events", 0, engine.Key("typ")},
		`{resyncAfterSeconds: a}`:                                           {"resyncAfterSeconds"},
	} {
		_, err := script(t, answer).Call(t.Context(), newRequest(t))
		var e *engine.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v, want one of the script", answer, err)
		} else if diff := cmp.Diff(want, e.At); diff != "" {
			t.Errorf("%s: path (-want +got):\n%s", answer, diff)
		}
	}
	customize := newRequest(t)
	customize.Shape = Customizing
	for answer, want := range map[string]engine.Path{
		`{relatedResources: {}}`:                                                                       {"relatedResources"},
		`{relatedResources: [{apiVersion: v1}]}`:                                                       {"relatedResources", 0, "resource"},
		`{relatedResources: [{apiVersion: v1, resource: pods, name: a}]}`:                              {"relatedResources", 0, engine.Key("name")},
		`{relatedResources: [{apiVersion: v1, resource: pods, names: [1]}]}`:                           {"relatedResources", 0, "names", 0},
		`{relatedResources: [{apiVersion: v1, resource: pods, labelSelector: {matchLabels: {a: 1}}}]}`: {"relatedResources", 0, "labelSelector", "matchLabels", "a"},
	} {
		_, err := script(t, answer).Call(t.Context(), customize)
		var e *engine.Error
		if !errors.As(err, &e) {
			t.Errorf("%s: error %v, want one of the script", answer, err)
		} else if diff := cmp.Diff(want, e.At); diff != "" {
			t.Errorf("%s: path (-want +got):\n%s", answer, diff)
		}
	}
}

func TestNamesMadeOfMissingValues(t *testing.T) {
	const answer = `{children: [{apiVersion: v1, kind: Pod, metadata: {name: cats-WORD}}]}`
	const text = `children[0] (Pod "cats-WORD"): metadata.name is "cats-WORD", and "WORD" is neither in the request nor in the script: a value that is WORD was put into the text`
	for _, c := range []struct {
		name, word string
		program    program
		parent     string // the name of the parent
		warns      bool
		fails      bool
	}{
		{name: "JavaScript", word: "undefined", program: program{language: engine.JavaScript}, fails: true},
		{name: "JavaScript as a webhook", word: "undefined", program: program{language: engine.JavaScript, ported: true}, warns: true},
		{name: "Starlark", word: "None", program: program{language: engine.Starlark}, warns: true},
		{name: "Jsonnet", word: "null", program: program{language: engine.Jsonnet}, warns: true},
		{name: "a parent of that name", word: "undefined", program: program{language: engine.JavaScript}, parent: "undefined"},
		{name: "a string of the script", word: "undefined", program: program{language: engine.JavaScript, quoted: "undefined"}},
		{name: "an unknown language", word: "undefined"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := script(t, strings.ReplaceAll(answer, "WORD", c.word))
			c.program.call = s.Program.(*program).call
			s.Program = &c.program
			req, want := newRequest(t), strings.ReplaceAll(text, "WORD", c.word)
			if c.parent != "" {
				req.Parent.SetName(c.parent)
			}
			resp, err := s.Call(t.Context(), req)
			var e *engine.Error
			switch {
			case c.fails && (!errors.As(err, &e) || e.Msg != want || e.Hint == ""):
				t.Errorf("error %v, want %s", err, want)
			case c.fails:
				if diff := cmp.Diff(engine.Path{"children", 0, "metadata", "name"}, e.At); diff != "" {
					t.Errorf("path (-want +got):\n%s", diff)
				}
			case err != nil:
				t.Errorf("error %v", err)
			case c.warns && !slices.Equal(warnings(resp), []string{want}), !c.warns && len(resp.Warnings) > 0:
				t.Errorf("warnings %q, want %q: %v", resp.Warnings, want, c.warns)
			}
		})
	}
}

func TestLabelsOfDecoratorMadeOfMissingValues(t *testing.T) {
	req := newRequest(t)
	req.Shape = Decorator
	s := script(t, `{labels: {zone: undefined}, attachments: []}`)
	s.Program.(*program).language = engine.JavaScript
	_, err := s.Call(t.Context(), req)
	var e *engine.Error
	if !errors.As(err, &e) || !strings.HasPrefix(e.Msg, `labels: zone is "undefined"`) {
		t.Errorf("error %v", err)
	} else if diff := cmp.Diff(engine.Path{"labels", "zone"}, e.At); diff != "" {
		t.Errorf("path (-want +got):\n%s", diff)
	}
}
