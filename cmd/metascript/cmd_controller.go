package main

import (
	"context"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"metascript/controller"
	"metascript/scripts"
)

func controllerCommand(asDropIn bool) *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the server: the controllers of a cluster",
		Long: `Run the server: follow the CompositeController and DecoratorController objects of a cluster and do what they say.

It finds the cluster by --kubeconfig, the KUBECONFIG variable, ~/.kube/config, or the Pod that it runs in, in this
order. SIGTERM lets what is under way finish. Flags may have one dash or two.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asDropIn {
				f.log.likeMetacontroller()
			}
			return serve(cmd, f)
		},
	}
	f.register(cmd.Flags())
	return cmd
}

func serve(cmd *cobra.Command, f serverFlags) error {
	log := f.log.open(cmd.ErrOrStderr())
	if err := f.check(); err != nil {
		return err
	}
	config, err := findCluster(f.kubeconfig)
	if err != nil {
		return err
	}
	options, err := f.options(config)
	if err != nil {
		return err
	}
	sandbox, err := f.sandbox.open(log, true)
	if err != nil {
		return err
	}
	defer sandbox.close()
	if len(sandbox.Missing) > 0 {
		log.Info("controllers cannot have isolation Process here", "missing", strings.Join(sandbox.Missing, "; "))
	}
	options.Log, options.Sandbox = log, sandbox.Sandbox
	options.Folders = scripts.NewFolders(f.sandbox.folders, log)
	return run(cmd.Context(), f, options, sandbox, log)
}

// run runs the server, and what is served beside it.
func run(ctx context.Context, f serverFlags, options controller.Options, sandbox *sandbox, log *slog.Logger) error {
	registry, err := newRegistry(sandbox)
	if err != nil {
		return err
	}
	options.Metrics = registry
	server, err := controller.New(options)
	if err != nil {
		return err
	}
	stop, err := serveAll(log,
		endpoint{"health-probe-bind-address", f.health, probes(server, sandbox)},
		endpoint{"metrics-address", f.metrics, metricsHandler(registry)},
		endpoint{"pprof-address", f.pprof, profiles()})
	if err != nil {
		return err
	}
	defer stop()
	log.Info("starting", "version", buildVersion(), "cluster", options.Config.Host, "isolation", f.sandbox.isolation)
	err = server.Run(ctx)
	log.Info("stopped")
	return err
}
