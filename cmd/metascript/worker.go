package main

import (
	"context"
	"fmt"
	"io"

	"metascript/engine/process"
	"metascript/runtimes"
)

// isWorker reports whether a server started the program as a worker process. People do not use that argument, so it is not a command
// with help, and Run checks it first.
func isWorker(args []string) bool { return len(args) == 1 && args[0] == process.Verb }

// serveAsWorker runs scripts for the server at the other end of stdin and stdout, until the server closes them. The program has to exit
// then. It ignores the cancelation of ctx: if a signal is also sent to the server, the server ends its workers.
func serveAsWorker(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	if err := process.Main(context.WithoutCancel(ctx), runtimes.All(), stdin, stdout); err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return 1
	}
	return 0
}
