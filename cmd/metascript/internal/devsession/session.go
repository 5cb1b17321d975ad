// Package devsession runs the controllers in an author's files against a cluster, uses each edit of the files at once, and
// reports what the controllers do.
//
// A [Session] is a [controller.Server] whose controller objects come from [Files], not from the cluster. While it runs there are
// three goroutines, which end with it:
//
//   - the server reconciles, and tells a [report.Reporter] what it does;
//   - the watch of the files reads them again and again. When they have changed it checks what they hold, and gives it to the
//     server, which reloads the controllers that differ;
//   - the third reports what the server waits for, until it is ready.
//
// Scripts in files are not watched here: the server does that, as it does in a cluster.
package devsession

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"metascript/cmd/metascript/internal/check"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/report"
	"metascript/controller"
	"metascript/controller/object"
	"metascript/controller/static"
)

// A Session is a server whose controllers are an author's. [New] returns one, and Run is to be called once.
type Session struct {
	files       *Files
	server      *controller.Server
	controllers *static.Source
	cluster     *cluster
	rules       *check.Rules
	report      *report.Reporter

	// names are those of the controllers that run. Run sets them before it starts other goroutines; from then on only the one
	// that watches the files uses them.
	names []string
}

// New returns a session that has not begun. It makes sure that the cluster answers: the server would wait for it, which is
// right in a Pod, but not for a person who misspelt a name.
func New(files *Files, o Options) (*Session, error) {
	s := &Session{files: files, report: report.New(o.Out, o.DryRun)}
	s.controllers = &static.Source{OnStatus: s.report.Status}
	options := o.server(s.report)
	options.Static = s.controllers
	var err error
	if s.rules, err = check.NewRules(); err != nil {
		return nil, err
	}
	if s.server, err = controller.New(options); err != nil {
		return nil, err
	}
	s.cluster, err = connect(options.Config, o.Kubeconfig)
	return s, err
}

// Run runs the server until ctx is done or it fails. The controllers are given to it before, so that the first lines that are
// printed are about them.
func (s *Session) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.use(ctx, s.files.docs)
	s.printStart()
	var background sync.WaitGroup
	background.Go(func() { s.files.watch(ctx, func(now snapshot) { s.reload(ctx, now) }) })
	background.Go(func() { s.reportWaiting(ctx) })
	err := s.server.Run(ctx)
	cancel()
	background.Wait()
	s.report.Stopped()
	return err
}

// printStart says what runs where, since the cluster is that of the kubeconfig's current context, and not always the one that
// the author means.
func (s *Session) printStart() {
	s.report.Print(fmt.Sprintf("%s in the cluster at %s", strings.Join(s.names, ", "), s.cluster.host))
	if s.report.DryRun {
		s.report.Print("dry run: nothing is written to the cluster; what follows is what would be")
	}
}

// waitingInterval is how long the server may take to be ready before what it waits for is reported, and reported again if it
// has changed.
const waitingInterval = 5 * time.Second

// reportWaiting reports what the server waits for, if it takes long, until it is ready.
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
		s.report.PrintNews("waiting", "waiting: "+strings.Join(waiting, "; ")+" (--verbosity=1 tells more)")
	}
}

// reload uses what the files hold now, if all of it can be read. Otherwise the controllers from before keep running: one
// is stopped only after it was removed from files that can be read.
func (s *Session) reload(ctx context.Context, now snapshot) {
	docs, err := now.documents()
	if err != nil {
		s.report.PrintNews("files", s.report.Style.Failure(err.Error()), "what was read before goes on")
		return
	}
	s.report.PrintNews("files", "")
	s.use(ctx, docs)
}

// use prints what is wrong with the controllers, and gives them to the server, whatever is wrong: the server reports in their
// status why it does not run them.
func (s *Session) use(ctx context.Context, docs []manifest.Document) {
	var objects []*object.Object
	var names []string
	for _, doc := range manifest.Controllers(docs) {
		name := object.Describe(doc.Object)
		objects, names = append(objects, doc.Object), append(names, name)
		s.report.PrintNews(name+" refused", s.report.Style.Warning(strings.Join(s.rules.Refusals(doc), "\n")))
	}
	for _, name := range s.names {
		if !slices.Contains(names, name) {
			s.report.Print(s.report.Style.Strong(name) + " is in no file any more, and is stopped")
		}
	}
	s.names = names
	s.report.SetControllers(len(names))
	for _, warning := range slices.Concat(s.cluster.missingDefinitions(ctx, docs), s.cluster.runningControllers(ctx, docs, s.report.DryRun)) {
		s.report.PrintNews(warning, s.report.Style.Warning(warning))
	}
	s.controllers.Set(objects)
}
