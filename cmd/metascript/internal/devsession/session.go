// Package devsession runs the controllers in an author's files against a cluster, reloads the files after each edit, and prints what
// the controllers do.
//
// A [Session] is a [controller.Server] whose controller objects come from [Files], not from the cluster. While it runs there are
// three goroutines, which end with it:
//
//   - one runs the server, which reports what it does to a [report.Reporter];
//   - one polls the files. When they have changed, it checks the objects in them and passes them to the server, which reloads the
//     controllers that differ;
//   - one prints what the server waits for, until it is ready.
//
// The server itself watches scripts in files, as it does in a cluster.
package devsession

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/report"
	"metascript/controller"
	"metascript/controller/object"
	"metascript/controller/spec"
	"metascript/controller/static"
)

// A Session is a server for the controllers in an author's files. [New] returns one. Run must be called only once.
type Session struct {
	files       *Files
	server      *controller.Server
	controllers *static.Source
	cluster     *cluster
	report      *report.Reporter
	folders     []string  // as in Options
	progress    *progress // of the parents, if the session ends when nothing changes any more; otherwise nil

	// names are the names of the controllers that run. Run sets them before it starts other goroutines; after that only the goroutine
	// that polls the files uses them.
	names []string
}

// New returns a session that does not run yet. It returns an error if the API server does not respond: the server would wait for it,
// which is right in a Pod, but not for a person who misspelled a name.
func New(files *Files, o Options) (*Session, error) {
	s := &Session{files: files, report: report.New(o.Out, o.DryRun), folders: o.Folders}
	s.controllers = &static.Source{OnStatus: s.report.Status}
	options := o.server(s.report)
	if o.Once {
		s.progress = newProgress(s.report, o.only(), o.DryRun)
		options.Observer, s.controllers.OnStatus = s.progress, s.progress.Status
		options.FlushInterval = settleInterval
	}
	options.Static = s.controllers
	var err error
	if s.cluster, err = connect(options.Config, o.Kubectl); err != nil {
		return nil, err
	}
	s.server, err = controller.New(options)
	return s, err
}

// Secrets returns the Secrets that the server has in its caches.
func (s *Session) Secrets() []*object.Object { return s.server.Secrets() }

// Print prints a line that is not about an object.
func (s *Session) Print(line string) { s.report.Print(line) }

// Run runs the server until ctx is done or the server fails. It loads the controllers before, so that the first lines of the output
// are about them.
func (s *Session) Run(ctx context.Context) error {
	return s.run(ctx, func(ctx context.Context, _ func()) {
		s.files.watch(ctx, func(now snapshot) { s.reload(ctx, now) })
	})
}

// RunOnce is like Run, but ends when each parent is settled or has failed, or after timeout. It returns an error if a parent or a
// controller has failed, or if something still changes after timeout. It does not reload the files. [Options.Once] must be set.
func (s *Session) RunOnce(ctx context.Context, timeout time.Duration) error {
	var controllers []spec.ID
	for _, doc := range manifest.Controllers(s.files.docs) {
		controllers = append(controllers, spec.IDOf(doc.Object))
	}
	s.progress.start(controllers)
	var result error
	failed := s.run(ctx, func(ctx context.Context, end func()) {
		result = s.progress.wait(ctx, timeout)
		end()
	})
	return errors.Join(failed, result)
}

// run runs the server until ctx is done, the server fails, or beside, which runs at the same time, calls end.
func (s *Session) run(ctx context.Context, beside func(ctx context.Context, end func())) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.use(ctx, s.files.docs)
	s.printStart()
	var background sync.WaitGroup
	background.Go(func() { beside(ctx, cancel) })
	background.Go(func() { s.reportWaiting(ctx) })
	err := s.server.Run(ctx)
	cancel()
	background.Wait()
	s.report.Stopped()
	return err
}

// printStart prints the controllers. The command has printed the cluster.
func (s *Session) printStart() {
	s.report.Print("starting " + strings.Join(s.names, ", "))
	if s.report.DryRun {
		s.report.Print("dry run: nothing is written to the cluster; the following is what would be written")
	}
}

// waitingInterval is the time after which reportWaiting prints what the server waits for, and the time until it prints changes of
// that.
const waitingInterval = 5 * time.Second

// reportWaiting prints what the server waits for until it is ready.
func (s *Session) reportWaiting(ctx context.Context) {
	tick := time.NewTicker(waitingInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		waiting := s.server.Waiting()
		if len(waiting) == 0 {
			return
		}
		s.report.PrintNew("waiting", "waiting: "+strings.Join(waiting, "; ")+" (--verbosity=1 shows more)")
	}
}

// reload loads the controllers in now, if all files can be read and their controllers are valid. Otherwise the previous controllers keep
// running: a controller is stopped only if all files can be read and it is in none of them.
func (s *Session) reload(ctx context.Context, now snapshot) {
	docs, err := s.files.documents(now)
	if err != nil {
		s.report.PrintNew("files", s.report.Style.Failure(err.Error()), "the controllers that were read before stay in use")
		return
	}
	s.report.PrintNew("files", "")
	s.use(ctx, docs)
}

// use passes the controllers to the server, which reports in their status why it does not run them.
func (s *Session) use(ctx context.Context, docs []manifest.Document) {
	var objects []*object.Object
	var names []string
	for _, doc := range manifest.Controllers(docs) {
		name := object.Describe(doc.Object)
		objects, names = append(objects, doc.Object), append(names, name)
		if account, _, _ := unstructured.NestedStringMap(doc.Object.Map(), "spec", "serviceAccount"); account != nil {
			s.report.PrintNew(name+" account", fmt.Sprintf("%s acts with your permissions here, not with those of service account %s/%s", s.report.Style.Strong(name), account["namespace"], account["name"]))
		}
	}
	for _, name := range s.names {
		if !slices.Contains(names, name) {
			s.report.Print(s.report.Style.Strong(name) + " is in no file any more, and is stopped")
		}
	}
	s.names = names
	s.report.SetControllers(manifest.Controllers(docs), manifest.ScriptSources(s.folders, docs))
	for _, warning := range slices.Concat(s.cluster.missingDefinitions(ctx, docs), s.cluster.runningControllers(ctx, docs, s.report.DryRun)) {
		s.report.PrintNew(warning, s.report.Style.Warning(warning))
	}
	s.controllers.Set(objects)
}
