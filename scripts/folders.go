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

// Folders are the scripts directories. Sources read them at any time; Run tells when they changed.
type Folders struct {
	dirs []string
	log  *slog.Logger

	intervals  intervals
	newWatcher func() (*fsnotify.Watcher, error)
	mounts     func() ([]byte, error) // what mountinfo says

	mu        sync.Mutex
	followers []*func(Changes)
	problems  []string
}

// intervals are how long Folders waits for what.
type intervals struct {
	quiet   time.Duration // a burst of changes is over when there was none for so long,
	longest time.Duration // or when it has lasted for so long
	poll    time.Duration // in place of a watch
	slow    time.Duration // beside a watch, for file systems that tell nothing
}

// NewFolders gives the directories dirs, of which the first that has a file counts. They need not exist yet.
func NewFolders(dirs []string, log *slog.Logger) *Folders {
	return &Folders{
		dirs: dirs, log: log,
		intervals:  intervals{quiet: 100 * time.Millisecond, longest: time.Second, poll: 2 * time.Second, slow: 10 * time.Second},
		newWatcher: fsnotify.NewWatcher,
		mounts:     func() ([]byte, error) { return os.ReadFile(mountinfo) },
	}
}

// Follow lets Run call changed once when it begins, and after every change in the directories: once for a burst, and
// always once more for what changed while a call was under way. Calls come one after the other, and should return
// soon. Without a need to reload changed may be called too. After stop, at most a call under way is finished.
func (f *Folders) Follow(changed func()) (stop func()) {
	return f.FollowChanges(func(Changes) { changed() })
}

// FollowChanges is Follow for who wants to know in which folders something changed since the call before. The first call
// says that everything may have changed.
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

func (f *Folders) notify(changes Changes) {
	f.mu.Lock()
	followers := slices.Clone(f.followers)
	f.mu.Unlock()
	for _, changed := range followers {
		(*changed)(changes)
	}
}

// Problems says what is in the way of following the directories: one that is not there, or polling in place of a
// watch. While Run does not run, there are none.
func (f *Folders) Problems() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.problems)
}

// report keeps the problems there are, and logs those that come and go.
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
			f.log.InfoContext(ctx, "scripts: no longer so: "+p)
		}
	}
}
