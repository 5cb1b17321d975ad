package hook

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// decorating makes req one of a DecoratorController.
func decorating(req *Request) *Request {
	req.Shape = Decorator
	req.Expect.Annotations = map[string]string{"mark": "cats"}
	return req
}

func TestDecoratorRequestHasFieldsOfMetacontroller(t *testing.T) {
	req := decorating(observing(t, newRequest(t), "a"))
	got := encode(req, V1)
	for _, field := range []string{"parent", "children"} {
		if _, found := got[field]; found {
			t.Errorf("it has the field %s", field)
		}
	}
	if diff := cmp.Diff(any(req.Parent.Map()), got["object"]); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
	pods := got["attachments"].(map[string]any)["Pod.v1"].(map[string]any)
	if pods["a"] == nil || len(pods) != 1 {
		t.Errorf("its Pods are %v, want a", pods)
	}
}

func TestCustomizeRequest(t *testing.T) {
	req := newRequest(t)
	req.Shape = Customizing
	want := map[string]any{"controller": req.Controller.Map(), "parent": req.Parent.Map()}
	if diff := cmp.Diff(want, encode(req, V2)); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestDecoratorResponse(t *testing.T) {
	const text = `
labels: {set: "1", gone: null}
annotations: {note: two words}
attachments: [{apiVersion: v1, kind: Pod, metadata: {name: a, annotations: {own: x}}}]
`
	for name, h := range map[string]Hook{"script": script(t, text), "webhook": webhook(t, text)} {
		t.Run(name, func(t *testing.T) {
			resp := ask(t, h, decorating(newRequest(t)))
			one, note := "1", "two words"
			if diff := cmp.Diff(Changes{"set": &one, "gone": nil}, resp.Labels); diff != "" {
				t.Errorf("labels (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(Changes{"note": &note}, resp.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
			if resp.Status != nil {
				t.Errorf("the status is %v, want that it is left as it is", resp.Status)
			}
			want := parse(t, `
labels: {set: "1", gone: null}
annotations: {note: two words}
attachments: [{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default, annotations: {own: x, mark: cats}}}]
`)
			if diff := cmp.Diff(want, resp.Document()); diff != "" {
				t.Errorf("document (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDocumentEqualsResponse(t *testing.T) {
	text := `{status: {ready: 1}, children: [], resyncAfterSeconds: 1.5, finalized: true, events: [{type: Warning, reason: R, message: m}]}`
	if diff := cmp.Diff(parse(t, text), ask(t, script(t, text), newRequest(t)).Document()); diff != "" {
		t.Errorf("document (-want +got):\n%s", diff)
	}
}

func TestInvalidDecoratorResponses(t *testing.T) {
	req := decorating(observing(t, newRequest(t), "a"))
	checkRefusals(t, req, strict, []refusal{
		{"the other kind's field", `{children: []}`, `unknown key "children" in the answer: did you mean "attachments"?`},
		{"a misspelled one", `{attachements: []}`, `unknown key "attachements" in the answer: did you mean "attachments"?`},
		{"no attachments", `{labels: {}}`, `no attachments in the answer, which would delete the 1 there is: return attachments, or [] to delete them on purpose`},
		{"an undeclared kind", `{attachments: [{apiVersion: v1, kind: Node, metadata: {name: m}}]}`, `attachments[0] (Node "m"): Node.v1 is not among the controller's attachments (Pod.v1, StatefulSet.apps/v1, Zone.example.com/v1): to allow it, add to attachments: - {apiVersion: v1, resource: nodes}`},
	})
	for _, who := range []Hook{script(t, `{attachments: [], labels: {num: 1}}`), webhook(t, `{labels: {num: 1}}`)} {
		_, err := who.Call(t.Context(), req)
		if err == nil || !strings.Contains(err.Error(), `labels["num"] in the answer is a number, want a string, or null to remove it`) {
			t.Errorf("got error %v, want that a label is no string", err)
		}
	}
}
