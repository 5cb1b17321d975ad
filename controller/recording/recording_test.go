package recording

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden file again")

var someTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

const (
	someParent = `{"apiVersion":"example.com/v1","kind":"Site","metadata":{"name":"blog","namespace":"default"},"spec":{"size":1}}`
	someChild  = `{"apiVersion":"v1","data":{"password":"cmVkYWN0ZWQ="},"kind":"Secret","metadata":{"name":"blog","namespace":"default"}}`
)

// someRecording returns a small recording with everything in it: a version of a controller, two objects and two reconciles.
func someRecording(t testing.TB) []byte {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Program: "v1.2.3", Began: someTime, Filter: Filter{Controllers: []string{"sites"}, Namespace: "default", For: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	note := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		note(w.Controller(&Controller{
			ID: "sites@1", Object: json.RawMessage(`{"kind":"CompositeController","metadata":{"name":"sites"}}`), Digest: "sha256:abc",
			Scripts: map[string]Script{"": {Language: "Starlark", Entry: "sync.star", Files: map[string]string{"sync.star": "def sync(parent): return {\"children\": []} # <&>"}}},
			Parents: []Resource{{APIVersion: "example.com/v1", Kind: "Site", Resource: "sites", Namespaced: true, HasStatus: true}},
		}))
		parent, err := w.Object([]byte(someParent), nil)
		note(err)
		child, err := w.Object([]byte(someChild), []string{"data.password"})
		note(err)
		site := Ref{APIVersion: "example.com/v1", Kind: "Site", Namespace: "default", Name: "blog"}
		note(w.Reconcile(&Reconcile{
			Controller: "sites@1", Parent: site, UID: "u", Began: someTime, Took: time.Millisecond, Why: []string{"parent"}, Source: "computed",
			Causes: []Cause{{Reason: "parent", At: someTime, Object: site, Change: "changed", Fields: []string{"spec.size"}}},
			Calls: []Call{{
				Hook: "sync", Now: someTime, Took: time.Microsecond, Parent: parent, Limits: &Limits{Steps: 1000}, Redacted: true,
				Children: []Group{{APIVersion: "v1", Kind: "Secret"}}, Answer: &Answer{Status: json.RawMessage(`{"ready":true}`), Children: []string{child}},
			}},
			Writes: []Write{{Verb: "create", Object: Ref{APIVersion: "v1", Kind: "Secret", Namespace: "default", Name: "blog"}, After: child}},
		}))
		note(w.Flush())
	}
	end, err := w.Close(End{Ended: someTime, Dropped: 1, Why: "the time is over"})
	note(err)
	if want := (End{Ended: someTime, Reconciles: 2, Calls: 2, Objects: 2, Redacted: 1, Dropped: 1, Why: "the time is over"}); end != want {
		t.Errorf("the end is %+v, want %+v", end, want)
	}
	if w.Bytes() != int64(out.Len()) {
		t.Errorf("the size is %d, want %d", w.Bytes(), out.Len())
	}
	return out.Bytes()
}

// TestForgottenObjectsAreWrittenAgain: a Writer remembers a limited number of objects, and what it writes twice is read once.
func TestForgottenObjectsAreWrittenAgain(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{Began: someTime})
	if err != nil {
		t.Fatal(err)
	}
	w.maxSeen = 1
	err = w.Controller(&Controller{ID: "sites@1"})
	for range 2 {
		parent, err1 := w.Object([]byte(someParent), nil)
		child, err2 := w.Object([]byte(someChild), nil)
		call := Call{Hook: "sync", Parent: parent, Children: []Group{{APIVersion: "v1", Kind: "Secret", Objects: []string{child}}}}
		err = errors.Join(err, err1, err2, w.Reconcile(&Reconcile{Controller: "sites@1", Calls: []Call{call}}))
	}
	end, closed := w.Close(End{})
	if err := errors.Join(err, closed); err != nil || end.Objects != 4 {
		t.Fatalf("%d objects were written, want 4: %v", end.Objects, err)
	}
	path := filepath.Join(t.TempDir(), "recording")
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path, 0)
	if err != nil || f.Objects != 2 || len(f.Problems) != 0 {
		t.Fatalf("%v: want 2 objects: %+v", err, f)
	}
	replayed := 0
	err = f.Each(func(r *Recorded) error {
		if missing := r.Missing(&r.Calls[0]); len(missing) > 0 {
			t.Errorf("line %d: missing %q", r.Line, missing)
		}
		replayed++
		return nil
	})
	if err != nil || replayed != 2 {
		t.Errorf("%d reconciles were read, want 2: %v", replayed, err)
	}
}

