package hostile

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"metascript/engine"
)

var table = flag.Bool("table", false, "print for each script the kind of its error, its duration and its memory")

// languages are by the names of their folders, which hold files of that extension. TypeScript has only what is hard to compile: the
// rest is JavaScript. It runs in worker processes only, since its compiler has no limits.
var languages = []struct{ folder, name, extension, comment string }{
	{"starlark", engine.Starlark, ".star", "# "},
	{"javascript", engine.JavaScript, ".js", "// "},
	{"jsonnet", engine.Jsonnet, ".jsonnet", "// "},
	{"typescript", engine.TypeScript, ".ts", "// "},
}

// classes are what scripts attack by; there is something of each in each language except TypeScript.
var classes = map[string]string{
	"loop":   "every kind of loop that the language has",
	"native": "a single operation of the interpreter that takes very long or never ends",
	"memory": "repeating, doubling and growing values; a small input with a large result",
	"stack":  "recursion, deeply nested data",
	"source": "source texts that are hard to parse; generated in generated_test.go",
	"output": "very large or endless answers, and answers that are not data",
	"error":  "very large or endless error messages and logs",
	"state":  "keeping state between calls, modifying the request",
	"host":   "files, environment, clock, sockets, names of Go functions and types",
	"bypass": "avoiding a check: other names, callbacks, catching its error",
}

// A trial is a script and what must happen.
type trial struct {
	file, name, language string
	class, attacks       string
	want                 []string // kinds of errors; "answer"; "error" for any kind but Panic
	text                 []byte
}

// job is what the command trial reads.
type job struct {
	Language, File string
	Timeout        time.Duration
}

// report is what the command trial writes.
type report struct {
	Kind    engine.Kind
	Message string
	Answer  map[string]any
	Took    time.Duration
	Used    time.Duration
	Peak    int64
	Healthy string
	Goes    bool
}

// deadline is what scripts have of the processor. A script is compiled, called up to twice, and somebody else's after it:
// the test asks that all of that, with collecting garbage, does not come to more than ten times that, and
// -table shows how long the longest took by the wall clock. What ends by itself has more time: odd scripts that give an
// answer, and texts that are hard to parse, since parsers cannot be stopped.
const (
	deadline     = 500 * time.Millisecond
	longDeadline = 5 * time.Second
)

// deadline is less with -short, where it is not memory that has to have time to grow.
func (c *trial) deadline() time.Duration {
	switch {
	case c.class == "source" || !c.limited():
		return longDeadline
	case testing.Short() && c.class != "memory":
		return deadline / 5
	}
	return deadline
}

// limited reports whether the script is to hit a limit.
func (c *trial) limited() bool {
	return slices.ContainsFunc(c.want, func(want string) bool { return engine.Kind(want).Limit() })
}

// mostMemory bounds what trying a script may take, of which 64 MiB are the script's limit. The rest is what the process
// has anyway, garbage, and how far a script gets before it is seen.
const mostMemory = 800 << 20

// TestHostile runs every script in a process that runs the scripts of this folder one after the other, as a server would,
// and again in a worker process of a process of its own; with -short one of each class and language. TypeScript runs in worker
// processes only.
func TestHostile(t *testing.T) {
	command := build(t)
	all := trials(t)
	inProcess := slices.DeleteFunc(slices.Clone(all), func(c *trial) bool { return c.language == engine.TypeScript })
	t.Run("InProcess", func(t *testing.T) {
		runAll(t, inProcess, &attacked{command: command, isolation: "InProcess", again: true})
	})
	if testing.Short() {
		all = firsts(all)
	}
	t.Run("Process", func(t *testing.T) { runAll(t, all, &attacked{command: command, isolation: "Process"}) })
}

func runAll(t *testing.T, all []*trial, by *attacked) {
	t.Cleanup(by.end)
	for _, trial := range all {
		t.Run(trial.language+"/"+trial.name, func(t *testing.T) {
			t.Parallel()
			trial.run(t, by)
		})
	}
}

// firsts are the first of each class in each language.
func firsts(all []*trial) []*trial {
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(all), func(c *trial) bool {
		key := c.class + "/" + c.language
		defer func() { seen[key] = true }()
		return seen[key]
	})
}

// build builds the command trial.
func build(t *testing.T) string {
	command := filepath.Join(t.TempDir(), "trial")
	if out, err := exec.Command("go", "build", "-o", command, "./trial").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return command
}

