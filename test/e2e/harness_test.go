package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"
)

var eventsResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// patience is how long a script waits for what must happen; what is there ends the wait at once. It is long, since the
// machine may be slow, and since the garbage collector of Kubernetes looks for new kinds every 30 seconds, or 60 when one
// of them vanished meanwhile, and tries an owner of a kind that it does not know again after 41, 82 and 164 seconds.
const patience = 5 * time.Minute

// ownGroup is that of controllers.
const ownGroup = "metacontroller.k8s.io"

// poll is how often it looks, at most.
const poll = 50 * time.Millisecond

// A world is what one script has of its own: a namespace, a group for its kinds, and a server.
type world struct {
	name    string // of the script; also its namespace, and the label of its controllers
	client  dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
	proxy   *proxy
	proxies []*proxy      // of the servers that have one of their own
	hooks   *scriptServer // takes over the scripts of controllers; nil: they stay scripts
	webhook *hookServer   // nil: there is none
	weak    bool          // the server has not root's right to read every file
	old     int           // how many bytes of the log were there at mark
	user    string        // as whom the server runs; "": as one who may do anything
	shares  bool          // the script has no server of its own
	served  string        // the label of its controllers, which is the name of the world whose server they have

	config     *rest.Config // of the cluster, and the file that says the same
	kubeconfig string

	mu      sync.Mutex // guards what is below
	servers map[string]*server
	created []*unstructured.Unstructured // cluster-scoped objects to remove
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// setup returns a script its world.
func setup(env *testscript.Env, s script) error { return setupNamed(env, s, "") }

// setupNamed does so under a name of its own, for a script that runs more than once.
func setupNamed(env *testscript.Env, s script, suffix string) error {
	w, err := newWorld(s.name + suffix)
	if err != nil {
		return err
	}
	w.shares = testing.Short() && canShare(s.commands)
	env.Values[worldKey{}] = w
	env.Setenv("NAME", w.name)
	env.Setenv("GROUP", w.name+".example.com")
	env.Setenv("METASCRIPT", binary)
	env.Defer(func() {
		w.leave()
		w.tellLogs(env)
	})
	repository, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	env.Setenv("ROOT", repository)
	return w.createNamespace()
}

// tellLogs shows the ends of the servers' logs if the script failed; of the server that others share only what is about
// the script.
func (w *world) tellLogs(env *testscript.Env) {
	t, ok := env.T().(testing.TB)
	if !ok || !t.Failed() {
		return
	}
	if w.shares {
		t.Logf("the end of what the shared server says of it:\n%s", lastOf(sharedLogOf(w.name)))
	}
	logs, _ := filepath.Glob(filepath.Join(env.WorkDir, "log*")) // the pattern is sound
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err == nil {
			t.Logf("the end of %s:\n%s", filepath.Base(path), lastOf(string(text)))
		}
	}
}

// lastOf is as much of a log's end as is shown.
func lastOf(log string) string { return log[max(0, len(log)-32<<10):] }

func (w *world) createNamespace() error {
	_, err := w.apply(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": w.name},
	}})
	return err
}

func newWorld(name string) (*world, error) {
	w := &world{name: name, served: name, servers: map[string]*server{}}
	return w, w.enter(config, kubeconfig)
}

// enter makes a cluster the one that everything is about.
func (w *world) enter(config *rest.Config, kubeconfig string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	proxy, err := newProxy(config.Host)
	if err != nil {
		return err
	}
	if w.proxy != nil {
		w.proxy.close()
	}
	w.config, w.kubeconfig, w.client, w.proxy = config, kubeconfig, client, proxy
	w.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))
	return nil
}

// ownDefinitions are the CustomResourceDefinitions of the controllers.
func ownDefinitions() ([]*unstructured.Unstructured, error) {
	files, err := filepath.Glob(filepath.Join(root, "manifests", "crds", "*.yaml"))
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		crd := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &crd.Object); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		found = append(found, crd)
	}
	return found, nil
}

// leave removes what the script left, so that it also runs again in a cluster that stays.
func (w *world) leave() {
	w.part()
	w.stopAll()
	w.removeAll()
	w.letGo()
	w.proxy.close()
	for _, p := range w.proxies {
		p.close()
	}
}

// holders says which script has which CustomResourceDefinition of which cluster. An example's is the same for every
// script that applies it, and goes, with all its objects, when a script leaves; so they take turns.
var (
	holdersMu sync.Mutex
	holders   = map[string]*world{}
)

