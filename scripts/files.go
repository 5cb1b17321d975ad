package scripts

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing/fstest"
)

// files are the files that a script may load, by slash-separated names.
type files interface {
	// has reports whether there is a file, readable or not.
	has(name string) bool
	// read returns a file's text. It fails with an [*Error], also for a file of more than limit bytes.
	read(name string, limit int64) ([]byte, error)
	// list returns the names in a folder; if deep is set, also the files in its subfolders. It is used for hints, and to read
	// all files.
	list(folder string, deep bool) ([]string, error)
}

// A finder lets [engine.FindFile] look among files.
type finder struct{ files }

// Open implements [fs.FS]. The file is empty: FindFile only asks whether it exists.
func (f finder) Open(name string) (fs.File, error) {
	if !f.has(name) {
		return nil, fs.ErrNotExist
	}
	return fstest.MapFS{name: {}}.Open(name)
}

// missing are the files of a library that cannot be read: every file exists, and reading each returns the same error.
type missing struct{ err error }

func (m missing) has(string) bool                     { return true }
func (m missing) read(string, int64) ([]byte, error)  { return nil, m.err }
func (m missing) list(string, bool) ([]string, error) { return nil, m.err }

// texts are files in memory.
type texts struct {
	source string // "ConfigMap default/lib", for errors
	data   map[string]string
	binary []string // names of binary data
}

func (t texts) has(name string) bool {
	_, ok := t.data[name]
	return ok || slices.Contains(t.binary, name)
}

func (t texts) read(name string, limit int64) ([]byte, error) {
	text, ok := t.data[name]
	switch {
	case !ok && slices.Contains(t.binary, name):
		return nil, invalid(t.source+": key "+name, "is not UTF-8, since it is in binaryData", "put it into data, as text")
	case !ok:
		return nil, notFound(t.source, "it has no key "+name, suggest(name, t.names()))
	case int64(len(text)) > limit:
		return nil, tooLarge(t.source+": key "+name, limit)
	}
	return []byte(text), nil
}

func (t texts) list(string, bool) ([]string, error) { return t.names(), nil }

func (t texts) names() []string {
	names := slices.Clone(t.binary)
	for name := range t.data {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// A mounted makes a file, or a folder of files, available to scripts under another name.
type mounted struct {
	files
	at   string // its path in files
	name string // the name by which scripts load it; "." means that its files have no prefix
}

// inside returns the name in p.files of the file that scripts call name.
func (p mounted) inside(name string) (string, bool) {
	switch {
	case p.name == ".":
		return path.Join(p.at, name), true
	case name == p.name:
		return p.at, true
	case strings.HasPrefix(name, p.name+"/"):
		return path.Join(p.at, name[len(p.name)+1:]), true
	}
	return "", false
}

// outside is the reverse of inside.
func (p mounted) outside(name string) string {
	if p.at != "." {
		name = strings.TrimPrefix(name[len(p.at):], "/")
	}
	return path.Join(p.name, name)
}

func (p mounted) has(name string) bool {
	inside, ok := p.inside(name)
	return ok && p.files.has(inside)
}

func (p mounted) read(name string, limit int64) ([]byte, error) {
	inside, _ := p.inside(name)
	return p.files.read(inside, limit)
}

func (p mounted) list(folder string, deep bool) ([]string, error) {
	inside, ok := p.inside(folder)
	if !ok && deep && folder == "." {
		inside, ok = p.at, true
	}
	if !ok {
		return nil, nil
	}
	if _, unreadable := p.files.(missing); !unreadable && p.files.has(inside) {
		return []string{p.name}, nil // it is a single file
	}
	names, err := p.files.list(inside, deep)
	for i, name := range names {
		names[i] = p.outside(name)
	}
	return names, err
}
