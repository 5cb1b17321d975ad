package build

import (
	"fmt"
	"time"

	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/spec"
)

// Hooks are who answers for a controller.
type Hooks struct {
	Sync      hook.Hook
	Finalize  hook.Hook // nil: there is none
	Customize hook.Hook // nil: there is none

	Scripted bool // some of them are scripts
	Form     ScriptForm

	CustomizeFor time.Duration // how long an answer of Customize is good for a version of a parent; zero: for ever
}

// A ScriptForm says which hooks the controller's own script, spec.script, may serve without being named by them.
type ScriptForm int

const (
	noScript       ScriptForm = iota
	namedFunctions            // each hook by the function of its name
	oneFunction               // sync by its one function, and others where they name it
)

// A NamedFallback is a hook that a webhook answers while its script is broken.
type NamedFallback struct {
	Name string
	*hook.Fallback
}

// Fallbacks are those among the hooks.
func (h *Hooks) Fallbacks() []NamedFallback {
	var found []NamedFallback
	for _, is := range []struct {
		name string
		hook hook.Hook
	}{{hook.Sync, h.Sync}, {hook.Finalize, h.Finalize}, {hook.Customize, h.Customize}} {
		if f, ok := is.hook.(*hook.Fallback); ok {
			found = append(found, NamedFallback{is.name, f})
		}
	}
	return found
}

// FallbackActive reports whether a webhook answers in place of the script of that hook, and how often that has changed.
func (h *Hooks) FallbackActive(name string) (active bool, period int) {
	for _, f := range h.Fallbacks() {
		if f.Name == name {
			active, _ = f.Active()
			return active, f.Period()
		}
	}
	return false, 0
}

// ProbeDue reports whether the customize hook is to be asked about a parent although it has answered, as a probe of its script.
func (h *Hooks) ProbeDue(parent object.Ref) bool {
	f, ok := h.Customize.(*hook.Fallback)
	return ok && f.Due(parent)
}

// HowToFinalize says how to give a controller whose scripts lack it a finalize hook.
func (h *Hooks) HowToFinalize(of spec.ID) string {
	switch h.Form {
	case oneFunction:
		return fmt.Sprintf(`have the script's function finalize too, by hooks.finalize.script: {} (kubectl patch %s %s --type=merge -p '{"spec":{"hooks":{"finalize":{"script":{}}}}}')`, of.Resource(), of.Name)
	case namedFunctions:
		return "define a function finalize in the script (hooks.finalize.script: {} names it, hooks.finalize.script.function another one)"
	}
	return "give hooks.finalize a script or a webhook"
}

// rememberedFor is how long Metacontroller remembers what a customize webhook answered.
const rememberedFor = 20 * time.Minute

// Hooks are the hooks for a loop. A script answers the same when it is asked the same; a webhook may not, and is asked
// again after a while.
func (h *Built) Hooks() Hooks {
	hooks := Hooks{Sync: h.Sync, Finalize: h.Finalize, Customize: h.Customize, Scripted: h.Isolation != "", Form: h.form}
	if _, pure := h.Customize.(*hook.Script); !pure {
		hooks.CustomizeFor = rememberedFor
	}
	return hooks
}
