package main

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"

	"metascript/controller"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/bodies"
	"metascript/controller/hook"
	"metascript/controller/kube"
)

// serverFlags are the flags of the server. Names and meanings are Metacontroller's where it has them.
type serverFlags struct {
	kubeconfig        string
	workers           int
	discoveryInterval time.Duration
	flushInterval     time.Duration
	probeInterval     time.Duration
	qps               float32
	burst             int
	selector          string
	namespace         string
	events            kube.EventBudget
	unsaid            unsaidFlags
	webhookMemory     resource.QuantityValue
	fieldManager      string

	metrics, health, pprof string // addresses

	election electionFlags
	log      logFlags
	sandbox  sandboxFlags
}

// The apply strategies, as the flag calls them.
const (
	dynamicApply    = "dynamic-apply"
	serverSideApply = "server-side-apply"
)

// unsaidFlags are for what controller objects do not say themselves.
type unsaidFlags struct{ strategy, missing choice }

func (f *unsaidFlags) register(flags *pflag.FlagSet) {
	f.strategy = oneOf(dynamicApply, serverSideApply)
	f.missing = oneOf(string(v1alpha1.MissingChildrenDelete), string(v1alpha1.MissingChildrenHold))
	flags.Var(&f.strategy, "apply-strategy", "how objects are updated by controllers that do not say it themselves: "+f.strategy.words())
	flags.Var(&f.missing, "missing-children", "what a webhook's answer without children means while there are some, for webhooks that do not say it themselves: "+f.missing.words()+"; with Hold it is an error, and nothing is deleted")
}

// apply has the options say what the flags do.
func (f *unsaidFlags) apply(o *controller.Options) {
	o.ApplyStrategy, o.MissingChildren = v1alpha1.DynamicApply, v1alpha1.MissingChildren(f.missing.value)
	if f.strategy.value == serverSideApply {
		o.ApplyStrategy = v1alpha1.ServerSideApply
	}
}

func (f *serverFlags) register(flags *pflag.FlagSet) {
	f.webhookMemory = quantity(bodies.Default)
	flags.StringVar(&f.kubeconfig, "kubeconfig", "", "path of a kubeconfig file")
	flags.IntVar(&f.workers, "workers", 4*runtime.GOMAXPROCS(0), "how many parents of one controller are reconciled at the same time")
	flags.DurationVar(&f.discoveryInterval, "discovery-interval", 30*time.Second, "how long an answer of API discovery is used; a new CustomResourceDefinition is noticed at once")
	flags.DurationVar(&f.flushInterval, "cache-flush-interval", 30*time.Minute, "after which every parent is reconciled although nothing changed; 0 is never")
	flags.DurationVar(&f.probeInterval, "fallback-probe-interval", hook.ProbeEvery, "how often a script in whose place a webhook answers is tried again, for one parent")
	flags.Float32Var(&f.qps, "client-go-qps", 0, "requests per second to the API server; 0 is no limit here: API Priority and Fairness guards the server")
	flags.IntVar(&f.burst, "client-go-burst", 0, "requests at once above --client-go-qps")
	flags.StringVar(&f.selector, "target-label-selector", "", "run only the controller objects whose labels match")
	flags.StringVar(&f.namespace, "namespace", "", "where the server keeps what is its own; by default the Pod's, or else metacontroller")
	flags.Float32Var(&f.events.QPS, "events-qps", 1./300, "events per second about one object; the default is one in five minutes")
	flags.IntVar(&f.events.Burst, "events-burst", 25, "events at once about one object")
	f.unsaid.register(flags)
	flags.StringVar(&f.fieldManager, "apply-strategy-ssa-field-manager", kube.FieldManager, "under which name server-side apply owns fields")
	flags.Var(&f.webhookMemory, "webhook-memory", "how much text the answers of webhooks that are in flight at the same time may have together")
	flags.StringVar(&f.metrics, "metrics-address", ":9999", `address of /metrics; "0" is off`)
	flags.StringVar(&f.health, "health-probe-bind-address", ":8081", `address of /healthz and /readyz; "0" is off`)
	flags.StringVar(&f.pprof, "pprof-address", "0", `address of /debug/pprof; "0" is off`)
	f.election.register(flags)
	f.sandbox.register(flags)
	f.log.register(flags)
}

// check refuses values that mean nothing.
func (f *serverFlags) check() error {
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
		{"webhook-memory", f.webhookMemory.Value() <= 0, "above zero"},
		{"apply-strategy-ssa-field-manager", f.fieldManager == "", "a name"},
	} {
		if flag.wrong {
			failed = append(failed, fmt.Errorf("--%s must be %s", flag.name, flag.want))
		}
	}
	return errors.Join(failed...)
}

// options are the controllers', but for their sandbox, log and metrics.
func (f *serverFlags) options(config *rest.Config) (controller.Options, error) {
	selector, err := labels.Parse(f.selector)
	if err != nil {
		return controller.Options{}, fmt.Errorf("--target-label-selector %q: %w", f.selector, err)
	}
	namespace := cmp.Or(f.namespace, podNamespace())
	election, err := f.election.election(namespace)
	if err != nil {
		return controller.Options{}, err
	}
	options := controller.Options{
		Config: f.limited(config), Workers: f.workers, Selector: selector, Events: f.events,
		DiscoveryInterval: f.discoveryInterval, FlushInterval: f.flushInterval, ProbeEvery: f.probeInterval,
		FieldManager: f.fieldManager, Election: election, Namespace: namespace, WebhookMemory: f.webhookMemory.Value(),
	}
	f.unsaid.apply(&options)
	return options, nil
}

// limited gives config with the limits of the flags.
func (f *serverFlags) limited(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.UserAgent = "metacontroller"
	config.QPS, config.Burst = f.qps, f.burst
	if f.qps <= 0 {
		config.QPS = -1 // 0 would mean 5
	}
	return config
}
