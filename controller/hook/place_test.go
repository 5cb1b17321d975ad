package hook

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/controller/object"
	"metascript/engine"
)

// warnings returns the warnings of a response, without the places in a script.
func warnings(resp *Response) []string {
	var all []string
	for _, warning := range resp.Warnings {
		text := warning.Error()
		if e := (*engine.Error)(nil); errors.As(warning, &e) {
			text = e.Msg
		}
		all = append(all, text)
	}
	return all
}

func TestPathsOfProblems(t *testing.T) {
	const answer = `{children: [{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{imagee: x}]}}], status: {phse: x}}`
	resp := ask(t, script(t, answer), newRequest(t))
	pod := resp.Children.Get(podKind, object.Key{Namespace: "default", Name: "a"})
	for _, c := range []struct {
		got, want engine.Path
	}{
		{resp.ChildField(pod, Field{Path: "spec.containers[0].imagee", Key: true}), engine.Path{"children", 0, "spec", "containers", 0, engine.Key("imagee")}},
		{resp.ChildField(pod, Field{Path: "spec.containers[0].imagee"}), engine.Path{"children", 0, "spec", "containers", 0, "imagee"}},
		{resp.ChildField(pod, Field{Path: "spec.containers[0].image"}), engine.Path{"children", 0, "spec", "containers", 0}},
		{resp.ChildField(pod, Field{Path: "spec.containers[0]", Key: true}), engine.Path{"children", 0, "spec", "containers", 0}},
		{resp.ChildField(pod, Field{}), engine.Path{"children", 0}},
		{resp.StatusField(Field{Path: "status.phse", Key: true}), engine.Path{"status", engine.Key("phse")}},
		{(&Response{}).ChildField(pod, Field{Path: "spec"}), nil},
	} {
		if diff := cmp.Diff(c.want, c.got); diff != "" {
			t.Errorf("path (-want +got):\n%s", diff)
		}
	}
	var e *engine.Error
	if err := resp.Problem(engine.Path{"status", engine.Key("phse")}, "unknown field", "did you mean phase?"); !errors.As(err, &e) || e.Msg != "unknown field" || e.Hint != "did you mean phase?" {
		t.Errorf("a problem of a script: %v", err)
	} else if diff := cmp.Diff(engine.Path{"status", engine.Key("phse")}, e.At); diff != "" {
		t.Errorf("path (-want +got):\n%s", diff)
	}
	if err := (&Response{}).Problem(nil, "unknown field", "did you mean phase?"); err.Error() != "unknown field; did you mean phase?" {
		t.Errorf("a problem of a webhook: %v", err)
	}

	other := &object.Set{}
	for o := range resp.Children.All() {
		other.Put(object.Copy(o))
	}
	if merged := resp.With(other); merged.Place(pod) != "" || resp.With(resp.Children).Place(pod) != "children[0]" {
		t.Error("only a child of the response has a place in it")
	}
}
