// Command cluster is a Kubernetes control plane in one binary, for tests and
// demonstrations: real etcd, kube-apiserver, kube-controller-manager and
// kube-scheduler, nodes and pods simulated by kwok, and kubectl to look at it.
//
// Its first argument names either one of these programs, which then gets the
// rest of the command line, or a verb of the launcher (run, up, down), which
// starts this same binary once for each of them; see package controlplane.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"metascript/test/cluster/controlplane"
)

func main() {
	if len(os.Args) > 1 {
		if component, ok := components[os.Args[1]]; ok {
			// Each program reads os.Args itself and expects its own name first.
			os.Args = os.Args[1:]
			os.Exit(component())
		}
	}
	os.Exit(launch())
}

// launch runs a verb of the launcher. A hang-up counts as a request to stop, so
// that closing the terminal removes the temporary folder too, unless whoever
// started it (nohup) wants it to be ignored.
func launch() int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	executable, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster: find own executable:", err)
		return 1
	}
	launcher := &controlplane.Launcher{
		Executable: executable,
		Stages:     stages,
		Stdin:      os.Stdin,
		Stdout:     os.Stdout,
		Stderr:     os.Stderr,
	}
	if err := launcher.Run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		return 1
	}
	return 0
}
