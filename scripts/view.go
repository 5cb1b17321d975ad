package scripts

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A view is a scripts directory during one attempt to read scripts. It records the state of all files that it reads, so that
// unchanged can report whether they are of one version.
//
// The kubelet writes each version of a volume into a hidden folder, to which the link ..data points. A view reads such a link
// once, and then reads all files from that folder.
type view struct {
	dir  string
	root *os.Root // nil if there is no such directory
	err  error    // the reason if root is nil

	self             stamp                  // of dir, when the view was opened
	observed         map[string]observation // by path below dir
	changedMeanwhile bool                   // a file was replaced between observe and open
}

// An observation is the state of a path when it was first read. Later reads use the same observation; unchanged checks it.
type observation struct {
	info os.FileInfo
	err  error
	link string // the target of a link that was not followed
}

// stamp returns the stamp of the path, which is equal for observations of the same state.
func (g observation) stamp() stamp {
	s := stampOf(g.info, g.err)
	s.link = g.link
	return s
}

// dataLink is the name of the kubelet's link to the current version.
const dataLink = "..data"

// open opens a scripts directory, which need not exist. The caller must call close.
func open(dir string) *view {
	v := &view{dir: dir, observed: map[string]observation{}}
	v.self = stampDir(dir)
	v.root, v.err = os.OpenRoot(dir)
	return v
}

func (v *view) close() {
	if v.root != nil {
		_ = v.root.Close() // it was only read
	}
}

// unchanged reports whether all that was observed is still in the same state.
func (v *view) unchanged() bool {
	if v.changedMeanwhile || v.self != stampDir(v.dir) {
		return false
	}
	for file, before := range v.observed {
		if v.observe(file).stamp() != before.stamp() {
			return false
		}
	}
	return true
}

// observe reads the state of a path below dir: the target of the link ..data, and otherwise the file, with links followed.
func (v *view) observe(file string) (g observation) {
	if path.Base(file) == dataLink {
		g.link, g.err = v.root.Readlink(file)
	} else {
		g.info, g.err = v.root.Stat(file)
	}
	return g
}

// look returns the observation of a path. It observes the path the first time.
func (v *view) look(file string) observation {
	seen, ok := v.observed[file]
	if !ok {
		seen = v.observe(file)
		v.observed[file] = seen
	}
	return seen
}

// version returns the name of the subfolder of folder that has the current version of its files, or "".
func (v *view) version(folder string) string {
	target := v.look(path.Join(folder, dataLink)).link
	if !filepath.IsLocal(target) || strings.Contains(target, "/") {
		return ""
	}
	return target
}

// place returns the path below dir of the file called name, which may be in the folder of a version.
func (v *view) place(name string) string {
	at := "."
	for part := range strings.SplitSeq(name, "/") {
		next := path.Join(at, part)
		if target := v.version(at); target != "" {
			versioned := path.Join(at, target, part)
			if !absent(v.look(versioned).err) {
				next = versioned
			}
		}
		at = next
	}
	return at
}

// absent reports whether err says that nothing exists at a path. With other errors something exists that cannot be read.
func absent(err error) bool {
	return err != nil && !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.ELOOP) && !escapes(err)
}

// escapes reports whether err is the error of [os.Root] for a link that leads out of it.
func escapes(err error) bool {
	var pathError *fs.PathError
	return errors.As(err, &pathError) && strings.Contains(pathError.Err.Error(), "escapes")
}

func (v *view) has(name string) bool {
	switch {
	case !validName(name):
		return false
	case v.root == nil:
		return !absent(v.err)
	}
	seen := v.look(v.place(name))
	return seen.err == nil && !seen.info.IsDir() || seen.err != nil && !absent(seen.err)
}

// validName reports whether name can be the name of a file. Names that begin with two dots are reserved for the kubelet.
func validName(name string) bool {
	return fs.ValidPath(name) && !strings.ContainsRune(name, 0) &&
		!slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return strings.HasPrefix(part, "..") })
}

func (v *view) isFolder(name string) bool {
	if v.root == nil || !validName(name) {
		return false
	}
	seen := v.look(v.place(name))
	return seen.err == nil && seen.info.IsDir()
}

