package engine

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing/fstest"
)

// FindFile returns the path of the file that name means in the file at from. It looks below the folder of from and then,
// unless name begins with a dot, below the root. It tries name with each of endings, or name itself if there are none. It
// finds nothing for absolute names and names that lead above the root.
func FindFile(files fs.FS, from, name string, endings ...string) (string, bool) {
	if path.IsAbs(name) || strings.Contains(name, `\`) || slices.Contains(strings.Split(name, "/"), "..") {
		return "", false
	}
	folders := []string{path.Dir(from), "."}
	if strings.HasPrefix(name, "./") {
		folders = folders[:1]
	}
	if len(endings) == 0 {
		endings = []string{""}
	}
	for _, folder := range folders {
		for _, ending := range endings {
			file := path.Join(folder, name+ending)
			if isFile(files, file) {
				return file, true
			}
		}
	}
	return "", false
}

// isFile reports whether there is a regular file. It looks into a snapshot directly: its Stat goes through all files for a
// name that does not exist.
func isFile(files fs.FS, name string) bool {
	if snapshot, ok := files.(fstest.MapFS); ok {
		f := snapshot[name]
		return f != nil && f.Mode.IsRegular()
	}
	info, err := fs.Stat(files, name)
	return err == nil && info.Mode().IsRegular()
}

// maxListedFiles bounds the files that a hint lists.
const maxListedFiles = 20

// ListFiles returns the names of the files that are not in except, sorted and separated by commas, for hints: the first ones
// if there are many, and "" if there are none.
func ListFiles(files fs.FS, except ...string) string {
	var names []string
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && !slices.Contains(except, name) {
			names = append(names, name)
		}
		if len(names) > maxListedFiles {
			return fs.SkipAll
		}
		return nil
	})
	if len(names) > maxListedFiles {
		names[maxListedFiles] = "..."
	}
	return strings.Join(names, ", ")
}
