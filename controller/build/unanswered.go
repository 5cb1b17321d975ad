package build

import (
	"context"
	"errors"
	"fmt"

	"metascript/controller/hook"
	"metascript/controller/spec"
)

// An UnansweredHook is one that nobody can answer as it is written. Metacontroller runs such a controller, and each of its
// syncs fails; so it is here, and the condition SpecSound says what is wrong. On an error nothing is deleted.
type UnansweredHook struct{ Err error }

// Call never answers.
func (h UnansweredHook) Call(context.Context, *hook.Request) (*hook.Response, error) {
	return nil, h.Err
}

// withoutSync makes the sync hook of a controller whose spec.hooks is there and has none, which is accepted; a controller
// without spec.hooks is not.
func (w *loading) withoutSync(d *spec.Declaration, loaded *Built) error {
	if d.Hooks == nil {
		return ErrNoHooks
	}
	loaded.Sync = UnansweredHook{Err: errors.New("hooks.sync is missing or empty, so that nothing says what the children should be: give it a webhook or a script")}
	loaded.Warnings = append(loaded.Warnings, loaded.Sync.(UnansweredHook).Err.Error()+"; until then every sync fails")
	return nil
}

// malformedAddress makes a hook whose webhook has an address that cannot be called.
func malformedAddress(at string, why error, loaded *Built) hook.Hook {
	err := fmt.Errorf("%s: %w", at, why)
	loaded.Warnings = append(loaded.Warnings, err.Error()+"; until then every call fails")
	return UnansweredHook{Err: err}
}
