package hook

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

// onePod is the text of an answer with one Pod, as JSON.
const onePod = `{"status": {"a": 1}, "children": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}]}`

// envelopes are the forms of HTTP responses in which functions of other hosts return onePod.
var envelopes = map[string]string{
	"Node.js without status":        `{body: ` + onePod + `}`,
	"Node.js with null status":      `{status: null, body: ` + onePod + `}`,
	"Node.js with status as text":   `{status: "200", body: ` + onePod + `}`,
	"text":                          `{body: '` + onePod + `'}`,
	"Lambda":                        `{statusCode: 200, body: '` + onePod + `'}`,
	"Lambda, object":                `{statusCode: 200, headers: {}, multiValueHeaders: {}, isBase64Encoded: false, body: ` + onePod + `}`,
	"Lambda, base64":                `{statusCode: 200, isBase64Encoded: true, body: ` + base64.StdEncoding.EncodeToString([]byte(onePod)) + `}`,
	"Lambda, status code as text":   `{statusCode: "200", body: '` + onePod + `'}`,
	"Knative":                       `{headers: {content-type: application/json}, body: ` + onePod + `}`,
	"beside a null":                 `{children: null, body: ` + onePod + `}`,
	"OpenFaaS":                      `{status: 200, headers: {content-type: application/json}, body: '` + onePod + `'}`,
	"status code beside the status": `{status: 200, statusCode: 500, body: ` + onePod + `}`,
}

