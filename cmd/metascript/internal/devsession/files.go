package devsession

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"metascript/cmd/metascript/internal/check"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/controller/object"
	"metascript/controller/schemas"
)

// Files are the files with controllers that an author edits. A Files does not change after [OpenFiles]: watch returns what it reads
// to its caller.
type Files struct {
	paths []string // files or folders
	stdin []byte   // the content of "-"

	known *schemas.Set        // the kinds of controllers
	first snapshot            // the content of the files when they were opened
	docs  []manifest.Document // the objects in first
}

// OpenFiles reads files, and standard input if one of them is "-". It returns an error if there is no controller in them, or one
// that the API server would refuse.
func OpenFiles(paths []string, stdin io.Reader) (*Files, error) {
	known, err := schemaflags.WithOwn(schemas.Kubernetes())
	if err != nil {
		return nil, err
	}
	f := &Files{paths: paths, known: known}
	if slices.Contains(paths, "-") {
		if f.stdin, err = io.ReadAll(stdin); err != nil {
			return nil, err
		}
	}
	f.first = f.read()
	if f.docs, err = f.first.documents(); err != nil {
		return nil, fmt.Errorf("%w%s", err, manifest.HintNested(paths))
	}
	return f, f.validate(f.docs)
}

// documents returns the objects in a snapshot. It returns an error if they cannot be read, or if a controller is not valid.
func (f *Files) documents(s snapshot) ([]manifest.Document, error) {
	docs, err := s.documents()
	if err == nil {
		err = f.validate(docs)
	}
	return docs, err
}

// validate returns an error with everything that the API server would refuse, or remove, in the controllers among docs: the server
// reads them from files, so that no API server has validated them.
func (f *Files) validate(docs []manifest.Document) error {
	var all []string
	for _, doc := range manifest.Controllers(docs) {
		all = append(all, check.Errors(doc, f.known)...)
	}
	if len(all) == 0 {
		return nil
	}
	return errors.New(strings.Join(all, "\n"))
}

// Documents returns the objects in the files when they were opened.
func (f *Files) Documents() []manifest.Document { return f.docs }

// A snapshot is the content of the files at one time, in the order of their paths. Two snapshots can be compared: a file that cannot
// be read both times, for the same reason, is equal.
type snapshot []fileText

// A fileText is the text of a file, or the error of reading it.
type fileText struct{ path, text, failed string }

// read reads the files. It lists folders each time, so that files can be added and removed.
func (f *Files) read() snapshot {
	paths, err := manifest.Files(f.paths)
	if err != nil {
		return snapshot{{failed: err.Error()}}
	}
	var s snapshot
	for _, path := range paths {
		text, err := f.stdin, error(nil)
		if path != "-" {
			text, err = manifest.ReadFile(path)
		}
		file := fileText{path: path, text: string(text)}
		if err != nil {
			file.failed = err.Error()
		}
		s = append(s, file)
	}
	return s
}

// documents returns the objects in a snapshot. It is an error if there is no controller, and if a file is empty: probably an editor is
// writing it.
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
	return all, s.check(all)
}

// check returns an error if there is no controller, or if there are two with the same name. The server would run one of them, and
// the author might edit the other.
func (s snapshot) check(all []manifest.Document) error {
	controllers := manifest.Controllers(all)
	if len(controllers) == 0 {
		var paths []string
		for _, file := range s {
			paths = append(paths, file.path)
		}
		return manifest.NoControllers(paths, all)
	}
	first := map[string]string{}
	for _, doc := range controllers {
		name := object.Describe(doc.Object)
		if file, duplicate := first[name]; duplicate {
			return fmt.Errorf("%s: %s is in %s too", doc.File, name, file)
		}
		first[name] = doc.File
	}
	return nil
}

// pollInterval is the time between two reads of the files, which are few and small. Unlike notifications of the system, reading
// finds every edit, on any file system and with any editor.
const pollInterval = 100 * time.Millisecond

// watch calls changed with the content of the files each time it has changed, until ctx is done. It waits until two reads in a row
// are equal, so that a file that is being written is not used.
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
