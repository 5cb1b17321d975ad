package scripts

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// A scan is the state of the scripts directories at one time: which files exist, and their stamps. It does not read the files.
type scan struct {
	folders  map[string]stamp // the folders below the directories; every event in them counts
	onPath   map[string]bool  // folders and links on the paths to the directories, which may be created, removed or replaced
	watches  map[string]stamp // all folders to watch: folders, and the parents of onPath
	trees    []*tree          // the content of each directory
	problems []string         // about directories that cannot be read

	seen int // how many files and folders were found
}

// A tree describes what is below a scripts directory. Two trees show in which folders something changed. Its paths are
// slash-separated, and relative to the directory, which is ".".
type tree struct {
	real    string                       // the path of the directory without links; "" if it does not exist
	failed  string                       // the reason if not everything could be listed
	folders map[string][sha256.Size]byte // for each folder, a digest of its identity and of the stamps of its files
	links   map[string]bool              // for each link, whether it leads out of the folder in which it is
}

const (
	maxWatches = 10_000  // folders that are watched
	maxSeen    = 100_000 // files and folders that are listed
)

// scanDirs returns the state of the directories dirs.
func scanDirs(dirs []string) *scan {
	s := &scan{folders: map[string]stamp{}, onPath: map[string]bool{}}
	for _, dir := range dirs {
		t := &tree{folders: map[string][sha256.Size]byte{}, links: map[string]bool{}}
		s.trees = append(s.trees, t)
		real, err := s.resolve(dir)
		if err == nil {
			t.real = real
			err = s.folder(t, ".")
		}
		if err != nil {
			t.failed = err.Error()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.problems = append(s.problems, fmt.Sprintf("the scripts directory %s does not exist", dir))
		case err != nil:
			s.problems = append(s.problems, fmt.Sprintf("the scripts directory %s: %v", dir, err))
		}
	}
	s.watches = s.watchList()
	return s
}

// maxLinks is how many links a path may contain, as in the kernel.
const maxLinks = 40

// resolve returns the path of dir without links. It adds every folder and link on the path to onPath, since each of them may be
// replaced.
func (s *scan) resolve(dir string) (string, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	const separator = string(filepath.Separator)
	root := filepath.VolumeName(absolute) + separator
	at, rest := root, strings.Split(absolute[len(root):], separator)
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		if next == at || next == filepath.Dir(at) { // "." or ".." of a link
			at = next
			continue
		}
		s.onPath[next] = true
		info, err := os.Lstat(next)
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil {
			return "", err
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "follow", Path: dir, Err: syscall.ELOOP}
		}
		if filepath.IsAbs(target) {
			at = root
		}
		rest = append(strings.Split(target, separator), rest...)
	}
	return at, nil
}

// folder adds a folder, and everything below it, to s and t. It does not follow links: files outside of the scripts directories do
// not count, and files in them are found under their own paths.
func (s *scan) folder(t *tree, name string) error {
	dir := filepath.Join(t.real, name)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	self := stampOf(os.Stat(dir))
	if !isVersionFolder(dir) {
		s.folders[dir] = stamp{failed: self.failed, id: self.id.withoutTime()}
	}
	digest := sha256.New()
	fmt.Fprintln(digest, self.failed, self.mode, self.id.withoutTime())
	defer func() { t.folders[name] = [sha256.Size]byte(digest.Sum(nil)) }()
	for _, e := range entries {
		if s.seen++; s.seen > maxSeen {
			return fmt.Errorf("there are more than %d files: changes of some are not seen", maxSeen)
		}
		info, err := e.Info()
		if err != nil {
			continue // it was removed meanwhile
		}
		at := path.Join(name, e.Name())
		switch {
		case e.IsDir():
			if err := s.folder(t, at); err != nil {
				fmt.Fprintln(digest, e.Name(), err)
			}
			continue
		case info.Mode()&fs.ModeSymlink != 0:
			t.links[at] = leadsOut(filepath.Join(dir, e.Name()))
		}
		fmt.Fprintln(digest, e.Name(), stampOf(info, nil))
	}
	return nil
}

// leadsOut reports whether the target of a link is outside of the folder in which the link is. It does not resolve links in the
// target.
func leadsOut(link string) bool {
	target, err := os.Readlink(link)
	return err == nil && !filepath.IsLocal(target)
}

// isVersionFolder reports whether the kubelet made a folder for one version of a volume. Nothing changes in it after ..data leads
// to it.
func isVersionFolder(dir string) bool { return strings.HasPrefix(filepath.Base(dir), "..") }

// concerns reports whether something may have changed if there is an event for a path.
func (s *scan) concerns(file string) bool {
	_, self := s.folders[file]
	_, within := s.folders[filepath.Dir(file)]
	return self || within || s.onPath[file]
}

// everything returns the Changes which say that everything may have changed.
func (s *scan) everything() Changes {
	return Changes{dirs: slices.Repeat([]dirChanges{{all: true}}, len(s.trees))}
}

// event returns what may have changed if there is an event for a path; see concerns.
func (s *scan) event(file string) Changes {
	if s.onPath[file] {
		return s.everything()
	}
	var c Changes
	for _, t := range s.trees {
		d := dirChanges{folders: map[string]bool{}, trees: []*tree{t}}
		for _, dir := range []string{file, filepath.Dir(file)} {
			if name, err := filepath.Rel(t.real, dir); err == nil && t.has(filepath.ToSlash(name)) {
				d.folders[filepath.ToSlash(name)] = true
			}
		}
		c.dirs = append(c.dirs, d)
	}
	return c
}

// has reports whether there is a folder with that path.
func (t *tree) has(folder string) bool { _, ok := t.folders[folder]; return ok }

// since returns what changed since an earlier scan of the same directories. If before is nil, everything may have changed.
func (s *scan) since(before *scan) Changes {
	if before == nil {
		return s.everything()
	}
	var c Changes
	for i, t := range s.trees {
		c.dirs = append(c.dirs, t.since(before.trees[i]))
	}
	return c
}

// since returns what changed since an earlier tree of the same directory.
func (t *tree) since(before *tree) dirChanges {
	d := dirChanges{
		all:     t.real != before.real || t.failed != before.failed,
		folders: map[string]bool{}, trees: []*tree{before, t},
	}
	for folder, digest := range t.folders {
		if old, ok := before.folders[folder]; !ok || old != digest {
			d.folders[folder] = true
		}
	}
	for folder := range before.folders {
		if !t.has(folder) {
			d.folders[folder] = true
		}
	}
	if t.failed != "" && len(d.folders) > 0 {
		d.all = true // there may be changes in what was not listed
	}
	return d
}

// watchList returns the folders to watch.
func (s *scan) watchList() map[string]stamp {
	all := maps.Clone(s.folders)
	for name := range s.onPath {
		dir := filepath.Dir(name)
		if _, ok := all[dir]; !ok {
			all[dir] = stampDir(dir)
		}
	}
	return all
}
