package metrics_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"

	"metascript/controller/metrics"
	"metascript/engine"
)

// series gives what a registry has for metrics with that prefix, as "name{label=value,...} number"; of a histogram
// how much it counted.
func series(t *testing.T, registry *prometheus.Registry, prefix string) []string {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, family := range families {
		if !strings.HasPrefix(family.GetName(), prefix) {
			continue
		}
		for _, m := range family.GetMetric() {
			var labels []string
			for _, pair := range m.GetLabel() {
				labels = append(labels, pair.GetName()+"="+pair.GetValue())
			}
			n := m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			all = append(all, fmt.Sprintf("%s{%s} %g", family.GetName(), strings.Join(labels, ","), n))
		}
	}
	slices.Sort(all)
	return all
}

func newMetrics(t *testing.T) (*metrics.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	m, err := metrics.New(registry)
	if err != nil {
		t.Fatal(err)
	}
	return m, registry
}

func TestForgetDeletesSeriesOfController(t *testing.T) {
	m, registry := newMetrics(t)
	for _, name := range []string{"a", "b"} {
		c := m.Controller("CompositeController", name)
		c.Synced(time.Second, "ok", "computed")
		c.Remembered("nothing_changed", 1)
		c.Forgot()
		c.Conflicted()
		c.Looped()
		script := c.Script("sync")
		script(time.Millisecond, nil)
		script(time.Millisecond, fmt.Errorf("in a hook: %w", &engine.Error{Kind: engine.KindTimeout}))
		script(time.Millisecond, errors.New("no script's"))
	}
	want := []string{
		"metascript_field_conflicts_total{controller_name=a,controller_type=CompositeController} 1",
		"metascript_field_conflicts_total{controller_name=b,controller_type=CompositeController} 1",
		"metascript_remember_mismatches_total{controller_name=a,controller_type=CompositeController} 1",
		"metascript_remember_mismatches_total{controller_name=b,controller_type=CompositeController} 1",
		"metascript_script_duration_seconds{controller_name=a,controller_type=CompositeController,hook=sync} 3",
		"metascript_script_duration_seconds{controller_name=b,controller_type=CompositeController,hook=sync} 3",
		"metascript_script_errors_total{controller_name=a,controller_type=CompositeController,hook=sync,kind=Timeout} 1",
		"metascript_script_errors_total{controller_name=b,controller_type=CompositeController,hook=sync,kind=Timeout} 1",
		"metascript_sync_duration_seconds{controller_name=a,controller_type=CompositeController} 1",
		"metascript_sync_duration_seconds{controller_name=b,controller_type=CompositeController} 1",
		"metascript_syncs_total{answer=computed,controller_name=a,controller_type=CompositeController,result=ok} 1",
		"metascript_syncs_total{answer=computed,controller_name=b,controller_type=CompositeController,result=ok} 1",
		"metascript_syncs_total{answer=nothing_changed,controller_name=a,controller_type=CompositeController,result=remembered} 1",
		"metascript_syncs_total{answer=nothing_changed,controller_name=b,controller_type=CompositeController,result=remembered} 1",
		"metascript_write_loops_total{controller_name=a,controller_type=CompositeController} 1",
		"metascript_write_loops_total{controller_name=b,controller_type=CompositeController} 1",
	}
	if diff := cmp.Diff(want, series(t, registry, "metascript_")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	m.Forget("DecoratorController", "b", "DecoratorController-b") // which is another one
	m.Forget("CompositeController", "a", "CompositeController-a")
	if diff := cmp.Diff([]string{want[1], want[3], want[5], want[7], want[9], want[11], want[13], want[15]}, series(t, registry, "metascript_")); diff != "" {
		t.Errorf("series after Forget (-want +got):\n%s", diff)
	}
}

func TestQueuesAreCountedByName(t *testing.T) {
	m, registry := newMetrics(t)
	q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Name: "CompositeController-a", MetricsProvider: m.QueueMetrics()})
	q.Add("x")
	q.Add("y")
	item, _ := q.Get()
	q.Done(item)
	want := []string{
		"workqueue_adds_total{controller=CompositeController-a,name=CompositeController-a} 2",
		"workqueue_depth{controller=CompositeController-a,name=CompositeController-a,priority=} 1",
		"workqueue_longest_running_processor_seconds{controller=CompositeController-a,name=CompositeController-a} 0",
		"workqueue_queue_duration_seconds{controller=CompositeController-a,name=CompositeController-a} 1",
		"workqueue_unfinished_work_seconds{controller=CompositeController-a,name=CompositeController-a} 0",
		"workqueue_work_duration_seconds{controller=CompositeController-a,name=CompositeController-a} 1",
	}
	if diff := cmp.Diff(want, series(t, registry, "workqueue_")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	q.ShutDown()
	m.Forget("CompositeController", "a", "CompositeController-a")
	if left := series(t, registry, "workqueue_"); len(left) > 0 {
		t.Errorf("series after Forget: %v", left)
	}
}

