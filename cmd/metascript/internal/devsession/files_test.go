package devsession

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const someController = `{apiVersion: metacontroller.k8s.io/v1alpha1, kind: CompositeController, metadata: {name: c}, spec: {parentResource: {apiVersion: example.com/v1, resource: sites}}}`

// save writes a file into a folder.
func save(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWatchReportsSavedFiles(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "a.yaml", someController)
	files, err := OpenFiles([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	seen, ended := make(chan snapshot), make(chan struct{})
	go func() {
		defer close(ended)
		files.watch(ctx, func(now snapshot) { seen <- now })
	}()
	for _, c := range []struct {
		name string
		save func()
		want string // the names, or a part of the error
	}{
		{"in place", func() { save(t, dir, "a.yaml", strings.Replace(someController, "name: c", "name: d", 1)) }, "d"},
		{"another file", func() { save(t, dir, "b.yaml", someController) }, "d c"},
		{"by renaming", func() {
			save(t, dir, "b.tmp", strings.Replace(someController, "name: c", "name: e", 1))
			if err := os.Rename(filepath.Join(dir, "b.tmp"), filepath.Join(dir, "b.yaml")); err != nil {
				t.Error(err)
			}
		}, "d e"},
		{"half", func() { save(t, dir, "b.yaml", "{apiVersion: ") }, "b.yaml:1:1: the { is not closed"},
		{"nothing yet", func() { save(t, dir, "b.yaml", "\n") }, "b.yaml is empty"},
		{"one twice", func() { save(t, dir, "b.yaml", strings.Replace(someController, "name: c", "name: d", 1)) }, "CompositeController d is in"},
		{"removed", func() {
			if err := os.Remove(filepath.Join(dir, "b.yaml")); err != nil {
				t.Error(err)
			}
		}, "d"},
		{"no controller", func() { save(t, dir, "a.yaml", "{kind: Site, apiVersion: v1, metadata: {name: s}}") }, "no CompositeController"},
		{"no folder", func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Error(err)
			}
		}, "there is no file"},
	} {
		c.save()
		docs, err := (<-seen).documents()
		var names []string
		for _, doc := range docs {
			names = append(names, doc.GetName())
		}
		if got := strings.Join(names, " "); err == nil && got != c.want || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %s, error %v, want %s", c.name, got, err, c.want)
		}
	}
	stop()
	<-ended
}

func TestStandardInputIsReadOnce(t *testing.T) {
	files, err := OpenFiles([]string{"-"}, strings.NewReader(someController))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if docs, err := files.read().documents(); err != nil || len(docs) != 1 {
			t.Errorf("%d documents, error %v", len(docs), err)
		}
	}
}

func TestFilesWithoutAController(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "inner"), 0o700); err != nil {
		t.Fatal(err)
	}
	save(t, dir, "a.yaml", "{kind: Site, apiVersion: v1, metadata: {name: s}}")
	_, err := OpenFiles([]string{dir}, nil)
	if err == nil || !strings.Contains(err.Error(), "no CompositeController and no DecoratorController in "+filepath.Join(dir, "a.yaml")) || !strings.Contains(err.Error(), "are not read, name them one by one") {
		t.Errorf("the error is %v", err)
	}
}
