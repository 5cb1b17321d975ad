package main

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"metascript/controller/recording"
)

const replayed = `
-- controller.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: sites}
spec:
  generateSelector: true
  parentResource: {apiVersion: example.com/v1, resource: sites}
  script:
    language: Starlark
    inline: |
      def sync(parent):
          return {"status": {"size": parent["spec"]["size"] + 1}, "children": []}
`

// recordOne writes a recording with one call, whose script does not add 1. An edit changes what is written.
func recordOne(t *testing.T, path string, edits ...func(*recording.Controller, *recording.Reconcile)) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	w, err := recording.NewWriter(file, recording.Header{Program: "test", Began: now})
	note := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	note(err)
	controller := &recording.Controller{
		ID:      "sites@1",
		Object:  json.RawMessage(`{"apiVersion":"metacontroller.k8s.io/v1alpha1","kind":"CompositeController","metadata":{"name":"sites"},"spec":{"generateSelector":true,"parentResource":{"apiVersion":"example.com/v1","resource":"sites"},"script":{"language":"Starlark","inline":"in the recording"}}}`),
		Scripts: map[string]recording.Script{"": {Language: "Starlark", Entry: "sync.star", Files: map[string]string{"sync.star": "def sync(parent):\n    return {\"status\": {\"size\": parent[\"spec\"][\"size\"]}, \"children\": []}\n"}}},
		Parents: []recording.Resource{{APIVersion: "example.com/v1", Kind: "Site", Resource: "sites", Namespaced: true, HasStatus: true}},
	}
	parent, err := w.Object([]byte(`{"apiVersion":"example.com/v1","kind":"Site","metadata":{"name":"blog","namespace":"default","uid":"u"},"spec":{"size":1}}`), nil)
	note(err)
	reconcile := &recording.Reconcile{
		Controller: "sites@1", Parent: recording.Ref{APIVersion: "example.com/v1", Kind: "Site", Namespace: "default", Name: "blog"},
		Calls: []recording.Call{{Hook: "sync", Now: now, Parent: parent, Answer: &recording.Answer{Status: json.RawMessage(`{"size":1}`)}}},
	}
	for _, edit := range edits {
		edit(controller, reconcile)
	}
	note(w.Controller(controller))
	note(w.Reconcile(reconcile))
	_, err = w.Close(recording.End{Ended: now})
	note(err)
}

func TestReplay(t *testing.T) {
	inFolder(t, replayed)
	recordOne(t, "one.rec")
	run := func(args ...string) result { return metascriptReading(t, "", append([]string{"replay"}, args...)...) }
	run("one.rec", "-f", "controller.yaml").expect(t, 1, []string{"1 answer differs, for 1 parent", "-   size: 1", "+   size: 2", "controller.yaml:11:", "--expect status.size\n"}, []string{"error: not every answer is the recorded one"})
	run("one.rec", "-f", "controller.yaml", "--expect", "status.size").expect(t, 0, []string{"status.size: 1 call, 1 parent (expected)"}, nil)
	run("one.rec", "-f", "controller.yaml", "-o", "json", "--expect", "status").expect(t, 0, []string{`"different": 1`, `"shape": "status.size"`, `"expected": true`}, nil)
	run("one.rec", "-f", "controller.yaml", "--call", "1", "--case", "out").expect(t, 0, []string{"wrote out/sync.star, out/controller.yaml, out/cases/blog-call-1.yaml"}, nil)
	metascriptReading(t, "", "test", "out").expect(t, 0, []string{"1 case: all as expected"}, nil)
	run("one.rec", "-f", "controller.yaml", "--case", "out").expect(t, 1, nil, []string{"--case needs the call"})
	run("controller.yaml", "-f", "controller.yaml").expect(t, 1, nil, []string{"error: controller.yaml: it is not a recording"})
	run("missing.rec", "-f", "controller.yaml").expect(t, 1, nil, []string{"error: missing.rec: no such file"})
	run("-f", "controller.yaml").expect(t, 2, nil, []string{"replay needs an argument: a recording"})
}