func (c *trial) run(t *testing.T, by *attacked) {
	file := c.file
	if file == "" {
		file = filepath.Join(t.TempDir(), "sync")
		if err := os.WriteFile(file, c.text, 0o444); err != nil {
			t.Fatal(err)
		}
	}
	r, err := by.run(job{c.language, file, c.deadline()})
	if err != nil {
		t.Fatalf("%s\n%v", c.attacks, err)
	}
	if *table {
		fmt.Printf("%-10s %-60s %-10s %6d ms %6d MiB\n", by.isolation, c.language+"/"+c.name, r.Kind, r.Took.Milliseconds(), r.Peak>>20)
	}
	if !c.wanted(r) {
		t.Errorf("%s\ngot %q, want %s: %s", c.attacks, r.Kind, strings.Join(c.want, " or "), r.Message)
	}
	if r.Used > 10*max(deadline, c.deadline()) || r.Goes {
		t.Errorf("%s\nit used %s of the processor, and runs on: %v", c.attacks, r.Used, r.Goes)
	}
	if r.Peak > mostMemory {
		t.Errorf("%s\nit took %d MiB", c.attacks, r.Peak>>20)
	}
	if r.Healthy != "" {
		t.Errorf("%s\na neighbor's script, called next: %s", c.attacks, r.Healthy)
	}
}

// wanted reports whether what came of it is what must happen. Where a limit is to be hit, time or memory may be up before
// it: machines are busy, and a worker process has little memory to spare.
func (c *trial) wanted(r *report) bool {
	switch {
	case r.Kind == "":
		return slices.Contains(c.want, "answer")
	case r.Kind == engine.KindTimeout || r.Kind == engine.KindMemory || r.Kind == engine.KindCanceled: // the last had no processor
		if c.limited() {
			return true
		}
	}
	if slices.Contains(c.want, "error") {
		return r.Kind != engine.KindPanic && r.Kind != engine.KindCanceled
	}
	return slices.Contains(c.want, string(r.Kind))
}

// trials reads all files.
func trials(t *testing.T) []*trial {
	var all []*trial
	for _, language := range languages {
		files, err := filepath.Glob(language.folder + "/*" + language.extension)
		if err != nil || len(files) == 0 {
			t.Fatalf("there are no scripts in %s (error: %v)", language.folder, err)
		}
		for _, file := range files {
			c, err := read(file, language.comment)
			if err != nil {
				t.Fatal(err)
			}
			c.language = language.name
			all = append(all, c)
		}
	}
	return append(all, generated()...)
}

// read reads a file, whose first three lines say what it is.
func read(file, comment string) (*trial, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	c := &trial{file: absolute, name: filepath.Base(file)}
	lines := strings.SplitN(string(text), "\n", 4)
	for i, field := range []struct {
		name string
		into *string
	}{{"class", &c.class}, {"attacks", &c.attacks}, {"want", new(string)}} {
		value, ok := strings.CutPrefix(lines[i], comment+field.name+": ")
		if !ok {
			return nil, fmt.Errorf("%s:%d: want %q", file, i+1, comment+field.name+": …")
		}
		*field.into = value
		if field.name == "want" {
			c.want = strings.Split(value, "|")
		}
	}
	if classes[c.class] == "" {
		return nil, fmt.Errorf("%s: there is no class %q", file, c.class)
	}
	return c, nil
}

// TestTable sees that there is something of each class in each language except TypeScript, and that the table in README.md is true.
func TestTable(t *testing.T) {
	count := map[string]int{}
	for _, c := range trials(t) {
		count[c.class+"/"+c.language]++
	}
	var want strings.Builder
	want.WriteString("| class | attack by | Starlark | JavaScript | Jsonnet | TypeScript |\n| --- | --- | --: | --: | --: | --: |\n")
	for _, class := range slices.Sorted(maps.Keys(classes)) {
		fmt.Fprintf(&want, "| %s | %s |", class, classes[class])
		for _, language := range languages {
			cell := class + "/" + language.name
			fmt.Fprintf(&want, " %d |", count[cell])
			if count[cell] == 0 && language.name != engine.TypeScript {
				t.Errorf("there is no script of class %s in %s", class, language.name)
			}
		}
		want.WriteString("\n")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), want.String()) {
		t.Errorf("the table in README.md should be:\n\n%s", want.String())
	}
}
