package main

import (
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"

	"metascript/controller"
)

// serverFlags are the flags of the server. Names and meanings are Metacontroller's where it has them.
type serverFlags struct {
	kubeconfig        string
	workers           int
	discoveryInterval time.Duration
	qps               float32
	burst             int
	selector          string
	health            string
	verbosity         int
	sandbox           sandboxFlags
}

func controllerCommand() *cobra.Command {
	var f serverFlags
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the server: the controllers of a cluster",
		Long: `Run the server: follow the CompositeController objects of a cluster and do what they say.

It finds the cluster by --kubeconfig, the KUBECONFIG variable, ~/.kube/config, or the Pod that it runs in, in this
order. SIGTERM lets what is under way finish.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd, f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "path of a kubeconfig file")
	flags.IntVar(&f.workers, "workers", 4*runtime.GOMAXPROCS(0), "how many parents of one controller are reconciled at the same time")
	flags.DurationVar(&f.discoveryInterval, "discovery-interval", 30*time.Second, "how long an answer of API discovery is used; a new CustomResourceDefinition is noticed at once")
	flags.Float32Var(&f.qps, "client-go-qps", 0, "requests per second to the API server; 0 is no limit here: API Priority and Fairness guards the server")
	flags.IntVar(&f.burst, "client-go-burst", 0, "requests at once above --client-go-qps")
	flags.StringVar(&f.selector, "target-label-selector", "", "run only the controller objects whose labels match")
	flags.StringVar(&f.health, "health-probe-bind-address", ":8081", `address of /healthz and /readyz; "0" is off`)
	f.sandbox.register(flags)
	flags.IntVarP(&f.verbosity, "verbosity", "v", 0, "1 logs each reconcile with its reasons, and each write")
	return cmd
}

func serve(cmd *cobra.Command, f serverFlags) error {
	log := logger(cmd, f.verbosity)
	config, err := restConfig(f)
	if err != nil {
		return err
	}
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return fmt.Errorf("--target-label-selector %q: %w", f.selector, err)
	}
	sandbox, err := f.sandbox.open(log, true)
	if err != nil {
		return err
	}
	defer sandbox.close()
	if len(sandbox.Missing) > 0 {
		log.Info("controllers cannot have isolation Process here", "missing", strings.Join(sandbox.Missing, "; "))
	}
	server, err := controller.New(controller.Options{
		Config:            config,
		Sandbox:           sandbox.Sandbox,
		Workers:           f.workers,
		DiscoveryInterval: f.discoveryInterval,
		Selector:          selector,
		Log:               log,
	})
	if err != nil {
		return err
	}
	probes, err := listenHealth(f.health, server.Ready)
	if err != nil {
		return err
	}
	defer probes.Close()
	log.Info("starting", "version", buildVersion(), "cluster", config.Host, "isolation", f.sandbox.isolation)
	err = server.Run(cmd.Context())
	log.Info("stopped")
	return err
}

// logger writes logfmt-like lines to stderr; client-go's own log goes there too.
func logger(cmd *cobra.Command, verbosity int) *slog.Logger {
	level := slog.LevelInfo
	if verbosity > 0 {
		level = slog.LevelDebug
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level}))
	klog.SetSlogLogger(log)
	return log
}

func restConfig(f serverFlags) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("find a cluster: %w", err)
	}
	config.QPS, config.Burst = f.qps, f.burst
	if f.qps <= 0 {
		config.QPS = -1 // 0 would mean 5
	}
	config.UserAgent = "metacontroller"
	return config, nil
}
