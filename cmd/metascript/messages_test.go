package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write the texts in testdata/messages")

// messages runs for each mistake in an archive, and compares what the program prints. output returns what it prints for a file of
// the archive, and the file in which that is; "" means that the file is no mistake.
func messages(t *testing.T, archive string, atLeast int, output func(t *testing.T, file txtar.File) (text, in string)) {
	path, err := filepath.Abs(filepath.Join("testdata", "messages", archive))
	if err != nil {
		t.Fatal(err)
	}
	all, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, file := range all.Files {
		if !strings.ContainsAny(file.Name, "$ ") {
			if err := os.WriteFile(filepath.Join(dir, file.Name), file.Data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Chdir(dir)
	n := 0
	for _, file := range slices.Clone(all.Files) {
		text, in := output(t, file)
		if in == "" {
			continue
		}
		n++
		at := slices.IndexFunc(all.Files, func(f txtar.File) bool { return f.Name == in })
		if at < 0 {
			t.Fatalf("there is no %s", in)
		}
		if *update {
			all.Files[at].Data = []byte(text)
		}
		if diff := cmp.Diff(string(all.Files[at].Data), text); diff != "" {
			t.Errorf("%s (-want +got):\n%s", file.Name, diff)
		}
	}
	if n < atLeast {
		t.Errorf("there are %d mistakes, want at least %d", n, atLeast)
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(all), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// argument matches an argument of a command line; quotes have the meaning of a shell.
var argument = regexp.MustCompile(`"[^"]*"|\S+`)

// Each mistake is a command line, with what it prints and its exit code.
func TestMessagesOfCommandLineMistakes(t *testing.T) {
	messages(t, "commands.txtar", 30, func(t *testing.T, file txtar.File) (string, string) {
		line, found := strings.CutPrefix(file.Name, "$ metascript ")
		if !found {
			return "", ""
		}
		var args []string
		for _, arg := range argument.FindAllString(line, -1) {
			args = append(args, strings.Trim(arg, `"`))
		}
		got := metascript(t, args...)
		return fmt.Sprintf("%s%s[exit %d]\n\n", got.stdout, got.stderr, got.code), file.Name
	})
}

// specField matches a line of a spec that begins a field.
var specField = regexp.MustCompile(`(?m)^\w+:`)

// Each mistake is a part of the spec of a controller, NAME.yaml, with what check prints about it, NAME.txt. The other fields are those of
// composite.base, or of decorator.base if NAME begins with decorator.
func TestMessagesOfControllerMistakes(t *testing.T) {
	messages(t, "controllers.txtar", 40, func(t *testing.T, file txtar.File) (string, string) {
		name, found := strings.CutSuffix(file.Name, ".yaml")
		if !found {
			return "", ""
		}
		base := "composite.base"
		if strings.HasPrefix(name, "decorator") {
			base = "decorator.base"
		}
		var document strings.Builder
		fields := specField.FindAllString(string(file.Data), -1)
		for line := range strings.Lines(readText(t, base)) {
			if field := specField.FindString(strings.TrimPrefix(line, "  ")); !slices.Contains(fields, field) || !strings.HasPrefix(line, "  ") {
				document.WriteString(line)
			}
		}
		for line := range strings.Lines(string(file.Data)) {
			document.WriteString("  " + line)
		}
		if err := os.WriteFile(file.Name, []byte(document.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		got := metascript(t, "check", "-f", file.Name)
		return got.stdout + got.stderr + "\n", name + ".txt"
	})
}