func (v *view) read(name string, limit int64) ([]byte, error) {
	if v.root == nil {
		return nil, v.explain(name, v.err)
	}
	file := v.place(name)
	seen := v.look(file)
	err := seen.err
	if err == nil {
		err = readable(name, seen.info, limit)
	}
	if err != nil {
		return nil, v.explain(name, err)
	}
	f, err := v.root.OpenFile(file, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, v.explain(name, err)
	}
	defer f.Close()
	if info, err := f.Stat(); stampOf(info, err) != seen.stamp() {
		v.changedMeanwhile = true // the attempt is repeated, and this error is dropped
		return nil, &Error{Reason: Unsettled, Source: "file " + name, Msg: "changes while it is read"}
	}
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = tooLarge("file "+name, limit)
	}
	return text, v.explain(name, err)
}

// readable returns an error for a file that is too large, and for anything else than a regular file.
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

// kindOf describes a file that is not a regular file, for errors.
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

// explain converts an error of the operating system to an [*Error].
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
		e.Msg, e.Hint = "is a link to a path outside of "+v.dir, "put the file itself there; a link inside the directory must be relative"
	default:
		var pathError *fs.PathError
		if errors.As(err, &pathError) {
			err = pathError.Err
		}
		e.Msg = fmt.Sprintf("cannot be read: %v", err)
	}
	return e
}

const (
	maxEntries = 10_000 // entries below a folder of which all files are read
	maxDepth   = 20     // levels of such a folder
)

// list returns the names in a folder; links to folders are not followed. If deep is not set, the result includes the names of
// folders, and list does not observe the folder: it is for hints, so the script does not depend on it.
func (v *view) list(folder string, deep bool) ([]string, error) {
	if v.root == nil {
		return nil, nil
	}
	l := lister{view: v, deep: deep}
	err := l.visit(folder, 0)
	return l.names, err
}

// A lister collects the names for list.
type lister struct {
	*view
	deep  bool
	names []string
	seen  int // how many entries were listed
}

// visit adds the names in a folder.
func (l *lister) visit(folder string, depth int) error {
	places, err := l.entries(folder)
	if err != nil {
		return l.explain(folder, err)
	}
	if l.seen += len(places); l.seen > maxEntries || depth > maxDepth {
		return invalid("directory "+folder, fmt.Sprintf("has more than %d entries, or directories deeper than %d", maxEntries, maxDepth), "use string literals as the names of the files to load, so that no other files are read")
	}
	for _, base := range slices.Sorted(maps.Keys(places)) {
		name := path.Join(folder, base)
		if !l.deep || !l.isDir(places[base]) {
			l.names = append(l.names, name)
		} else if base[0] != '.' {
			if err := l.visit(name, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// isDir reports whether a path is a directory, and not a link to one.
func (v *view) isDir(at string) bool {
	info, err := v.root.Lstat(at)
	return err == nil && info.IsDir()
}

// entries returns the paths of the files in a folder by name. They are in the folder of the current version, or else in the folder
// itself.
func (l *lister) entries(folder string) (map[string]string, error) {
	at := "."
	if folder != "." {
		at = l.place(folder)
	}
	places := map[string]string{}
	outside, err := l.readDir(at)
	if err != nil {
		return nil, err
	}
	target := l.version(at)
	if target != "" {
		within, err := l.readDir(path.Join(at, target))
		if err != nil {
			return nil, err
		}
		for _, name := range within {
			places[name] = path.Join(at, target, name)
		}
	}
	for _, name := range outside {
		file := path.Join(at, name)
		_, found := places[name]
		stale := target != "" && !found && l.leadsToVersion(file)
		if !found && !stale && !strings.HasPrefix(name, "..") {
			places[name] = file
		}
	}
	return places, nil
}

// leadsToVersion reports whether a file is one of the kubelet's links into the current version.
func (v *view) leadsToVersion(file string) bool {
	target, err := v.root.Readlink(file)
	return err == nil && strings.HasPrefix(target, dataLink+"/")
}

// readDir returns the names in the directory at a path below dir.
func (l *lister) readDir(at string) ([]string, error) {
	if l.deep {
		if seen := l.look(at); seen.err != nil {
			return nil, seen.err
		}
	}
	f, err := l.root.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	names, err := f.Readdirnames(maxEntries + 1)
	if err == io.EOF {
		err = nil
	}
	return names, err
}
