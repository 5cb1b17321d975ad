package devsession

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/controller/object"
)

// Files are the files with controllers that an author edits. After [OpenFiles] nothing in it changes: the watch keeps what it
// has read to itself.
type Files struct {
	paths []string // files or folders
	stdin []byte   // what "-" stands for

	first snapshot            // what they held when they were opened
	docs  []manifest.Document // the objects in first
}

// OpenFiles reads files, and standard input once if "-" is among them. There has to be a controller in them.
func OpenFiles(paths []string, stdin io.Reader) (*Files, error) {
	f := &Files{paths: paths}
	var err error
	if slices.Contains(paths, "-") {
		if f.stdin, err = io.ReadAll(stdin); err != nil {
			return nil, err
		}
	}
	f.first = f.read()
	if f.docs, err = f.first.documents(); err != nil {
		return nil, fmt.Errorf("%w%s", err, manifest.HintNested(paths))
	}
	return f, nil
}

// A snapshot is what the files held at one moment, in the order of their paths. Two snapshots can be compared: a file that
// cannot be read, for one reason, is equal to itself.
type snapshot []fileText

// A fileText is the text of a file, or why it could not be read.
type fileText struct{ path, text, failed string }

// read reads the files. A folder is read anew, so that files can come and go.
func (f *Files) read() snapshot {
	paths, err := manifest.Files(f.paths)
	if err != nil {
		return snapshot{{failed: err.Error()}}
	}
	var s snapshot
	for _, path := range paths {
		text, err := f.stdin, error(nil)
		if path != "-" {
			text, err = os.ReadFile(path)
		}
		file := fileText{path: path, text: string(text)}
		if err != nil {
			file.failed = err.Error()
		}
		s = append(s, file)
	}
	return s
}

// documents are the objects in a snapshot, with at least one controller among them. An empty file is an error: most likely
// an editor is writing it.
func (s snapshot) documents() ([]manifest.Document, error) {
	var all []manifest.Document
	for _, file := range s {
		if file.failed != "" {
			return nil, errors.New(file.failed)
		}
		if len(bytes.TrimSpace([]byte(file.text))) == 0 {
			return nil, fmt.Errorf("%s is empty", file.path)
		}
		found, err := manifest.Parse(file.path, []byte(file.text))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, s.check(manifest.Controllers(all))
}

// check returns an error if there is no controller, or one is there twice. Of two the server would run one, and the author
// might edit the other.
func (s snapshot) check(controllers []manifest.Document) error {
	if len(controllers) == 0 {
		var paths []string
		for _, file := range s {
			paths = append(paths, file.path)
		}
		return fmt.Errorf("no CompositeController and no DecoratorController in %s", strings.Join(paths, ", "))
	}
	first := map[string]string{}
	for _, doc := range controllers {
		name := object.Describe(doc.Object)
		if file, twice := first[name]; twice {
			return fmt.Errorf("%s: %s is in %s too", doc.File, name, file)
		}
		first[name] = doc.File
	}
	return nil
}

// pollInterval is how often the files are read. They are few and small. Reading them notices every edit, on each file system
// and however the editor saves; notifications of the system do not.
const pollInterval = 100 * time.Millisecond

// watch calls changed with what the files hold, each time that they have changed since it was called last, until ctx is done.
// It waits until two reads in a row are equal, so that a file that is being written is not used.
func (f *Files) watch(ctx context.Context, changed func(snapshot)) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	used, before := f.first, f.first
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := f.read()
		if slices.Equal(now, before) && !slices.Equal(now, used) {
			used = now
			changed(now)
		}
		before = now
	}
}
