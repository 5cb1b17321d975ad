package controller

import (
	"cmp"
	"time"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/claim"
	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
)

// bind makes the Binding of a controller object and opens its caches.
func (s *Server) bind(d *spec.Declaration, o *object.Object, found spec.Resolved, hooks build.Built) (*reconcile.Binding, error) {
	b, err := reconcile.Bind(d, found)
	if err != nil {
		return nil, err
	}
	b.Controller, b.Hooks = spec.ForHooks(o), hooks.Hooks()
	s.bindCustomize(b)
	b.Write, b.Live = s.write, s.write.Get
	b.Only, b.Observer, b.DryRun = s.Only, s.Observer, s.DryRun
	b.Metrics, b.Shared = s.metrics, s.shared
	b.ResyncPeriod, b.ProbeEvery = sooner(b.ResyncPeriod, s.FlushInterval), s.ProbeEvery
	b.ServerSide = cmp.Or(d.Settings.ApplyStrategy, s.ApplyStrategy) == v1alpha1.ServerSideApply
	b.FieldManager = s.FieldManager
	if b.Workers == 0 {
		b.Workers = s.Workers
	}
	s.openCaches(b, found)
	b.Clients = hooks.Clients
	if err := b.Clients.Open(s.references, s.Metrics); err != nil {
		return nil, err
	}
	if d.Shape == hook.Decorator {
		b.Owner = &claim.ByAnnotations{Children: b.Children, Annotations: b.Marks}
	} else {
		b.Owner = &claim.BySelector{Children: b.Children, Selector: b.Match, Live: b.Live}
	}
	return b, nil
}

// bindCustomize fills in what the customize hook needs.
func (s *Server) bindCustomize(b *reconcile.Binding) {
	b.Discover = s.resources
	b.SeesRelated = func(resource kube.Resource) {
		if _, seen := b.RelatedKinds.LoadOrStore(resource.ObjectKind(), true); !seen {
			s.firsts.Update(b)
		}
	}
}

func (s *Server) openCaches(b *reconcile.Binding, found spec.Resolved) {
	for _, parent := range b.Parents {
		parent.Cache = s.caches.Open(informer.Spec{Resource: parent.GroupVersionResource})
	}
	opened := map[object.Kind]bool{}
	for _, rule := range found.Children {
		kind := rule.ObjectKind()
		if !opened[kind] {
			opened[kind] = true
			b.Children = append(b.Children, claim.Cache{Kind: kind, Informer: s.caches.Open(informer.Spec{Resource: rule.GroupVersionResource})})
		}
	}
	if b.Revisions != nil {
		b.Revisions.Cache, b.Revisions.Live = s.caches.Open(informer.Spec{Resource: v1alpha1.ControllerRevisions}), b.Live
	}
}

// sooner is the shorter of two periods; zero is never.
func sooner(a, b time.Duration) time.Duration {
	if a > 0 && b > 0 {
		return min(a, b)
	}
	return max(a, b)
}