func TestQueueIsCountedPerKindOfItem(t *testing.T) {
	m, registry := newMetrics(t)
	order := metrics.NewOrder(m, func(item string) string { return item[:1] }, "a", "b")
	q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[string]{Queue: order})
	defer q.ShutDown()
	for _, item := range []string{"a1", "a2", "b1", "a1", "not counted"} {
		q.Add(item)
	}
	item, _ := q.Get()
	order.Worked(item, time.Now())
	order.Retried(item)
	q.Done(item)
	if item != "a1" || q.Len() != 3 {
		t.Errorf("got %q first, and %d are left", item, q.Len())
	}
	want := []string{
		"workqueue_adds_total{controller=a,name=a} 2",
		"workqueue_adds_total{controller=b,name=b} 1",
		"workqueue_depth{controller=a,name=a,priority=} 1",
		"workqueue_depth{controller=b,name=b,priority=} 1",
		"workqueue_longest_running_processor_seconds{controller=a,name=a} 0",
		"workqueue_longest_running_processor_seconds{controller=b,name=b} 0",
		"workqueue_queue_duration_seconds{controller=a,name=a} 1",
		"workqueue_queue_duration_seconds{controller=b,name=b} 0",
		"workqueue_retries_total{controller=a,name=a} 1",
		"workqueue_retries_total{controller=b,name=b} 0",
		"workqueue_unfinished_work_seconds{controller=a,name=a} 0",
		"workqueue_unfinished_work_seconds{controller=b,name=b} 0",
		"workqueue_work_duration_seconds{controller=a,name=a} 1",
		"workqueue_work_duration_seconds{controller=b,name=b} 0",
	}
	if diff := cmp.Diff(want, series(t, registry, "workqueue_")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	var none *metrics.Metrics
	metrics.NewOrder(none, func(string) string { return "a" }, "a").Push("x")
}

func TestRequestsAreCounted(t *testing.T) {
	m, registry := newMetrics(t)
	server := httptest.NewServer(http.NotFoundHandler())
	client := &http.Client{Transport: m.Requests.Wrap(http.DefaultTransport)}
	resp, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	server.Close()
	if _, err := client.Get(server.URL); err == nil {
		t.Fatal("a server that is closed answers")
	}
	host := strings.TrimPrefix(server.URL, "http://")
	want := []string{
		"rest_client_request_duration_seconds{host=" + host + ",verb=GET} 2",
		"rest_client_requests_total{code=404,host=" + host + ",method=GET} 1",
		"rest_client_requests_total{code=<error>,host=" + host + ",method=GET} 1",
	}
	if diff := cmp.Diff(want, series(t, registry, "rest_")); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

func TestWithoutMetricsNothingIsCounted(t *testing.T) {
	var none *metrics.Metrics
	c := none.Controller("CompositeController", "a")
	c.Synced(time.Second, "ok", "computed")
	none.Forget("CompositeController", "a", "CompositeController-a")
	if c.Script("sync") != nil || none.QueueMetrics() != nil {
		t.Error("something counts")
	}
}

func TestRegistererCannotBeShared(t *testing.T) {
	_, registry := newMetrics(t)
	if _, err := metrics.New(registry); err == nil {
		t.Error("two servers share a registerer")
	}
}
