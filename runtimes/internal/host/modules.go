package host

import (
	"io/fs"
	"slices"
	"strings"

	"metascript/engine"
)

// Library is what the library that is built in is called among the files. No file can have that name.
const Library = "\x00metascript"

// Find returns the file that is meant when the file at from loads name, as engine.FindFile does with endings. When there is
// none and name is among those of the library, it gives [Library].
func Find(files fs.FS, from, name string, library []string, endings ...string) (file string, found bool) {
	if file, found := engine.FindFile(files, from, name, endings...); found {
		return file, true
	}
	return Library, slices.Contains(library, name)
}

// ReadFile reads a file without the byte order mark that some editors put at its beginning.
func ReadFile(files fs.FS, name string) (string, error) {
	text, err := fs.ReadFile(files, name)
	return strings.TrimPrefix(string(text), "\ufeff"), err
}

// A Chain is the files that are being loaded, each by the one before.
type Chain []string

// Cycle returns the cycle that loading file would close, as "a -> b -> a", or "".
func (c Chain) Cycle(file string) string {
	i := slices.Index(c, file)
	if i < 0 {
		return ""
	}
	return strings.Join(c[i:], " -> ") + " -> " + file
}

// Loadable is a hint that says which files can be loaded besides those in c, and by which name the library can be. Loaded is
// the language's word for it.
func (c Chain) Loadable(files fs.FS, loaded, library string) string {
	hint := "the script has no other files: put the file beside it"
	if names := engine.ListFiles(files, c...); names != "" {
		hint = "files that can be " + loaded + ": " + names
	}
	return hint + "; " + library + " is built in"
}
