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

// A survey is the state of the directories at one look. It reads no files.
type survey struct {
	folders  map[string]stamp // folders in which every event matters
	steps    map[string]bool  // paths and links on the path to a directory, which may appear, disappear or be replaced
	watches  map[string]stamp // all folders to watch: folders, and the parents of steps
	trees    []*tree          // what is below each directory
	problems []string

	seen int
}

// A tree is what lies below a scripts directory, so far as it takes to tell in which folders something changed. Its paths are
// slash-separated, and relative to the directory, which is ".".
type tree struct {
	real    string                       // where the directory is, without links; "" when there is none
	failed  string                       // why not everything could be listed
	folders map[string][sha256.Size]byte // a digest of what is in a folder besides folders, and of its identity
	links   map[string]bool              // whether it leads out of the folder that it lies in
}

const (
	maxWatches = 10_000
	maxSeen    = 100_000 // files and folders
)

// look surveys directories.
func look(dirs []string) *survey {
	s := &survey{folders: map[string]stamp{}, steps: map[string]bool{}}
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

// maxLinks is how many links a path may lead through, as in the kernel.
const maxLinks = 40

// resolve follows the links in a path, and records every step, since any link may be replaced.
func (s *survey) resolve(dir string) (string, error) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	const separator = string(filepath.Separator)
	top := filepath.VolumeName(whole) + separator
	at, rest := top, strings.Split(whole[len(top):], separator)
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		if next == at || next == filepath.Dir(at) { // "." or ".." of a link
			at = next
			continue
		}
		s.steps[next] = true
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
			at = top
		}
		rest = append(strings.Split(target, separator), rest...)
	}
	return at, nil
}

// folder notes a folder of t and all that is below it. Links are not followed: what they lead to counts only below a
// scripts directory, where it is met as itself.
func (s *survey) folder(t *tree, name string) error {
	dir := filepath.Join(t.real, name)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	self := stampOf(os.Stat(dir))
	if !hiddenFolder(dir) {
		s.folders[dir] = stamp{failed: self.failed, id: self.id.still()}
	}
	digest := sha256.New()
	fmt.Fprintln(digest, self.failed, self.mode, self.id.still())
	defer func() { t.folders[name] = [sha256.Size]byte(digest.Sum(nil)) }()
	for _, e := range entries {
		if s.seen++; s.seen > maxSeen {
			return fmt.Errorf("there are more than %d files: changes of some are not seen", maxSeen)
		}
		info, err := e.Info()
		if err != nil {
			continue // it has been removed meanwhile
		}
		at := path.Join(name, e.Name())
		switch {
		case e.IsDir():
			if err := s.folder(t, at); err != nil {
				fmt.Fprintln(digest, e.Name(), err)
			}
			continue
		case info.Mode()&fs.ModeSymlink != 0:
			t.links[at] = leaves(filepath.Join(dir, e.Name()))
		}
		fmt.Fprintln(digest, e.Name(), stampOf(info, nil))
	}
	return nil
}

// leaves reports whether a link leads out of the folder that it lies in, as far as its own text tells.
func leaves(link string) bool {
	target, err := os.Readlink(link)
	return err == nil && !filepath.IsLocal(target)
}

// hiddenFolder reports whether a folder is one of the kubelet's, where nothing changes once ..data leads to it.
func hiddenFolder(dir string) bool { return strings.HasPrefix(filepath.Base(dir), "..") }

// concerns reports whether an event at a path matters.
func (s *survey) concerns(file string) bool {
	_, self := s.folders[file]
	_, within := s.folders[filepath.Dir(file)]
	return self || within || s.steps[file]
}

// everything says that all may have changed.
func (s *survey) everything() Changes {
	return Changes{dirs: slices.Repeat([]dirChanges{{all: true}}, len(s.trees))}
}

// event returns what may have changed when something happened at a path that s concerns.
func (s *survey) event(file string) Changes {
	if s.steps[file] {
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

func (t *tree) has(folder string) bool { _, ok := t.folders[folder]; return ok }

// since returns what changed since another survey of the same directories; nil: there was none.
func (s *survey) since(before *survey) Changes {
	if before == nil {
		return s.everything()
	}
	var c Changes
	for i, t := range s.trees {
		c.dirs = append(c.dirs, t.since(before.trees[i]))
	}
	return c
}

func (t *tree) since(before *tree) dirChanges {
	d := dirChanges{
		all:     t.real != before.real || t.failed != before.failed,
		folders: map[string]bool{}, trees: []*tree{before, t},
	}
	for folder, digest := range t.folders {
		if was, ok := before.folders[folder]; !ok || was != digest {
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

// watchList adds the folders of the steps to those below the directories.
func (s *survey) watchList() map[string]stamp {
	all := maps.Clone(s.folders)
	for step := range s.steps {
		dir := filepath.Dir(step)
		if _, ok := all[dir]; !ok {
			all[dir] = stampDir(dir)
		}
	}
	return all
}
