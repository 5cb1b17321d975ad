package scripts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"

	"metascript/scripts/mounttest"
)

// patience is the time that a test waits for a call.
const patience = 30 * time.Second

// A following has running Folders, and a follower that reads all files in each call.
type following struct {
	*Folders
	t       testing.TB
	read    func() map[string]string           // reads all files
	known   *atomic.Pointer[map[string]string] // the files as they were last read
	changed chan struct{}                      // receives after each read
	log     *bytesLog
	last    *atomic.Pointer[fsnotify.Watcher]
	broken  *atomic.Pointer[error] // the error of new watchers
}

type bytesLog struct {
	sync.Mutex
	text strings.Builder
}

func (l *bytesLog) Write(p []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.text.Write(p)
}

func (l *bytesLog) String() string {
	l.Lock()
	defer l.Unlock()
	return l.text.String()
}

// quick are short intervals for tests. There is no polling while there is a watch, so that the test depends on the watch.
var quick = intervals{quiet: 2 * time.Millisecond, longest: 20 * time.Millisecond, poll: 5 * time.Millisecond, slow: time.Hour}

func follow(t testing.TB, p intervals, dirs ...string) *following {
	log := &bytesLog{}
	f := &following{
		Folders: NewFolders(dirs, slog.New(slog.NewTextHandler(log, nil))), t: t, log: log,
		read: func() map[string]string { return textsBelow(dirs[len(dirs)-1]) }, known: &atomic.Pointer[map[string]string]{},
		changed: make(chan struct{}, 1), last: &atomic.Pointer[fsnotify.Watcher]{}, broken: &atomic.Pointer[error]{},
	}
	f.intervals = p
	f.newWatcher = func() (*fsnotify.Watcher, error) {
		if err := f.broken.Load(); err != nil && *err != nil {
			return nil, *err
		}
		made, err := fsnotify.NewWatcher()
		f.last.Store(made)
		return made, err
	}
	return f
}

// run runs Folders until the end of the test, and waits for the first call.
func (f *following) run() {
	stop := f.FollowChanges(func(Changes) {
		all := f.read()
		f.known.Store(&all)
		select {
		case f.changed <- struct{}{}:
		default:
		}
	})
	ctx, cancel := context.WithCancel(f.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		f.Run(ctx)
	}()
	f.t.Cleanup(func() { cancel(); <-done; stop() })
	f.wait("the first call")
}

func (f *following) wait(what string) {
	f.t.Helper()
	select {
	case <-f.changed:
	case <-time.After(patience):
		f.t.Fatalf("no call after %s; problems: %q\n%s", what, f.Problems(), f.log)
	}
}

// until waits for a call after which ok returns true.
func (f *following) until(what string, ok func() bool) {
	f.t.Helper()
	for !ok() {
		f.wait(what)
	}
}

// reads reports whether the follower read that text in its last call.
func (f *following) reads(file, text string) func() bool {
	return func() bool { return (*f.known.Load())[file] == text }
}

// fails reports whether the file did not exist in the last call of the follower.
func (f *following) fails(file string) func() bool {
	return func() bool {
		_, ok := (*f.known.Load())[file]
		return !ok
	}
}

// textsBelow returns the texts of all files.
func textsBelow(dir string) map[string]string {
	all := map[string]string{}
	files := os.DirFS(dir)
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil // it comes and goes
		}
		if text, err := fs.ReadFile(files, name); err == nil {
			all[name] = string(text)
		}
		return nil
	})
	return all
}

func (f *following) hasProblems(n int) func() bool {
	return func() bool { return len(f.Problems()) == n }
}

