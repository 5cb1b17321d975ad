package scripts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A view is a scripts directory as one attempt to read it finds it. It notes all that it relies on, so that settled
// can tell whether what was read is of one version.
//
// The kubelet puts the files of a volume into a hidden folder of their own for each version, and lets the link ..data
// lead there. A view looks at such a link once, and reads through that folder.
type view struct {
	dir  string
	root *os.Root // nil when there is no such directory
	err  error    // why not

	self     stamp
	versions map[string]string // by folder, where its ..data leads
	noted    map[string]stamp  // by path below dir
	torn     bool              // a file was another when it was opened than when it was looked at
}

// dataLink is what the kubelet calls the link to the current version.
const dataLink = "..data"

func open(dir string) *view {
	v := &view{dir: dir, versions: map[string]string{}, noted: map[string]stamp{}}
	v.self = stampDir(dir)
	v.root, v.err = os.OpenRoot(dir)
	return v
}

// stampDir ignores what happens in the directory.
func stampDir(dir string) stamp {
	info, err := os.Stat(dir)
	s := stampOf(info, err)
	return stamp{there: s.there, id: s.id.still()}
}

func (v *view) close() {
	if v.root != nil {
		_ = v.root.Close() // it was only read
	}
}

// settled reports whether all that the view relies on is still so.
func (v *view) settled() bool {
	if v.torn || v.self != stampDir(v.dir) {
		return false
	}
	for file, before := range v.noted {
		if path.Base(file) == dataLink {
			if v.link(file) != before {
				return false
			}
		} else if stampOf(v.root.Stat(file)) != before {
			return false
		}
	}
	return true
}

func (v *view) link(file string) stamp {
	target, err := v.root.Readlink(file)
	return stamp{link: target, there: err == nil}
}

// stat looks at a path below dir, and notes what it sees.
func (v *view) stat(file string) (os.FileInfo, error) {
	info, err := v.root.Stat(file)
	if _, ok := v.noted[file]; !ok {
		v.noted[file] = stampOf(info, err)
	}
	return info, err
}

// version is the folder that holds the current version of a folder's files, or "".
func (v *view) version(folder string) string {
	if target, ok := v.versions[folder]; ok {
		return target
	}
	file := path.Join(folder, dataLink)
	s := v.link(file)
	v.noted[file] = s
	target := ""
	if s.there && filepath.IsLocal(s.link) && !strings.Contains(s.link, "/") {
		target = s.link
	}
	v.versions[folder] = target
	return target
}

// place gives the path below dir where the file called name lies.
func (v *view) place(name string) string {
	at := "."
	for part := range strings.SplitSeq(name, "/") {
		next := path.Join(at, part)
		if target := v.version(at); target != "" {
			versioned := path.Join(at, target, part)
			if _, err := v.stat(versioned); !absent(err) {
				next = versioned
			}
		}
		at = next
	}
	return at
}

// absent reports whether err says that there is nothing. All else is there, and cannot be read.
func absent(err error) bool {
	return err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ELOOP) && !escapes(err)
}

// escapes reports whether err is that of [os.Root] for a link that leads out of it.
func escapes(err error) bool { return strings.Contains(err.Error(), "escapes") }

func (v *view) has(name string) bool {
	switch {
	case !plain(name):
		return false
	case v.root == nil:
		return !absent(v.err)
	}
	info, err := v.stat(v.place(name))
	return err == nil && !info.IsDir() || err != nil && !absent(err)
}

// plain reports whether name can be that of a file. Names that begin with two dots are the kubelet's.
func plain(name string) bool {
	return fs.ValidPath(name) && !strings.ContainsRune(name, 0) &&
		!slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, "..") })
}

func (v *view) isFolder(name string) bool {
	if v.root == nil || !plain(name) {
		return false
	}
	info, err := v.stat(v.place(name))
	return err == nil && info.IsDir()
}

