package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/offline"
	"metascript/controller/plan"
	"metascript/controller/recording"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/scripts"
)

// A loaded is one version of a controller with its hooks: the new one, or one in the recording.
type loaded struct {
	*binding.Binding
	declaration *spec.Declaration
	given       *object.Object // the controller object as hooks get it
	children    []object.Kind  // in the order of the declaration
	finder      kube.Finder
	ceilings    engine.Limits // of the user who replays

	scripts sync.Map // of a scriptKey; the scripts with the limits of a recording
	verbsMu sync.Mutex
	verbs   map[changeID]string // guarded by verbsMu
}

// A scriptKey is a hook with the limits of a recorded call.
type scriptKey struct {
	hook          string
	limits        recording.Limits
	refuseMissing bool
}

// newController makes the hooks of a controller object. parts are its scripts; nil: they are read from the sources.
func newController(ctx context.Context, o *object.Object, parts build.Parts, in *Options, finder kube.Finder) (*loaded, error) {
	d, err := spec.Read(o)
	if err != nil {
		return nil, err
	}
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(o), err)
	}
	var built build.Built
	if parts == nil {
		loaded, err := offline.Load(ctx, o, in.Sandbox, in.Sources)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", object.Describe(o), err)
		}
		built = loaded.Hooks
	} else {
		builder := build.Builder{Sandbox: offline.Sandbox(in.Sandbox)}
		if built, err = builder.Build(ctx, d, parts); err != nil {
			return nil, err
		}
	}
	resolved, err := spec.Resolve(d, finder)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(o), err)
	}
	b, err := binding.Bind(d, resolved)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.Describe(o), err)
	}
	b.Hooks = built.Hooks()
	c := &loaded{Binding: b, declaration: d, given: spec.ForHooks(o), finder: finder, ceilings: in.Sandbox.Ceilings}
	for _, rule := range resolved.Children {
		c.children = append(c.children, rule.ObjectKind())
	}
	return c, nil
}

// recordedController makes the hooks of a version of a controller in a recording.
func recordedController(ctx context.Context, r *recording.Controller, in *Options, finder kube.Finder) (*loaded, error) {
	o, err := decodeObject(r.Object)
	if err != nil {
		return nil, err
	}
	parts := build.Parts{}
	for name, script := range r.Scripts {
		files := fstest.MapFS{}
		for path, text := range script.Files {
			files[path] = &fstest.MapFile{Data: []byte(text), Mode: 0o444}
		}
		parts[name] = scripts.Assembled{Script: engine.Script{Language: script.Language, Entry: script.Entry, Files: files}, Source: "the recording"}
	}
	return newController(ctx, o, parts, in, finder)
}

// script returns the script of a hook with the limits of a recorded call, except for those that the controller sets itself. If there is
// none, why says so.
func (c *loaded) script(name string, call *recording.Call) (script *hook.Script, why string) {
	key := scriptKey{hook: name, refuseMissing: call.RefuseMissing}
	if call.Limits != nil {
		key.limits = *call.Limits
	}
	if made, found := c.scripts.Load(key); found {
		return made.(*hook.Script), ""
	}
	called := map[string]hook.Hook{hook.Sync: c.Sync, hook.Finalize: c.Finalize, hook.Customize: c.Customize}[name]
	if fallback, ok := called.(*hook.Fallback); ok {
		called = fallback.Script
	}
	script, isScript := called.(*hook.Script)
	switch {
	case called == nil:
		return nil, fmt.Sprintf("the controller has no %s hook", name)
	case !isScript:
		return nil, fmt.Sprintf("the %s hook is a webhook", name)
	}
	limited := *script
	limited.Limits, limited.RefuseMissing = c.limits(name, script.Limits, key.limits), key.refuseMissing
	made, _ := c.scripts.LoadOrStore(key, &limited)
	return made.(*hook.Script), ""
}

