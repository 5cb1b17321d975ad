package scripts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"metascript/scripts/mounttest"
)

// version is a script of five files, all with the same number in them, each of which the one before loads. Every
// other version has its files in other folders.
func version(i int) map[string]string {
	folder := "lib"
	if i%2 == 1 {
		folder = "bil"
	}
	return map[string]string{
		"sync.star":          fmt.Sprintf("load(\"%s/a.star\", \"v\")\nv%d", folder, i),
		folder + "/a.star":   fmt.Sprintf("load(\"b.star\", \"v\")\nv%d", i),
		folder + "/b.star":   fmt.Sprintf("load(\"catset/c.star\", \"v\")\nv%d", i),
		"c.star":             fmt.Sprintf("load(\"shared/d.star\", \"v\")\nv%d", i),
		"shared/d.star":      fmt.Sprintf("\nv%d", i),
		fmt.Sprint("f", i%7): "",
	}
}

// numbers are those in the texts of a script.
func numbers(files map[string]string) []string {
	var found []string
	for _, text := range files {
		found = append(found, text[strings.LastIndex(text, "v"):])
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// versions is how many versions these tests write.
func versions() int {
	if testing.Short() {
		return 50
	}
	return 500
}

// While versions come without end, no reader sees a mixture of two, and after the last one a follower has been told.
func TestVersionsAreNeverMixed(t *testing.T) {
	for name, update := range map[string]func(dir string, files map[string]string) error{
		"as the kubelet does": mounttest.Write,
		"by replacing a link": replaceLink(),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			catset := filepath.Join(dir, "catset")
			if err := update(catset, version(0)); err != nil {
				t.Fatal(err)
			}
			f := follow(t, quick, dir)
			wanted := Wanted{File: "catset/sync.star", Libraries: []Library{{File: "catset/shared"}}}
			f.read = func() map[string]string {
				made, err := Sources{Folders: f.Folders}.Assemble(wanted, false)
				if err != nil {
					return nil // it changes, and so there will be another call
				}
				return contents(t, made.Script)
			}
			f.run()
			ctx, done := context.WithCancel(t.Context())
			var readers sync.WaitGroup
			var reads, unsettled atomic.Int64
			for range 8 {
				readers.Go(func() {
					for ctx.Err() == nil {
						made, err := Sources{Folders: f.Folders}.Assemble(wanted, false)
						if e, ok := asError(err); ok && e.Reason == Unsettled {
							unsettled.Add(1)
							continue
						}
						if err != nil {
							t.Error(err)
							return
						}
						reads.Add(1)
						files := contents(t, made.Script)
						if found := numbers(files); len(found) != 1 || len(files) != 5 {
							t.Errorf("a mixture of %q: %q", found, files)
							return
						}
					}
				})
			}
			for i := 1; i <= versions(); i++ {
				if err := update(catset, version(i)); err != nil {
					t.Error(err)
				}
			}
			f.until("the last version", f.reads("catset/sync.star", version(versions())["sync.star"]))
			done()
			readers.Wait()
			t.Logf("%d versions, %d reads, %d gave up", versions(), reads.Load(), unsettled.Load())
			if reads.Load() == 0 {
				t.Error("nobody read anything")
			}
		})
	}
}

// replaceLink updates a directory as git-sync does: the whole of a version lies elsewhere, and a link leads there.
func replaceLink() func(dir string, files map[string]string) error {
	before, count := "", 0
	return func(dir string, files map[string]string) error {
		count++
		version := fmt.Sprint("worktree-", count)
		for _, name := range slices.Sorted(maps.Keys(files)) {
			file := filepath.Join(filepath.Dir(dir), version, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(files[name]), 0o644)); err != nil {
				return err
			}
		}
		err := errors.Join(os.Symlink(version, dir+"-new"), os.Rename(dir+"-new", dir))
		if before != "" {
			err = errors.Join(err, os.RemoveAll(before))
		}
		before = filepath.Join(filepath.Dir(dir), version)
		return err
	}
}

// Two mounts that are updated one after the other are never read as they were at different times.
func TestVersionsOfScriptAndLibraryMatch(t *testing.T) {
	dir := t.TempDir()
	script, library := filepath.Join(dir, "catset"), filepath.Join(dir, "shared")
	update := func(i int) {
		mount(t, library, map[string]string{"d.star": fmt.Sprint("v", i)})
		mount(t, script, map[string]string{"sync.star": fmt.Sprintf("load(\"shared/d.star\", \"v\")\nv%d", i)})
	}
	update(0)
	ctx, done := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil {
				made, err := in(dir).Assemble(Wanted{File: "catset/sync.star", Libraries: []Library{{File: "shared"}}}, false)
				if e, ok := asError(err); ok && e.Reason == Unsettled {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				var s, l int
				files := contents(t, made.Script)
				_, err = fmt.Sscanf(numberOf(files["catset/sync.star"])+numberOf(files["shared/d.star"]), "v%dv%d", &s, &l)
				if err != nil || l != s && l != s+1 {
					t.Errorf("script %d with library %d, %v", s, l, err)
				}
			}
		})
	}
	for i := 1; i <= versions(); i++ {
		update(i)
	}
	done()
	readers.Wait()
}

func numberOf(text string) string { return text[strings.LastIndex(text, "v"):] }
