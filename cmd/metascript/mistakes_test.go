package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestMistakes makes mistakes in files, one at a time, and compares everything that a command prints then. An archive in testdata/places has the
// files without a mistake. Its files in mistakes are the mistakes:
//
//	$ check -f controller.yaml     the command
//	controller.yaml                the file with the mistake
//	-kind: CompositeController     lines that are replaced, or that follow the last replacement if there are none
//	+kind CompositeController
//	===
//	the output                     of standard output and then of standard error, and the exit code
//
// With the flag -update of the test, the output is written into the archives.
func TestMistakes(t *testing.T) {
	paths, err := filepath.Glob("testdata/places/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d archives, error %v", len(paths), err)
	}
	count := 0
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		root, err := filepath.Abs(path)
		if err != nil {
			t.Fatal(err)
		}
		changed := false
		for i, file := range archive.Files {
			name, isMistake := strings.CutPrefix(file.Name, "mistakes/")
			if !isMistake {
				continue
			}
			count++
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+name, func(t *testing.T) {
				input, want, _ := strings.Cut(string(file.Data), "===\n")
				got := mistake(t, archive, input)
				if *update {
					archive.Files[i].Data, changed = []byte(input+"===\n"+got), true
				} else if got != want {
					t.Errorf("the output is\n%s\nwant\n%s", got, want)
				}
			})
		}
		if changed {
			if err := os.WriteFile(root, txtar.Format(archive), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if count < 40 {
		t.Errorf("there are only %d mistakes", count)
	}
}

// mistake writes the files of an archive with a mistake into a new folder, and returns what the command prints.
func mistake(t *testing.T, of *txtar.Archive, text string) string {
	t.Helper()
	command, edits, _ := strings.Cut(text, "\n")
	name, edits, _ := strings.Cut(edits, "\n")
	files := &txtar.Archive{}
	found := false
	for _, file := range of.Files {
		if strings.HasPrefix(file.Name, "mistakes/") {
			continue
		}
		if file.Name == name {
			file.Data, found = []byte(edited(t, string(file.Data), edits)), true
		}
		files.Files = append(files.Files, file)
	}
	if !found {
		files.Files = append(files.Files, txtar.File{Name: name, Data: []byte(edited(t, "", edits))})
	}
	inFolder(t, string(txtar.Format(files)))
	got := metascript(t, strings.Fields(strings.TrimPrefix(command, "$ "))...)
	return fmt.Sprintf("%s%sexit %d\n", got.stdout, got.stderr, got.code)
}

// edited returns a text in which each block of lines with "-" is replaced by the lines with "+" below it.
func edited(t *testing.T, text, edits string) string {
	t.Helper()
	old, replacement := "", ""
	replace := func() {
		if strings.Count(text, old) != 1 && old != "" {
			t.Fatalf("the lines are %d times in the file:\n%s", strings.Count(text, old), old)
		}
		if old == "" {
			text += replacement
		}
		text = strings.Replace(text, old, replacement, min(len(old), 1))
		old, replacement = "", ""
	}
	for line := range strings.Lines(edits) {
		switch {
		case strings.HasPrefix(line, "+"):
			replacement += line[1:]
		case strings.HasPrefix(line, "-"):
			if replacement != "" {
				replace()
			}
			old += line[1:]
		default:
			t.Fatalf("want a line that begins with + or -, got %s", line)
		}
	}
	replace()
	return text
}
