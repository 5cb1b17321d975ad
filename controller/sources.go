package controller

import (
	"context"
	"log/slog"
	"sync"

	"metascript/controller/account"
	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/references"
	"metascript/controller/spec"
	"metascript/engine"
	"metascript/scripts"
)

// sources reads the sources of the scripts of all controllers, and queues the controllers whose sources have changed.
type sources struct {
	*environment
	edited chan struct{} // has one value when there are changes

	mu      sync.Mutex      // guards changes
	changes scripts.Changes // in files, for which the controllers were not checked yet
}

func newSources(e *environment) *sources {
	return &sources{environment: e, edited: make(chan struct{}, 1)}
}

// builder returns a Builder for the hooks of c.
func (s *sources) builder(m *managed, c *build.Candidate) *build.Builder {
	b := &build.Builder{
		Sandbox: s.sandbox, Sources: scripts.Sources{Folders: s.Folders, ConfigMaps: s.accounts.ConfigMaps(account.Of(c.Settings.ServiceAccount), build.ConfigMaps(s.references))},
		Log: s.logPrint(c.ID()), Observe: s.counts.Controller(c.Kind, c.ID().Name).Script, ProbeEvery: s.ProbeEvery,
		MissingChildren: s.MissingChildren, AlwaysResync: s.AlwaysResync, Networks: s.WebhookNetworks, InFlight: s.webhookResponses, Cached: s.cachedResponses,
	}
	if r := m.active.Load(); r != nil && r.Current().Loaded.SameBinding(c) {
		b.Before = &r.Current().Loaded.Built
	}
	return b
}

// read watches the sources that c names, waits until they can be read, and reads them.
func (s *sources) read(ctx context.Context, m *managed, c *build.Candidate, b *build.Builder) error {
	wanted := b.Wanted(c.Declaration)
	// A change from now on may or may not be in what is read.
	m.sources.Store(&build.ReadSources{Wanted: wanted})
	var configMaps []references.Object
	for _, w := range wanted {
		configMaps = append(configMaps, build.ConfigMapsOf(&w)...)
	}
	if err := s.accounts.MayLoad(account.Of(c.Settings.ServiceAccount), configMaps); err != nil {
		return err
	}
	if err := s.references.Watch(m.id, func() { s.queue.Add(m.id) }, configMaps...); err != nil {
		return err
	}
	s.references.WaitForSyncOrError(ctx, m.id)
	err := c.Read(b)
	m.sources.Store(&build.ReadSources{Wanted: wanted, Fingerprint: c.Fingerprint(err)})
	return err
}

// warnings returns why changes of the sources of a controller cannot be watched.
func (s *sources) warnings(m *managed) []string {
	var all []string
	if m.sources.Load().UsesFiles() && s.Folders != nil {
		all = s.Folders.Problems()
	}
	return append(all, s.references.Stale(m.id)...)
}

// filesChanged records changes below the scripts directories.
func (s *sources) filesChanged(changes scripts.Changes) {
	s.shadows.FilesChanged(changes)
	s.mu.Lock()
	s.changes = s.changes.And(changes)
	s.mu.Unlock()
	select {
	case s.edited <- struct{}{}:
	default: // the value of an earlier call is still there
	}
}

// takeChanges returns and clears the changes that filesChanged recorded.
func (s *sources) takeChanges() scripts.Changes {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := s.changes
	s.changes = scripts.Changes{}
	return changes
}

// haveChanged reports whether the scripts of a controller differ from those that were last read, or may differ.
func (s *sources) haveChanged(m *managed, o *object.Object) bool {
	before := m.sources.Load()
	if o == nil || before.Fingerprint == "" {
		return true
	}
	d, err := spec.Read(o)
	if err != nil {
		return true
	}
	c := &build.Candidate{Declaration: d, Object: o}
	return c.Fingerprint(c.Read(s.builder(m, c))) != before.Fingerprint
}

// forget stops watching the sources of a controller.
func (s *sources) forget(id spec.ID) { s.references.Leave(id) }

// levels are the levels in our log for the messages that scripts print.
var levels = map[engine.Level]slog.Level{
	engine.Debug: slog.LevelDebug, engine.Info: slog.LevelInfo, engine.Warn: slog.LevelWarn, engine.Err: slog.LevelError,
}

// logPrint returns the function that logs what the scripts of a controller print.
func (s *sources) logPrint(id spec.ID) func(string, *hook.Request, engine.Message) {
	return func(hookName string, req *hook.Request, m engine.Message) {
		if s.Observer != nil {
			s.Observer.Printed(observe.About{Kind: id.Kind, Controller: id.Name, Parent: object.RefOf(req.Parent)}, hookName, m)
		}
		s.Log.Log(context.Background(), levels[m.Level], m.Text, "controller", id.Name, "hook", hookName, "parent", object.KeyOf(req.Parent), "at", m.Pos.String())
	}
}
