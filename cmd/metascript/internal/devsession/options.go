package devsession

import (
	"context"
	"io"
	"runtime"

	"k8s.io/client-go/rest"

	"metascript/cmd/metascript/internal/report"
	"metascript/controller"
	"metascript/controller/object"
	"metascript/controller/redact"
)

// Options configure a [Session].
type Options struct {
	Kubectl           string   // the flags with which kubectl uses the cluster, for the commands in warnings
	DryRun            bool     // store nothing in the cluster
	Once              bool     // the session ends when nothing changes any more; see Session.RunOnce
	Parent, Namespace string   // the name and the namespace of the parents that are reconciled; "" means all
	Folders           []string // the directories with scripts, besides those of the controllers; for the places in errors
	Out               io.Writer

	// Server are the options of the server. The session sets those that are about the controllers, the parents and the
	// observer, and the limits of Config.
	Server controller.Options
}

// server returns the options of the server. There is no rate limit for requests: an author has few parents, and API Priority and
// Fairness protects the API server.
func (o *Options) server(to *report.Reporter) controller.Options {
	options := o.Server
	options.Config = rest.CopyConfig(options.Config)
	options.Config.QPS = -1
	options.Config.WarningHandlerWithContext = apiWarnings{to}
	options.Workers = runtime.GOMAXPROCS(0)
	options.Only, options.Observer, options.DryRun = o.only(), to, o.DryRun
	return options
}

// only returns the function that selects the parents; nil means all.
func (o *Options) only() func(object.Ref) bool {
	if o.Parent == "" && o.Namespace == "" {
		return nil
	}
	return func(parent object.Ref) bool {
		return (o.Parent == "" || o.Parent == parent.Name) && (o.Namespace == "" || o.Namespace == parent.Namespace)
	}
}

// apiWarnings prints warnings of the API server, such as one of an unknown field.
type apiWarnings struct{ to *report.Reporter }

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext. 299 is the code of warnings for people. A warning may
// contain a value of a Secret, which must not be printed.
func (w apiWarnings) HandleWarningHeaderWithContext(ctx context.Context, code int, _, text string) {
	if code == 299 && text != "" {
		text = redact.FromContext(ctx).Text(text)
		w.to.PrintNew("API server: "+text, w.to.Style.Warning("the API server warns: "+text))
	}
}
