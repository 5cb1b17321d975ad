package scripts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Run follows the directories until ctx is done, and calls the functions that were given to FollowChanges.
//
// It watches every folder below the directories, and every link and folder on the path to them, so that a directory may be
// created, removed or replaced. If a watch is not possible it polls often; beside a watch it polls rarely.
func (f *Folders) Run(ctx context.Context) {
	w := &watch{Folders: f}
	defer w.drop()
	w.scan(ctx)
	w.notifyAll()
	for w.next(ctx) {
	}
}

// A watch is the state of Run. Only the goroutine of Run uses it.
type watch struct {
	*Folders
	watcher   *fsnotify.Watcher // nil while it polls
	watched   map[string]stamp  // the folders that watcher watches
	unwatched string            // the reason if there is no watcher
	last      *scan
	scanned   time.Time // the time of last
	burst     burst     // the changes that are not reported yet
	changes   Changes   // in which folders they are
}

// next waits for the next event or poll, and handles it. It reports whether Run is to continue.
func (w *watch) next(ctx context.Context) bool {
	wait := time.NewTimer(w.wait())
	defer wait.Stop()
	events, failures := w.channels()
	select {
	case <-ctx.Done():
		return false
	case e, alive := <-events:
		switch {
		case !alive:
			w.fail(ctx, errors.New("the watch ended"))
		case w.last.concerns(e.Name):
			w.burst.add(time.Now())
			w.changes.add(w.last.event(e.Name))
		}
	case err, alive := <-failures:
		switch {
		case !alive:
			w.fail(ctx, errors.New("the watch ended"))
		case errors.Is(err, fsnotify.ErrEventOverflow): // it is unknown which events are missing
			w.scan(ctx)
			w.changes = w.last.everything()
			w.notifyAll()
		default:
			w.fail(ctx, err)
		}
	case <-wait.C:
		if w.scan(ctx); w.changes.Any() || w.burst.pending() {
			w.notifyAll()
		}
	}
	return true
}

// channels returns the channels of the watcher. They are nil, which blocks a receive forever, while there is none.
func (w *watch) channels() (<-chan fsnotify.Event, <-chan error) {
	if w.watcher == nil {
		return nil, nil
	}
	return w.watcher.Events, w.watcher.Errors
}

// wait returns how long to wait for an event until the next scan.
func (w *watch) wait() time.Duration {
	switch {
	case w.burst.pending():
		return time.Until(w.burst.end(w.intervals))
	case w.watcher == nil:
		return time.Until(w.scanned.Add(w.intervals.poll))
	}
	return time.Until(w.scanned.Add(w.intervals.slow))
}

// notifyAll reports the changes, and begins to collect new ones.
func (w *watch) notifyAll() {
	changes := w.changes
	w.burst, w.changes = burst{}, Changes{}
	w.notify(changes)
}

// fail closes the watcher after the error err. The next scan makes another one.
func (w *watch) fail(ctx context.Context, err error) {
	w.drop()
	w.unwatched = err.Error()
	w.burst.add(time.Now()) // events may have been missed
	w.changes = w.last.everything()
	w.reportProblems(ctx)
}

// drop closes the watcher, if there is one.
func (w *watch) drop() {
	if w.watcher != nil {
		_ = w.watcher.Close() // it never fails
		w.watcher, w.watched = nil, nil
	}
}

// scan adds and removes watches according to the folders that exist now, and records what changed since the last scan. The
// watcher reports what changes after the call of scan.
func (w *watch) scan(ctx context.Context) {
	w.unwatched = ""
	var now *scan
	for i := range maxScans {
		now = scanDirs(w.dirs)
		if i > 0 && maps.Equal(now.watches, w.watched) {
			break // no folder was created before it was watched
		}
		if w.newWatcher == nil {
			break
		}
		if err := w.follow(now.watches); err != nil {
			w.drop()
			w.unwatched = err.Error()
			break
		}
	}
	w.changes.add(now.since(w.last))
	w.last, w.scanned = now, time.Now()
	w.reportProblems(ctx)
}

// maxScans is how often the directories are scanned in one call, because folders changed meanwhile.
const maxScans = 5

// follow watches folders. If a watched folder was renamed or replaced, it makes a new watcher: the old one would report the events of that
// folder under a path where another folder may be now.
func (w *watch) follow(folders map[string]stamp) error {
	if len(folders) > maxWatches {
		return fmt.Errorf("there are more than %d directories", maxWatches)
	}
	old := w.watcher
	if old == nil || !containsAll(folders, w.watched) {
		watcher, err := w.newWatcher()
		if err != nil {
			return err
		}
		if w.watcher = watcher; old != nil {
			defer old.Close() // after the new one is complete
		}
	}
	w.watched = folders
	for dir := range folders {
		err := w.watcher.Add(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	return nil
}

// containsAll reports whether all has every entry of some.
func containsAll(all, some map[string]stamp) bool {
	for dir, id := range some {
		if all[dir] != id {
			return false
		}
	}
	return true
}

// reportProblems reports the problems of the last scan and of the watcher.
func (w *watch) reportProblems(ctx context.Context) {
	problems := w.last.problems
	if w.unwatched != "" {
		problems = append(problems[:len(problems):len(problems)], fmt.Sprintf("the scripts directories are polled every %s, since they cannot be watched: %s", w.intervals.poll, w.unwatched))
	}
	w.report(ctx, problems)
}