func (v *view) read(name string, limit int64) ([]byte, error) {
	if v.root == nil {
		return nil, v.explain(name, v.err)
	}
	file := v.place(name)
	info, err := v.stat(file)
	if err == nil {
		err = readable(name, info, limit)
	}
	if err != nil {
		return nil, v.explain(name, err)
	}
	f, err := v.root.OpenFile(file, os.O_RDONLY|syscall.O_NONBLOCK, 0) // or a pipe would wait for a writer
	if err != nil {
		return nil, v.explain(name, err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil || stampOf(info, nil) != v.noted[file] {
		v.torn = true
		return nil, v.explain(name, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = tooLarge("file "+name, limit)
	}
	return text, v.explain(name, err)
}

// readable refuses what is no file, and what is too large.
func readable(name string, info os.FileInfo, limit int64) error {
	source := "file " + name
	switch mode := info.Mode(); {
	case mode.IsDir():
		return invalid(source, "is a directory", "name a file in it")
	case !mode.IsRegular():
		return invalid(source, "is "+kindOf(mode)+" and not a file", "put a file in its place")
	case info.Size() > limit:
		return tooLarge(source, limit)
	}
	return nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "something special"
}

// explain makes an [*Error] of what the operating system says.
func (v *view) explain(name string, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := asError(err); ok {
		return e
	}
	e := &Error{Reason: Invalid, Source: "file " + name, Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.Reason, e.Msg = NotFound, "it is not in "+v.dir
	case errors.Is(err, fs.ErrPermission):
		e.Msg, e.Hint = "cannot be read: permission denied", "let the server's user read it and the directories above it"
	case escapes(err):
		e.Msg, e.Hint = "is a link that leads out of "+v.dir, "put the file itself there; a link inside the directory must be relative"
	default:
		var inPath *fs.PathError
		if errors.As(err, &inPath) {
			err = inPath.Err
		}
		e.Msg = fmt.Sprintf("cannot be read: %v", err)
	}
	return e
}

const (
	maxEntries = 10_000 // looked at, below a folder of which all is taken
	maxDepth   = 20
)

// list gives names in a folder; links to folders are not followed. A shallow one notes nothing, since nothing that
// is read depends on it.
func (v *view) list(folder string, deep bool) ([]string, error) {
	if v.root == nil {
		return nil, nil
	}
	var names []string
	seen := 0
	var visit func(folder string, depth int) error
	visit = func(folder string, depth int) error {
		entries, err := v.entries(folder, deep)
		if err != nil {
			return v.explain(folder, err)
		}
		if seen += len(entries); seen > maxEntries || depth > maxDepth {
			return invalid("folder "+folder, fmt.Sprintf("has more than %d entries, or folders deeper than %d", maxEntries, maxDepth), "let the script load files by plain names, so that no others are looked at")
		}
		for _, e := range entries {
			name := path.Join(folder, e.Name())
			if !e.IsDir() {
				names = append(names, name)
			} else if deep && e.Name()[0] != '.' {
				if err := visit(name, depth+1); err != nil {
					return err
				}
			}
		}
		return nil
	}
	err := visit(folder, 0)
	return names, err
}

// entries are what is in a folder: what its current version has, and what lies beside that.
func (v *view) entries(folder string, note bool) ([]fs.DirEntry, error) {
	at := v.place(folder)
	if folder == "." {
		at = "."
	}
	beside, err := v.readDir(at, note)
	target := v.version(at)
	if err != nil || target == "" {
		return slices.DeleteFunc(beside, hidden), err
	}
	within, err := v.readDir(path.Join(at, target), note)
	beside = slices.DeleteFunc(beside, func(e fs.DirEntry) bool {
		return hidden(e) || e.Type()&fs.ModeSymlink != 0 && strings.HasPrefix(v.link(path.Join(at, e.Name())).link, dataLink+"/")
	})
	return append(within, beside...), err
}

func hidden(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), "..") }

func (v *view) readDir(at string, note bool) ([]fs.DirEntry, error) {
	if note {
		if _, err := v.stat(at); err != nil {
			return nil, err
		}
	}
	f, err := v.root.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(maxEntries + 1)
	if err == io.EOF {
		err = nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, err
}
