package scripts

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// A listener runs Folders, and stores the reported changes.
type listener struct {
	*following
	mu   sync.Mutex
	all  Changes
	told chan struct{}
}

// listen runs Folders until the end of the test, and waits for the first call, in which everything may have changed.
func listen(t *testing.T, f *following) *listener {
	t.Helper()
	l := &listener{following: f, told: make(chan struct{}, 1)}
	stop := f.FollowChanges(func(c Changes) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = l.all.And(c)
		select {
		case l.told <- struct{}{}:
		default:
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	t.Cleanup(func() { cancel(); <-done; stop() })
	l.await(Wanted{File: "any/sync.star"})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = Changes{}
	return l
}

func (l *listener) concern(w Wanted) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Concern(w)
}

// await waits for a change that concerns w.
func (l *listener) await(w Wanted) {
	l.t.Helper()
	late := time.After(patience)
	for !l.concern(w) {
		select {
		case <-l.told:
		case <-late:
			l.t.Fatalf("no change that concerns %+v", w)
		}
	}
}

// swap replaces the target of a link atomically.
func swap(t *testing.T, link, target string) {
	t.Helper()
	if err := os.Symlink(target, link+"-new"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(link+"-new", link); err != nil {
		t.Fatal(err)
	}
}

func file(name string) Wanted { return Wanted{File: name} }

func library(name string) Wanted {
	return Wanted{Inline: "x", Libraries: []Library{{File: name}}}
}

func TestChangesNameFolders(t *testing.T) {
	move := func(t *testing.T, from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name       string
		do         func(t *testing.T, dir string)
		concern    []Wanted
		notConcern []Wanted
	}{
		{"a file is written", func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"a/sync.star": "x = 2"})
		}, []Wanted{file("a/sync.star"), file("a/other.star"), library("a")}, []Wanted{file("a/deep/sync.star"), file("ab/sync.star"), {Inline: "x"}}},
		{"a file comes in a new folder", func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"a/new/x.star": "x = 2"})
		}, []Wanted{file("a/sync.star"), library("a/new"), library("a/new/x.star")}, []Wanted{library("a/deep")}},
		{"a folder comes", func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"new/sync.star": "x = 2"})
		}, []Wanted{file("new/sync.star")}, []Wanted{file("a/sync.star")}},
		{"a folder goes", func(t *testing.T, dir string) {
			if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
				t.Fatal(err)
			}
		}, []Wanted{file("a/sync.star"), file("a/deep/sync.star")}, []Wanted{file("ab/sync.star")}},
		{"folders change places", func(t *testing.T, dir string) {
			move(t, filepath.Join(dir, "a"), filepath.Join(dir, "c"))
			move(t, filepath.Join(dir, "ab"), filepath.Join(dir, "a"))
		}, []Wanted{file("a/sync.star"), file("ab/sync.star"), file("c/sync.star")}, nil},
		{"a file at the top is written", func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"top.star": "x = 2"})
		}, []Wanted{file("top.star"), library("top.star")}, []Wanted{file("a/sync.star"), library("a"), library("lib/x.star")}},
		{"a library is written", func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"lib/x.star": "x = 2"})
		}, []Wanted{library("lib/x.star"), library("lib"), file("top.star")}, []Wanted{file("a/sync.star")}},
		{"a link is swapped", func(t *testing.T, dir string) {
			swap(t, filepath.Join(dir, "now"), "ab")
		}, []Wanted{file("now/sync.star"), library("now")}, []Wanted{file("a/sync.star"), library("lib")}},
		{"what a link leads to is written", func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"a/sync.star": "x = 2"})
		}, []Wanted{file("now/sync.star"), library("now/sync.star")}, []Wanted{library("lib")}},
		{"what a link within a folder leads to is written", func(t *testing.T, dir string) {
			put(t, dir, map[string]string{"lib/x.star": "x = 2"})
		}, []Wanted{file("linked/sync.star"), library("linked")}, []Wanted{file("a/sync.star")}},
		{"the kubelet writes a version", func(t *testing.T, dir string) {
			mount(t, filepath.Join(dir, "m"), map[string]string{"sync.star": "x = 2"})
		}, []Wanted{file("m/sync.star")}, []Wanted{file("a/sync.star"), library("lib")}},
		{"the directory's own link is swapped", func(t *testing.T, dir string) {
			put(t, filepath.Dir(dir), map[string]string{"2/a/sync.star": "x = 2"})
			swap(t, dir, "2")
		}, []Wanted{file("a/sync.star"), file("ab/sync.star"), library("lib"), file("not/there.star")}, nil},
	} {
		for how, broken := range map[string]error{"": nil, ", without a watch": unix.ENOSPC} {
			t.Run(c.name+how, func(t *testing.T) {
				parent := t.TempDir()
				dir := filepath.Join(parent, "scripts")
				put(t, filepath.Join(parent, "1"), map[string]string{
					"top.star": "x = 1", "a/sync.star": "x = 1", "a/deep/sync.star": "x = 1", "ab/sync.star": "x = 1",
					"lib/x.star": "x = 1", "linked/sync.star": "x = 1",
				})
				swap(t, dir, "1")
				swap(t, filepath.Join(dir, "now"), "a")
				swap(t, filepath.Join(dir, "linked", "x.star"), "../lib/x.star")
				mount(t, filepath.Join(dir, "m"), map[string]string{"sync.star": "x = 1"})
				f := follow(t, quick, filepath.Join(parent, "none"), dir)
				f.broken.Store(&broken)
				l := listen(t, f)
				c.do(t, dir)
				for _, w := range c.concern {
					l.await(w)
				}
				for _, w := range c.notConcern {
					if l.concern(w) {
						t.Errorf("it concerns %+v", w)
					}
				}
			})
		}
	}
}

// If events were lost, or the watch failed, everything may have changed.
func TestLostEventsMayConcernEverything(t *testing.T) {
	for name, end := range map[string]func(w *fsnotify.Watcher){
		"events": func(w *fsnotify.Watcher) { w.Errors <- fsnotify.ErrEventOverflow },
		"watch":  func(w *fsnotify.Watcher) { _ = w.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, dir, map[string]string{"a/sync.star": "x = 1"})
			f := follow(t, quick, dir)
			l := listen(t, f)
			end(f.last.Load())
			l.await(file("a/sync.star"))
		})
	}
}

// Changes that are not reported for a long time do not grow without limit: then everything may have changed.
func TestChangesAreLimited(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"a/sync.star": "x = 1"})
	var all Changes
	before := scanDirs([]string{dir})
	for range maxTrees {
		now := scanDirs([]string{dir})
		all = all.And(now.since(before))
		before = now
	}
	if !all.Any() || !all.Concern(file("b/sync.star")) || len(all.dirs[0].trees) > 0 {
		t.Errorf("got %+v", all)
	}
}
