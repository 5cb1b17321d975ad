package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/flagvalue"
	"metascript/cmd/metascript/internal/logging"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/serverflags"
	"metascript/cmd/metascript/internal/simulation"
	"metascript/controller"
)

// simulateFlags are the flags of the command simulate. Flags that the server has too have the same meaning.
type simulateFlags struct {
	now      string
	output   flagvalue.Choice
	defaults serverflags.SpecDefaults
	log      logging.Flags
	sandbox  sandbox.Flags
}

// simulateStart is the default of --now.
const simulateStart = "2026-01-01T00:00:00Z"

// simulateCommand returns the command simulate. Its help is the reference of the format of steps.
func simulateCommand() *cobra.Command {
	var f simulateFlags
	cmd := &cobra.Command{
		Use:   "simulate DIR...",
		Short: "Run controllers in a cluster that exists only in memory",
		Long: `Run controllers in a cluster that exists only in memory. Do the steps in a file, and show what the server does in each step, as
"metascript dev" does in a real cluster. The command needs only the files. The exit code is 1 if something is not as the steps
expect. A sync that fails, or a controller that does not run, is an error too, unless a step expects it.

DIR contains controller.yaml, crd.yaml if the kinds are custom resources, and the steps in simulate.yaml, or in several files
simulate/*.yaml. For each of these files there is a new cluster. Without steps, the other objects in DIR are applied. DIR can
also be a directory of such directories. Then those without steps are ignored. Scripts in files are read from --scripts-dir, or
else from DIR.

  ready:                                   # rules about when objects become ready; default: a second after they exist
  - {kind: Pod, name: web-1, never: true}  # or after: 5s, or status: {...}; with match: {...} only objects with these fields
  steps:
  - apply: parent.yaml                     # a file, an object, or a list of them
  - patch: {object: Site web, merge: {spec: {replicas: 2}}}
  - delete: Pod default/web-0
  - script: {replace: old text, with: new text}        # or file: sync-v2.star; edits the script of the controller
  - fail: Pod web-0                        # or ready: Pod web-0
  - status: {object: Deployment web, set: {readyReplicas: 1}}
  - restart: true                          # stops the server, and starts it again
  - wait: 1h                               # by default, a step ends when no object has changed for 15 seconds
  - name: a title                          # each step can have these fields
    refuse: {kind: Pod, verb: create, message: no}     # the API server refuses these requests of the server during this step
    expect:
      objects: [{apiVersion: v1, kind: Pod, metadata: {name: web-0}}]  # exist with at least these fields
      absent: [Pod web-1]
      count: {Pod: 1}
      events: [Scaled, "SyncError: no such key"]       # in this step
      syncErrors: [no such key]            # parts of the errors of syncs in this step
      error: must be at least 1            # a part of the error of the action

The time is simulated too: it advances only while the server and the control plane wait. So "wait: 1h" does not take an hour.`,
		Example: `  metascript simulate .
  metascript simulate examples/immortalcontainer
  metascript simulate examples`,
		Args: arguments.Some("a directory with controller.yaml"),
		RunE: func(cmd *cobra.Command, dirs []string) error { return simulate(cmd, dirs, &f) },
	}
	flags := cmd.Flags()
	f.output = flagvalue.OneOf("text", "yaml")
	flags.VarP(&f.output, "output", "o", "text shows each step; yaml shows the objects that exist at the end")
	flags.StringVar(&f.now, "now", simulateStart, "the time at which a simulation begins")
	f.defaults.Register(flags)
	f.sandbox.Register(flags)
	f.log.Register(flags)
	f.log.DefaultToErrors() // the report has everything else
	return cmd
}

func simulate(cmd *cobra.Command, dirs []string, f *simulateFlags) error {
	start, err := time.Parse(time.RFC3339, f.now)
	if err != nil || start.Year() < 2000 {
		return fmt.Errorf("--now: %q is not a time since the year 2000, such as %s", f.now, simulateStart)
	}
	if err := manifest.CheckScriptsDirs(f.sandbox.Folders); err != nil {
		return err
	}
	files, err := simulation.ReadFiles(dirs)
	if err != nil {
		return err
	}
	log := f.log.Open(cmd.ErrOrStderr())
	sandbox, err := f.sandbox.Open(log, true)
	if err != nil {
		return err
	}
	defer sandbox.Close()
	server := controller.Options{Log: log, Sandbox: sandbox.Sandbox}
	f.defaults.Apply(&server)
	return simulation.RunAll(cmd.Context(), files, simulation.Options{Start: start, Out: cmd.OutOrStdout(), Objects: f.output.String() == "yaml", Folders: f.sandbox.Folders, Server: server})
}
