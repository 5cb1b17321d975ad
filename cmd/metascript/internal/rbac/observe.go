package rbac

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/report"
	"metascript/controller"
	"metascript/controller/object"
	"metascript/controller/related"
	"metascript/controller/rights"
	"metascript/controller/spec"
	"metascript/controller/static"
)

// An Observer runs controllers against a cluster as a dry run, and records what their customize hooks ask for.
type Observer struct {
	Server controller.Options // the options of the server that the Observer does not set itself
	Period time.Duration
	Out    io.Writer // gets what the controllers would change, and why they fail

	mu    sync.Mutex // guards asked while the server runs
	asked map[spec.ID][]Asked
}

// observe runs the controllers for the period, or until ctx ends. It runs them with the permissions of its own user: their accounts may
// not have any yet.
func (o *Observer) observe(ctx context.Context, controllers []manifest.Document, sources manifest.Sources, namespaces []string) error {
	ctx, cancel := context.WithTimeout(ctx, o.Period)
	defer cancel()
	printed := report.New(o.Out, true)
	options := o.Server
	source := &static.Source{OnStatus: printed.Status}
	options.Static, options.Observer, options.DryRun = source, printed, true
	options.OnRelated = func(of spec.ID, parent object.Ref, rules []related.Rule) {
		for _, rule := range rules {
			line := fmt.Sprintf("%s asks for %s", of, scopeOf(rule))
			printed.PrintNew(line, line)
		}
		o.note(of, parent, rules)
	}
	if len(namespaces) > 0 {
		options.Only = func(parent object.Ref) bool {
			return parent.Namespace == "" || slices.Contains(namespaces, parent.Namespace)
		}
	}
	server, err := controller.New(options)
	if err != nil {
		return err
	}
	var objects []*object.Object
	for _, doc := range controllers {
		objects = append(objects, doc.Object)
	}
	source.Set(objects)
	printed.SetControllers(controllers, sources)
	printed.Print(fmt.Sprintf("dry run for %s in the cluster at %s, or until Ctrl-C", o.Period, options.Config.Host))
	err = server.Run(ctx)
	printed.Stopped()
	return err
}

// note records the rules that a customize hook returned for a parent, in place of those that it returned before for the same parent if
// they are the same.
func (o *Observer) note(of spec.ID, parent object.Ref, rules []related.Rule) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.asked == nil {
		o.asked = map[spec.ID][]Asked{}
	}
	all := o.asked[of]
	all = slices.DeleteFunc(all, func(a Asked) bool { return a.Parent == parent && slices.EqualFunc(a.Rules, rules, sameScope) })
	o.asked[of] = append(all, Asked{parent, rules})
}

// scopeOf describes the objects that an account must be permitted to read for a rule.
func scopeOf(rule related.Rule) string {
	r := rights.Right{Group: rule.Group, Resource: rule.GroupVersionResource.Resource, Namespace: rule.Query.Namespace}
	return r.Target() + " " + r.Where()
}

// sameScope reports whether two rules need the same rights.
func sameScope(a, b related.Rule) bool {
	return a.Resource == b.Resource && a.Query.Namespace == b.Query.Namespace && (a.Query.Namespaces == nil) == (b.Query.Namespaces == nil)
}
