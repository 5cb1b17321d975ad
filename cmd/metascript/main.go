// Command metascript runs Kubernetes controllers whose logic is a short script in the controller's own object. The command controller is
// the server, and so is the program without a command if it has flags, or the name of Metacontroller's binary. Most other commands work
// offline.
//
// There is a file for each command, with its flags, its help, and the function that it runs. That function reads files, opens and
// closes resources, and calls a package below internal, which does the work:
//
//	controller  serverflags, endpoints
//	init        scaffold
//	dev         devsession, which prints with report and style
//	plan        devsession, which collects with changeplan
//	run         hookcall, which also validates the objects and the answer
//	test        cases, which calls hookcall for each case
//	simulate    simulation, which runs the server in virtualtime, with memapi and controlplane as its cluster, and prints with report
//	replay      replay
//	check       check
//	types       types; cases and hookcall for what customize hooks ask for
//	rbac        rbac, which uses cases and hookcall for what customize hooks ask for
//	promote     promote
//	gc          none: it uses controller/finalizers
//	uninstall   uninstall
//	explain     explain, and markdown for the pages of docs
//
// Most commands use arguments, which says what is wrong with an argument or a flag, manifest, which reads their files, place, which says
// where a mistake is in them, sandbox, which runs scripts, and schemaflags, which says which kinds are known.
// Those that use a cluster find it with kubeconfig; prompt asks before it is changed. output prints results for programs, completion is for
// shells, reference writes manual pages and pages of the site, and version is the version of the program.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/style"
	"metascript/engine/process"
	"metascript/runtimes"
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
// valid, unless the command gives codes another meaning.
func (m Main) Run(ctx context.Context) int {
	if isWorker(m.Args) {
		return serveAsWorker(ctx, m.Stdin, m.Stdout, m.Stderr)
	}
	m.Stdout, m.Stderr = style.Out(m.Stdout), style.Out(m.Stderr)
	root := rootCommand(m.Name == dropIn, m.Name == dropIn || len(m.Args) > 0)
	root.SetArgs(arguments.TwoDashes(m.Args))
	root.SetIn(m.Stdin)
	root.SetOut(m.Stdout)
	root.SetErr(m.Stderr)
	arguments.AddCompletion(root)
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
	cmd, err := root.ExecuteContextC(ctx)
	var code exitCode
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintln(m.Stderr, style.For(m.Stderr).Failure("error: "+err.Error()))
	if started || cmd.Annotations[invalidArgumentsFail] != "" {
		return 1
	}
	return 2
}

// An exitCode is the error of a command that has not failed, and ends with an exit code of its own.
type exitCode int

// Error implements error.
func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// invalidArgumentsFail is an annotation of commands for which the exit code 2 has a meaning of its own, so that it is 1 if the arguments
// are not valid.
const invalidArgumentsFail = "invalid-arguments-fail"

// isWorker reports whether a server started the program as a worker process. People do not use that argument, so it is not a command
// with help, and Run checks it first.
func isWorker(args []string) bool { return len(args) == 1 && args[0] == process.Verb }

// serveAsWorker runs scripts for the server at the other end of stdin and stdout, until the server closes them. The program has to exit
// then. It ignores the cancellation of ctx: if a signal is also sent to the server, the server ends its workers.
func serveAsWorker(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	if err := process.Main(context.WithoutCancel(ctx), runtimes.All(), stdin, stdout); err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return 1
	}
	return 0
}
