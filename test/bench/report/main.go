// Report reads the output of one or more runs of "go test -bench" for test/bench, copies it to its own output, and writes the results
// to the tables of a Markdown file:
//
//	go test -bench . ./test/bench | go run ./test/bench/report docs/benchmarks.md
//
// A table is between the lines <!-- table NAME --> and <!-- end -->. If a result for a table is missing, the table does not change, so
// that a run of some benchmarks updates only their tables.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: report FILE.md < RESULTS")
		os.Exit(2)
	}
	if err := report(os.Stdin, os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

// report reads results, copies them to echo, and updates the tables in file.
func report(from io.Reader, echo io.Writer, file string) error {
	results, err := read(from, echo)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	rendered, err := fill(text, results, echo)
	if err != nil || bytes.Equal(text, rendered) {
		return err
	}
	return os.WriteFile(file, rendered, 0o644)
}

// tablePlace matches a table in the file.
var tablePlace = regexp.MustCompile(`(?s)(<!-- table (\S+) -->\n).*?(<!-- end -->)`)

// fill replaces the tables in text, and writes a line to log for each table that it does not replace.
func fill(text []byte, r *results, log io.Writer) (filled []byte, err error) {
	filled = tablePlace.ReplaceAllFunc(text, func(old []byte) []byte {
		parts := tablePlace.FindSubmatch(old)
		name := string(parts[2])
		render, ok := tables[name]
		if !ok {
			err = fmt.Errorf("there is no table %q", name)
			return old
		}
		t := &table{results: r}
		render(t)
		if t.missing != "" {
			fmt.Fprintf(log, "the table %s is left as it is: there is no result of %s\n", name, t.missing)
			return old
		}
		return bytes.Join([][]byte{parts[1], t.text.Bytes(), parts[3]}, nil)
	})
	return filled, err
}
