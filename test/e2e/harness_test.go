package e2e

import (
	"cmp"
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"
)

var eventsResource = schema.GroupVersionResource{Version: "v1", Resource: "events"}

// patience is how long a script waits for a condition; the wait ends as soon as it is true. It is long, since the machine may
// be slow, and since the garbage collector of Kubernetes looks for new kinds every 30 seconds, or 60 if one of them vanished
// meanwhile, and retries an owner of an unknown kind after 41, 82 and 164 seconds.
const patience = 5 * time.Minute

// ownGroup is the API group of controllers.
const ownGroup = "metacontroller.k8s.io"

// poll is the minimum time between two checks.
const poll = 50 * time.Millisecond

// A world is the environment of one script: a namespace, a group for its kinds, and a server.
type world struct {
	name        string // of the script; also its namespace, and the label of its controllers
	client      dynamic.Interface
	mapper      *restmapper.DeferredDiscoveryRESTMapper
	proxy       *proxy
	proxies     []*proxy      // of the servers that have one of their own
	faults      *faulty       // between servers and the API server; nil: there is none
	lagging     *lagging      // the API server of servers that are started from here on; nil: the one of config
	kills       []string      // the writes at which servers were killed; guarded by the mutex of the killer
	hooks       *scriptServer // serves the scripts of controllers as webhooks; nil: they stay scripts
	webhook     *hookServer   // nil: there is none
	webProxy    *webProxy     // nil: there is none
	kubelet     *kubelet      // nil: there is none
	rivals      map[string]*rival
	weak        bool   // the server cannot read files without permission, as root could
	old         int    // the size of the log at mark
	user        string // the user of the server's requests; "": an administrator
	serverToken string // of the ServiceAccount that servers run as; "" is an administrator, or user
	shares      bool   // the script uses the shared server
	loopback    string // the host of all addresses that servers use
	served      string // the label of its controllers: the name of the world whose server runs them

	config     *rest.Config // for the cluster, as is the file
	kubeconfig string

	// mu guards the fields below.
	mu      sync.Mutex // guards what is below
	servers map[string]*server
	created []*unstructured.Unstructured // cluster-scoped objects to remove
}

type worldKey struct{}

func worldOf(ts *testscript.TestScript) *world { return ts.Value(worldKey{}).(*world) }

// setup creates the world of a script.
func setup(env *testscript.Env, s script) error { return setupNamed(env, s, "") }

// setupNamed is setup with a suffix to the name, for a script that runs more than once.
func setupNamed(env *testscript.Env, s script, suffix string) error {
	w, err := newWorld(s.name + suffix)
	if err != nil {
		return err
	}
	w.shares = testing.Short() && canShare(s.commands) && *kill == ""
	env.Values[worldKey{}] = w
	env.Setenv("NAME", w.name)
	env.Setenv("GROUP", w.name+".example.com")
	env.Setenv("API_PORT", w.proxy.port())
	env.Setenv("METASCRIPT", binary)
	env.Setenv("FLEET", cmp.Or(os.Getenv("FLEET"), "24"))
	env.Setenv("FLEET_TIME", cmp.Or(os.Getenv("FLEET_TIME"), "3s"))
	env.Defer(func() {
		w.leave()
		w.printLogs(env)
		w.printKills(env)
	})
	repository, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	env.Setenv("ROOT", repository)
	env.Setenv("CLUSTER", *cluster)
	return w.createNamespace()
}

// printLogs prints the ends of the servers' logs if the script failed; of the shared server only the lines about the script.
func (w *world) printLogs(env *testscript.Env) {
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

// lastOf returns the part of a log that is printed: its end.
func lastOf(log string) string { return log[max(0, len(log)-12<<10):] }

func (w *world) createNamespace() error {
	_, err := w.apply(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": w.name},
	}})
	return err
}

func newWorld(name string) (*world, error) {
	w := &world{name: name, served: name, loopback: "127.0.0.1", servers: map[string]*server{}, rivals: map[string]*rival{}}
	return w, w.enter(config, kubeconfig)
}

// enter selects the cluster for all commands.
func (w *world) enter(config *rest.Config, kubeconfig string) error {
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return err
	}
	proxy, err := newProxy(w.loopback, config.Host)
	if err != nil {
		return err
	}
	if w.proxy != nil {
		w.proxy.close()
	}
	w.config, w.kubeconfig, w.client, w.proxy = config, kubeconfig, client, proxy
	if *kill != "" {
		if w.faults != nil {
			w.faults.stop()
		}
		if w.faults, err = faultyFor(config); err != nil {
			return err
		}
	}
	w.mapper = restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))
	return nil
}

