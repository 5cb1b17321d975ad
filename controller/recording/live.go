package recording

import (
	"slices"
	"sync"
	"sync/atomic"

	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/queue"
	"metascript/controller/remember"
)

// Live is an observe.Sink that passes reconciles on to Recorders, which come and go while a server runs. The zero value has none.
type Live struct {
	mu        sync.Mutex // is locked while recorders is replaced
	recorders atomic.Pointer[[]*Recorder]
}

// Add adds a Recorder. The caller must call remove when it has ended.
func (l *Live) Add(r *Recorder) (remove func()) {
	l.change(func(all []*Recorder) []*Recorder { return append(all, r) })
	return func() {
		l.change(func(all []*Recorder) []*Recorder {
			return slices.DeleteFunc(all, func(other *Recorder) bool { return other == r })
		})
	}
}

// change replaces the recorders by what to returns of a copy of them.
func (l *Live) change(to func([]*Recorder) []*Recorder) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []*Recorder
	if now := l.recorders.Load(); now != nil {
		all = slices.Clone(*now)
	}
	all = to(all)
	l.recorders.Store(&all)
}

// Reconciled implements observe.Sink.
func (l *Live) Reconciled(r *observe.Reconcile) {
	if all := l.recorders.Load(); all != nil {
		for _, recorder := range *all {
			recorder.Reconciled(r)
		}
	}
}

// Remembered implements observe.Sink.
func (l *Live) Remembered(about observe.About, why queue.Reason, source remember.Source) {
	if all := l.recorders.Load(); all != nil {
		for _, recorder := range *all {
			recorder.Remembered(about, why, source)
		}
	}
}

// mayBeRead reports whether may permits all objects of a reconcile, and the ConfigMaps with the scripts.
func mayBeRead(r *observe.Reconcile, may func(object.Kind, string) bool) bool {
	type place struct {
		kind      object.Kind
		namespace string
	}
	places := map[place]bool{{r.Parent.Kind, r.Parent.Namespace}: true}
	add := func(sets ...*object.Set) {
		for _, set := range sets {
			if set == nil {
				continue
			}
			for _, kind := range set.Kinds() {
				for _, o := range set.Group(kind) {
					places[place{kind, o.GetNamespace()}] = true
				}
			}
		}
	}
	for _, c := range r.Calls {
		add(c.Request.Children, c.Request.Related)
		if c.Response != nil {
			add(c.Response.Children)
		}
	}
	for _, w := range r.Writes {
		places[place{w.Op.Object.GroupVersionKind(), w.Op.Object.GetNamespace()}] = true
	}
	for _, c := range r.Causes {
		places[place{c.Object.Kind, c.Object.Namespace}] = true
	}
	for namespace := range scriptNamespaces(r) {
		places[place{object.Kind{Version: "v1", Kind: "ConfigMap"}, namespace}] = true
	}
	for p := range places {
		if !may(p.kind, p.namespace) {
			return false
		}
	}
	return true
}

// scriptNamespaces returns the namespaces of the ConfigMaps with the scripts of a reconcile.
func scriptNamespaces(r *observe.Reconcile) map[string]bool {
	all := map[string]bool{}
	if r.Loaded == nil {
		return all
	}
	d := r.Loaded.Candidate.Declaration
	if d == nil {
		return all
	}
	if d.Script != nil {
		if ref := d.Script.ConfigMapRef; ref != nil {
			all[ref.Namespace] = true
		}
		for _, library := range d.Script.Libraries {
			if library.ConfigMapRef != nil {
				all[library.ConfigMapRef.Namespace] = true
			}
		}
	}
	for _, h := range d.Hooks {
		if h.Hook != nil && h.Script != nil && h.Script.ConfigMapRef != nil {
			all[h.Script.ConfigMapRef.Namespace] = true
		}
	}
	return all
}
