package e2e

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// recheck is the time between two checks beside a watch: a watch does not report what happened just before it began.
const recheck = time.Second

// eventuallyRead is like eventually, for a check that reads the objects of args. Every check costs the API server something,
// so it checks again when a watch reports a change; without a watch, it polls.
func (w *world) eventuallyRead(args []string, check func() error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(poll)
	defer tick.Stop()
	var changes <-chan struct{}
	for {
		err := check()
		if err == nil {
			return nil
		}
		pause := recheck
		if changes == nil {
			changes = w.changes(ctx, args)
		}
		if changes == nil {
			pause = poll
		}
		select {
		case _, more := <-changes:
			if !more {
				changes = nil
			}
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
		<-tick.C // many changes at once are one look
	}
}

// changes reports changes of the objects that "get ..." and "events ..." read, until ctx is done or the watches end. It is nil
// without a watch.
func (w *world) changes(ctx context.Context, args []string) <-chan struct{} {
	var watches []watch.Interface
	follow := func(r dynamic.ResourceInterface, selector string) {
		if changes, err := r.Watch(ctx, metav1.ListOptions{FieldSelector: selector}); err == nil {
			watches = append(watches, changes)
		}
	}
	switch args[0] {
	case "get":
		resource, name, _ := split(args[1])
		selector := ""
		if name != "" {
			selector = "metadata.name=" + name
		}
		if r, err := w.named(resource); err == nil {
			follow(r, selector)
		}
	case "events":
		for _, namespace := range w.eventNamespaces() {
			follow(w.client.Resource(eventsResource).Namespace(namespace), about(args[1]))
		}
	}
	if len(watches) == 0 {
		return nil
	}
	return merged(watches)
}

// merged reports the events of all watches, and is closed when all watches have ended.
func merged(watches []watch.Interface) <-chan struct{} {
	changed := make(chan struct{}, 1)
	var open sync.WaitGroup
	for _, changes := range watches {
		open.Go(func() {
			defer changes.Stop()
			for range changes.ResultChan() {
				select {
				case changed <- struct{}{}:
				default: // it is changed already
				}
			}
		})
	}
	go func() {
		open.Wait()
		close(changed)
	}()
	return changed
}
