package main

import (
	"context"
	"fmt"
	"io"

	"metascript/engine/process"
	"metascript/runtimes"
)

// isWorker reports whether a server started the program as a worker process. No person uses that verb, so no help has it, and
// Run looks for it before it makes the commands.
func isWorker(args []string) bool { return len(args) == 1 && args[0] == process.Verb }

// serveAsWorker runs scripts for the server at the other end of stdin and stdout, until that closes them. The program has to
// exit then. It ignores the end of ctx: a signal that also reaches the server is for the server to act on.
func serveAsWorker(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	if err := process.Main(context.WithoutCancel(ctx), runtimes.All(), stdin, stdout); err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return 1
	}
	return 0
}
