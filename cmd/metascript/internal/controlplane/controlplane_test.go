package controlplane

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"metascript/cmd/metascript/internal/memapi"
	"metascript/cmd/metascript/internal/virtualtime"
	"metascript/controller/object"
)

var maps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// inCluster calls f with a client of an API that has a control plane.
func inCluster(t *testing.T, rules []Rule, f func(ctx context.Context, client dynamic.Interface, p *ControlPlane, api *memapi.Server)) {
	virtualtime.Run(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), func(*virtualtime.Outside) {
		api := memapi.New("default", "other")
		config := &rest.Config{Host: "https://memory", Transport: api, QPS: -1}
		client, err := dynamic.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		p, err := New(api, config, rules)
		if err != nil {
			t.Fatal(err)
		}
		api.OnChange = p.Changed
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		go p.Run(ctx)
		f(ctx, client, p, api)
		if failures := p.Failures(); failures != nil {
			t.Errorf("requests failed: %v", failures)
		}
	})
}

// create creates a ConfigMap with owners, and returns it.
func create(ctx context.Context, t *testing.T, client dynamic.Interface, name string, owners ...*object.Object) *object.Object {
	t.Helper()
	o := object.New(map[string]any{"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}})
	var refs []metav1.OwnerReference
	for _, owner := range owners {
		block := true
		refs = append(refs, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: owner.GetName(), UID: owner.GetUID(), BlockOwnerDeletion: &block})
	}
	o.SetOwnerReferences(refs)
	stored, err := client.Resource(maps).Namespace("default").Create(ctx, o.Unstructured(), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return object.Of(stored)
}

// names returns the names of the ConfigMaps.
func names(api *memapi.Server) []string {
	found := []string{}
	for _, o := range api.All() {
		if o.GetKind() == "ConfigMap" {
			found = append(found, o.GetName())
		}
	}
	slices.Sort(found)
	return found
}

func TestDependentsAreDeleted(t *testing.T) {
	for _, c := range []struct {
		policy metav1.DeletionPropagation
		want   []string
	}{
		{metav1.DeletePropagationBackground, []string{"free", "shared", "two"}},
		{metav1.DeletePropagationForeground, []string{"free", "shared", "two"}},
		{metav1.DeletePropagationOrphan, []string{"dependent", "free", "shared", "two"}},
	} {
		inCluster(t, nil, func(ctx context.Context, client dynamic.Interface, _ *ControlPlane, api *memapi.Server) {
			one, two := create(ctx, t, client, "one"), create(ctx, t, client, "two")
			dependent := create(ctx, t, client, "dependent", one)
			if c.policy != metav1.DeletePropagationOrphan {
				create(ctx, t, client, "below", dependent)
			}
			create(ctx, t, client, "shared", one, two)
			create(ctx, t, client, "free")
			if err := client.Resource(maps).Namespace("default").Delete(ctx, "one", metav1.DeleteOptions{PropagationPolicy: &c.policy}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
			if diff := cmp.Diff(c.want, names(api)); diff != "" {
				t.Errorf("%s: ConfigMaps (-want +got):\n%s", c.policy, diff)
			}
		})
	}
}

func TestAnObjectWhoseOwnerDoesNotExistIsDeleted(t *testing.T) {
	inCluster(t, nil, func(ctx context.Context, client dynamic.Interface, _ *ControlPlane, api *memapi.Server) {
		gone := &object.Object{}
		gone.SetName("gone")
		gone.SetUID("x")
		create(ctx, t, client, "dependent", gone)
		time.Sleep(time.Second)
		if diff := cmp.Diff([]string{}, names(api)); diff != "" {
			t.Errorf("ConfigMaps (-want +got):\n%s", diff)
		}
	})
}

func TestADeletedNamespaceIsEmptied(t *testing.T) {
	inCluster(t, nil, func(ctx context.Context, client dynamic.Interface, _ *ControlPlane, api *memapi.Server) {
		create(ctx, t, client, "a")
		namespaces := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"})
		for _, name := range []string{"default", "other"} {
			if err := namespaces.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Second)
		if all := api.All(); len(all) != 0 {
			t.Errorf("there are still %v", all)
		}
	})
}

func TestReadiness(t *testing.T) {
	after := &metav1.Duration{Duration: time.Minute}
	rules := []Rule{
		{Kind: "Pod", Name: "never", Never: true},
		{Kind: "Pod", Match: Fields{"spec": map[string]any{"hostname": "slow"}}, After: after},
		{Kind: "Pod", Name: "own", Status: Fields{"phase": "Succeeded"}},
	}
	inCluster(t, rules, func(ctx context.Context, client dynamic.Interface, p *ControlPlane, api *memapi.Server) {
		pods := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace("default")
		for name, host := range map[string]string{"never": "a", "slowly": "slow", "own": "a", "any": "a"} {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(`{apiVersion: v1, kind: Pod, metadata: {name: `+name+`}, spec: {containers: [{name: a, image: b}], hostname: `+host+`}}`), &o.Object); err != nil {
				t.Fatal(err)
			}
			if _, err := pods.Create(ctx, o, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		expect := func(when string, want map[string]string) {
			t.Helper()
			got := map[string]string{}
			for _, o := range api.All() {
				if o.GetKind() == "Pod" {
					got[o.GetName()] = Summary(o)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: phases (-want +got):\n%s", when, diff)
			}
		}
		time.Sleep(2 * time.Second)
		expect("soon", map[string]string{"never": " is Pending", "slowly": " is Pending", "own": " is Succeeded", "any": " is Running"})
		if !p.Busy() {
			t.Error("nothing is planned")
		}
		time.Sleep(time.Minute)
		expect("later", map[string]string{"never": " is Pending", "slowly": " is Running", "own": " is Succeeded", "any": " is Running"})
		if err := p.Fail(ctx, api.Get(schema.GroupResource{Resource: "pods"}, object.Key{Namespace: "default", Name: "any"})); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		expect("after a failure", map[string]string{"never": " is Pending", "slowly": " is Running", "own": " is Succeeded", "any": " is Failed"})
		if p.Busy() {
			t.Error("it is still busy")
		}
	})
}
