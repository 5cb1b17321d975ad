package scripts

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkAssemble reads a script of five files from a mount that has a hundred other files.
func BenchmarkAssemble(b *testing.B) {
	dir := b.TempDir()
	files := version(0)
	for i := range 100 {
		files[fmt.Sprint("unused-", i, ".star")] = "x"
	}
	mount(b, filepath.Join(dir, "catset"), files)
	from := in(dir)
	for b.Loop() {
		if _, err := from.Assemble(Wanted{File: "catset/sync.star", Libraries: []Library{{File: "catset/shared"}}}, false); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEditToNotification measures the time from an edit until a follower is called. Most of it is the wait for further changes.
func BenchmarkEditToNotification(b *testing.B) {
	dir := b.TempDir()
	file := filepath.Join(dir, "sync.star")
	f := follow(b, NewFolders(nil, nil).intervals, dir)
	f.run()
	for i := 0; b.Loop(); i++ {
		if err := os.WriteFile(file, []byte(fmt.Sprint("x = ", i, time.Now())), 0o644); err != nil {
			b.Fatal(err)
		}
		f.wait("an edit")
	}
}
