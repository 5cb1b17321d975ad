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

// testdata is the folder of cases.
func testdata() fs.FS {
	dir, err := fs.Sub(embedded, "testdata")
	if err != nil {
		panic(err) // only a malformed name gives an error
	}
	return dir
}

// Run runs every case that has a script in language, each as a subtest, through an engine with this one runtime.
// Goroutines that the runtime may keep are to be named.
func Run(t *testing.T, language string, runtime engine.Runtime, kept ...goleak.Option) {
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
				test(t, e, c, s)
				if n := len(e.Runaways()); n > 0 {
					t.Errorf("%d evaluations run on although their time is up", n)
				}
			})
		}
	}
	goleak.VerifyNone(t, append(kept, others)...)
}

// test runs one script and reports all that is wrong with it.
func test(t *testing.T, runtime engine.Runtime, c *testCase, s *script) {
	t.Log(c.about)
	var r report
	done := make(chan struct{})
	go func() {
		defer close(done)
		r = s.run(t.Context(), runtime)
	}()
	hung := time.NewTimer(hangGuard(s.limits))
	defer hung.Stop()
	select {
	case <-done:
	case <-hung.C:
		t.Fatalf("has not returned after %s", hangGuard(s.limits))
	}
	if r.detail != "" {
		t.Logf("the error as an author sees it:\n%s", r.detail)
	}
	for _, problem := range r.problems {
		t.Error(problem)
	}
}

// hangGuard is how long a script's calls may take together before the suite gives up: so long that only one that
// never returns is hit, however slow the machine.
func hangGuard(l engine.Limits) time.Duration {
	return 10 * cputime.Bound(l.WithDefaults().Timeout)
}
