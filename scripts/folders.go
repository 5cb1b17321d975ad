package scripts

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

// Folders are the scripts directories. Sources read them at any time; Run reports their changes.
type Folders struct {
	dirs []string
	log  *slog.Logger

	intervals  intervals
	newWatcher func() (*fsnotify.Watcher, error) // nil: the directories are only polled; tests replace it
	mounts     func() ([]byte, error)            // returns the content of mountinfo; tests replace it

	mu        sync.Mutex // guards the fields below
	followers []*func(Changes)
	problems  []string
}

// intervals are the times that Folders waits.
type intervals struct {
	quiet   time.Duration // a burst of changes ends after this time without a change,
	longest time.Duration // or after this time
	poll    time.Duration // between polls, without a watch
	slow    time.Duration // between polls with a watch, for file systems that send no events
}

// NewFolders returns Folders for the directories dirs. If several have a file, the first one is used. They need not exist yet.
func NewFolders(dirs []string, log *slog.Logger) *Folders {
	return &Folders{
		dirs: dirs, log: log,
		intervals:  intervals{quiet: 100 * time.Millisecond, longest: time.Second, poll: 2 * time.Second, slow: 10 * time.Second},
		newWatcher: fsnotify.NewWatcher,
		mounts:     func() ([]byte, error) { return os.ReadFile(mountinfo) },
	}
}

// NewPolledFolders returns Folders that Run only polls, every two seconds, because watching them would need a system call that blocks.
func NewPolledFolders(dirs []string, log *slog.Logger) *Folders {
	f := NewFolders(dirs, log)
	f.newWatcher = nil
	return f
}

// FollowChanges makes Run call changed once when it begins, and after every change in the directories: once for a burst of changes,
// and again for what changed during a call. Its argument says in which folders something changed since the previous call; at
// the first call everything may have changed. Calls come one after the other, and should return soon. There may be calls
// without a need to reload. After stop returns, at most one running call is finished.
func (f *Folders) FollowChanges(changed func(Changes)) (stop func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.followers = append(f.followers, &changed)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.followers = slices.DeleteFunc(f.followers, func(other *func(Changes)) bool { return other == &changed })
	}
}

// notify calls all followers.
func (f *Folders) notify(changes Changes) {
	f.mu.Lock()
	followers := slices.Clone(f.followers)
	f.mu.Unlock()
	for _, changed := range followers {
		(*changed)(changes)
	}
}

// Problems returns what prevents following the directories: one that does not exist, or polling instead of a watch. There are
// none while Run does not run.
func (f *Folders) Problems() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.problems)
}

// report stores the current problems, and logs new ones and those that no longer exist.
func (f *Folders) report(ctx context.Context, problems []string) {
	f.mu.Lock()
	before := f.problems
	f.problems = problems
	f.mu.Unlock()
	for _, p := range problems {
		if !slices.Contains(before, p) {
			f.log.WarnContext(ctx, "scripts: "+p)
		}
	}
	for _, p := range before {
		if !slices.Contains(problems, p) {
			f.log.InfoContext(ctx, "scripts: fixed: "+p)
		}
	}
}
