package controller

import (
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
)

// loaded tells that hooks begin to be asked.
func (s *Server) loaded(o *object.Object) {
	if s.Observer != nil {
		s.Observer.Loaded(o)
	}
}

// letWent tells that the finalizer of a controller that is gone was taken off o.
func (s *Server) letWent(name spec.ID, o *object.Object) {
	if s.Observer == nil {
		return
	}
	about := reconcile.About{Controller: name.Name, Parent: object.RefOf(o)}
	s.Observer.Wrote(about, reconcile.Write{Op: plan.Op{Verb: plan.Update, Object: o, Why: "finalizers: " + name.String() + " is gone"}, Stored: o})
	s.Observer.Reconciled(about, nil)
	s.Observer.Passed(about)
}

// divert tells the observer of an event, and keeps those from the cluster that do not belong there: what is on controller
// objects that are not in it, and all when nothing is stored.
func (s *Server) divert(o *object.Object, kind, reason, note string) bool {
	if s.Observer != nil {
		s.Observer.Event(o, kind, reason, note)
	}
	_, isController := spec.Resources[o.GetKind()]
	return s.DryRun || s.Given != nil && isController
}
