// Command cluster is a Kubernetes control plane in one binary, for tests and
// demonstrations. It contains the real etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler, and kubectl. kwok simulates the
// nodes and Pods.
//
// The first argument is the name of one of these programs or a command of the
// launcher: run, up or down. A program gets the rest of the command line. The
// launcher starts this binary once for each component; see package
// controlplane.
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
			// Each program reads os.Args and expects its own name in os.Args[0].
			os.Args = os.Args[1:]
			os.Exit(component())
		}
	}
	os.Exit(launch())
}

// launch runs a command of the launcher and returns the exit code. SIGHUP also
// stops the launcher, so that the temporary directory is removed when the user
// closes the terminal. If SIGHUP is ignored, as with nohup, it stays ignored.
func launch() int {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	defer stop()
	executable, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster: find the path of this executable:", err)
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
