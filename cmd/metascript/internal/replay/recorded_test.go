package replay

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"metascript/cmd/metascript/internal/check"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/schemaflags"
	"metascript/cmd/metascript/internal/simulation"
	"metascript/controller"
	"metascript/controller/observe"
	"metascript/controller/recording"
	"metascript/controller/schemas"
)

// exampleDir is the folder of the examples.
const exampleDir = "../../../../examples"

// A fixture is a controller with a recording of it.
type fixture struct {
	t       testing.TB
	dir     string // with controller.yaml
	file    string
	sandbox *sandbox.Sandbox
	known   *schemas.Set
}

// recordings are those that record has made, by the folder of the example, or "fleet".
var recordings = map[string][]byte{}

// recordFleet returns a recording of the controller of fleet.
func recordFleet(t testing.TB) *fixture {
	t.Helper()
	return recordOnce(t, "fleet", fleet(t))
}

// recordExample returns a recording of an example.
func recordExample(t testing.TB, name string) *fixture {
	t.Helper()
	return recordOnce(t, name, filepath.Join(exampleDir, name))
}

// recordOnce is record for a folder with the same files each time.
func recordOnce(t testing.TB, name, dir string) *fixture {
	t.Helper()
	f := open(t, dir)
	if recordings[name] == nil {
		recordings[name] = f.record()
	}
	f.write(recordings[name])
	return f
}

// record runs the server with the controller in a folder in a simulated cluster, with objects and steps, and records it.
func record(t testing.TB, dir string) *fixture {
	t.Helper()
	f := open(t, dir)
	f.write(f.record())
	return f
}

// open returns a fixture without a recording.
func open(t testing.TB, dir string) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: dir, file: filepath.Join(t.TempDir(), "recording")}
	docs := f.docs()
	controllers := manifest.Controllers(docs)
	var flags sandbox.Flags
	flags.Register(pflag.NewFlagSet("test", pflag.ContinueOnError))
	var err error
	if f.sandbox, err = flags.Open(slog.New(slog.DiscardHandler), manifest.NeedWorkers(controllers)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.sandbox.Close)
	crds, err := manifest.CRDsWithNeighbors(docs)
	if err != nil {
		t.Fatal(err)
	}
	if f.known, err = schemaflags.WithOwn(schemas.Kubernetes(), crds...); err != nil {
		t.Fatal(err)
	}
	return f
}

// record makes a recording.
func (f *fixture) record() []byte {
	f.t.Helper()
	files, err := simulation.ReadFiles([]string{f.dir})
	if err != nil {
		f.t.Fatal(err)
	}
	recorder := recording.New(recording.Options{Program: "test"})
	var shown bytes.Buffer
	options := simulation.Options{Start: began, Out: &shown, Server: controller.Options{Sandbox: f.sandbox.Sandbox, Log: slog.New(slog.DiscardHandler), Sinks: []observe.Sink{recorder}}}
	if err := simulation.RunAll(f.t.Context(), files, options); err != nil {
		f.t.Fatalf("%v\n%s", err, shown.String())
	}
	var out bytes.Buffer
	ended, stop := context.WithCancel(f.t.Context())
	stop() // it writes what it has
	if _, err := recorder.Run(ended, &out); err != nil {
		f.t.Fatal(err)
	}
	return out.Bytes()
}

// write writes the file of the recording.
func (f *fixture) write(text []byte) {
	f.t.Helper()
	if err := os.WriteFile(f.file, text, 0o600); err != nil {
		f.t.Fatal(err)
	}
}

var began = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// docs returns the objects of controller.yaml.
func (f *fixture) docs() []manifest.Document {
	f.t.Helper()
	docs, err := manifest.Read([]string{filepath.Join(f.dir, "controller.yaml")}, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	return docs
}

// replay replays the recording with the controller in the folder, after edits of its file: pairs of an old and a new text.
func (f *fixture) replay(change func(*Options), edits ...string) *Report {
	f.t.Helper()
	report, err := f.try(change, edits...)
	if err != nil {
		f.t.Fatal(err)
	}
	return report
}

func (f *fixture) try(change func(*Options), edits ...string) (*Report, error) {
	f.t.Helper()
	return Run(context.Background(), f.options(change, edits...))
}

// options returns the options of a replay with the first controller of the folder.
func (f *fixture) options(change func(*Options), edits ...string) Options {
	f.t.Helper()
	path := filepath.Join(f.dir, "controller.yaml")
	text, err := os.ReadFile(path)
	if err != nil {
		f.t.Fatal(err)
	}
	edited := string(text)
	for pair := range slices.Chunk(edits, 2) {
		if !strings.Contains(edited, pair[0]) {
			f.t.Fatalf("the controller has no text %q", pair[0])
		}
		edited = strings.ReplaceAll(edited, pair[0], pair[1])
	}
	docs, err := manifest.Parse(path, []byte(edited))
	if err != nil {
		f.t.Fatal(err)
	}
	if err := check.Definitions(docs); err != nil {
		f.t.Fatal(err)
	}
	tape, err := recording.Open(f.file, 0)
	if err != nil {
		f.t.Fatal(err)
	}
	sources := manifest.ScriptSources(nil, docs)
	first := manifest.Controllers(docs)[0]
	o := Options{
		File: tape, Controller: first.Object, Sandbox: f.sandbox.Sandbox, Sources: sources.Sources, Kinds: f.known.Kinds(),
		Locate: func(err error) error { return sources.Located(first, err) },
	}
	if change != nil {
		change(&o)
	}
	return o
}

// folderOf returns a folder with files.
func folderOf(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(files[name]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
