package host

import (
	"io/fs"
	"slices"
	"strings"

	"metascript/engine"
)

// Library is the file name that stands for the built-in library. No file of a script can have that name.
const Library = "\x00metascript"

// Find returns the file that the file from means when it loads name, as engine.FindFile does with endings. If there is no such
// file and name is in library, the names of the library, it returns [Library]. found is false if name means neither.
func Find(files fs.FS, from, name string, library []string, endings ...string) (file string, found bool) {
	if file, found := engine.FindFile(files, from, name, endings...); found {
		return file, true
	}
	return Library, slices.Contains(library, name)
}

// Exists reports whether there is a file that the file from means when it loads name.
func Exists(files fs.FS, from, name string) bool {
	_, found := engine.FindFile(files, from, name)
	return found
}

// ReadFile reads a file, and removes the byte order mark that some editors add at the beginning.
func ReadFile(files fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(files, name)
	return strings.TrimPrefix(string(text), "\ufeff"), err
}

// A Chain has the files that are being loaded, each by the file before it.
type Chain []string

// Cycle returns the cycle that loading file would close, as "a -> b -> a", or "".
func (c Chain) Cycle(file string) string {
	i := slices.Index(c, file)
	if i < 0 {
		return ""
	}
	return strings.Join(c[i:], " -> ") + " -> " + file
}

// Loadable returns a hint that lists the files that can be loaded, without those in c, and the name of the library. loaded is the
// word of the language, such as "imported".
func (c Chain) Loadable(files fs.FS, loaded, library string) string {
	hint := "the script has no other files: put the file beside it"
	if names := engine.ListFiles(files, c...); names != "" {
		hint = "files that can be " + loaded + ": " + names
	}
	return hint + "; " + library + " is built in"
}
