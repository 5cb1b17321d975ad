package scripts

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sys/unix"
)

// What happens between two steps, where it is worst.

func TestFollowAFolderThatIsCreatedBeforeItsWatch(t *testing.T) {
	dir := t.TempDir()
	late := filepath.Join(dir, "late")
	f := follow(t, quick, dir)
	inner := f.newWatcher
	f.newWatcher = func() (*fsnotify.Watcher, error) { // asked when the folders are known and not yet watched
		put(t, late, map[string]string{"deep/sync.star": "x = 1"})
		return inner()
	}
	f.run()
	put(t, late, map[string]string{"deep/sync.star": "x = 2"})
	f.until("writing", f.reads("late/deep/sync.star", "x = 2"))
}

func TestFollowFoldersThatMoveWithTheirParent(t *testing.T) {
	for i := range 10 {
		dir := t.TempDir()
		put(t, dir, map[string]string{"z/b/sync.star": "x = 1"})
		f := follow(t, quick, dir)
		f.run()
		if err := os.Rename(filepath.Join(dir, "z"), filepath.Join(dir, "c")); err != nil {
			t.Fatal(err)
		}
		put(t, dir, map[string]string{"z/b/sync.star": "y = 1"})
		f.until("moving", func() bool { return f.reads("c/b/sync.star", "x = 1")() && f.reads("z/b/sync.star", "y = 1")() })
		put(t, dir, map[string]string{"c/b/sync.star": fmt.Sprint("x = ", i+2)})
		f.until("writing", f.reads("c/b/sync.star", fmt.Sprint("x = ", i+2)))
		put(t, dir, map[string]string{"z/b/sync.star": fmt.Sprint("y = ", i+2)})
		f.until("writing", f.reads("z/b/sync.star", fmt.Sprint("y = ", i+2)))
	}
}

// Events that do not matter do not keep the slow look from its turn.
func TestFollowPollsWhileEventsArrive(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "scripts")
	put(t, dir, map[string]string{"sync.star": "x = 1"})
	f := follow(t, intervals{quiet: time.Hour, longest: time.Hour, poll: time.Hour, slow: 50 * time.Millisecond}, dir)
	f.run()
	if err := f.last.Load().Remove(dir); err != nil {
		t.Fatal(err)
	}
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-done:
				return
			default:
				put(t, filepath.Dir(dir), map[string]string{"log": "another line"})
			}
		}
	}()
	put(t, dir, map[string]string{"sync.star": "x = 2"})
	f.until("writing", f.reads("sync.star", "x = 2"))
	close(done)
	<-stopped
}

// A file that becomes a pipe between a look at it and opening it does not block.
func TestAssembleDoesNotWaitForAPipe(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "sync.star")
	put(t, dir, map[string]string{"sync.star": "x = 1"})
	from := in(dir)
	from.ConfigMaps = func(string, string) (*ConfigMap, error) { // asked when the entry is found and not yet read
		if isFile(file) {
			_ = os.Remove(file)
			_ = unix.Mkfifo(file, 0o644)
		}
		return &ConfigMap{}, nil
	}
	_, err := from.Assemble(Wanted{File: "sync.star", Libraries: []Library{{ConfigMap: Key{"default", "lib", ""}}}}, false)
	refused(t, err, Invalid, "file sync.star: is a named pipe")
}

// A link that led elsewhere while its file was read, and is back when it is checked, does not pass.
func TestFileThatWasReplacedTwiceIsNoticed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"1/sync.star": "x = 1", "2/sync.star": "x = 2"})
	lead := func(to string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, "new")); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "now")); err != nil {
			t.Fatal(err)
		}
	}
	lead("1")
	v := open(dir)
	defer v.close()
	if !v.has("now/sync.star") || !v.unchanged() {
		t.Fatal("it is not there")
	}
	lead("2")
	if text, err := v.read("now/sync.star", 100); err == nil {
		t.Errorf("read %q", text)
	}
	lead("1")
	if v.unchanged() {
		t.Error("what was read is taken")
	}
}
