package scripts

import (
	"io/fs"
	"os"
	"time"
)

// A stamp tells one state of a file from another: equal stamps mean that nothing was written in between.
type stamp struct {
	link    string // where it leads, of what was asked for as a link
	there   bool
	mode    fs.FileMode
	size    int64
	written time.Time
	id      identity
}

func stampOf(info os.FileInfo, err error) stamp {
	if err != nil {
		return stamp{}
	}
	return stamp{there: true, mode: info.Mode(), size: info.Size(), written: info.ModTime(), id: identify(info)}
}
