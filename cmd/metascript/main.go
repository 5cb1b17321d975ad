// Command metascript runs Kubernetes controllers whose business logic is a small script inside the controller's own
// object. Without a verb it is the server, as "metascript controller" is; most other verbs work offline.
//
// There is a file for each verb, with its flags, its help, and the function that its arguments lead to. That function reads
// files, opens what has to be closed, and calls a package below internal, which does the work:
//
//	controller  serverflags, endpoints
//	dev         devsession, which prints by report and style
//	run         hookcall
//	test        cases, which calls hookcall for each case
//	check       check
//	gc          nothing of internal: the package controller does it
//
// Most verbs share manifest, which reads their files, and sandbox, in which scripts run.
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
	time.Local = time.UTC // what a script makes of a Date must not depend on the machine
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main{Name: filepath.Base(os.Args[0]), Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}.Run(ctx)
	stop()
	os.Exit(code)
}

// dropIn is the name of Metacontroller's binary. Under this name the program replaces it, and logs as it does.
const dropIn = "metacontroller"

// Main is the program with what it gets from the system, so that a test can run it.
type Main struct {
	Name           string   // of the binary that was called
	Args           []string // without Name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs the program until it ends or ctx is done. The exit code is 1 when something failed, and 2 when the arguments are
// wrong.
func (m Main) Run(ctx context.Context) int {
	if isWorker(m.Args) {
		return serveAsWorker(ctx, m.Stdin, m.Stdout, m.Stderr)
	}
	root := rootCommand(m.Name == dropIn)
	root.SetArgs(twoDashes(m.Args))
	root.SetIn(m.Stdin)
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	// cobra returns the errors of arguments and those of a verb alike. Only the exit code tells them apart, so we have to know
	// whether the verb was called.
	started := false
	for _, cmd := range append(root.Commands(), root) {
		if run := cmd.RunE; run != nil {
			cmd.RunE = func(cmd *cobra.Command, args []string) error {
				started = true
				return run(cmd, args)
			}
		}
	}
	if err := root.ExecuteContext(ctx); err != nil {
		fmt.Fprintln(m.Stderr, "error:", err)
		if started {
			return 1
		}
		return 2
	}
	return 0
}
