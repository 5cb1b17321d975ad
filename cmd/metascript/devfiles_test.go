package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// save writes a file of a folder.
func save(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestWhatAnAuthorSavesIsNoticed(t *testing.T) {
	dir := t.TempDir()
	save(t, dir, "a.yaml", someController)
	files, err := newAuthored([]string{dir}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	first, seen, ended := files.draft(), make(chan draft), make(chan struct{})
	go func() {
		defer close(ended)
		files.follow(ctx, first, func(d draft) { seen <- d })
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
		{"half", func() { save(t, dir, "b.yaml", "{apiVersion: ") }, "b.yaml, document 1"},
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
		}, "no such file"},
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
	files, err := newAuthored([]string{"-"}, strings.NewReader(someController))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if docs, err := files.draft().documents(); err != nil || len(docs) != 1 {
			t.Errorf("%d documents, error %v", len(docs), err)
		}
	}
}
