package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// byOwner is the index of the children by the UID of their controller.
const byOwner = "owner"

// A controller reconciles all parents.
type controller struct {
	client            dynamic.Interface
	parentResource    schema.GroupVersionResource
	childResource     schema.GroupVersionResource
	parents, children cache.SharedIndexInformer
	queue             workqueue.TypedRateLimitingInterface[string]
	webhook           string
	http              *http.Client // keeps as many connections to the webhook open as there are workers
}

func newController(client dynamic.Interface, parents, children schema.GroupVersionResource, webhook string, resync time.Duration) (*controller, error) {
	open := func(resource schema.GroupVersionResource, resync time.Duration) cache.SharedIndexInformer {
		indexers := cache.Indexers{byOwner: func(o any) ([]string, error) {
			if owner := metav1.GetControllerOf(o.(metav1.Object)); owner != nil {
				return []string{string(owner.UID)}, nil
			}
			return nil, nil
		}}
		return dynamicinformer.NewFilteredDynamicInformer(client, resource, "", resync, indexers, nil).Informer()
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	c := &controller{
		client: client, parentResource: parents, childResource: children, parents: open(parents, resync), children: open(children, 0),
		queue:   workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]()),
		webhook: webhook, http: &http.Client{Transport: transport, Timeout: hookTimeout},
	}
	_, err := c.parents.AddEventHandler(handler(func(o metav1.Object) { c.queue.Add(keyOf(o.GetNamespace(), o.GetName())) }))
	if err != nil {
		return nil, err
	}
	_, err = c.children.AddEventHandler(handler(func(o metav1.Object) {
		if owner := metav1.GetControllerOf(o); owner != nil {
			c.queue.Add(keyOf(o.GetNamespace(), owner.Name))
		}
	}))
	return c, err
}

func keyOf(namespace, name string) string { return namespace + "/" + name }

// handler calls on for each object that an event has.
func handler(on func(metav1.Object)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { on(o.(metav1.Object)) },
		UpdateFunc: func(_, o any) { on(o.(metav1.Object)) },
		DeleteFunc: func(o any) {
			if last, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = last.Obj
			}
			on(o.(metav1.Object))
		},
	}
}

// ready reports whether the caches have synced.
func (c *controller) ready() bool { return c.parents.HasSynced() && c.children.HasSynced() }

// writeCached writes the metric of the objects in the caches, which the server has too.
func (c *controller) writeCached(w io.Writer) {
	fmt.Fprintln(w, "# TYPE metascript_cached_objects gauge")
	for resource, informer := range map[schema.GroupVersionResource]cache.SharedIndexInformer{c.parentResource: c.parents, c.childResource: c.children} {
		fmt.Fprintf(w, "metascript_cached_objects{resource=%q} %d\n", resource.Resource, len(informer.GetStore().ListKeys()))
	}
}

// run reconciles parents until ctx is done.
func (c *controller) run(ctx context.Context, workers int) {
	var running sync.WaitGroup
	running.Go(func() { c.parents.RunWithContext(ctx) })
	running.Go(func() { c.children.RunWithContext(ctx) })
	if cache.WaitForCacheSync(ctx.Done(), c.parents.HasSynced, c.children.HasSynced) {
		for range workers {
			running.Go(func() { c.work(ctx) })
		}
	}
	<-ctx.Done()
	c.queue.ShutDown()
	running.Wait()
}

// work reconciles parents until the queue is shut down.
func (c *controller) work(ctx context.Context) {
	for {
		key, down := c.queue.Get()
		if down {
			return
		}
		if err := c.reconcile(ctx, key); err != nil {
			c.queue.AddRateLimited(key)
		} else {
			c.queue.Forget(key)
		}
		c.queue.Done(key)
	}
}

// response is the response of a sync hook.
type response struct {
	Status   map[string]any   `json:"status"`
	Children []map[string]any `json:"children"`
}

// reconcile calls the webhook for a parent, and writes what it returns.
func (c *controller) reconcile(ctx context.Context, key string) error {
	stored, found, err := c.parents.GetStore().GetByKey(key)
	if err != nil || !found {
		return err
	}
	parent := stored.(*unstructured.Unstructured)
	owned, err := c.children.GetIndexer().ByIndex(byOwner, string(parent.GetUID()))
	if err != nil {
		return err
	}
	observed, byKind := map[string]*unstructured.Unstructured{}, map[string]map[string]any{}
	for _, o := range owned {
		child := o.(*unstructured.Unstructured)
		observed[child.GetName()] = child
		kind := child.GetKind() + "." + child.GetAPIVersion()
		if byKind[kind] == nil {
			byKind[kind] = map[string]any{}
		}
		byKind[kind][child.GetName()] = child.Object
	}
	answer, err := c.call(ctx, map[string]any{"parent": parent.Object, "children": byKind, "finalizing": false})
	if err != nil {
		return err
	}
	var errs []error
	for _, desired := range answer.Children {
		child := &unstructured.Unstructured{Object: desired}
		errs = append(errs, c.write(ctx, parent, observed[child.GetName()], child))
		delete(observed, child.GetName())
	}
	for name := range observed {
		errs = append(errs, c.client.Resource(c.childResource).Namespace(parent.GetNamespace()).Delete(ctx, name, metav1.DeleteOptions{}))
	}
	return errors.Join(append(errs, c.updateStatus(ctx, parent, answer.Status))...)
}

// call calls the webhook.
func (c *controller) call(ctx context.Context, request map[string]any) (*response, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.webhook, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var body bytes.Buffer
	if _, err := body.ReadFrom(resp.Body); err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the webhook returned %s: %s", resp.Status, body.String())
	}
	answer := &response{}
	return answer, utiljson.Unmarshal(body.Bytes(), answer)
}

// write creates a child, or updates it if a field that is desired has another value.
func (c *controller) write(ctx context.Context, parent, observed, desired *unstructured.Unstructured) error {
	client := c.client.Resource(c.childResource).Namespace(parent.GetNamespace())
	if observed == nil {
		desired.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(parent, parent.GroupVersionKind())})
		_, err := client.Create(ctx, desired, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			return nil // the cache does not have it yet, and its event queues the parent
		}
		return err
	}
	updated := observed.DeepCopy()
	merge(updated.Object, desired.Object)
	if reflect.DeepEqual(updated.Object, observed.Object) {
		return nil
	}
	_, err := client.Update(ctx, updated, metav1.UpdateOptions{})
	return err
}

// merge sets all fields of from in to.
func merge(to, from map[string]any) {
	for key, value := range from {
		of, isMap := value.(map[string]any)
		if old, ok := to[key].(map[string]any); ok && isMap {
			merge(old, of)
		} else {
			to[key] = value
		}
	}
}

// updateStatus updates the status of a parent, if it is different.
func (c *controller) updateStatus(ctx context.Context, parent *unstructured.Unstructured, status map[string]any) error {
	if old, _, _ := unstructured.NestedMap(parent.Object, "status"); reflect.DeepEqual(old, status) {
		return nil
	}
	updated := parent.DeepCopy()
	updated.Object["status"] = status
	_, err := c.client.Resource(c.parentResource).Namespace(parent.GetNamespace()).UpdateStatus(ctx, updated, metav1.UpdateOptions{})
	return err
}
