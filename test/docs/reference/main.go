// Command reference writes the tables of docs/reference.md: every field of the controllers, from their CustomResourceDefinitions, and
// the types of conditions, from the Go types. "make generate" runs it:
//
//	go run ./test/docs/reference docs/reference.md
//
// A table is between the comments "<!-- fields: KIND PATH [without PATH] -->" or "<!-- conditions -->", and "<!-- end -->". The value in the column
// "example" is the one in examples.yaml.
package main

import (
	"fmt"
	"os"
	"regexp"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	filled, err := fill(string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(filled), 0o644)
}

// table matches a table with its comments.
var table = regexp.MustCompile(`(?s)(<!-- (?:fields: (\w+) (\S+)(?: without (\S+))?|conditions) -->\n).*?(<!-- end -->)`)

// fill returns a page with its tables replaced.
func fill(page string) (string, error) {
	all, err := readSchemas()
	if err != nil {
		return "", err
	}
	var failed error
	filled := table.ReplaceAllStringFunc(page, func(old string) string {
		m := table.FindStringSubmatch(old)
		var rows string
		var err error
		if m[2] == "" {
			rows, err = conditions()
		} else {
			rows, err = all.fields(m[2], m[3], m[4])
		}
		if err != nil {
			failed = err
		}
		return m[1] + "\n" + rows + "\n" + m[5]
	})
	return filled, failed
}
