// Command metascript runs Kubernetes controllers whose logic is a short script in the controller's own object. Without a command it
// runs the server, like "metascript controller"; most other commands work offline.
//
// There is a file for each command, with its flags, its help, and the function that it runs. That function reads files, opens and
// closes resources, and calls a package below internal, which does the work:
//
//	controller  serverflags, endpoints
//	dev         devsession, which prints with report and style
//	run         hookcall
//	test        cases, which calls hookcall for each case
//	check       check
//	rbac        rbac, which uses cases and hookcall for what customize hooks ask for
//	gc          none: it uses controller/finalizers
//
// Most commands use manifest, which reads their files, and sandbox, which runs scripts.
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
	time.Local = time.UTC // the result of Date in a script must not depend on the machine
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := Main{Name: filepath.Base(os.Args[0]), Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}.Run(ctx)
	stop()
	os.Exit(code)
}

// dropIn is the name of Metacontroller's binary. If the program has this name, it replaces Metacontroller, and logs like it.
const dropIn = "metacontroller"

// Main is the program with its arguments, input and output, so that a test can run it.
type Main struct {
	Name           string   // of the binary
	Args           []string // without Name
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Run runs the program until it ends or ctx is done. It returns the exit code: 1 if the command failed, and 2 if the arguments are not
// valid.
func (m Main) Run(ctx context.Context) int {
	if isWorker(m.Args) {
		return serveAsWorker(ctx, m.Stdin, m.Stdout, m.Stderr)
	}
	root := rootCommand(m.Name == dropIn)
	root.SetArgs(twoDashes(m.Args))
	root.SetIn(m.Stdin)
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	// cobra does not distinguish errors of arguments from errors of a command. The exit code depends on that, so we record whether the
	// command was started.
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