// plain returns the lines of a recording.
func plain(t testing.TB, recording []byte) string {
	r, err := gzip.NewReader(bytes.NewReader(recording))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// zipped compresses lines.
func zipped(t testing.TB, lines string) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write([]byte(lines)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// saved writes a recording into a file, and returns its path.
func saved(t testing.TB, recording []byte) string {
	path := filepath.Join(t.TempDir(), "recording.jsonl.gz")
	if err := os.WriteFile(path, recording, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// The format is open: other programs read it. A change of what an earlier version wrote is a new format.
func TestFormat(t *testing.T) {
	const golden = "testdata/small.jsonl"
	got := plain(t, someRecording(t))
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the lines differ (-want +got):\n%s", diff)
	}
}

func TestFileHasEachReconcileWithItsObjects(t *testing.T) {
	f, err := Open(saved(t, someRecording(t)), 0)
	if err != nil {
		t.Fatal(err)
	}
	if f.Reconciles != 2 || f.Calls != 2 || f.Objects != 2 || f.End == nil || len(f.Problems) != 0 || len(f.Controllers) != 1 || f.Header.Program != "v1.2.3" {
		t.Errorf("the file is %+v", f)
	}
	for range 2 { // it can be read again
		n := 0
		err = f.Each(func(r *Recorded) error {
			n++
			parent, found := r.Object(r.Calls[0].Parent)
			if !found || parent.GetName() != "blog" || parent.Redacted != nil {
				t.Errorf("the parent is %v", parent)
			}
			child, found := r.Object(r.Writes[0].After)
			if !found || child.GetKind() != "Secret" || len(child.Redacted) != 1 || r.Missing(&r.Calls[0]) != nil {
				t.Errorf("the child is %v", child)
			}
			return nil
		})
		if err != nil || n != 2 {
			t.Errorf("%d reconciles, error %v", n, err)
		}
	}
	wanted := errors.New("enough")
	if err := f.Each(func(*Recorded) error { return wanted }); !errors.Is(err, wanted) {
		t.Errorf("the error is %v", err)
	}
}

// However a file is cut, it is no recording, or it can be read up to there.
func TestFileThatIsCutOff(t *testing.T) {
	whole := someRecording(t)
	path, readable := saved(t, nil), 0
	for size := 0; size < len(whole); size += 3 {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path, 0)
		if err != nil {
			if !errors.Is(err, ErrNoRecording) {
				t.Errorf("cut after %d bytes: %v", size, err)
			}
			continue
		}
		if f.Reconciles < readable {
			t.Errorf("cut after %d bytes: %d reconciles, and there were %d before", size, f.Reconciles, readable)
		}
		readable = f.Reconciles
		if n := len(f.Problems); n != 1 && f.End == nil || n != 0 && f.End != nil || n == 1 && !strings.HasPrefix(f.Problems[0].Error(), "the recording is cut off: it has no line that ends it; the last one is line ") {
			t.Errorf("cut after %d bytes: the problems are %v", size, f.Problems)
		}
		n := 0
		if err := f.Each(func(*Recorded) error { n++; return nil }); err != nil || n != f.Reconciles {
			t.Errorf("cut after %d bytes: %d reconciles, error %v", size, n, err)
		}
	}
	if readable != 2 {
		t.Errorf("%d reconciles could be read of the longest part", readable)
	}
}

func TestFileThatCannotBeUsed(t *testing.T) {
	lines := plain(t, someRecording(t))
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "it is not a recording: it is empty"},
		{"not gzip", []byte("kind: Pod, and more"), "it is not a recording: it is not compressed with gzip"},
		{"a few bytes", []byte("x"), "it is not a recording: it is not compressed with gzip"},
		{"nothing in it", zipped(t, ""), "it is not a recording: the recording is cut off"},
		{"another JSON", zipped(t, `{"kind":"Pod"}`+"\n"), "it is not a recording: line 1: it has 0 of the fields header"},
		{"no JSON", zipped(t, "kind: Pod\n"), "it is not a recording: line 1: it is not a line of a recording"},
		{"no header", zipped(t, lines[strings.Index(lines, "\n")+1:]), "it is not a recording: the first line has no header"},
		{"format 0", zipped(t, strings.Replace(lines, `"format":1`, `"format":0`, 1)), "the header has the format 0, and the first one is 1"},
		{"a later format", zipped(t, strings.Replace(lines, `"format":1`, `"format":2`, 1)), "the recording has format 2, and this program reads formats up to 1: use a program of version v1.2.3 or later"},
	} {
		path := saved(t, c.file)
		if _, err := Open(path, 0); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error is %v", c.name, err)
		}
	}
	if _, err := Open("nowhere", 0); err == nil || err.Error() != "nowhere: no such file or directory" {
		t.Errorf("the error is %v", err)
	}
}

