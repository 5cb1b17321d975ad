package devsession

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"metascript/cmd/metascript/internal/report"
	"metascript/controller"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/static"
)

func TestParentsAreSelected(t *testing.T) {
	parent := func(namespace, name string) object.Ref {
		return object.Ref{Key: object.Key{Namespace: namespace, Name: name}}
	}
	if (&Options{}).only() != nil {
		t.Error("without flags some parents are not selected")
	}
	for _, c := range []struct {
		options Options
		want    []bool // for a/x, a/y, b/x
	}{
		{Options{Parent: "x"}, []bool{true, false, true}},
		{Options{Namespace: "a"}, []bool{true, true, false}},
		{Options{Parent: "x", Namespace: "a"}, []bool{true, false, false}},
	} {
		only := c.options.only()
		got := []bool{only(parent("a", "x")), only(parent("a", "y")), only(parent("b", "x"))}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%+v (-want +got):\n%s", c.options, diff)
		}
	}
}

func TestOptionsOfTheServer(t *testing.T) {
	var out strings.Builder
	to, config := report.New(&out, true), &rest.Config{Host: "https://x", QPS: 5}
	got := (&Options{DryRun: true, Server: controller.Options{Config: config}}).server(to)
	if !got.DryRun || got.Observer != observe.Observer(to) || got.Config.QPS != -1 {
		t.Errorf("options %+v with config %+v", got, got.Config)
	}
	if config.QPS != 5 {
		t.Error("the caller's config is changed")
	}
}

func TestWarningsOfTheAPIServerArePrintedOnce(t *testing.T) {
	var out strings.Builder
	w := apiWarnings{report.New(&out, false)}
	for range 2 {
		w.HandleWarningHeaderWithContext(context.Background(), 299, "", `unknown field "spec.x"`)
	}
	w.HandleWarningHeaderWithContext(context.Background(), 199, "", "not for people")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, `the API server warns: unknown field "spec.x"`+"\n") {
		t.Errorf("output:\n%s", got)
	}
}

// An error of reading the files is printed once, and again after the files could be read.
func TestFilesThatCannotBeReadAreReportedOnce(t *testing.T) {
	var out strings.Builder
	s := &Session{files: &Files{}, report: report.New(&out, false), controllers: &static.Source{}}
	broken := snapshot{{path: "a.yaml", failed: "open a.yaml: permission denied"}}
	for range 2 {
		s.reload(t.Context(), broken)
	}
	if got := out.String(); strings.Count(got, "permission denied") != 1 || !strings.Contains(got, "\n  the controllers that were read before stay in use\n") {
		t.Errorf("it prints:\n%s", got)
	}
}

// What the API server would refuse is refused, with the texts of the command check.
func TestInvalidControllersAreRefused(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "a.yaml", strings.Replace(someController, "}}}", "}, childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: recreate}}], parent: x}}", 1))
	_, err := OpenFiles([]string{dir}, nil)
	for _, want := range []string{dir + "/a.yaml:1:239: CompositeController c: spec.childResources[0].updateStrategy.method: \"recreate\" is not one of", "spec.parent: "} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

func TestEditsAreUsed(t *testing.T) {
	var out strings.Builder
	c, _ := holding(t, "")
	s := &Session{report: report.New(&out, false), controllers: &static.Source{}, cluster: c}
	s.use(t.Context(), parse(t, edited))
	if want := "sites.example.com is not in the cluster"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in:\n%s", want, out.String())
	}
	out.Reset()
	s.use(t.Context(), parse(t, someController))
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, "DecoratorController d is in no file any more, and is stopped\n") {
		t.Errorf("output after an edit:\n%s", got)
	}
}
