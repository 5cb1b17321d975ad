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
	w.look(ctx)
	w.notifyAll()
	for w.next(ctx) {
	}
}

// A watch is the state of Run. Only the goroutine of Run uses it.
type watch struct {
	*Folders
	watcher   *fsnotify.Watcher // nil while it polls
	watched   map[string]stamp  // the folders that watcher watches
	unwatched string            // the reason why there is no watcher
	last      *survey
	looked    time.Time // the time of last
	burst     burst
	changes   Changes // not reported yet
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
			w.look(ctx)
			w.changes = w.last.everything()
			w.notifyAll()
		default:
			w.fail(ctx, err)
		}
	case <-wait.C:
		if w.look(ctx); w.changes.Any() || w.burst.pending() {
			w.notifyAll()
		}
	}
	return true
}

func (w *watch) channels() (<-chan fsnotify.Event, <-chan error) {
	if w.watcher == nil {
		return nil, nil
	}
	return w.watcher.Events, w.watcher.Errors
}

// wait returns how long to wait for events until the next look without one.
func (w *watch) wait() time.Duration {
	switch {
	case w.burst.pending():
		return time.Until(w.burst.over(w.intervals))
	case w.watcher == nil:
		return time.Until(w.looked.Add(w.intervals.poll))
	}
	return time.Until(w.looked.Add(w.intervals.slow))
}

func (w *watch) notifyAll() {
	changes := w.changes
	w.burst, w.changes = burst{}, Changes{}
	w.notify(changes)
}

// fail continues without a watch, until the next look makes another one.
func (w *watch) fail(ctx context.Context, err error) {
	w.drop()
	w.unwatched = err.Error()
	w.burst.add(time.Now()) // events may have been missed
	w.changes = w.last.everything()
	w.reportProblems(ctx)
}

func (w *watch) drop() {
	if w.watcher != nil {
		_ = w.watcher.Close() // it never fails
		w.watcher, w.watched = nil, nil
	}
}

// look adds and removes watches according to the folders that exist now, and records what changed since the last look. The
// watch sees what changes after look was called.
func (w *watch) look(ctx context.Context) {
	w.unwatched = ""
	var now *survey
	for i := range maxLooks {
		now = look(w.dirs)
		if i > 0 && maps.Equal(now.watches, w.watched) {
			break // no folder appeared before it was watched
		}
		if err := w.follow(now.watches); err != nil {
			w.drop()
			w.unwatched = err.Error()
			break
		}
	}
	w.changes.add(now.since(w.last))
	w.last, w.looked = now, time.Now()
	w.reportProblems(ctx)
}

// maxLooks bounds how often one look starts again because folders changed meanwhile.
const maxLooks = 5

// follow watches folders. If a watched folder has moved, it makes a new watcher: the old one would report the events of that
// folder under a path where another folder may be now.
func (w *watch) follow(folders map[string]stamp) error {
	if len(folders) > maxWatches {
		return fmt.Errorf("there are more than %d folders", maxWatches)
	}
	old := w.watcher
	if old == nil || !within(folders, w.watched) {
		made, err := w.newWatcher()
		if err != nil {
			return err
		}
		if w.watcher = made; old != nil {
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

// within reports whether all has every entry of some.
func within(all, some map[string]stamp) bool {
	for dir, id := range some {
		if all[dir] != id {
			return false
		}
	}
	return true
}

// reportProblems reports the problems of the last look, and of the watch.
func (w *watch) reportProblems(ctx context.Context) {
	problems := w.last.problems
	if w.unwatched != "" {
		problems = append(problems[:len(problems):len(problems)], fmt.Sprintf("the scripts directories are polled every %s, since they cannot be watched: %s", w.intervals.poll, w.unwatched))
	}
	w.report(ctx, problems)
}
