package e2e

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// unseen is how often a script looks for what a watch should tell it: a watch does not tell what happened just before it.
const unseen = time.Second

// eventuallyRead is eventually for a check that reads what args say. Every look costs the API server something, so it looks
// again when a watch tells of a change; where there is none, it polls.
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
		pause := unseen
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

// changes tells of changes of what "get ..." and "events ..." read, as long as ctx and the watches last; nil: nothing does.
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

// merged tells that any of the watches told something, and is closed when all have ended.
func merged(watches []watch.Interface) <-chan struct{} {
	told := make(chan struct{}, 1)
	var open sync.WaitGroup
	for _, changes := range watches {
		open.Go(func() {
			defer changes.Stop()
			for range changes.ResultChan() {
				select {
				case told <- struct{}{}:
				default: // it is told already
				}
			}
		})
	}
	go func() {
		open.Wait()
		close(told)
	}()
	return told
}