// hold waits until no other script has the CustomResourceDefinition.
func (w *world) hold(name string) error {
	name += " of " + w.config.Host
	return eventually(func() error {
		holdersMu.Lock()
		defer holdersMu.Unlock()
		if other := holders[name]; other != nil && other != w {
			return fmt.Errorf("%s is held by the script %s", name, other.name)
		}
		holders[name] = w
		return nil
	})
}

func (w *world) letGo() {
	holdersMu.Lock()
	defer holdersMu.Unlock()
	maps.DeleteFunc(holders, func(_ string, by *world) bool { return by == w })
}

// removeAll deletes what is cluster-scoped, and so all that the script made. To empty a namespace takes the cluster hundreds
// of requests: namespaces go with the cluster, unless it stays.
func (w *world) removeAll() {
	background := metav1.DeletePropagationBackground
	for i := len(w.created) - 1; i >= 0; i-- {
		if w.created[i].GetKind() == "Namespace" && !stays {
			continue
		}
		if r, err := w.resource(w.created[i]); err == nil {
			_ = r.Delete(context.Background(), w.created[i].GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
		}
	}
	w.created = nil
}

// resource is the client for objects like o.
func (w *world) resource(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	mapping, err := w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		w.mapper.Reset()
		if mapping, err = w.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			return nil, err
		}
	}
	if mapping.Scope.Name() == "root" {
		return w.client.Resource(mapping.Resource), nil
	}
	namespace := o.GetNamespace()
	if namespace == "" {
		namespace = w.name
	}
	return w.client.Resource(mapping.Resource).Namespace(namespace), nil
}

// named is the client for a resource as people write it: pods, or widgets.claims.example.com.
func (w *world) named(resource string) (dynamic.ResourceInterface, error) {
	plural, group, _ := strings.Cut(resource, ".")
	find := func() (schema.GroupVersionResource, error) {
		return w.mapper.ResourceFor(schema.GroupVersionResource{Group: group, Resource: plural})
	}
	gvr, err := find()
	if err != nil {
		w.mapper.Reset()
		if gvr, err = find(); err != nil {
			return nil, err
		}
	}
	kind, err := w.mapper.KindFor(gvr)
	if err != nil {
		return nil, err
	}
	return w.resource(&unstructured.Unstructured{Object: map[string]any{"apiVersion": kind.GroupVersion().String(), "kind": kind.Kind}})
}

// notGoing waits until an object of that name, which another script may have left, is not being deleted.
func (w *world) notGoing(r dynamic.ResourceInterface, name string) error {
	return eventually(func() error {
		there, err := r.Get(context.Background(), name, metav1.GetOptions{})
		if err == nil && there.GetDeletionTimestamp() != nil {
			return fmt.Errorf("%s is still being deleted", name)
		}
		return nil
	})
}

// apply is server-side apply by the user "e2e".
func (w *world) apply(o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	r, err := w.resource(o)
	if err != nil {
		return nil, err
	}
	if o.GroupVersionKind().Group == ownGroup {
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[serverLabel] = w.served
		o.SetLabels(labels)
		if w.hooks != nil {
			if err := w.hooks.takeOver(o); err != nil {
				return nil, err
			}
		}
	}
	if o.GetKind() == "CustomResourceDefinition" {
		if err := w.hold(o.GetName()); err != nil {
			return nil, err
		}
		if err := w.notGoing(r, o.GetName()); err != nil {
			return nil, err
		}
	}
	stored, err := r.Apply(context.Background(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "e2e", Force: true})
	if err == nil && stored.GetNamespace() == "" {
		w.mu.Lock()
		w.created = append(w.created, stored)
		w.mu.Unlock()
	}
	return stored, err
}

func (w *world) proxiedKubeconfig(dir string, by *proxy) (string, error) {
	raw, err := clientcmd.LoadFromFile(w.kubeconfig)
	if err != nil {
		return "", err
	}
	for _, cluster := range raw.Clusters {
		cluster.Server = strings.Replace(cluster.Server, by.target, by.address(), 1)
	}
	for _, user := range raw.AuthInfos {
		user.Impersonate = w.user
	}
	path := filepath.Join(dir, "kubeconfig")
	return path, clientcmd.WriteToFile(*raw, path)
}

// eventually calls check until it gives nil, for as long as there is patience.
func eventually(check func() error) error {
	deadline := time.After(patience)
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return nil
		}
		select {
		case <-deadline:
			return err
		case <-tick.C:
		}
	}
}
