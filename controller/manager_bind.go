package controller

import (
	"cmp"
	"time"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
)

// bind makes the Binding of a controller object and opens its caches.
func (s *Server) bind(d *declaration, o *object.Object, found resolved, hooks loadedHooks) (*Binding, error) {
	b, err := binding(d, found)
	if err != nil {
		return nil, err
	}
	b.Controller, b.Hooks = asHooksSee(o), hooks.answering()
	s.bindCustomize(b)
	b.Write, b.Live = s.write, s.write.Get
	b.Only, b.Observer, b.DryRun = s.Only, s.Observer, s.DryRun
	b.Metrics, b.shared = s.metrics, s.shared
	b.ResyncPeriod, b.ProbeEvery = sooner(b.ResyncPeriod, s.FlushInterval), s.ProbeEvery
	b.ServerSide = cmp.Or(d.Settings.ApplyStrategy, s.ApplyStrategy) == v1alpha1.ServerSideApply
	b.FieldManager = s.FieldManager
	if b.Workers == 0 {
		b.Workers = s.Workers
	}
	s.openCaches(b, found)
	b.links = hooks.links
	b.links.open(s.caches, s.Metrics)
	if d.Shape == hook.Decorator {
		b.Owner = &mark{children: b.children, marks: b.Marks}
	} else {
		b.Owner = &claim{children: b.children, selector: b.Match, live: b.Live}
	}
	return b, nil
}

// bindCustomize fills in what the customize hook needs.
func (s *Server) bindCustomize(b *Binding) {
	b.Discover = s.resources
	b.SeesRelated = func(resource kube.Resource) {
		if _, seen := b.relatedKinds.LoadOrStore(resource.ObjectKind(), true); !seen {
			s.firsts.count(b)
		}
	}
}

func (s *Server) openCaches(b *Binding, found resolved) {
	for _, parent := range b.Parents {
		parent.cache = s.caches.Open(informer.Spec{Resource: parent.GroupVersionResource})
	}
	opened := map[object.Kind]bool{}
	for _, rule := range found.children {
		kind := rule.ObjectKind()
		if !opened[kind] {
			opened[kind] = true
			b.children = append(b.children, childCache{kind, s.caches.Open(informer.Spec{Resource: rule.GroupVersionResource})})
		}
	}
	if b.revisions != nil {
		b.revisions.cache, b.revisions.live = s.caches.Open(informer.Spec{Resource: v1alpha1.ControllerRevisions}), b.Live
	}
}

// sooner is the shorter of two periods; zero is never.
func sooner(a, b time.Duration) time.Duration {
	if a > 0 && b > 0 {
		return min(a, b)
	}
	return max(a, b)
}
