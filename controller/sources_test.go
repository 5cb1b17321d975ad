package controller

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/build"
	"metascript/scripts"
)

// edits has folders followed until the test is over, and returns a function that writes a file and returns the changes that
// come of it.
func edits(t *testing.T, dir string) func(name string) scripts.Changes {
	t.Helper()
	s := newServer(t).loader.sources
	folders := scripts.NewFolders([]string{dir}, slog.New(slog.DiscardHandler))
	stop := folders.FollowChanges(s.filesChanged)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { folders.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait(); stop() })
	wait := func(name string) scripts.Changes {
		var all scripts.Changes
		for !all.Concern(scripts.Wanted{File: name}) {
			select {
			case <-s.edited:
				all = all.And(s.takeChanges())
			case <-time.After(time.Minute):
				t.Fatalf("no change of %s", name)
			}
		}
		return all
	}
	wait("any.js") // everything may have changed when it begins
	return func(name string) scripts.Changes {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(time.Now().String()), 0o600); err != nil {
			t.Fatal(err)
		}
		return wait(name)
	}
}

func TestEditConcernsOnlyControllersThatReadIt(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "lib"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write := edits(t, dir)
	r := newRecords()
	for name, wanted := range map[string]map[string]scripts.Wanted{
		"of-a": {"": {File: "a/sync.js"}},
		"of-b": {"": {File: "b/sync.js"}, "finalize": {File: "b/finalize.js"}},
		"both": {"": {File: "a/sync.js"}, "finalize": {File: "b/finalize.js"}},
		"libs": {"": {Inline: "x", Libraries: []scripts.Library{{File: "lib"}}}},
		"text": {"": {Inline: "x"}},
		"none": nil,
	} {
		o := controllerObject(types.UID(name))
		o.SetName(name)
		m, _ := r.open(o)
		if wanted != nil {
			m.sources.Store(&build.ReadSources{Wanted: wanted, Fingerprint: "f"})
		}
	}
	for _, c := range []struct {
		file string
		want map[types.UID]bool
	}{
		{"a/sync.js", map[types.UID]bool{"of-a": true, "both": true}},
		{"b/module.js", map[types.UID]bool{"of-b": true, "both": true}},
		{"lib/part.js", map[types.UID]bool{"libs": true}},
	} {
		concerned := map[types.UID]bool{}
		for _, m := range r.concernedBy(write(c.file)) {
			concerned[m.uid] = true
		}
		for uid := range concerned {
			if !c.want[uid] {
				t.Errorf("an edit of %s concerns %s", c.file, uid)
			}
		}
		for uid := range c.want {
			if !concerned[uid] {
				t.Errorf("an edit of %s does not concern %s", c.file, uid)
			}
		}
	}
	if all := r.concernedBy(scripts.Changes{}); len(all) > 0 {
		t.Errorf("nothing changed, and it concerns %d", len(all))
	}
}
