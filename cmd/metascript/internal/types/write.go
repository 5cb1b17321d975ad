package types

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"metascript/cmd/metascript/internal/folder"
	"metascript/scripts/lib/editor"
)

// Write writes files below dir, and returns their slash-separated paths, sorted. If one of them exists and does not have the header,
// it writes nothing and returns an error.
func Write(dir string, files map[string]string) ([]string, error) {
	into, err := folder.Open(dir)
	if err != nil {
		return nil, err
	}
	defer into.Close()
	names := slices.Sorted(maps.Keys(files))
	for _, name := range names {
		if err := checkOurs(into, name); err != nil {
			return nil, err
		}
	}
	for _, name := range names {
		if err := into.Replace(name, []byte(files[name])); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// headLines is the number of lines at the beginning of a file that may have the header.
const headLines = 3

// checkOurs returns an error if a file exists and does not have the header.
func checkOurs(in *folder.Folder, name string) error {
	text, err := in.Read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	head := strings.SplitN(string(text), "\n", headLines+1)
	if strings.Contains(strings.Join(head[:min(len(head), headLines)], "\n"), editor.Header) {
		return nil
	}
	return fmt.Errorf("%s exists already, and was not %s: move it, or choose another directory", in.Path(name), editor.Header)
}
