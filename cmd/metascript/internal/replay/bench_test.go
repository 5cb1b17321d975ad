package replay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/recording"
	"metascript/controller/schemas"
	"metascript/engine"
	"metascript/engine/cputime"
	"metascript/engine/tree"
)

// generate returns a recording of the fleet controller with that many calls: each parent has as many Pods as given, and each call has a
// new version of the parent and of one Pod.
func generate(t testing.TB, calls, pods int) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: fleet(t), file: filepath.Join(t.TempDir(), "recording"), sandbox: sandbox.InProcess(v1alpha1.IsolationInProcess, engine.Limits{})}
	docs, err := manifest.Read([]string{filepath.Join(f.dir, "controller.yaml"), filepath.Join(f.dir, "crd.yaml")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	crds, err := manifest.CRDs(docs)
	if err != nil {
		t.Fatal(err)
	}
	if f.known, err = schemaflags.WithOwn(schemas.Kubernetes(), crds...); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := &sink{t: t}
	if s.writer, err = recording.NewWriter(&out, recording.Header{Program: "test", Began: began}); err != nil {
		t.Fatal(err)
	}
	controller, err := json.Marshal(manifest.Controllers(docs)[0].Object)
	if err != nil {
		t.Fatal(err)
	}
	script, _ := manifest.Controllers(docs)[0].Object.Field("spec", "script", "inline")
	if err := s.writer.Controller(&recording.Controller{
		ID: "sites", Object: controller, Scripts: map[string]recording.Script{"": {Language: "Starlark", Entry: "sync.star", Files: map[string]string{"sync.star": script.(string)}}},
		Parents:  []recording.Resource{{APIVersion: "example.com/v1", Kind: "Site", Resource: "sites", Namespaced: true, HasStatus: true}},
		Children: []recording.Resource{{APIVersion: "v1", Kind: "Pod", Resource: "pods", Namespaced: true, HasStatus: true}},
	}); err != nil {
		t.Fatal(err)
	}
	for n := range calls {
		if err := s.writer.Reconcile(s.generated(n, calls/10+1, pods)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.writer.Close(recording.End{Ended: began.Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	f.write(out.Bytes())
	return f
}

// A sink writes generated reconciles.
type sink struct {
	t      testing.TB
	writer *recording.Writer
}

func (s *sink) json(v any) json.RawMessage {
	text, err := tree.AppendJSON(nil, v)
	if err != nil {
		s.t.Error(err)
	}
	return text
}

// generated returns the n-th reconcile of a recording of so many parents.
func (s *sink) generated(n, parents, pods int) *recording.Reconcile {
	name, uid := fmt.Sprintf("site-%d", n%parents), fmt.Sprintf("uid-%d", n%parents)
	parent := s.write(map[string]any{
		"apiVersion": "example.com/v1", "kind": "Site", "metadata": map[string]any{"name": name, "namespace": "default", "uid": uid, "resourceVersion": fmt.Sprint(n)},
		"spec": map[string]any{"size": int64(pods)},
	})
	call := recording.Call{Hook: "sync", Now: began.Add(time.Duration(n) * time.Second), Parent: parent, Answer: &recording.Answer{}}
	group := recording.Group{APIVersion: "v1", Kind: "Pod"}
	for i := range pods {
		desired := map[string]any{
			"apiVersion": "v1", "kind": "Pod",
			"metadata": map[string]any{"name": fmt.Sprintf("%s-%d", name, i), "namespace": "default", "labels": map[string]any{"controller-uid": uid}},
			"spec":     map[string]any{"containers": []any{map[string]any{"name": "web", "image": "nginx:1"}}},
		}
		call.Answer.Children = append(call.Answer.Children, s.write(desired))
		version := n / parents
		if i != version%pods {
			version -= (version - i) % pods // only one Pod has changed since
		}
		observed := map[string]any{
			"apiVersion": "v1", "kind": "Pod", "spec": desired["spec"], "status": map[string]any{"phase": "Running", "podIP": fmt.Sprintf("10.0.%d.%d", i, max(version, 0))},
			"metadata": map[string]any{"name": fmt.Sprintf("%s-%d", name, i), "namespace": "default", "uid": fmt.Sprintf("%s-%d", uid, i), "labels": map[string]any{"controller-uid": uid}},
		}
		group.Objects = append(group.Objects, s.write(observed))
	}
	call.Children = []recording.Group{group}
	call.Answer.Status = s.json(map[string]any{"pods": int64(pods), "running": int64(pods)})
	return &recording.Reconcile{
		Controller: "sites", Parent: recording.Ref{APIVersion: "example.com/v1", Kind: "Site", Namespace: "default", Name: name}, Calls: []recording.Call{call},
	}
}

// write writes an object given as a map.
func (s *sink) write(m map[string]any) string {
	digest, err := s.writer.Object(s.json(m), nil)
	if err != nil {
		s.t.Error(err)
	}
	return digest
}

// BenchmarkCalls measures how many calls are replayed in a second: with the same answers, and with an edit that changes each answer.
func BenchmarkCalls(b *testing.B) {
	const calls = 5000
	for _, pods := range []int{1, 10} {
		f := generate(b, calls, pods)
		for name, edits := range map[string][]string{"same": nil, "differs": {`image = "nginx:1"`, `image = "nginx:2"`}} {
			b.Run(fmt.Sprintf("children=%d/%s", pods, name), func(b *testing.B) {
				clock := cputime.Process(os.Getpid())
				before, _ := clock()
				for b.Loop() {
					report := f.replay(nil, edits...)
					if report.Calls != calls || (report.Same == calls) != (name == "same") {
						b.Fatal(text(report))
					}
				}
				after, _ := clock()
				b.ReportMetric(float64((after-before).Microseconds())/float64(calls*b.N), "cpu-µs/call")
				b.ReportMetric(calls*float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			})
		}
	}
}
