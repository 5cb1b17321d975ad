package main

import (
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/endpoints"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/serverflags"
	"metascript/cmd/metascript/internal/traces"
	"metascript/cmd/metascript/internal/version"
	"metascript/controller"
	"metascript/controller/history"
	"metascript/controller/idle"
	"metascript/controller/inspect"
	"metascript/controller/recording"
	"metascript/controller/spans"
	"metascript/scripts"
)

// controllerCommand returns the command controller. The root command has the same flags and does the same, since Metacontroller has
// no commands. asDropIn says that the program replaces Metacontroller's binary.
func controllerCommand(asDropIn bool) *cobra.Command {
	var f serverflags.Flags
	cmd := &cobra.Command{
		Use:        "controller",
		SuggestFor: []string{"server", "serve", "start", "manager"},
		Short:      "Run the server, which runs the controllers of a cluster",
		Long: `Run the server. It watches the CompositeController and DecoratorController objects of a cluster, and runs these
controllers.

The server finds the cluster by --kubeconfig, the environment variable KUBECONFIG, ~/.kube/config, or the service account
of its Pod, in this order. After SIGTERM it finishes running reconciles and exits. Flags work with one dash or two.`,
		Example: `  metascript controller --kubeconfig FILE
  metascript controller --scripts-dir scripts --isolation Process --leader-election`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asDropIn {
				f.Log.DefaultToMetacontroller()
			}
			return runServer(cmd, &f)
		},
	}
	f.Register(cmd.Flags())
	return cmd
}

// runServer checks the flags in the order in which a user can fix them: their values, the cluster, the features of this system. It
// opens the log first, since the other steps may write to it.
func runServer(cmd *cobra.Command, f *serverflags.Flags) error {
	log := f.Log.Open(cmd.ErrOrStderr())
	if err := f.Check(); err != nil {
		return err
	}
	cluster, err := f.Cluster.Load()
	if err != nil {
		return err
	}
	options, err := f.Options(cluster.Config)
	if err != nil {
		return err
	}
	sandbox, err := f.Sandbox.Open(log, true)
	if err != nil {
		return err
	}
	defer sandbox.Close()
	if len(sandbox.Missing) > 0 {
		log.Info("controllers cannot have isolation Process here", "missing", strings.Join(sandbox.Missing, "; "))
	}
	options.Kubeconfig = cluster.File
	options.Log, options.Sandbox = log, sandbox.Sandbox
	options.Folders = scripts.NewFolders(f.Sandbox.Folders, log)
	tracing, err := traces.Open(version.Get().Version, log)
	if err != nil {
		return err
	}
	defer tracing.Close()
	if tracing != nil {
		options.Sinks = append(options.Sinks, tracing)
		options.Config.Wrap(spans.APIServer)
	}
	return serve(cmd.Context(), f, options, sandbox, log)
}

// serve runs the server, and serves its endpoints, until ctx is done. The endpoints are served before the server runs, so that
// an address that is in use is an error at once, and the probes respond while the caches are filled.
func serve(ctx context.Context, f *serverflags.Flags, options controller.Options, in *sandbox.Sandbox, log *slog.Logger) error {
	registry, err := endpoints.NewRegistry(in.Collector(), version.Get().Collector())
	if err != nil {
		return err
	}
	options.Metrics = registry
	kept := history.New(f.HistoryMemory())
	if kept != nil && f.Inspect != "0" {
		options.Sinks = append(options.Sinks, kept)
	}
	recordings := &recording.Live{}
	if f.Inspect != "0" {
		options.Sinks = append(options.Sinks, recordings)
	}
	server, err := controller.New(options)
	if err != nil {
		return err
	}
	inspected := inspect.New(server.Inspected(), kept)
	inspected.ServeRecordings(inspect.Recordings{Program: version.Get().String(), Live: recordings, Secrets: server.Secrets})
	// A server that cannot stop a script is not ready either: only a restart ends the script, and operators watch readiness.
	notReady := func() []string { return append(server.Waiting(), in.RestartReasons(time.Now())...) }
	stop, err := endpoints.Serve(log,
		endpoints.Endpoint{Flag: "health-probe-bind-address", Address: f.Health, Handler: endpoints.Probes(server.Healthy, notReady, server.Notes)},
		endpoints.Endpoint{Flag: "metrics-address", Address: f.Metrics, Handler: endpoints.Metrics(registry)},
		endpoints.Endpoint{Flag: "inspect-address", Address: f.Inspect, Handler: inspected, Optional: f.Inspect == serverflags.DefaultInspect, Long: true},
		endpoints.Endpoint{Flag: "pprof-address", Address: f.Pprof, Handler: endpoints.Profiles(), Long: true})
	if err != nil {
		return err
	}
	defer stop()
	defer idle.GiveBack()()
	log.Info("starting", "version", version.Get().Version, "cluster", options.Config.Host, "isolation", in.MinIsolation)
	err = server.Run(ctx)
	log.Info("stopped")
	return err
}
