// Package serverflags has the flags of the server, and converts them to options.
package serverflags

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"metascript/cmd/metascript/internal/flagvalue"
	"metascript/cmd/metascript/internal/kubeconfig"
	"metascript/cmd/metascript/internal/logging"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/controller"
	"metascript/controller/bodies"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/reach"
)

// Flags are the flags of the server. Flags of Metacontroller have the same names and meanings, so that its Deployment works with this
// program. docs/server.md lists all flags, and a test compares it with Register.
type Flags struct {
	Cluster                kubeconfig.Flags
	Health, Metrics, Pprof string // addresses; "0" means off
	Inspect                string // the same

	Log     logging.Flags
	Sandbox sandbox.Flags

	workers           int
	discoveryInterval time.Duration
	flushInterval     time.Duration
	probeInterval     time.Duration
	qps               float32
	burst             int
	selector          string
	namespace         string
	watchNamespaces   []string
	requireAccount    bool
	remember          bool
	scriptNamespaces  []string
	events            kube.EventBudget
	defaults          SpecDefaults
	webhookMemory     resource.QuantityValue
	webhookNetworks   []string
	historyMemory     resource.QuantityValue
	fieldManager      string
	election          electionFlags
}

// Register adds the flags to a set.
func (f *Flags) Register(flags *pflag.FlagSet) {
	f.webhookMemory = flagvalue.Bytes(bodies.Default)
	f.historyMemory = flagvalue.Bytes(DefaultHistory)
	f.Cluster.Register(flags)
	flags.IntVar(&f.workers, "workers", 4*runtime.GOMAXPROCS(0), "maximum number of parents of one controller that are reconciled at the same time")
	flags.Lookup("workers").DefValue = "4 per CPU" // in texts, which must not depend on the machine
	flags.DurationVar(&f.discoveryInterval, "discovery-interval", 30*time.Second, "how long an answer of API discovery is cached; a new CustomResourceDefinition is noticed at once")
	flags.DurationVar(&f.flushInterval, "cache-flush-interval", 30*time.Minute, "interval of the resync of every parent, also for controllers with a longer resyncPeriodSeconds; 0 means that only resyncPeriodSeconds counts. No cache is flushed")
	flags.BoolVar(&f.remember, "remember", true, "do not call the script for a parent if nothing that it reads changed since the last call; false calls it in each resync and after each change")
	flags.DurationVar(&f.probeInterval, "fallback-probe-interval", hook.ProbeEvery, "how often a script is called again for one parent, while a webhook answers instead of the script")
	flags.Float32Var(&f.qps, "client-go-qps", 0, "maximum number of requests to the API server per second; 0 means no limit: API Priority and Fairness protects the API server")
	flags.IntVar(&f.burst, "client-go-burst", 0, "maximum number of requests to the API server in a burst, above --client-go-qps")
	flags.StringVar(&f.selector, "target-label-selector", "", "run only the controller objects whose labels match")
	flags.StringVarP(&f.namespace, "namespace", "n", "", "namespace where the server stores its own objects; defaults to the namespace of the Pod, or to metacontroller outside of a Pod")
	flags.StringSliceVar(&f.watchNamespaces, "watch-namespaces", nil, "namespaces whose objects the server watches and writes; defaults to all")
	flags.BoolVar(&f.requireAccount, "require-service-account", false, "refuse controllers without spec.serviceAccount, which would act as the server itself")
	flags.StringSliceVar(&f.scriptNamespaces, "script-namespaces", nil, "namespaces of ConfigMaps from which controllers with spec.serviceAccount may load scripts, in addition to the namespace of the account; * is all namespaces")
	flags.Float32Var(&f.events.QPS, "events-qps", 1./300, "maximum number of events about one object per second; the default is one in five minutes")
	flags.IntVar(&f.events.Burst, "events-burst", 25, "maximum number of events about one object in a burst")
	f.defaults.Register(flags)
	flags.StringVar(&f.fieldManager, "apply-strategy-ssa-field-manager", kube.FieldManager, "name of the field manager for server-side apply")
	flags.Var(&f.webhookMemory, "webhook-memory", "maximum total size of the answers of webhooks that are in flight at the same time")
	flags.StringSliceVar(&f.webhookNetworks, "webhook-networks", nil, "networks such as 10.0.0.0/8 where webhooks of controllers with spec.serviceAccount may be called although they are refused by default: loopback and link-local addresses, and those of the server")
	flags.Var(&f.historyMemory, "history-memory", "maximum size of what is kept of the last reconciles of all parents, for the command why; 0 turns it off")
	flags.StringVar(&f.Inspect, "inspect-address", DefaultInspect, `address for the commands why and tree, which show a user what this user may read; "0" turns it off`)
	flags.StringVar(&f.Metrics, "metrics-address", ":9999", `address of /metrics; "0" turns it off`)
	flags.StringVar(&f.Health, "health-probe-bind-address", ":8081", `address of /healthz and /readyz; "0" turns it off`)
	flags.StringVar(&f.Pprof, "pprof-address", "0", `address of /debug/pprof; "0" turns it off`)
	f.election.register(flags)
	f.Sandbox.Register(flags)
	f.Log.Register(flags)
}

