package build

import (
	"fmt"
	"slices"
	"time"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/shell"
	"metascript/controller/spec"
	"metascript/engine"
)

// Built is what a Builder makes: the hooks of one controller object, and what its status reports about them.
type Built struct {
	Sync      hook.Hook // nil if the controller only finalizes parents
	Finalize  hook.Hook // nil if there is none
	Customize hook.Hook // nil if there is none

	Names     []string              // of the hooks that exist, sorted
	Isolation v1alpha1.Isolation    // of the scripts; "" without scripts
	Digest    string                // of the scripts; revisions refer to them by it; "" without scripts, or if some are missing
	Missing   string                // why some scripts are missing; "" if all are loaded
	Status    v1alpha1.ScriptStatus // about the scripts, without times; the zero value without scripts, or if some are missing
	Warnings  []string              // about what is accepted but probably a mistake
	Clients   WebhookClients        // the connections of the webhooks

	remembers bool // see Hooks.Remembers
	tagged    bool // see Hooks.Tagged
	form      scriptForm
	webhooks  map[string]*hook.Webhook // by the name of the hook
}

// Hooks are the hooks of a controller as a Reconciler calls them.
type Hooks struct {
	Sync      hook.Hook // nil if the controller only finalizes parents
	Finalize  hook.Hook // nil if there is none
	Customize hook.Hook // nil if there is none

	Scripted bool // at least one hook is a script

	// CustomizeTTL is how long a response of Customize is used again for a parent that does not change. Zero: without limit.
	CustomizeTTL time.Duration

	// Remembers says that Sync and Customize answer the same whenever the request is the same, so that a resync of a parent need not
	// call them if nothing changed: they are scripts that do not see the time, and remembering is not turned off.
	Remembers bool

	// Tagged says that Sync is a webhook whose answers may have ETags, so that a call shows whether the answer is the one before.
	Tagged bool

	form scriptForm
}

// scriptForm says which hooks spec.script can serve although spec.hooks does not list them.
type scriptForm int

const (
	noScript       scriptForm = iota
	namedFunctions            // each hook, by the function of the same name
	oneFunction               // sync by its only function; other hooks only if spec.hooks lists them
)

// customizeTTL is how long the response of a customize webhook is used. It is the same in Metacontroller.
const customizeTTL = 20 * time.Minute

// Hooks returns the hooks for a Reconciler. A customize script always returns the same for the same request. A webhook may
// not, so it is called again after a while.
func (b *Built) Hooks() Hooks {
	hooks := Hooks{Sync: b.Sync, Finalize: b.Finalize, Customize: b.Customize, Scripted: b.Isolation != "", Remembers: b.remembers, Tagged: b.tagged, form: b.form}
	if _, isScript := b.Customize.(*hook.Script); !isScript {
		hooks.CustomizeTTL = customizeTTL
	}
	return hooks
}

// programs returns the programs of the hooks that are scripts, each once.
func programs(hooks ...hook.Hook) (all []engine.Program) {
	for _, called := range hooks {
		if f, ok := called.(*hook.Fallback); ok {
			called = f.Script
		}
		if s, ok := called.(*hook.Script); ok && !slices.Contains(all, s.Program) {
			all = append(all, s.Program)
		}
	}
	return all
}

// Mistakes returns the mistakes in the scripts that fail only when they are reached.
func (b *Built) Mistakes() (all []*engine.Error) {
	for _, program := range programs(b.Sync, b.Finalize, b.Customize) {
		if p, ok := program.(engine.Warned); ok {
			all = append(all, p.Warnings()...)
		}
	}
	return all
}

// Draw reports whether a script of the hooks has drawn a random value.
func (h *Hooks) Draw() bool {
	return slices.ContainsFunc(programs(h.Sync, h.Finalize, h.Customize), func(program engine.Program) bool {
		p, ok := program.(engine.Drawing)
		return ok && p.Draws()
	})
}

// A NamedFallback is a hook that is a script with a webhook as its fallback.
type NamedFallback struct {
	Name string // of the hook
	*hook.Fallback
}

// Fallbacks returns the hooks that are scripts with a webhook as their fallback.
func (h *Hooks) Fallbacks() []NamedFallback {
	var found []NamedFallback
	for _, one := range []struct {
		name string
		hook hook.Hook
	}{{hook.Sync, h.Sync}, {hook.Finalize, h.Finalize}, {hook.Customize, h.Customize}} {
		if f, ok := one.hook.(*hook.Fallback); ok {
			found = append(found, NamedFallback{one.name, f})
		}
	}
	return found
}

// FallbackActive reports whether the webhook is called in place of the script of that hook, and how often that has changed.
func (h *Hooks) FallbackActive(name string) (active bool, period int) {
	for _, f := range h.Fallbacks() {
		if f.Name == name {
			active, _ = f.Active()
			return active, f.Period()
		}
	}
	return false, 0
}

// ProbeDue reports whether the customize hook must be called for a parent although its last response could be used again,
// since this call would probe its broken script.
func (h *Hooks) ProbeDue(parent object.Ref) bool {
	f, ok := h.Customize.(*hook.Fallback)
	return ok && f.ProbeDue(parent)
}

// HowToFinalize says, for a message to users, how to add a finalize hook to a controller that has none.
func (h *Hooks) HowToFinalize(of spec.ID) string {
	switch h.form {
	case oneFunction:
		return fmt.Sprintf(`use the script's function for finalize too, with hooks.finalize.script: {} (kubectl patch %s %s --type=merge -p '{"spec":{"hooks":{"finalize":{"script":{}}}}}')`, of.Resource(), shell.Quote(of.Name))
	case namedFunctions:
		return "define a function finalize in the script (hooks.finalize.script: {} names it, hooks.finalize.script.function another one)"
	}
	return "give hooks.finalize a script or a webhook"
}