func TestFileThatWasChanged(t *testing.T) {
	lines := plain(t, someRecording(t))
	for _, c := range []struct {
		name, from, to string
		want           string // the problem
		reconciles     int
		missing        bool // the object of the first call
	}{
		{"an object", `"size":1`, `"size":2`, "line 3: Site default/blog was changed after it was recorded: its content has another digest", 2, true},
		{"a digest", `{"digest":"sha256:`, `{"digest":"md5:`, "line 3: Site default/blog was changed", 2, true},
		{"no JSON", `{"reconcile":`, `{"reconcile":x`, "line 5: it is not a line of a recording: invalid character 'x'", 0, false},
		{"two fields", `{"reconcile":`, `{"end":{},"reconcile":`, "line 5: it has 2 of the fields", 0, false},
		{"a version", `"id":"sites@1"`, `"id":"sites@2"`, `line 5: the version "sites@1" of the controller of this reconcile is not in the recording`, 2, false},
		{"a second header", "\n", "\n" + `{"header":{"format":1}}` + "\n", "line 2: it is a second header", 2, false},
		{"something after the end", `{"end":`, `{"end":{}}` + "\n" + `{"end":`, "line 8: there is something after the line that ends the recording", 2, false},
	} {
		f, err := Open(saved(t, zipped(t, strings.Replace(lines, c.from, c.to, 1))), 0)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(f.Problems) == 0 || !strings.Contains(f.Problems[0].Error(), c.want) {
			t.Errorf("%s: the problems are %v, want %s", c.name, f.Problems, c.want)
		}
		n := 0
		err = f.Each(func(r *Recorded) error {
			n++
			if got := r.Missing(&r.Calls[0]); len(got) > 0 != c.missing {
				t.Errorf("%s: missing are %v", c.name, got)
			}
			return nil
		})
		if err != nil || n != c.reconciles {
			t.Errorf("%s: %d reconciles, error %v", c.name, n, err)
		}
	}
}

func TestLineThatIsTooLong(t *testing.T) {
	r, err := NewReader(bytes.NewReader(someRecording(t)))
	if err != nil {
		t.Fatal(err)
	}
	r.maxLine = 200
	for err == nil {
		_, err = r.Next()
	}
	var line *LineError
	if !errors.As(err, &line) || line.Line != 2 || !strings.Contains(err.Error(), "it is longer than 0 MiB") {
		t.Errorf("the error is %v", err)
	}
	if _, again := r.Next(); !errors.Is(again, err) {
		t.Errorf("then the error is %v", again)
	}
}

