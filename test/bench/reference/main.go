package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"net/http"
	_ "net/http/pprof"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	kubeconfig := flag.String("kubeconfig", "", "path of a kubeconfig file")
	parents := flag.String("parents", "", "resource of the parents: RESOURCE.VERSION.GROUP")
	children := flag.String("children", "", "resource of the children: RESOURCE.VERSION.GROUP")
	webhook := flag.String("webhook", "", "URL of the sync hook")
	workers := flag.Int("workers", 16, "number of parents that are reconciled at the same time")
	resync := flag.Duration("resync", 0, "period after which every parent is reconciled again; 0 means never")
	address := flag.String("metrics-address", "", "address of /metrics and /debug/pprof")
	flag.Parse()

	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		return err
	}
	config.QPS = -1
	requests := &counter{n: map[string]int{}}
	config.Wrap(requests.wrap)
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	c, err := newController(client, resource(*parents), resource(*children), *webhook, *resync)
	if err != nil {
		return err
	}
	http.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		requests.write(w)
		c.writeCached(w)
	})
	http.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !c.ready() {
			http.Error(w, "the caches have not synced", http.StatusServiceUnavailable)
		}
	})
	go func() { fmt.Fprintln(os.Stderr, http.ListenAndServe(*address, nil)) }()
	c.run(ctx, *workers)
	return nil
}

// resource reads RESOURCE.VERSION.GROUP.
func resource(text string) schema.GroupVersionResource {
	if gvr, _ := schema.ParseResourceArg(text); gvr != nil {
		return *gvr
	}
	return schema.GroupVersionResource{}
}

// A counter counts requests, by method.
type counter struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *counter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		c.mu.Lock()
		c.n[r.Method]++
		c.mu.Unlock()
		return next.RoundTrip(r)
	})
}

// write writes the metric that the server has too.
func (c *counter) write(w http.ResponseWriter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintln(w, "# TYPE rest_client_requests_total counter")
	for _, method := range slices.Sorted(maps.Keys(c.n)) {
		fmt.Fprintf(w, "rest_client_requests_total{method=%q} %d\n", method, c.n[method])
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// hookTimeout is the timeout of a call of the webhook.
const hookTimeout = 10 * time.Second
