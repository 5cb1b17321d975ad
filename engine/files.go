package engine

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing/fstest"
)

// FindFile returns the path of the file that is meant when the file at from loads name: below the folder of from, else,
// unless name begins with a dot, below the root. Each of endings, or none when there are none, is tried behind name.
// Absolute names and names that lead upwards find nothing.
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

// isFile reports whether there is a regular file. A snapshot is asked itself: its Stat goes through all files for a name
// that there is not.
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

// ListFiles names the files that are not among except, sorted and separated by commas, for hints; the first of them
// when there are many, and "" when there are none.
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
