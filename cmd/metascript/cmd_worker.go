package main

import (
	"context"
	"fmt"
	"io"

	"metascript/engine/process"
	"metascript/runtimes"
)

// isWorker reports whether the program was started as a worker process of a server. That is no verb for people, so it
// is in no help, and it is dealt with before the commands are made.
func isWorker(args []string) bool { return len(args) == 1 && args[0] == process.Verb }

// serveAsWorker runs scripts for the process at the other end of stdin and stdout until that is gone. The program has
// to end after that. The parent alone says when: signals that reach both are its business.
func serveAsWorker(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) int {
	if err := process.Main(context.WithoutCancel(ctx), runtimes.All(), stdin, stdout); err != nil {
		fmt.Fprintln(stderr, "error:", err)
		return 1
	}
	return 0
}
