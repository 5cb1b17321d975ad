// Report reads what "go test -bench" prints about test/bench, several runs of it one after the other, prints it on, and
// writes what comes of them to the tables of a Markdown file:
//
//	go test -bench . ./test/bench | go run ./test/bench/report docs/benchmarks.md
//
// A table stands between the lines <!-- table NAME --> and <!-- end -->. One that lacks a result is left as it is, so
// that a run of a few benchmarks updates theirs.
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

var place = regexp.MustCompile(`(?s)(<!-- table (\S+) -->\n).*?(<!-- end -->)`)

// fill replaces the tables in text, and tells of those that it leaves.
func fill(text []byte, r *results, tell io.Writer) (filled []byte, err error) {
	filled = place.ReplaceAllFunc(text, func(old []byte) []byte {
		parts := place.FindSubmatch(old)
		name := string(parts[2])
		render, ok := tables[name]
		if !ok {
			err = fmt.Errorf("there is no table %q", name)
			return old
		}
		t := &table{results: r}
		render(t)
		if t.missing != "" {
			fmt.Fprintf(tell, "the table %s is left as it is: there is no result of %s\n", name, t.missing)
			return old
		}
		return bytes.Join([][]byte{parts[1], t.text.Bytes(), parts[3]}, nil)
	})
	return filled, err
}
