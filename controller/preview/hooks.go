package preview

import (
	"time"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/object"
)

// quiet returns hooks whose calls are neither logged nor counted, and do not count for the fallbacks of the originals.
func quiet(hooks build.Hooks, now func() time.Time) build.Hooks {
	hooks.Sync, hooks.Finalize, hooks.Customize = quietHook(hooks.Sync, now), quietHook(hooks.Finalize, now), quietHook(hooks.Customize, now)
	return hooks
}

func quietHook(h hook.Hook, now func() time.Time) hook.Hook {
	switch h := h.(type) {
	case *hook.Fallback:
		if h.Script == nil {
			return h.Webhook
		}
		return quietHook(h.Script, now)
	case *hook.Script:
		quiet := h.Quiet()
		if now != nil {
			quiet.Now = now
		}
		return quiet
	}
	return h
}

// silent drops events.
type silent struct{}

// Normal implements children.Events.
func (silent) Normal(*object.Object, string, string, ...any) {}

// Warning implements call.EventRecorder, children.Events and parents.Events.
func (silent) Warning(*object.Object, string, string, ...any) {}

// HookEvent implements call.EventRecorder.
func (silent) HookEvent(*object.Object, string, string, string) {}

// Conflict implements parents.Events.
func (silent) Conflict(*object.Object, string, string) {}