func TestHTTPResponseIsUnwrapped(t *testing.T) {
	for name, text := range envelopes {
		resp := ask(t, ported(t, text), observing(t, newRequest(t), "a", "b"))
		if diff := cmp.Diff([]string{"Pod default/a"}, children(resp)); diff != "" {
			t.Errorf("%s: children (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(map[string]any{"a": int64(1)}, resp.Status); diff != "" {
			t.Errorf("%s: status (-want +got):\n%s", name, diff)
		}
	}
}

func TestHTTPResponseOfCustomize(t *testing.T) {
	resp := ask(t, ported(t, `{statusCode: 200, body: '{"relatedResources": [{"apiVersion": "v1", "resource": "pods"}]}'}`), customizing(t))
	if len(resp.Related) != 1 {
		t.Errorf("%d rules, want 1", len(resp.Related))
	}
}

func TestHTTPResponseIsNoAnswerOfOthers(t *testing.T) {
	for _, speaker := range all {
		if speaker == "ported" {
			continue
		}
		for name, text := range envelopes {
			for _, shape := range []Shape{Composite, Decorator, Customizing} {
				req := observing(t, newRequest(t), "a", "b")
				req.Shape = shape
				_, err := speakers[speaker](t, text).Call(t.Context(), req)
				if err == nil || !strings.Contains(err.Error(), "the answer is an HTTP response, with body") || !strings.Contains(err.Error(), " and without "+shape.list()+": answer with the object that is its body") {
					t.Errorf("%s: %s: error %v", speaker, name, err)
				}
			}
		}
	}
}

func TestHTTPResponseThatIsNoAnswer(t *testing.T) {
	const noBody = `the body that the script answered is null, want an object or JSON text`
	const noChildren = `no children in the answer, which would delete the 2 there are: return children, or [] to delete them on purpose`
	checkRefusals(t, observing(t, newRequest(t), "a", "b"), []string{"ported"}, []refusal{
		{"no body", `{statusCode: 200}`, noBody},
		{"only headers", `{headers: {}}`, noBody},
		{"null as body", `{body: null}`, noBody},
		{"no children in a body without status", `{body: {}}`, noChildren},
		{"null as children", `{statusCode: 200, body: '{"children": null}'}`, noChildren},
		{"finalized without children", `{body: {finalized: true}}`, noChildren},
		{"no base64", `{isBase64Encoded: true, body: "{}"}`, `the body that the script answered is not in base64, although isBase64Encoded is true: illegal base64 data at input byte 0`},
		{"a response in a response", `{status: 200, body: {statusCode: 200, body: {children: []}}}`, `the answer is an HTTP response, with body and statusCode and without children: answer with the object that is its body`},
		{"a status that is an object", `{status: {a: 1}, body: {children: []}}`, `the answer is an HTTP response, with body and without children: answer with the object that is its body`},
		{"a status in words", `{status: OK, body: {children: []}}`, `the answer is an HTTP response, with body and without children: answer with the object that is its body`},
		{"a status code in words", `{statusCode: OK, body: {children: []}}`, `the answer is an HTTP response, with body and statusCode and without children: answer with the object that is its body`},
		{"a response in another field", `{data: {children: []}}`, `unknown key "data" in the answer: it may have status, children, resyncAfterSeconds, finalized and events`},
	})
}

func TestBodyWithStatusFollowsTheRulesOfWebhooks(t *testing.T) {
	for _, text := range []string{`{status: 200, body: {}}`, `{status: 200, body: '{"children": null}'}`, `{status: 200, body: {status: {a: 1}}}`} {
		if resp := ask(t, ported(t, text), observing(t, newRequest(t), "a", "b")); resp.Children.Len() != 0 {
			t.Errorf("%s: children %v", text, children(resp))
		}
	}
}

func TestStatusCodeOfOtherHosts(t *testing.T) {
	var e *engine.Error
	_, err := ported(t, `{statusCode: 502, body: "bad gateway"}`).Call(t.Context(), newRequest(t))
	if !errors.As(err, &e) || e.Kind != engine.KindRaised || e.Msg != "the script answered with status 502: bad gateway" {
		t.Errorf("error %v", err)
	}
	_, err = ported(t, `{statusCode: 500, children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}]}`).Call(t.Context(), observing(t, newRequest(t), "a", "b"))
	if !errors.As(err, &e) || e.Kind != engine.KindRaised {
		t.Errorf("the code of an error beside children: error %v", err)
	}
	for _, text := range []string{`{statusCode: 429, headers: {Retry-After: ["30", "40"]}}`, `{statusCode: 429, multiValueHeaders: {retry-after: ["30"]}}`} {
		resp, err := ported(t, text).Call(t.Context(), newRequest(t))
		checkLater(t, text, resp, err, 30*time.Second)
	}
}

// loose are the speakers whose unknown keys are ignored.
var loose = []string{"webhook", "ported"}

func TestAnswerForTheOtherKindOfController(t *testing.T) {
	for _, c := range []struct {
		shape  Shape
		answer string
		want   string
	}{
		{Composite, `{attachments: []}`, "no children in the answer, but attachments, as in the answer for a DecoratorController: answer with children"},
		{Composite, `{attachments: null}`, "no children in the answer, but attachments, as in the answer for a DecoratorController: answer with children"},
		{Composite, `{children: null, attachments: []}`, "no children in the answer, but attachments, as in the answer for a DecoratorController: answer with children"},
		{Composite, `{status: {a: 1}, attachments: [{}]}`, "no children in the answer, but attachments, as in the answer for a DecoratorController: answer with children"},
		{Composite, `{finalized: true, labels: {a: b}}`, "no children in the answer, but labels, as in the answer for a DecoratorController: answer with children"},
		{Composite, `{children: null, annotations: {a: b}}`, "no children in the answer, but annotations, as in the answer for a DecoratorController: answer with children"},
		{Decorator, `{children: []}`, "no attachments in the answer, but children, as in the answer for a CompositeController: answer with attachments"},
		{Decorator, `{attachments: null, labels: {a: b}, children: []}`, "no attachments in the answer, but children, as in the answer for a CompositeController: answer with attachments"},
	} {
		req := observing(t, newRequest(t), "a", "b")
		req.Shape = c.shape
		checkRefusals(t, req, loose, []refusal{{c.answer, c.answer, c.want}})
		for _, speaker := range strict {
			if _, err := speakers[speaker](t, c.answer).Call(t.Context(), req); err == nil {
				t.Errorf("%s from a %s: no error", c.answer, speaker)
			}
		}
	}
}

func TestAnswerWithoutKnownKey(t *testing.T) {
	checkRefusals(t, observing(t, newRequest(t), "a", "b"), loose, []refusal{
		{"an error", `{error: boom}`, `unknown key "error" in the answer: it may have status, children, resyncAfterSeconds, finalized and events`},
		{"another case", `{Children: []}`, `unknown key "Children" in the answer: did you mean "children"?`},
		{"an answer in a field", `{result: {children: []}}`, `unknown key "result" in the answer: it may have status, children, resyncAfterSeconds, finalized and events`},
	})
}

// These are the answers that delete all children in Metacontroller too, and that may be meant so.
func TestAnswerWithoutChildrenOfWebhook(t *testing.T) {
	for shape, answers := range map[Shape][]string{
		Composite: {`{}`, `{children: null}`, `{children: []}`, `{status: {a: 1}}`, `{status: null}`, `{finalized: true}`, `{children: [], x: 1}`, `{children: [], error: null, errors: [], code: 0}`, `{children: [], errors: 0, error: 0.0, code: 20000}`, `{children: [], request: {children: {"Pod.v1": {a: {}}}}}`,
			`{children: null, attachments: null, labels: null, annotations: null}`, `{children: [], attachments: [], labels: {a: b}}`, `{children: [], data: {children: []}}`},
		Decorator: {`{}`, `{attachments: null, children: null}`, `{labels: {a: b}}`, `{attachments: [], children: []}`},
	} {
		for _, answer := range answers {
			for _, speaker := range loose {
				req := observing(t, newRequest(t), "a", "b")
				req.Shape = shape
				if resp := ask(t, speakers[speaker](t, answer), req); resp.Children.Len() != 0 {
					t.Errorf("%s from a %s: children %v", answer, speaker, children(resp))
				}
			}
		}
	}
}

func TestAnswerOfSyncToCustomize(t *testing.T) {
	for _, speaker := range loose {
		if resp := ask(t, speakers[speaker](t, `{children: [], status: {}}`), customizing(t)); len(resp.Related) != 0 {
			t.Errorf("from a %s: %d rules", speaker, len(resp.Related))
		}
	}
}

// An answer that has one known key, and the real answer or an error elsewhere, deletes nothing.
func TestDisguisedAnswerDeletesNothing(t *testing.T) {
	const none, list = "no children in the answer, which would delete the 2 there are: ", "status, children, resyncAfterSeconds, finalized and events"
	req := observing(t, newRequest(t), "a", "b")
	checkRefusals(t, req, loose, []refusal{
		{"another case", `{status: {}, Children: [{}]}`, none + `unknown key "Children" in the answer: did you mean "children"?`},
		{"another case beside an empty list", `{children: [], CHILDREN: [{}]}`, none + `unknown key "CHILDREN" in the answer: did you mean "children"?`},
		{"misspelled beside an empty list", `{children: [], childs: [{}]}`, none + `unknown key "childs" in the answer: did you mean "children"?`},
		{"the list of the other kind", `{children: [], attachments: [{}]}`, none + `unknown key "attachments" in the answer: did you mean "children"?`},
		{"an error", `{error: boom, status: {}}`, none + `unknown key "error" in the answer: it may have ` + list},
		{"an error beside an empty list", `{error: boom, status: {}, children: []}`, none + `unknown key "error" in the answer: it may have ` + list},
		{"an error that is an object", `{Error: {message: boom}, children: null}`, none + `unknown key "Error" in the answer: it may have ` + list},
		{"a status code beside an empty list", `{code: 503, children: []}`, none + `unknown key "code" in the answer: it may have ` + list},
		{"a status code as text", `{code: "500", children: []}`, none + `unknown key "code" in the answer: it may have ` + list},
		{"an error of Lambda", `{errorMessage: boom, children: []}`, none + `unknown key "errorMessage" in the answer: it may have ` + list},
		{"an exception", `{exception: boom, children: []}`, none + `unknown key "exception" in the answer: it may have ` + list},
		{"a number of errors", `{errors: 2, children: []}`, none + `unknown key "errors" in the answer: it may have ` + list},
		{"the answer in a field", `{response: {children: [{}]}, status: {}}`, none + `unknown key "response" in the answer: it may have ` + list},
		{"the answer in a field, beside an empty list", `{response: {children: [{}]}, children: []}`, none + `unknown key "response" in the answer: it may have ` + list},
		{"a CloudEvent", `{specversion: "1.0", data: {children: []}, status: {}}`, none + `unknown key "data" in the answer: it may have ` + list},
	})
	checkRefusals(t, req, []string{"webhook"}, []refusal{
		{"an HTTP response with an empty list", `{statusCode: 500, body: e, children: []}`, none + `it is an HTTP response, with body and statusCode: answer with the object that is its body`},
	})
	checkRefusals(t, req, all, []refusal{
		{"only null", `{children: [null, null]}`, `only null in the list children, which would delete the 2 there are: answer with [] to delete them on purpose`},
	})
	checkRefusals(t, req, []string{"ported"}, []refusal{
		{"a key twice in the text of a body", `{statusCode: 200, body: '{"children": [{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}], "children": []}'}`, none + `duplicate field "children"`},
	})
	for _, answer := range []string{
		`{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}], Children: [], error: boom, code: 500, body: {}, data: {children: []}, labels: {}}`,
		`{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}}, null], status: {}, requeue: true}`,
	} {
		for _, speaker := range loose {
			if resp := ask(t, speakers[speaker](t, answer), req); resp.Children.Len() != 1 {
				t.Errorf("%s from a %s: children %v", answer, speaker, children(resp))
			}
			if speaker == "webhook" {
				ask(t, speakers[speaker](t, `{error: boom, status: {}}`), newRequest(t)) // there is nothing to delete
			}
		}
	}
}

func TestFinalizedIsMeantWhateverElseItSays(t *testing.T) {
	req := observing(t, newRequest(t), "a", "b")
	req.Finalizing = true
	for _, answer := range []string{`{finalized: true, message: bye}`, `{finalized: true, children: [], errors: 1}`, `{finalized: true, children: [], error: none}`, `{finalized: true, children: [null]}`} {
		if resp := ask(t, speakers["webhook"](t, answer), req); !resp.Finalized {
			t.Errorf("%s: not finalized", answer)
		}
	}
	checkRefusals(t, req, loose, []refusal{
		{"another case", `{finalized: false, Children: [{}]}`, `no children in the answer, which would delete the 2 there are: unknown key "Children" in the answer: did you mean "children"?`},
		{"not finalized, with an error", `{finalized: false, error: "the database is down"}`, `no children in the answer, which would delete the 2 there are: unknown key "error" in the answer: it may have status, children, resyncAfterSeconds, finalized and events`},
		{"no word about it", `{status: {}, message: bye}`, `no children in the answer, which would delete the 2 there are: unknown key "message" in the answer: it may have status, children, resyncAfterSeconds, finalized and events`},
	})
}

func TestRepeatedKeyDeletesNothing(t *testing.T) {
	const pod = `{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}}`
	req := observing(t, newRequest(t), "a", "b")
	for _, blanks := range []string{"", strings.Repeat(" ", smallBody)} {
		h := answerWith(t, 200, `{"children": [`+pod+`], "children": []}`+blanks)
		if _, err := h.Call(t.Context(), req); err == nil || !strings.HasSuffix(err.Error(), `no children in the answer, which would delete the 2 there are: duplicate field "children"`) {
			t.Errorf("error %v", err)
		}
		if resp := ask(t, answerWith(t, 200, `{"children": [], "children": []}`+blanks), req); resp.Children.Len() != 0 {
			t.Errorf("children %v", children(resp))
		}
		h = answerWith(t, 200, `{"children": [], "children": [`+pod+`]}`+blanks)
		if resp := ask(t, h, req); resp.Children.Len() != 1 {
			t.Errorf("children %v", children(resp))
		}
	}
}

func TestSilentDeletionOfWebhookIsReported(t *testing.T) {
	two := observing(t, newRequest(t), "a", "b")
	finalizing := observing(t, newRequest(t), "a", "b")
	finalizing.Finalizing = true
	for answer, want := range map[string]string{
		`{"status": {}}`:   "the answer has no children, so that all 2 are deleted: is that meant? If the webhook always answers with children, set missingChildren: Hold",
		`{"children": []}`: "", `{"children": null}`: "",
	} {
		if resp := ask(t, answerWith(t, 200, answer), two); resp.Unread == nil && want != "" || resp.Unread != nil && resp.Unread.Error() != want {
			t.Errorf("%s: warning %v, want %q", answer, resp.Unread, want)
		}
	}
	for _, req := range []*Request{observing(t, newRequest(t), "a"), finalizing, newRequest(t)} {
		if resp := ask(t, answerWith(t, 200, `{}`), req); resp.Unread != nil {
			t.Error(resp.Unread)
		}
	}
}
