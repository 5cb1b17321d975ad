package offline

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/kinds"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/schemas"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/scripts"
)

// CheckScripts returns a warning for each constant key by which a script looks for a group of children that the controller does not
// declare, or for a group of related objects that cannot exist, and for each function that a script calls and that does not exist. Each
// is an [*engine.Error] with its place in the script. It returns none if the controller cannot be loaded.
func CheckScripts(ctx context.Context, o *object.Object, sandbox build.Sandbox, sources scripts.Sources, known *schemas.Set) []error {
	loaded, err := Load(ctx, o, sandbox, sources)
	if err != nil {
		return nil
	}
	resolved, err := spec.Resolve(loaded.Declaration, tolerant{kube.Offline{Kinds: known.Kinds()}, known.Complete()})
	if err != nil {
		return nil
	}
	g := groupsOf(loaded.Declaration, resolved, known.Kinds())
	all := misnamed(loaded.Hooks)
	for _, mistake := range loaded.Hooks.Mistakes() {
		all = append(all, mistake)
	}
	seen := map[engine.Lookup]engine.Program{}                                     // a function may be used for two hooks
	for _, called := range []hook.Hook{loaded.Hooks.Sync, loaded.Hooks.Finalize} { // customize gets neither children nor related objects
		script := scriptOf(called)
		if script == nil {
			continue
		}
		reading, reads := script.Program.(engine.Reading)
		maker, makes := script.Program.(engine.ErrorMaker)
		if !reads || !makes {
			continue
		}
		for _, l := range reading.Lookups(script.Function) {
			if wrong, hint := g.check(l); wrong != "" && seen[l] != script.Program {
				seen[l] = script.Program
				all = append(all, maker.LookupError(script.Function, l, wrong, hint))
			}
		}
	}
	return all
}

// scriptOf returns the script of a hook, or nil.
func scriptOf(called hook.Hook) *hook.Script {
	if fallback, ok := called.(*hook.Fallback); ok {
		called = fallback.Script
	}
	script, _ := called.(*hook.Script)
	return script
}

// groups are the groups of objects in the requests of a controller.
type groups struct {
	children string      // the field of the request with the children
	rules    string      // the field of the spec that declares them
	declared kinds.Table // the kinds of children
	open     []string    // the API versions of declared resources whose kinds are not known
	known    kinds.Table
}

func groupsOf(d *spec.Declaration, found spec.Resolved, known kinds.Table) *groups {
	g := &groups{children: "children", rules: "spec." + string(d.Field), known: known}
	if d.Shape == hook.Decorator {
		g.children = "attachments"
	}
	for i, rule := range d.Children {
		r, ok := known.ByName(rule.APIVersion, rule.Resource)
		switch {
		case ok:
			g.declared = append(g.declared, r)
		case found.Children[i].Kind == "":
			g.open = append(g.open, rule.APIVersion)
		default:
			g.declared = append(g.declared, kinds.Resource{APIVersion: rule.APIVersion, Kind: found.Children[i].Kind, Plural: rule.Resource})
		}
	}
	return g
}

// check returns what is wrong with a lookup, "" if nothing is known to be wrong, and what to do.
func (g *groups) check(l engine.Lookup) (wrong, hint string) {
	wrong = fmt.Sprintf("%s has no key %q", l.Field, l.Key)
	switch l.Field {
	case g.children:
		if _, right := g.group(l.Key); right {
			return "", ""
		}
		return g.child(l, wrong)
	case "related":
		if r, ok := g.related(l.Key); ok {
			return wrong, didYouMean(l, r)
		}
	}
	return "", ""
}

// group returns the declared kind with a key.
func (g *groups) group(key string) (kinds.Resource, bool) {
	i := slices.IndexFunc(g.declared, func(r kinds.Resource) bool { return r.Name() == key })
	if i < 0 {
		return kinds.Resource{}, false
	}
	return g.declared[i], true
}

// kindOf returns the kind that a key names, or the resource that was written in place of it.
func kindOf(key string) schema.GroupVersionKind {
	name, apiVersion, _ := strings.Cut(key, ".")
	return schema.FromAPIVersionAndKind(apiVersion, name)
}

// exact returns the resource whose kind, or whose plural name, is the first part of a key.
func (g *groups) exact(of schema.GroupVersionKind) (kinds.Resource, bool) {
	if r, ok := g.known.ByKind(of); ok {
		return r, true
	}
	return g.known.ByName(of.GroupVersion().String(), of.Kind)
}

// child checks a lookup of a key that no declared kind has. It finds nothing wrong if the key may be that of a kind that is not known.
func (g *groups) child(l engine.Lookup, wrong string) (string, string) {
	of := kindOf(l.Key)
	if r, ok := g.exact(of); ok {
		return g.meant(l, wrong, r)
	}
	named := g.named(of.Kind)
	if len(named) == 0 && slices.Contains(g.open, of.GroupVersion().String()) {
		return "", ""
	}
	other, found := g.known.Nearest(of)
	if len(named) == 0 && !(found && other.Named(of.Kind)) {
		named = g.named(g.nearest(of.Kind))
	}
	if len(named) == 0 && found {
		return g.meant(l, wrong, other)
	}
	if len(named) == 0 { // v1.Pod
		named = g.named(strings.FieldsFunc(l.Key, func(r rune) bool { return r == '.' || r == '/' })...)
	}
	if len(named) == 1 {
		return wrong, didYouMean(l, named[0])
	}
	return wrong, g.keys()
}

// named returns the declared kinds that have one of the names.
func (g *groups) named(names ...string) kinds.Table {
	return slices.DeleteFunc(slices.Clone(g.declared), func(r kinds.Resource) bool { return !slices.ContainsFunc(names, r.Named) })
}

// nearest returns the name of a declared kind that is similar to another name, or "".
func (g *groups) nearest(name string) string {
	var names []string
	for _, r := range g.declared {
		names = append(names, r.Kind, r.Plural)
	}
	return engine.Nearest(name, names)
}

// keys returns a hint with all keys of the children.
func (g *groups) keys() string {
	var keys []string
	for _, r := range g.declared {
		keys = append(keys, r.Name())
	}
	for _, apiVersion := range g.open {
		keys = append(keys, "that of a kind in "+apiVersion)
	}
	if len(keys) == 0 {
		return g.rules + " declares no kind"
	}
	return "its keys are " + strings.Join(keys, ", ")
}

// meant returns what is wrong with a lookup, and what to do, if a resource that exists was meant.
func (g *groups) meant(l engine.Lookup, wrong string, r kinds.Resource) (string, string) {
	for _, other := range g.declared { // perhaps in another version
		if other.GVK().GroupKind() == r.GVK().GroupKind() {
			return wrong, didYouMean(l, other)
		}
	}
	if l.Key == r.Name() {
		return fmt.Sprintf("%s: %s does not declare this kind", wrong, g.rules), fmt.Sprintf("add to %s: %s", g.rules, r.Rule())
	}
	return wrong, fmt.Sprintf("write %s, and add to %s: %s", l.With(r.Name()), g.rules, r.Rule())
}

// related returns the kind that was meant by a key of related objects that cannot exist. Which kinds there are is not known before the
// customize hook is called.
func (g *groups) related(key string) (kinds.Resource, bool) {
	of := kindOf(key)
	r, ok := g.exact(of)
	if !ok && !kinds.MayExist(of.GroupVersion().String()) {
		r, ok = g.known.Nearest(of)
	}
	return r, ok && r.Name() != key
}

func didYouMean(l engine.Lookup, r kinds.Resource) string {
	return fmt.Sprintf("did you mean %s?", l.With(r.Name()))
}
