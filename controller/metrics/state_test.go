package metrics_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/apiserver"
	"metascript/controller/metrics"
)

func TestStateHasSeriesOfWhatIsKnown(t *testing.T) {
	status := &metrics.StatusSummary{
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "InvalidSpec"}},
		Parents:    9, Failing: 2, Held: 1,
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(metrics.NewCollector(func() metrics.State {
		return metrics.State{Leads: true, APIServer: apiserver.Throttled, Lease: "metascript", Controllers: []metrics.ControllerState{
			{Kind: "CompositeController", Name: "a", Runs: true, Waiting: 3, OldestWait: 2 * time.Minute, Fallbacks: map[string]bool{"sync": true}, Status: status},
			{Kind: "DecoratorController", Name: "broken"}, // nothing of it runs, and its status is not written yet
		}, Caches: map[schema.GroupVersionResource]metrics.CacheState{
			{Version: "v1", Resource: "pods"}:                            {Objects: 5},
			{Group: "example.com", Version: "v1", Resource: "forbidden"}: {Stale: true},
		}}
	}))
	want := []string{
		"metascript_api_server_state{state=throttled} 1",
		"metascript_api_server_state{state=unauthorized} 0",
		"metascript_api_server_state{state=unreachable} 0",
		"metascript_api_server_state{state=well} 0",
		"metascript_cache_stale{group=,resource=pods,version=v1} 0",
		"metascript_cache_stale{group=example.com,resource=forbidden,version=v1} 1",
		"metascript_cached_objects{group=,resource=pods,version=v1} 5",
		"metascript_cached_objects{group=example.com,resource=forbidden,version=v1} 0",
		"metascript_controller_condition{condition=Ready,controller_name=a,controller_type=CompositeController,reason=InvalidSpec,status=False} 1",
		"metascript_fallback_active{controller_name=a,controller_type=CompositeController,hook=sync} 1",
		"metascript_leader{} 1",
		"metascript_parents_failing{controller_name=a,controller_type=CompositeController} 2",
		"metascript_parents_held{controller_name=a,controller_type=CompositeController} 1",
		"metascript_parents{controller_name=a,controller_type=CompositeController} 9",
		"metascript_queue_depth{controller_name=a,controller_type=CompositeController} 3",
		"metascript_queue_oldest_wait_seconds{controller_name=a,controller_type=CompositeController} 120",
	}
	if diff := cmp.Diff(want, series(t, registry, "metascript_")); diff != "" {
		t.Error(diff)
	}
}
