// Package measuretest has functions for the tests of package measure in each runtime.
package measuretest

import (
	"context"
	"fmt"
	"strings"
	"testing/fstest"

	"metascript/engine"
)

// Compile compiles a script that consists of files, by name, and returns the error.
func Compile(ctx context.Context, r engine.Runtime, entry string, files map[string]string) error {
	in := fstest.MapFS{}
	for name, text := range files {
		in[name] = &fstest.MapFile{Data: []byte(text)}
	}
	_, err := r.Compile(ctx, engine.Script{Entry: entry, Files: in}, engine.Limits{})
	return err
}

// Numbered returns format n times, formatted with the numbers from 0.
func Numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
