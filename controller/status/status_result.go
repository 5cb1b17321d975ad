package status

import (
	"metascript/controller/build"
	"metascript/controller/reconcile"
	"metascript/controller/throttle"
	"metascript/engine"
)

// A verdict is what came of loading a controller object: nil errors when it runs as it is written.
type Result struct {
	Discovered bool  // discovery was, about this spec
	Resources  error // of discovery
	Script     error // of compiling, or of finding the hooks in what was compiled
	Spec       error // anything else
	Built      build.Built
	Warnings   []string       // all of them, also those of the Snapshot
	ConfigMaps []string       // ConfigMaps that the scripts were read from
	Unreported bool           // it may be otherwise in a moment, and is not worth an event
	GivenUp    string         // the identity of the version that was
	Active     *build.Version // what runs now; nil: nothing
	LastGood   string         // what is stored of the version that was good last
	Runaways   []engine.Runaway

	reconcile.Snapshot // of what runs
}

// err is the first reason why the object does not run as it is written.
func (v *Result) Err() error {
	for _, err := range []error{v.Spec, v.Resources, v.Script} {
		if err != nil {
			return err
		}
	}
	return nil
}

// retry reports whether trying again may help although nothing that we watch changes: discovery of resources that
// no definition announces, and a script that ran out of time on a busy machine.
func (v *Result) Retry() error {
	if throttle.Transient(v.Script) {
		return v.Script
	}
	return v.Resources
}

// blame files an error of loading hooks: under script when a script is at fault.
func (v *Result) SetError(err error) {
	if build.IsScriptError(err) || throttle.IsGivenUp(err) {
		v.Script = err
	} else {
		v.Spec = err
	}
}
