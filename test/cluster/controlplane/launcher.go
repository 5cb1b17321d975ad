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
                                          start a cluster and keep it until a signal;
                                          FILE gets a JSON line for each write
  cluster up [--dir DIR]                  start a cluster in the background
  cluster down [--dir DIR]                end the one that up started
  cluster kubectl ARGS...                 kubectl; likewise etcd, kube-apiserver,
                                          kube-controller-manager, kube-scheduler, kwok`

// Launcher is the command line that starts and ends clusters.
type Launcher struct {
	// Executable is the binary to start for each component, with the name of
	// the component as its first argument. The same binary must pass the verbs
	// run, up and down to a Launcher, because up starts it with run.
	Executable string

	// Stages are the documents that tell kwok how nodes and pods behave.
	Stages []string

	// Stdin ends a cluster of run --until-eof when it reaches its end. Stdout
	// gets the line KUBECONFIG=PATH and nothing else, Stderr everything else.
	Stdin  io.Reader
	Stdout io.Writer
	Stderr io.Writer

	// StartTimeout bounds a start. Zero means two minutes, ample even for a
	// machine that is busy compiling.
	StartTimeout time.Duration

	// StopGrace is the time between SIGTERM and SIGKILL. Zero means a second:
	// kube-apiserver uses up any grace while a client watches, and what the
	// components would save in theirs is thrown away.
	StopGrace time.Duration

	// auditLog is the file that gets an audit event for each write, without
	// its content. There is none if it is empty.
	auditLog string

	// plan makes the plan of a cluster; tests set it to start other programs.
	plan func(folder) (*plan, error)
}

// Run runs one verb. It returns after ctx ends, at the latest when everything
// that it started has ended.
func (l *Launcher) Run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("no verb given\n" + usage)
	}
	switch args[0] {
	case "run":
		return l.run(ctx, args[1:])
	case "up":
		return l.up(ctx, args[1:])
	case "down":
		return l.down(ctx, args[1:])
	}
	return fmt.Errorf("unknown verb %q\n%s", args[0], usage)
}

// newFlags returns the flags that every verb has.
func newFlags(verb, defaultDir string) (*flag.FlagSet, *string) {
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return flags, flags.String("dir", defaultDir, "")
}

// parse reads the flags of a verb; there are no arguments besides them.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return fmt.Errorf("%s: %w\n%s", flags.Name(), err, usage)
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("%s: unexpected argument %q\n%s", flags.Name(), flags.Arg(0), usage)
	}
	return nil
}

// backgroundDir is where up keeps its cluster when no --dir says otherwise:
// beside the binary, so that it is found again from any working directory.
func (l *Launcher) backgroundDir() string {
	return filepath.Join(filepath.Dir(l.Executable), "cluster-state")
}

// announce prints the one line that scripts read.
func (l *Launcher) announce(kubeconfig string) error {
	if _, err := fmt.Fprintf(l.Stdout, "KUBECONFIG=%s\n", kubeconfig); err != nil {
		return fmt.Errorf("print the path of the kubeconfig: %w", err)
	}
	return nil
}

// progress tells a person what is going on.
func (l *Launcher) progress(format string, args ...any) {
	fmt.Fprintf(l.Stderr, "cluster: "+format+"\n", args...)
}

func (l *Launcher) startTimeout() time.Duration {
	if l.StartTimeout == 0 {
		return 2 * time.Minute
	}
	return l.StartTimeout
}

func (l *Launcher) stopGrace() time.Duration {
	if l.StopGrace == 0 {
		return time.Second
	}
	return l.StopGrace
}

// environment is the environment of the components: that of the launcher
// without the variables that etcd, kubectl and kwok would take options from.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "ETCD_") ||
			strings.HasPrefix(variable, "KUBE") ||
			strings.HasPrefix(variable, "KWOK_")
	})
}
