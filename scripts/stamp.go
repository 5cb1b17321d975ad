package scripts

import (
	"io/fs"
	"os"
	"time"
)

// A stamp identifies a state of a file: equal stamps mean that nothing was written in between.
type stamp struct {
	failed  string // the error if the file cannot be read
	link    string // the target of a link
	mode    fs.FileMode
	size    int64
	written time.Time // mtime
	id      identity
}

// stampOf returns the stamp of a file with the results of Stat.
func stampOf(info os.FileInfo, err error) stamp {
	switch {
	case err != nil:
		return stamp{failed: err.Error()}
	case info == nil:
		return stamp{}
	}
	return stamp{mode: info.Mode(), size: info.Size(), written: info.ModTime(), id: identify(info)}
}

// stampDir returns the stamp of a directory. It does not change when something changes in the directory.
func stampDir(dir string) stamp {
	s := stampOf(os.Stat(dir))
	return stamp{failed: s.failed, id: s.id.withoutTime()}
}
