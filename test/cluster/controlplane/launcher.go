package controlplane

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

const usage = `usage:
  cluster run [--dir DIR] [--until-eof] [--audit-log FILE]
                                          start a cluster, and stop it on a signal;
                                          FILE gets a line of JSON for each write
  cluster up [--dir DIR]                  start a cluster in the background
  cluster down [--dir DIR]                stop the cluster that up started
  cluster kubectl ARGS...                 run kubectl; also etcd, kube-apiserver,
                                          kube-controller-manager, kube-scheduler, kwok`

// Launcher is the command line that starts and stops clusters.
type Launcher struct {
	// Executable is the path of the binary that is started for each component,
	// with the name of the component as its first argument. The command up
	// starts the same binary with the argument run. So the binary must call
	// Launcher.Run for the commands run, up and down.
	Executable string

	// Stages are YAML documents, the Stages of kwok for nodes and Pods.
	Stages []string

	// With run --until-eof, the cluster stops at the end of Stdin.
	Stdin io.Reader

	// Stdout gets only the line KUBECONFIG=PATH.
	Stdout io.Writer

	// Stderr gets the progress messages.
	Stderr io.Writer

	// StartTimeout is the time limit of a start. Zero means two minutes, which
	// is enough on a machine that compiles at the same time.
	StartTimeout time.Duration

	// StopGrace is the time between SIGTERM and SIGKILL. Zero means one second.
	// A longer time has no use: while a client watches, kube-apiserver does
	// not exit before SIGKILL, and the data of the components is removed.
	StopGrace time.Duration

	// auditLog is the file for the audit log, with an event for each write,
	// without the objects. If it is empty, there is no audit log.
	auditLog string

	// plan returns the plan of a cluster. If it is nil, the plan has the real
	// components; tests set it to start fake components.
	plan func(folder) (*plan, error)
}

// Run runs the command args[0] with the flags in the rest of args. When ctx is
// done, it stops the processes that it has started, waits until they have
// exited, and returns.
func (l *Launcher) Run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no command given\n" + usage)
	}
	switch args[0] {
	case "run":
		return l.run(ctx, args[1:])
	case "up":
		return l.up(ctx, args[1:])
	case "down":
		return l.down(ctx, args[1:])
	}
	return fmt.Errorf("unknown command %q\n%s", args[0], usage)
}

// newFlags returns the flags that every command has, and the value of --dir.
func newFlags(command, defaultDir string) (*flag.FlagSet, *string) {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags, flags.String("dir", defaultDir, "")
}

// parse parses the flags of a command. An argument after the flags is an error.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%s: %w\n%s", flags.Name(), err, usage)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: unexpected argument %q\n%s", flags.Name(), flags.Arg(0), usage)
	}
	return nil
}

// backgroundDir returns the default of --dir for up and down. It is next to the
// binary, so it does not depend on the working directory.
func (l *Launcher) backgroundDir() string {
	return filepath.Join(filepath.Dir(l.Executable), "cluster-state")
}

// announce prints the line KUBECONFIG=PATH, which scripts read.
func (l *Launcher) announce(kubeconfig string) error {
	if _, err := fmt.Fprintf(l.Stdout, "KUBECONFIG=%s\n", kubeconfig); err != nil {
		return fmt.Errorf("print the path of the kubeconfig: %w", err)
	}
	return nil
}

// progress prints a message for the user on Stderr.
func (l *Launcher) progress(format string, args ...any) {
	fmt.Fprintf(l.Stderr, "cluster: "+format+"\n", args...)
}

// startTimeout returns StartTimeout or its default.
func (l *Launcher) startTimeout() time.Duration {
	if l.StartTimeout == 0 {
		return 2 * time.Minute
	}
	return l.StartTimeout
}

// stopGrace returns StopGrace or its default.
func (l *Launcher) stopGrace() time.Duration {
	if l.StopGrace == 0 {
		return time.Second
	}
	return l.StopGrace
}

// environment returns the environment variables of the launcher without those
// that set options of etcd, kubectl and kwok.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "ETCD_") ||
			strings.HasPrefix(variable, "KUBE") ||
			strings.HasPrefix(variable, "KWOK_")
	})
}
