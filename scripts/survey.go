package scripts

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// A survey is what a look at the directories found, without reading a file.
type survey struct {
	folders  map[string]stamp  // that are to be watched for whatever happens in them
	steps    map[string]bool   // paths and links on the way to a directory: they come, go and are replaced
	watches  map[string]stamp  // folders, and those that steps are in
	print    [sha256.Size]byte // of names, sizes, times and identities
	problems []string

	hash hash.Hash
	seen int
}

const (
	maxWatches = 10_000
	maxSeen    = 100_000 // files and folders
)

// look surveys directories.
func look(dirs []string) *survey {
	s := &survey{folders: map[string]stamp{}, steps: map[string]bool{}, hash: sha256.New()}
	for _, dir := range dirs {
		real, err := s.way(dir)
		if err == nil {
			err = s.folder(real)
		}
		fmt.Fprintln(s.hash, dir, real, err)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			s.problems = append(s.problems, fmt.Sprintf("the scripts directory %s does not exist", dir))
		case err != nil:
			s.problems = append(s.problems, fmt.Sprintf("the scripts directory %s: %v", dir, err))
		}
	}
	s.watches = s.all()
	s.print = [sha256.Size]byte(s.hash.Sum(nil))
	return s
}

// maxLinks is how many links a path may lead through, as in the kernel.
const maxLinks = 40

// way follows a path to where it leads, and notes every step: a link may be replaced anywhere.
func (s *survey) way(dir string) (string, error) {
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

// folder notes a folder and all that is below it. Links are not followed: what they lead to counts only below a
// scripts directory, where it is met as itself.
func (s *survey) folder(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	if !hiddenFolder(dir) {
		s.folders[dir] = stampDir(dir)
	}
	for _, e := range entries {
		if s.seen++; s.seen > maxSeen {
			return fmt.Errorf("there are more than %d files: changes of some are not seen", maxSeen)
		}
		file := filepath.Join(dir, e.Name())
		info, err := e.Info()
		if err != nil {
			continue // gone again
		}
		fmt.Fprintln(s.hash, file, stampOf(info, nil))
		if e.IsDir() {
			if err := s.folder(file); err != nil {
				fmt.Fprintln(s.hash, file, err)
			}
		}
	}
	return nil
}

// hiddenFolder reports whether a folder is one of the kubelet's, where nothing changes once ..data leads to it.
func hiddenFolder(dir string) bool { return strings.HasPrefix(filepath.Base(dir), "..") }

// concerns reports whether it matters that something happened at a path.
func (s *survey) concerns(file string) bool {
	_, self := s.folders[file]
	_, within := s.folders[filepath.Dir(file)]
	return self || within || s.steps[file]
}

// all adds the folders of the steps to those below the directories.
func (s *survey) all() map[string]stamp {
	all := maps.Clone(s.folders)
	for step := range s.steps {
		dir := filepath.Dir(step)
		if _, ok := all[dir]; !ok {
			all[dir] = stampDir(dir)
		}
	}
	return all
}
