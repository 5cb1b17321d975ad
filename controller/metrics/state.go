package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/apiserver"
)

// A State is what a server knows when its metrics are requested.
type State struct {
	Leads       bool
	APIServer   apiserver.Condition
	Lease       string // the name of the Lease; "": there is no leader election
	Controllers []ControllerState
	Caches      map[schema.GroupVersionResource]CacheState
}

// A ControllerState is the state of one controller object.
type ControllerState struct {
	Kind, Name string
	Runs       bool            // otherwise the next three fields are zero
	Waiting    int             // parents in the queue
	OldestWait time.Duration   // how long the first of them has waited
	Fallbacks  map[string]bool // by hook: whether the webhook answers in place of the script
	Status     *StatusSummary  // nil: this server does not write the status, or has not done it yet
}

// A StatusSummary is the part of a controller's status that has metrics.
type StatusSummary struct {
	Conditions             []metav1.Condition
	Parents, Failing, Held int
}

// A CacheState is the state of the caches of one resource.
type CacheState struct {
	Objects int
	Stale   bool // the API server refuses the watch of one of them
}

// A collector computes metrics of the current state when they are requested. So nothing has to be dropped for deleted
// controllers.
type collector func() State

// NewCollector returns a collector of the metrics of what state returns. state may be called concurrently.
func NewCollector(state func() State) prometheus.Collector { return collector(state) }

var (
	queueDepth     = ofController("metascript_queue_depth", "Parents that wait for a sync.")
	queueWait      = ofController("metascript_queue_oldest_wait_seconds", "How long the parent that waits longest for a sync has waited.")
	parents        = ofController("metascript_parents", "Parents that the controller selects.")
	parentsFailing = ofController("metascript_parents_failing", "Parents whose last sync failed.")
	parentsHeld    = ofController("metascript_parents_held", "Parents for which a script is not called, because it exceeded a limit for them.")
	fallbacks      = ofController("metascript_fallback_active", "Whether the webhook of a hook answers in place of its script: 1 or 0.", "hook")
	conditions     = ofController("metascript_controller_condition", "The conditions of controllers: 1 for the current status and reason of each.", "condition", "status", "reason")
	cachedObjects  = ofResource("metascript_cached_objects", "Objects in caches.")
	cacheStale     = ofResource("metascript_cache_stale", "Whether a cache gets no updates, because the API server refuses its watch: 1 or 0.")
	apiServer      = prometheus.NewDesc("metascript_api_server_state", "How the API server answers the requests of this server: 1 for the current state, which is well, throttled, unauthorized or unreachable, and 0 for the others.", []string{"state"}, nil)
	leading        = prometheus.NewDesc("leader_election_master_status", "Whether this server holds the Lease of that name: 1 or 0.", []string{"name"}, nil)
	leader         = prometheus.NewDesc("metascript_leader", "Whether this server runs the controllers: 1, or 0 while it is on standby.", nil, nil)
)

func ofController(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{nameLabel, typeLabel}, labels...), nil)
}

func ofResource(name, help string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, []string{"group", "version", "resource"}, nil)
}

// Describe implements prometheus.Collector.
func (c collector) Describe(to chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{queueDepth, queueWait, parents, parentsFailing, parentsHeld, fallbacks, conditions, cachedObjects, cacheStale, apiServer, leading, leader} {
		to <- desc
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(to chan<- prometheus.Metric) {
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	now := c()
	for _, of := range now.Controllers {
		of.collect(func(desc *prometheus.Desc, value float64, labels ...string) {
			gauge(desc, value, append([]string{of.Name, of.Kind}, labels...)...)
		})
	}
	for resource, cache := range now.Caches {
		gauge(cachedObjects, float64(cache.Objects), resource.Group, resource.Version, resource.Resource)
		gauge(cacheStale, oneIf(cache.Stale), resource.Group, resource.Version, resource.Resource)
	}
	for _, state := range apiserver.Conditions {
		gauge(apiServer, oneIf(state == now.APIServer), string(state))
	}
	gauge(leader, oneIf(now.Leads))
	if now.Lease != "" {
		gauge(leading, oneIf(now.Leads), now.Lease)
	}
}

// collect calls gauge for each metric of a controller, without the labels that name it.
func (c *ControllerState) collect(gauge func(desc *prometheus.Desc, value float64, labels ...string)) {
	if c.Runs {
		gauge(queueDepth, float64(c.Waiting))
		gauge(queueWait, c.OldestWait.Seconds())
	}
	for hook, active := range c.Fallbacks {
		gauge(fallbacks, oneIf(active), hook)
	}
	if c.Status == nil {
		return
	}
	gauge(parents, float64(c.Status.Parents))
	gauge(parentsFailing, float64(c.Status.Failing))
	gauge(parentsHeld, float64(c.Status.Held))
	for _, condition := range c.Status.Conditions {
		gauge(conditions, 1, condition.Type, string(condition.Status), condition.Reason)
	}
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