// limits returns the limits of a script: its own as far as the controller sets them, and otherwise those of the recording, but not more
// than the ceilings.
func (c *loaded) limits(name string, own engine.Limits, recorded recording.Limits) engine.Limits {
	set := c.setLimits(name)
	if recorded.Timeout > 0 && !set.timeout {
		own.Timeout = min(recorded.Timeout, c.ceilings.Timeout)
	}
	if recorded.Steps > 0 && !set.steps {
		own.Steps = min(recorded.Steps, c.ceilings.Steps)
	}
	if recorded.Memory > 0 && !set.memory {
		own.Memory = min(recorded.Memory, c.ceilings.Memory)
	}
	if recorded.Output > 0 && !set.output {
		own.Output = min(recorded.Output, c.ceilings.Output)
	}
	return own
}

// limitsSet says which limits a controller sets.
type limitsSet struct{ timeout, steps, memory, output bool }

func (c *loaded) setLimits(name string) (set limitsSet) {
	var sources []v1alpha1.ScriptSource
	if c.declaration.Script != nil {
		sources = append(sources, c.declaration.Script.ScriptSource)
	}
	if h := c.declaration.Hook(name); h != nil && h.Script != nil {
		sources = append(sources, h.Script.ScriptSource)
	}
	for _, source := range sources {
		set.timeout = set.timeout || source.Timeout != nil
		if l := source.Limits; l != nil {
			set.steps, set.memory, set.output = set.steps || l.Steps != nil, set.memory || l.Memory != nil, set.output || l.Output != nil
		}
	}
	return set
}

// declares reports whether a kind is one of the children.
func (c *loaded) declares(kind object.Kind) bool {
	_, declared := c.Kinds[kind]
	return declared
}

// rolls reports whether children of a kind move one at a time after an edit of the script.
func (c *loaded) rolls(kind object.Kind) bool {
	return c.declaration.ScriptRevisions && c.Rules[kind].Rolls()
}

// serverSide reports whether children are written by server-side apply: if the controller says so, or if the recorded server did by
// default.
func (c *loaded) serverSide(recorded bool) bool {
	if set := c.declaration.Settings.ApplyStrategy; set != "" {
		return set == v1alpha1.ServerSideApply
	}
	return recorded
}

// policy returns how the children of a parent are compared and written.
func (c *loaded) policy(serverSide bool) plan.Policy {
	return plan.Policy{Rules: c.Rules, ServerSide: c.serverSide(serverSide)}
}

// parentKinds returns the kinds of the parents as text, such as "Site in example.com/v1".
func (c *loaded) parentKinds() string {
	var all []string
	for _, rule := range c.Parents {
		all = append(all, rule.Kind+" in "+rule.GroupVersion().String())
	}
	return strings.Join(all, ", ")
}

// A finder finds resources in a recording, and otherwise among those that are known without a cluster.
type finder struct {
	recorded map[schema.GroupVersionResource]kube.Resource
	offline  *kube.Offline
}

// add adds resources of a recording.
func (f *finder) add(all []recording.Resource) {
	for _, r := range all {
		gv, err := schema.ParseGroupVersion(r.APIVersion)
		if err != nil {
			continue
		}
		resource := gv.WithResource(r.Resource)
		f.recorded[resource] = kube.Resource{GroupVersionResource: resource, Kind: r.Kind, Namespaced: r.Namespaced, HasStatus: r.HasStatus}
	}
}

// ByName implements kube.Finder.
func (f *finder) ByName(apiVersion, plural string) (kube.Resource, error) {
	if gv, err := schema.ParseGroupVersion(apiVersion); err == nil {
		if found, ok := f.recorded[gv.WithResource(plural)]; ok {
			return found, nil
		}
	}
	return f.offline.ByName(apiVersion, plural)
}

// kindNames returns the names of kinds, sorted.
func kindNames(all map[object.Kind]bool) []string {
	var names []string
	for kind := range all {
		names = append(names, kind.Kind)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
