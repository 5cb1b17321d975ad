package controller

import (
	"errors"

	"metascript/controller/throttle"
	"metascript/engine"
	"metascript/scripts"
)

// A verdict is what came of loading a controller object: nil errors when it runs as it is written.
type verdict struct {
	asked     bool  // discovery was, about this spec
	resources error // of discovery
	script    error // of compiling, or of finding the hooks in what was compiled
	spec      error // anything else
	hooks     loadedHooks
	doubts    []string
	from      []string // ConfigMaps that the scripts were read from
	untold    bool     // it may be otherwise in a moment, and is not worth an event
	givenUp   string   // the identity of the version that was
	active    *loaded  // what runs now; nil: nothing
	lastGood  string   // what is stored of the version that was good last
	filled    bool     // the caches of what runs are
	trouble   error    // why not, or why they are not kept up to date
	parents   int
	held      throttle.Held // of what runs
	fallbacks []fallback
	denied    denial // to what runs
	runaways  []engine.Runaway

	finalizers heldFinalizers // by what runs
}

// err is the first reason why the object does not run as it is written.
func (v *verdict) err() error {
	for _, err := range []error{v.spec, v.resources, v.script} {
		if err != nil {
			return err
		}
	}
	return nil
}

// retry reports whether trying again may help although nothing that we watch changes: discovery of resources that
// no definition announces, and a script that ran out of time on a busy machine.
func (v *verdict) retry() error {
	if throttle.Transient(v.script) {
		return v.script
	}
	return v.resources
}

// blame files an error of loading hooks: under script when a script is at fault.
func (v *verdict) blame(err error) {
	var inScript *engine.Error
	var function *functionError
	var source *scripts.Error
	switch {
	case errors.As(err, &inScript), errors.As(err, &function), errors.As(err, &source), throttle.IsGivenUp(err):
		v.script = err
	default:
		v.spec = err
	}
}
