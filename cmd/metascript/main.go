// Command metascript runs Kubernetes controllers whose business logic is a small script inside the controller's own
// object. Without a verb it is the server, as "metascript controller" is; the other verbs work offline.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	time.Local = time.UTC // so that what a script makes of a Date does not depend on the machine
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main{Name: filepath.Base(os.Args[0]), Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}.Run(ctx)
	stop()
	os.Exit(code)
}

// dropIn is the name of Metacontroller's binary, under which this one takes its place.
const dropIn = "metacontroller"

// Main is the program as a value.
type Main struct {
	Name           string // under which it was called; as metacontroller it logs as that does
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs the program until it or ctx is done. The exit code is 1 when something failed, 2 when it was called wrongly.
func (m Main) Run(ctx context.Context) int {
	if isWorker(m.Args) {
		return serveAsWorker(ctx, m.Stdin, m.Stdout, m.Stderr)
	}
	root := rootCommand(m.Name == dropIn)
	root.SetArgs(twoDashes(m.Args))
	root.SetIn(m.Stdin)
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	called := false
	for _, cmd := range append(root.Commands(), root) {
		if run := cmd.RunE; run != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				called = true
				return run(cmd, args)
			}
		}
	}
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(m.Stderr, "error:", err)
		if called {
			return 1
		}
		return 2
	}
	return 0
}
