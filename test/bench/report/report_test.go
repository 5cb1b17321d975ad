package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const output = `go: go1.26.8
goos: linux
pkg: metascript/test/bench
BenchmarkFairness/isolation=InProcess/neighbors=0-4   1   3012095150 ns/op   332.7 calls/s   3379 p100-us   570.0 p50-us   2769 p99-us
BenchmarkFixed/by=Starlark/isolation=InProcess-4         4     50310818 ns/op         9.5 cpu-us/call
PASS
goos: linux
BenchmarkFixed/by=Starlark/isolation=InProcess-4         4     50310818 ns/op         6.5 cpu-us/call
BenchmarkFixed/by=Starlark/isolation=InProcess-4         4     50310818 ns/op         6.0 cpu-us/call
`

func TestResults(t *testing.T) {
	var echo bytes.Buffer
	r, err := read(strings.NewReader(output), &echo)
	if err != nil || echo.String() != output {
		t.Errorf("%v, after %q", err, echo.String())
	}
	for _, test := range []struct {
		benchmark, unit string
		want            spread
		ok              bool
	}{
		{"Fixed/by=Starlark/isolation=InProcess", "cpu-us/call", spread{6, 6.5, 9.5}, true},
		{"Fairness/isolation=InProcess/neighbors=0", "p99-us", spread{2769, 2769, 2769}, true},
		{"Fairness/isolation=InProcess/neighbors=0", "p98-us", spread{}, false},
		{"Fixed", "ns/op", spread{}, false},
	} {
		if got, ok := r.of(test.benchmark, test.unit); got != test.want || ok != test.ok {
			t.Errorf("%s in %s: %v, %v", test.benchmark, test.unit, got, ok)
		}
	}
}

func TestTablesAreFilledOrUnchanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file.md")
	const text = "a\n<!-- table machine -->\nold\n<!-- end -->\nb\n<!-- table fixed -->\nold\n<!-- end -->\nc\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	if err := report(strings.NewReader(output), &log, file); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	want := strings.Replace(text, "old", "- go: go1.26.8\n- goos: linux\n- processors: 4", 1)
	if err != nil || string(got) != want {
		t.Errorf("%v: got %s, want %s", err, got, want)
	}
	if !strings.Contains(log.String(), "the table fixed is left as it is: there is no result of ") {
		t.Errorf("the log is %s", log.String())
	}
}

// Each table of docs/benchmarks.md is in tables, and the page has all of them.
func TestPage(t *testing.T) {
	text, err := os.ReadFile("../../../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fill(text, &results{}, io.Discard); err != nil {
		t.Error(err)
	}
	for name := range tables {
		if !bytes.Contains(text, []byte("<!-- table "+name+" -->")) {
			t.Errorf("the page does not have the table %s", name)
		}
	}
	if _, err := fill([]byte("<!-- table x -->\n<!-- end -->"), &results{}, io.Discard); err == nil {
		t.Error("no error for a table that does not exist")
	}
}

func TestUnits(t *testing.T) {
	for want, got := range map[string]string{
		"123 ms": duration(123.4e6), "1.23 ms": duration(1.234e6), "12.3 µs": duration(12345), "0.07": number(0.0701), "0.0071": number(0.00712),
		"0.12": number(0.12), "999 ns": duration(999), "8.00": number(8),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
