package controller

import (
	"context"
	"errors"
	"fmt"

	"metascript/controller/hook"
)

// An unansweredHook is one that nobody can answer as it is written. Metacontroller runs such a controller, and each of its
// syncs fails; so it is here, and the condition SpecSound says what is wrong. On an error nothing is deleted.
type unansweredHook struct{ error }

// Call never answers.
func (h unansweredHook) Call(context.Context, *hook.Request) (*hook.Response, error) {
	return nil, h.error
}

// unanswered makes the sync hook of a controller whose spec.hooks is there and has none, which is accepted; a controller
// without spec.hooks is not.
func (w *loading) unanswered(d *declaration, loaded *loadedHooks) error {
	if d.Hooks == nil {
		return errNoHooks
	}
	loaded.sync = unansweredHook{errors.New("hooks.sync is missing or empty, so that nothing says what the children should be: give it a webhook or a script")}
	loaded.doubts = append(loaded.doubts, loaded.sync.(unansweredHook).Error()+"; until then every sync fails")
	return nil
}

// malformed makes a hook whose webhook has an address that cannot be called.
func malformed(at string, why error, loaded *loadedHooks) hook.Hook {
	err := fmt.Errorf("%s: %w", at, why)
	loaded.doubts = append(loaded.doubts, err.Error()+"; until then every call fails")
	return unansweredHook{err}
}
