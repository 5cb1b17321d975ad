// Package measuretest has what tests of what a source may cost need in each language.
package measuretest

import (
	"context"
	"fmt"
	"strings"
	"testing/fstest"

	"metascript/engine"
)

// Compile returns the error of compiling files, of which one is the entry.
func Compile(ctx context.Context, r engine.Runtime, entry string, files map[string]string) error {
	in := fstest.MapFS{}
	for name, text := range files {
		in[name] = &fstest.MapFile{Data: []byte(text)}
	}
	_, err := r.Compile(ctx, engine.Script{Entry: entry, Files: in}, engine.Limits{})
	return err
}

// Numbered is format over and over, with the numbers from 0.
func Numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
