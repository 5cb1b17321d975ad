package status

import (
	"metascript/controller/apiserver"
	"metascript/controller/build"
	"metascript/controller/guard"
	"metascript/controller/reconcile"
	"metascript/controller/shadow"
	"metascript/controller/spec"
	"metascript/controller/throttle"
	"metascript/engine"
)

// A Result is what came of loading a controller object, and the state of what runs. If all three errors are nil, the object
// runs as it is written, or is paused.
type Result struct {
	Discovered   bool        // discovery was tried for this spec
	ResourcesErr error       // of discovery
	ScriptErr    error       // of reading or compiling the scripts, or of finding the hooks in them
	SpecErr      error       // anything else
	Built        build.Built // of the spec that was last written; without names of hooks, it was not loaded
	Warnings     []string    // all of them, also those of the Snapshot
	Unshown      []string    // those of the Warnings that the status of a controller with an account does not show
	ConfigMaps   []string    // that the scripts were read from
	Unreported   bool        // the result may be different in a moment, and no event reports it
	GivenUp      string      // the identity of the version that was rolled back
	LastGood     string      // the ConfigMap that stores the last good version
	Runaways     []engine.Runaway
	GuardPassed  *guard.Passed // why the guard let through what runs; nil: it is not known

	AccessErr     error  // why the account of the controller cannot do its work, or nil; see access.Reader.Problem
	AccessLimited string // that the account may read parents in some namespaces only, or ""

	APIServer apiserver.State

	Shadow *shadow.Report // nil: the spec has no candidate

	Active             *build.Loaded // what runs now; nil: nothing
	reconcile.Snapshot               // of Active

	public bool // names and texts of errors are left out; see Result.forAll
}

// Err is the first reason why the object does not run as it is written.
func (r *Result) Err() error {
	for _, err := range []error{r.SpecErr, r.ResourcesErr, r.ScriptErr} {
		if err != nil {
			return err
		}
	}
	return nil
}

// Retry is the error for which loading is tried again although nothing that is watched changes: resources that no
// CustomResourceDefinition announces may be served later, and a script that exceeded its time may compile when the machine
// is less busy.
func (r *Result) Retry() error {
	if throttle.Transient(r.ScriptErr) {
		return r.ScriptErr
	}
	return r.ResourcesErr
}

// SetError records an error of loading hooks as one of the script or of the spec.
func (r *Result) SetError(err error) {
	if build.IsScriptError(err) || throttle.IsGivenUp(err) || guard.Holds(err) {
		r.ScriptErr = err
	} else {
		r.SpecErr = err
	}
}

// WhyBlocked returns why the finalize hook of a controller cannot be called, and what to do; "" if it can be called.
func WhyBlocked(d *spec.Declaration, result *Result) (why, remedy string) {
	switch {
	case result.Active == nil && d.Settings.Paused:
		return "is paused", "end the pause"
	case result.Active == nil && result.Err() != nil:
		return "does not load", "correct the controller"
	case result.Active != nil && !result.Synced && result.CacheError != nil:
		return "cannot start before its caches are filled", "see the condition Ready of the controller"
	}
	return "", ""
}