func TestFollow(t *testing.T) {
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	write := func(file, text string) {
		t.Helper()
		must(os.MkdirAll(filepath.Dir(file), 0o755))
		must(os.WriteFile(file, []byte(text), 0o644))
	}
	for _, c := range []struct {
		name string
		do   func(f *following, dir string)
	}{
		{"a file is written in place", func(f *following, dir string) {
			write(dir+"/a/sync.star", "x = 2")
			f.until("writing", f.reads("a/sync.star", "x = 2"))
		}},
		{"a file is written in pieces", func(f *following, dir string) {
			file, err := os.Create(dir + "/a/sync.star")
			must(err)
			for range 100 {
				_, err := file.WriteString("y")
				must(err)
			}
			must(file.Close())
			f.until("writing", f.reads("a/sync.star", strings.Repeat("y", 100)))
		}},
		{"an editor writes another file and renames it", func(f *following, dir string) {
			for _, text := range []string{"x = 2", "x = 3"} {
				must(os.Rename(dir+"/a/sync.star", dir+"/a/sync.star~"))
				write(dir+"/a/4913", text)
				must(os.Rename(dir+"/a/4913", dir+"/a/sync.star"))
				must(os.Remove(dir + "/a/sync.star~"))
				f.until("renaming", f.reads("a/sync.star", text))
			}
		}},
		{"a file is removed and comes again", func(f *following, dir string) {
			must(os.Remove(dir + "/a/sync.star"))
			f.until("removing", f.fails("a/sync.star"))
			write(dir+"/a/sync.star", "x = 2")
			f.until("writing", f.reads("a/sync.star", "x = 2"))
		}},
		{"folders within folders come at once", func(f *following, dir string) {
			write(dir+"/b/c/d/e/sync.star", "x = 2")
			f.until("writing", f.reads("b/c/d/e/sync.star", "x = 2"))
			write(dir+"/b/c/d/e/sync.star", "x = 3")
			f.until("writing", f.reads("b/c/d/e/sync.star", "x = 3"))
		}},
		{"a folder is renamed, and another takes its name", func(f *following, dir string) {
			must(os.Rename(dir+"/a", dir+"/c"))
			f.until("renaming", f.reads("c/sync.star", "x = 1"))
			write(dir+"/a/sync.star", "x = 2")
			f.until("writing", f.reads("a/sync.star", "x = 2"))
			write(dir+"/c/sync.star", "x = 3")
			f.until("writing", f.reads("c/sync.star", "x = 3"))
			write(dir+"/a/sync.star", "x = 4")
			f.until("writing", f.reads("a/sync.star", "x = 4"))
		}},
		{"a folder is removed and made again, many times", func(f *following, dir string) {
			for i := range 50 {
				must(os.RemoveAll(dir + "/a"))
				write(dir+"/a/sync.star", fmt.Sprint("x = ", i))
				f.until("writing", f.reads("a/sync.star", fmt.Sprint("x = ", i)))
			}
		}},
		{"the directory is removed and made again", func(f *following, dir string) {
			for i := range 20 {
				must(os.RemoveAll(dir))
				f.until("removing", f.fails("a/sync.star"))
				write(dir+"/a/sync.star", fmt.Sprint("x = ", i))
				f.until("writing", f.reads("a/sync.star", fmt.Sprint("x = ", i)))
			}
		}},
		{"the directory and those above it are removed and made again", func(f *following, dir string) {
			must(os.RemoveAll(filepath.Dir(filepath.Dir(dir))))
			f.until("removing", f.hasProblems(1))
			write(dir+"/a/sync.star", "x = 2")
			f.until("writing", f.reads("a/sync.star", "x = 2"))
		}},
		{"the directory is replaced by a link, which is replaced", func(f *following, dir string) {
			must(os.Rename(dir, dir+"-1"))
			for i := range 20 {
				version := fmt.Sprint(dir, "-", i+2)
				write(version+"/a/sync.star", fmt.Sprint("x = ", i))
				must(os.Symlink(filepath.Base(version), dir+"-new"))
				must(os.Rename(dir+"-new", dir))
				f.until("linking", f.reads("a/sync.star", fmt.Sprint("x = ", i)))
			}
		}},
		{"the kubelet writes versions", func(f *following, dir string) {
			for i := range 50 {
				must(mounttest.Write(dir+"/m", map[string]string{"sync.star": fmt.Sprint("x = ", i), fmt.Sprint(i): ""}))
				f.until("mounting", f.reads("m/sync.star", fmt.Sprint("x = ", i)))
			}
		}},
		{"permissions change", func(f *following, dir string) {
			must(os.Chmod(dir+"/a/sync.star", 0o600))
			f.wait("chmod")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir() + "/x/y/scripts"
			write(dir+"/a/sync.star", "x = 1")
			f := follow(t, quick, dir)
			f.run()
			c.do(f, dir)
			f.until("the end", f.hasProblems(0))
		})
	}
}

func TestFollowADirectoryThatDoesNotExistYet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "x", "y", "scripts")
	f := follow(t, quick, dir)
	f.run()
	if p := f.Problems(); !slices.Equal(p, []string{"the scripts directory " + dir + " does not exist"}) {
		t.Errorf("got problems %q", p)
	}
	mount(t, dir, map[string]string{"sync.star": "x = 1"})
	f.until("mounting", f.reads("sync.star", "x = 1"))
	f.until("mounting", f.hasProblems(0))
	if log := f.log.String(); !strings.Contains(log, "level=WARN msg=\"scripts: the scripts directory "+dir+" does not exist") || !strings.Contains(log, "scripts: fixed: ") {
		t.Errorf("got log %s", log)
	}
}