// The memory has a limit, and an object that is not used again needs none.
func TestMemoryOfEach(t *testing.T) {
	path := saved(t, someRecording(t))
	for limit, enough := range map[int64]bool{1: false, 100: false, 1 << 10: true} {
		f, err := Open(path, 0)
		if err != nil {
			t.Fatal(err)
		}
		f.maxMemory = limit // the versions of controllers need more
		err = f.Each(func(*Recorded) error { return nil })
		var large *TooLargeError
		if enough != (err == nil) || err != nil && !errors.As(err, &large) {
			t.Errorf("with %d bytes the error is %v", limit, err)
		}
	}
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		parent, err := w.Object([]byte(strings.Replace(someParent, `"size":1`, `"size":`+strings.Repeat("1", i+1), 1)), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Reconcile(&Reconcile{Calls: []Call{{Parent: parent}}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(End{}); err != nil {
		t.Fatal(err)
	}
	f, err := Open(saved(t, out.Bytes()), 1<<10) // of about 20 KiB
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Each(func(r *Recorded) error {
		if r.Missing(&r.Calls[0]) != nil {
			t.Errorf("line %d has no parent", r.Line)
		}
		return nil
	}); err != nil {
		t.Error(err)
	}
}

// failing fails after some bytes, as a disk that is full.
type failing struct{ left int }

var errFull = errors.New("no space left on device")

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriterAfterAnError(t *testing.T) {
	w, err := NewWriter(&failing{200}, Header{})
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; err == nil && i < 1000; i++ {
		if err = w.Reconcile(&Reconcile{UID: strings.Repeat("x", i)}); err == nil {
			err = w.Flush()
		}
	}
	if !errors.Is(err, errFull) {
		t.Errorf("the error is %v", err)
	}
	n := w.Counts().Reconciles
	if err := w.Reconcile(&Reconcile{}); !errors.Is(err, errFull) {
		t.Errorf("then the error is %v", err)
	}
	if _, err := w.Object([]byte(someParent), nil); !errors.Is(err, errFull) || w.Counts().Reconciles != n || w.Counts().Objects != 0 {
		t.Errorf("then the error is %v, with %+v", err, w.Counts())
	}
	if _, err := w.Close(End{}); !errors.Is(err, errFull) {
		t.Errorf("then the error is %v", err)
	}
}

// No input makes the Reader panic, or read for ever.
func FuzzReader(f *testing.F) {
	lines := plain(f, someRecording(f))
	f.Add(lines, 1000)
	f.Add(strings.Replace(lines, `"size":1`, `"size":2`, 1), 1<<20)
	f.Add(lines[:300], 0)
	f.Add("{}\n", 0)
	path := saved(f, nil)
	f.Fuzz(func(t *testing.T, lines string, cut int) {
		file := zipped(t, lines)
		if err := os.WriteFile(path, file[:max(0, min(cut, len(file)))], 0o600); err != nil {
			t.Fatal(err)
		}
		opened, err := Open(path, 1<<20)
		if err != nil {
			return
		}
		n := 0
		err = opened.Each(func(r *Recorded) error {
			n++
			for i := range r.Calls {
				r.Missing(&r.Calls[i])
			}
			return nil
		})
		var large *TooLargeError
		if n != opened.Reconciles && !errors.As(err, &large) || err != nil && !errors.As(err, &large) {
			t.Errorf("%d reconciles, and there were %d; error %v", n, opened.Reconciles, err)
		}
	})
}

// A small file can be a large line with many values, which need much more memory than their text.
func TestLineWithTooMuch(t *testing.T) {
	var versions strings.Builder
	for i := range maxVersions + 1 {
		fmt.Fprintf(&versions, "{\"controller\":{\"id\":\"%d\"}}\n", i)
	}
	for name, c := range map[string]struct{ line, want string }{
		"calls":    {`{"reconcile":{"calls":[` + strings.Repeat("{},", maxObjects) + `{}]}}`, "objects, and a line of a recording may have 200000"},
		"reasons":  {`{"reconcile":{"why":[` + strings.Repeat(`"",`, maxValues) + `""]}}`, "values, and a line of a recording may have 1000000"},
		"fields":   {`{"object":{"content":{` + strings.Repeat(`"a\"{":0,`, maxValues) + `"b":0}}}`, "values, and a line of a recording may have 1000000"},
		"deep":     {`{"object":{"content":` + strings.Repeat(`[`, maxDepth) + strings.Repeat(`]`, maxDepth) + `}}`, "levels, and a line of a recording may have 500"},
		"name":     {`{"reconcile":{"parent":{"name":"` + strings.Repeat("x", maxName+1) + `"}}}`, "xxx…\" is longer than 1000 bytes"},
		"hook":     {`{"reconcile":{"calls":[{"hook":"` + strings.Repeat("x", maxName+1) + `"}]}}`, "xxx…\" is longer than 1000 bytes"},
		"versions": {versions.String(), "it is one more version of a controller than the 10000 that a recording may have"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			zip := gzip.NewWriter(&out)
			if _, err := zip.Write([]byte(`{"header":{"format":1}}` + "\n" + c.line + "\n")); err != nil {
				t.Fatal(err)
			}
			if err := zip.Close(); err != nil {
				t.Fatal(err)
			}
			if out.Len() > 300<<10 {
				t.Errorf("the file has %d bytes", out.Len())
			}
			f, err := Open(saved(t, out.Bytes()), 0)
			if err != nil || !f.Unread || len(f.Problems) != 1 || !strings.Contains(f.Problems[0].Error(), c.want) {
				t.Fatalf("got problems %v, error %v", f, err)
			}
		})
	}
}

// The versions of controllers stay in memory.
func TestMemoryOfControllers(t *testing.T) {
	var out bytes.Buffer
	w, err := NewWriter(&out, Header{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if err := w.Controller(&Controller{ID: fmt.Sprint(i), Object: json.RawMessage(`{"a":"` + strings.Repeat("b", 1<<10) + `"}`)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Close(End{}); err != nil {
		t.Fatal(err)
	}
	var large *TooLargeError
	if _, err := Open(saved(t, out.Bytes()), 10<<10); !errors.As(err, &large) {
		t.Errorf("the error is %v", err)
	}
	if _, err := Open(saved(t, out.Bytes()), 100<<10); err != nil {
		t.Error(err)
	}
}

// A line of a real recording is measured as what it needs, about, and brackets in texts are not counted.
func TestMeasure(t *testing.T) {
	text := `{"a":"[{\"[{","b":[1,2]}` // an object, a list, and two more values
	if size, err := measure([]byte(text)); err != nil || size != int64(len(text)+structSize+4*elementSize) {
		t.Errorf("got %d, error %v", size, err)
	}
}