// ownDefinitions returns the CustomResourceDefinitions of the controllers.
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

// leave removes the objects of the script, so that it can run again in the same cluster.
func (w *world) leave() {
	w.part()
	w.stopAll()
	w.removeAll()
	w.releaseCRDs()
	w.proxy.close()
	if *kill != "" {
		w.faults.stop()
	}
	for _, p := range w.proxies {
		p.close()
	}
}

// crdUsers maps a CustomResourceDefinition of a cluster to the script that uses it. The CustomResourceDefinition of an example
// is the same for every script that applies it, and is deleted, with all its objects, when the script ends; so they take turns.
var (
	crdUsersMu sync.Mutex
	crdUsers   = map[string]*world{}
)

// acquireCRD waits until no other script uses the CustomResourceDefinition.
func (w *world) acquireCRD(name string) error {
	name += " of " + w.config.Host
	return eventually(func() error {
		crdUsersMu.Lock()
		defer crdUsersMu.Unlock()
		if other := crdUsers[name]; other != nil && other != w {
			return fmt.Errorf("%s is held by the script %s", name, other.name)
		}
		crdUsers[name] = w
		return nil
	})
}

// releaseCRDs releases all CustomResourceDefinitions of the script.
func (w *world) releaseCRDs() {
	crdUsersMu.Lock()
	defer crdUsersMu.Unlock()
	maps.DeleteFunc(crdUsers, func(_ string, by *world) bool { return by == w })
}

// removeAll deletes the cluster-scoped objects of the script, and so everything that it created. To delete a namespace takes
// the cluster hundreds of requests: namespaces are deleted only in a cluster that is not stopped after the tests.
func (w *world) removeAll() {
	background := metav1.DeletePropagationBackground
	for i := len(w.created) - 1; i >= 0; i-- {
		if w.created[i].GetKind() == "Namespace" && !stays {
			continue
		}
		if w.created[i].GetKind() == "CustomResourceDefinition" {
			w.removeFinalizers(w.created[i])
		}
		if r, err := w.resource(w.created[i]); err == nil {
			_ = r.Delete(context.Background(), w.created[i].GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
		}
	}
	w.created = nil
}

// removeFinalizers removes the finalizers of the script's objects of a kind, so that its definition can be deleted: if the script
// failed, no server is left to finalize them.
func (w *world) removeFinalizers(crd *unstructured.Unstructured) {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	if group == ownGroup {
		return
	}
	r, err := w.named(plural + "." + group)
	if err != nil {
		return
	}
	objects, err := r.List(context.Background(), metav1.ListOptions{})
	if err != nil {
		return
	}
	for _, o := range objects.Items {
		if len(o.GetFinalizers()) > 0 {
			_, _ = r.Patch(context.Background(), o.GetName(), types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		}
	}
}

// resource returns the client for objects like o.
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

// named returns the client for a resource as in kubectl: pods, or widgets.claims.example.com.
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

// notBeingDeleted waits until no object of that name, perhaps of another script, is being deleted.
func (w *world) notBeingDeleted(r dynamic.ResourceInterface, name string) error {
	return eventually(func() error {
		there, err := r.Get(context.Background(), name, metav1.GetOptions{})
		if err == nil && there.GetDeletionTimestamp() != nil {
			return fmt.Errorf("%s is still being deleted", name)
		}
		return nil
	})
}

// apply is server-side apply by the field manager "e2e".
func (w *world) apply(o *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
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
			if err := w.hooks.serveScript(o); err != nil {
				return nil, err
			}
		}
	}
	if o.GetKind() == "CustomResourceDefinition" {
		if err := w.acquireCRD(o.GetName()); err != nil {
			return nil, err
		}
		if err := w.notBeingDeleted(r, o.GetName()); err != nil {
			return nil, err
		}
	}
	stored, err := r.Apply(context.Background(), o.GetName(), o, metav1.ApplyOptions{FieldManager: "e2e", Force: true, DryRun: dryRun})
	if err == nil && stored.GetNamespace() == "" && len(dryRun) == 0 {
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
		if w.lagging != nil {
			cluster.Server = "https://" + w.lagging.host
		}
		if w.faults != nil {
			cluster.Server, cluster.CertificateAuthorityData, cluster.CertificateAuthority = w.faults.address, w.faults.authority, ""
		}
	}
	for name, user := range raw.AuthInfos {
		user.Impersonate = w.user
		if w.serverToken != "" {
			raw.AuthInfos[name] = &api.AuthInfo{Token: w.serverToken}
		}
	}
	path := filepath.Join(dir, "kubeconfig")
	return path, clientcmd.WriteToFile(*raw, path)
}

// eventually calls check until it returns nil, at most until patience is over.
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