// The defaults of flags about what the server tells of its work. The address can only be reached from the Pod itself, and by the port-forward
// of the API server.
const (
	InspectPort    = "9998"
	DefaultInspect = "127.0.0.1:" + InspectPort
	DefaultHistory = 32 << 20
)

// HistoryMemory returns how many bytes the history may use; zero means off.
func (f *Flags) HistoryMemory() int64 { return f.historyMemory.Value() }

// Check returns an error about all values that are out of range, so that a user can fix them together.
func (f *Flags) Check() error {
	var failed []error
	for _, flag := range []struct {
		name  string
		wrong bool
		want  string
	}{
		{"workers", f.workers < 1, "at least 1"},
		{"discovery-interval", f.discoveryInterval <= 0, "above 0"},
		{"cache-flush-interval", f.flushInterval < 0, "0 or above"},
		{"fallback-probe-interval", f.probeInterval <= 0, "above 0"},
		{"client-go-qps", f.qps < 0, "0 or above"},
		{"client-go-burst", f.burst < 0, "0 or above"},
		{"events-qps", f.events.QPS <= 0, "above 0"},
		{"events-burst", f.events.Burst < 1, "at least 1"},
		{"history-memory", f.historyMemory.Value() < 0, "0 or above"},
		{"webhook-memory", f.webhookMemory.Value() <= 0, "above zero"},
		{"apply-strategy-ssa-field-manager", f.fieldManager == "", "a name"},
	} {
		if flag.wrong {
			failed = append(failed, fmt.Errorf("--%s must be %s", flag.name, flag.want))
		}
	}
	return errors.Join(failed...)
}

// Options returns the options of the server for the cluster of config. The caller sets the options that are not flags: sandbox,
// folders, log and metrics.
func (f *Flags) Options(config *rest.Config) (controller.Options, error) {
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return controller.Options{}, fmt.Errorf("--target-label-selector %q: %w", f.selector, err)
	}
	namespace := cmp.Or(f.namespace, podNamespace())
	watched := slices.Compact(slices.Sorted(slices.Values(f.watchNamespaces))) // nil if there are none
	election, err := f.election.election(namespace)
	if err != nil {
		return controller.Options{}, err
	}
	networks, err := f.networks()
	if err != nil {
		return controller.Options{}, err
	}
	options := controller.Options{
		Config: f.withLimits(config), Workers: f.workers, Selector: selector, Events: f.events,
		DiscoveryInterval: f.discoveryInterval, FlushInterval: f.flushInterval, ProbeEvery: f.probeInterval,
		AlwaysResync: !f.remember, RequireServiceAccount: f.requireAccount, ScriptNamespaces: f.scriptNamespaces,
		FieldManager: f.fieldManager, Election: election, Namespace: namespace, WatchNamespaces: watched, WebhookMemory: f.webhookMemory.Value(),
		WebhookNetworks: networks,
	}
	f.defaults.Apply(&options)
	return options, nil
}

// networks returns where webhooks of controllers with an account are called.
func (f *Flags) networks() (*reach.Networks, error) {
	networks := &reach.Networks{}
	for _, text := range f.webhookNetworks {
		network, err := reach.ParseNetwork(text)
		if err != nil {
			return nil, fmt.Errorf("--webhook-networks: %w", err)
		}
		networks.Allowed = append(networks.Allowed, network)
	}
	return networks, nil
}

// withLimits returns a copy of config with the rate limits of the flags.
func (f *Flags) withLimits(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = f.qps, f.burst
	if f.qps <= 0 {
		config.QPS = -1 // 0 would mean 5 in client-go
	}
	return config
}
