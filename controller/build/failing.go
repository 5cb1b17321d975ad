package build

import (
	"context"
	"errors"
	"fmt"

	"metascript/controller/hook"
)

// An InvalidHook is a hook that is missing or has a malformed URL in the spec. Every call fails, so that nothing is deleted.
// Metacontroller accepts such a controller too, and its syncs fail. The condition SpecSound reports what is wrong.
type InvalidHook struct {
	Err error // what is wrong; every call returns it
}

// Call returns the error.
func (h InvalidHook) Call(context.Context, *hook.Request) (*hook.Response, error) {
	return nil, h.Err
}

// missingSync returns the sync hook for a controller that has spec.hooks, but no sync hook in it.
func (w *building) missingSync() hook.Hook {
	err := errors.New("hooks.sync is missing or empty, so that the desired children are not known: give it a webhook or a script")
	w.warn(err.Error() + "; until then every sync fails")
	return InvalidHook{Err: err}
}

// malformedURL returns a hook for a webhook whose URL cannot be called. path is where the webhook is in the spec.
func (w *building) malformedURL(path string, why error) hook.Hook {
	err := fmt.Errorf("%s: %w", path, why)
	w.warn(err.Error() + "; until then every call fails")
	return InvalidHook{Err: err}
}

// An UnloadedHook is a hook that only a script can serve, and the script does not load. Every call fails. The error is not an
// *engine.Error, since no script was called.
type UnloadedHook struct {
	Err error // why the script does not load; every call returns it
}

// Call returns the error.
func (h UnloadedHook) Call(context.Context, *hook.Request) (*hook.Response, error) {
	return nil, h.Err
}