func TestFollowPollsWithoutAWatch(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"sync.star": "x = 1"})
	f := follow(t, quick, dir)
	var full error = unix.ENOSPC
	f.broken.Store(&full)
	f.run()
	want := []string{"the scripts directories are polled every 5ms, since they cannot be watched: no space left on device"}
	if p := f.Problems(); !slices.Equal(p, want) {
		t.Errorf("got problems %q", p)
	}
	for i := range 20 {
		text := fmt.Sprint("x = ", i)
		put(t, dir, map[string]string{"sync.star": text})
		f.until("writing", f.reads("sync.star", text))
	}
	mount(t, filepath.Join(dir, "m"), map[string]string{"sync.star": "m = 1"})
	f.until("mounting", f.reads("m/sync.star", "m = 1"))
	mount(t, filepath.Join(dir, "m"), map[string]string{"sync.star": "m = 2"})
	f.until("mounting", f.reads("m/sync.star", "m = 2"))
	if n := strings.Count(f.log.String(), "polled"); n != 1 {
		t.Errorf("logged %d times: %s", n, f.log)
	}
	var mended error
	f.broken.Store(&mended)
	for len(f.Problems()) > 0 {
		put(t, dir, map[string]string{"sync.star": "x = 100"})
		f.wait("writing")
	}
}

func TestFollowContinuesWhenTheWatchFails(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"sync.star": "x = 1"})
	f := follow(t, quick, dir)
	f.run()
	var gone error = unix.EMFILE
	for i, end := range []func(w *fsnotify.Watcher){
		func(w *fsnotify.Watcher) { _ = w.Close() },
		func(w *fsnotify.Watcher) { w.Errors <- errors.New("read: bad file descriptor") },
	} {
		f.broken.Store(&gone)
		end(f.last.Load())
		f.wait("the end of the watch")
		text := fmt.Sprint("x = ", i)
		put(t, dir, map[string]string{"sync.star": text})
		f.until("writing", f.reads("sync.star", text))
		if p := f.Problems(); len(p) != 1 || !strings.Contains(p[0], "too many open files") {
			t.Errorf("got problems %q", p)
		}
		var mended error
		f.broken.Store(&mended)
		for len(f.Problems()) > 0 {
			put(t, dir, map[string]string{"sync.star": "x = 100"})
			f.wait("writing")
		}
	}
}

func TestFollowReportsLostEventsAtOnce(t *testing.T) {
	dir := t.TempDir()
	f := follow(t, intervals{quiet: time.Hour, longest: time.Hour, poll: time.Hour, slow: time.Hour}, dir)
	f.run()
	put(t, dir, map[string]string{"a/sync.star": "x = 1"})
	f.last.Load().Errors <- fsnotify.ErrEventOverflow
	f.wait("losing events")
	if !slices.Contains(f.last.Load().WatchList(), filepath.Join(dir, "a")) {
		t.Error("a folder that was created meanwhile is not watched")
	}
}

func TestFollowPollsSlowlyWithAWatch(t *testing.T) {
	dir := t.TempDir()
	f := follow(t, intervals{quiet: time.Hour, longest: time.Hour, poll: time.Hour, slow: 5 * time.Millisecond}, dir)
	f.run()
	if err := f.last.Load().Remove(dir); err != nil { // a file system that tells nothing
		t.Fatal(err)
	}
	put(t, dir, map[string]string{"sync.star": "x = 1"})
	f.until("writing", f.reads("sync.star", "x = 1"))
}

func TestBurst(t *testing.T) {
	p := intervals{quiet: 100 * time.Millisecond, longest: time.Second}
	start := time.Now()
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	var b burst
	if b.pending() {
		t.Error("a burst without changes is pending")
	}
	for _, c := range []struct{ change, over int }{{0, 100}, {50, 150}, {140, 240}, {880, 980}, {950, 1000}, {1200, 1000}} {
		b.add(at(c.change))
		if got := b.end(p); !got.Equal(at(c.over)) || !b.pending() {
			t.Errorf("after a change at %d: ends at %s, want %d", c.change, got.Sub(start), c.over)
		}
	}
}

func TestFollowersAreAddedAndRemoved(t *testing.T) {
	f := NewFolders(nil, slog.New(slog.DiscardHandler))
	var calls [2]int
	stop := f.FollowChanges(func(Changes) { calls[0]++ })
	stopOther := f.FollowChanges(func(Changes) { calls[1]++ })
	f.notify(Changes{})
	stop()
	f.notify(Changes{})
	stopOther()
	f.notify(Changes{})
	if calls != [2]int{1, 2} {
		t.Errorf("got %v calls", calls)
	}
}
