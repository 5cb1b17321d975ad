package controller

import (
	"context"
	"log/slog"
	"sync"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/references"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/scripts"
)

// The sources are those of the scripts of all controllers. They queue the controllers whose sources changed.
type sources struct {
	*environment
	edited chan struct{} // has one value when there are changes

	mu      sync.Mutex      // guards changes
	changes scripts.Changes // in files, for which the controllers were not looked at yet
}

func newSources(e *environment) *sources {
	return &sources{environment: e, edited: make(chan struct{}, 1)}
}

// loader returns what makes the hooks of c.
func (s *sources) loader(m *managed, c *build.Candidate) *build.Loader {
	l := &build.Loader{
		Sandbox: s.sandbox, Sources: scripts.Sources{Folders: s.Folders, ConfigMaps: build.ConfigMaps(s.references)},
		Log: s.logPrint(c.Object.GetName()), Observe: s.counts.Controller(c.Kind, c.ID().Name).Script, ProbeEvery: s.ProbeEvery,
		MissingChildren: s.MissingChildren, InFlight: s.webhookAnswers, Cached: s.cachedAnswers,
	}
	if r := m.active.Load(); r != nil && r.Current().Loaded.SameBinding(c) {
		l.Before = &r.Current().Loaded.Built
	}
	return l
}

// read follows the sources that c names and reads them, once they can be read.
func (s *sources) read(ctx context.Context, m *managed, c *build.Candidate, l *build.Loader) error {
	wanted := l.Wanted(c.Declaration)
	// What is about to be read may be of before the next change, or of after it.
	m.sources.Store(&readSources{wanted: wanted})
	var configMaps []references.Object
	for _, w := range wanted {
		configMaps = append(configMaps, build.ConfigMapsOf(&w)...)
	}
	if err := s.references.Watch(m.id, func() { s.queue.Add(m.id) }, configMaps...); err != nil {
		return err
	}
	s.references.WaitForSyncOrError(ctx, m.id)
	err := c.Read(l)
	m.sources.Store(&readSources{wanted, c.Fingerprint(err)})
	return err
}

// warnings say what keeps the sources of a controller from being followed.
func (s *sources) warnings(m *managed) []string {
	var all []string
	if m.sources.Load().usesFiles() && s.Folders != nil {
		all = s.Folders.Problems()
	}
	return append(all, s.references.Stale(m.id)...)
}

// filesChanged notes changes below the scripts directories.
func (s *sources) filesChanged(changes scripts.Changes) {
	s.mu.Lock()
	s.changes = s.changes.And(changes)
	s.mu.Unlock()
	select {
	case s.edited <- struct{}{}:
	default: // it is noted already
	}
}

// takeChanges returns the changes that filesChanged noted since the last call.
func (s *sources) takeChanges() scripts.Changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := s.changes
	s.changes = scripts.Changes{}
	return changes
}

// readOtherwise reports whether the scripts of a controller are not what they were, as far as that is known.
func (s *sources) readOtherwise(m *managed, o *object.Object) bool {
	before := m.sources.Load()
	if o == nil || before.fingerprint == "" {
		return true
	}
	d, err := spec.Read(o)
	if err != nil {
		return true
	}
	c := &build.Candidate{Declaration: d, Object: o}
	return c.Fingerprint(c.Read(s.loader(m, c))) != before.fingerprint
}

// forget follows the sources of a controller no more.
func (s *sources) forget(id spec.ID) { s.references.Leave(id) }

// levels are those of scripts' messages in our log.
var levels = map[engine.Level]slog.Level{
	engine.Debug: slog.LevelDebug, engine.Info: slog.LevelInfo, engine.Warn: slog.LevelWarn, engine.Err: slog.LevelError,
}

// logPrint is where a controller's scripts print.
func (s *sources) logPrint(name string) func(string, *hook.Request, engine.Message) {
	return func(hookName string, req *hook.Request, m engine.Message) {
		if s.Observer != nil {
			s.Observer.Printed(reconcile.About{Controller: name, Parent: object.RefOf(req.Parent)}, hookName, m)
		}
		s.Log.Log(context.Background(), levels[m.Level], m.Text, "controller", name, "hook", hookName, "parent", object.KeyOf(req.Parent), "at", m.Pos.String())
	}
}
