package enginetest

import (
	"embed"
	"io/fs"
	"testing"
	"time"

	"go.uber.org/goleak"

	"metascript/engine"
	"metascript/engine/cputime"
)

//go:embed testdata/*.txtar
var embedded embed.FS

// testdata returns the folder with the cases.
func testdata() fs.FS {
	dir, err := fs.Sub(embedded, "testdata")
	if err != nil {
		panic(err) // the name is not valid
	}
	return dir
}

// Run runs each case that has a script in language as a subtest, in an Engine with this runtime. ignore has options for goroutines
// that may still run after the test.
func Run(t *testing.T, language string, runtime engine.Runtime, ignore ...goleak.Option) {
	t.Helper()
	runCases(t, language, runtime, decodeObject, ignore)
}

// RunPacked is Run with arguments whose fields are packed objects and arrays. The expectations are the same.
func RunPacked(t *testing.T, language string, runtime engine.Runtime, ignore ...goleak.Option) {
	t.Helper()
	runCases(t, language, runtime, packFields, ignore)
}

// RunRecorded is RunPacked with objects whose reads are recorded.
func RunRecorded(t *testing.T, language string, runtime engine.Runtime, ignore ...goleak.Option) {
	t.Helper()
	runCases(t, language, runtime, recordFields, ignore)
}

func runCases(t *testing.T, language string, runtime engine.Runtime, decode decoder, ignore []goleak.Option) {
	t.Helper()
	cases, err := loadCases(testdata())
	if err != nil {
		t.Fatal(err)
	}
	others := goleak.IgnoreCurrent()
	e := engine.New(engine.Options{Runtimes: map[string]engine.Runtime{language: runtime}})
	for _, c := range cases {
		if s := c.scripts[language]; s != nil {
			t.Run(c.name, func(t *testing.T) {
				test(t, e, c, s, decode)
				if n := len(e.Runaways()); n > 0 {
					t.Errorf("%d evaluations still run after their timeout", n)
				}
			})
		}
	}
	goleak.VerifyNone(t, append(ignore, others)...)
}

// test tests one script, and reports its problems.
func test(t *testing.T, runtime engine.Runtime, c *testCase, s *script, decode decoder) {
	t.Log(c.about)
	var r report
	done := make(chan struct{})
	go func() {
		defer close(done)
		r = s.run(t.Context(), runtime, decode)
	}()
	timeout := time.NewTimer(maxDuration(s.limits))
	defer timeout.Stop()
	select {
	case <-done:
	case <-timeout.C:
		t.Fatalf("did not return within %s", maxDuration(s.limits))
	}
	if r.detail != "" {
		t.Logf("the error as an author sees it:\n%s", r.detail)
	}
	for _, problem := range r.problems {
		t.Error(problem)
	}
}

// maxDuration returns how long the calls of a script may take together. Even on a very slow machine, only a call that never returns
// takes longer.
func maxDuration(l engine.Limits) time.Duration {
	return 10 * cputime.Bound(l.WithDefaults().Timeout)
}
