package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"testing"

	"go.uber.org/goleak"

	"metascript/engine"
	"metascript/engine/process"
	"metascript/runtimes"
)

// The isolations of scripts.
const (
	inProcess = "InProcess"
	inWorkers = "Process"
)

// isolations are the isolations that this system supports.
var isolations = []string{inProcess}

// TestMain runs a worker process if the test binary is started with that argument.
func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], []string{process.Verb}) {
		if err := process.Main(context.Background(), runtimes.All(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(process.Missing()) == 0 {
		isolations = append(isolations, inWorkers)
	}
	goleak.VerifyTestMain(m)
}

// newRuntimes returns the runtimes of all languages.
func newRuntimes(tb testing.TB, isolation string) map[string]engine.Runtime {
	tb.Helper()
	if isolation == inProcess {
		return runtimes.All()
	}
	pool, err := process.New(process.Options{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(pool.Close)
	return pool.Runtimes(languages...)
}

func newEngine(tb testing.TB, isolation string) *engine.Engine {
	tb.Helper()
	return engine.New(engine.Options{Runtimes: newRuntimes(tb, isolation), Elsewhere: isolation != inProcess})
}
