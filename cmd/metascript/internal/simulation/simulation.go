// Package simulation runs a server and its controllers in a cluster that exists only in memory, does the steps of a file in it, and
// compares what exists after each step with what is expected.
//
// Everything runs in the time of package virtualtime: the server with its caches, queues and back-offs, the API of package memapi, and
// the control plane of package controlplane. Only scripts run outside of it, since their limits count the CPU time. So a step takes
// as long as its computations. The same steps give the same output; only the order of lines of the same second can differ if there
// are several controllers. A step ends when nothing happens any more: no object has changed for some time, and the control plane has
// nothing planned.
package simulation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"metascript/cmd/metascript/internal/controlplane"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/memapi"
	"metascript/cmd/metascript/internal/partial"
	"metascript/cmd/metascript/internal/report"
	"metascript/cmd/metascript/internal/style"
	"metascript/cmd/metascript/internal/virtualtime"
	"metascript/controller"
	"metascript/controller/object"
	"metascript/manifests"
	"metascript/scripts"
)

// Options configure a simulation.
type Options struct {
	Start   time.Time // the time at which a simulation begins
	Out     io.Writer
	Objects bool               // print the objects that exist at the end, and not what happens
	Folders []string           // the directories with scripts, besides those of the controllers
	Server  controller.Options // the simulation sets Config, Observer, Workers and Folders
}

// The namespaces that exist from the beginning: that of objects without a namespace, and that of the server.
const (
	defaultNamespace = metav1.NamespaceDefault
	serverNamespace  = "metacontroller"
)

// A Result counts expectations.
type Result struct{ Expectations, Failed int }

// Run does the steps of a file, and prints what happens. Its error is that the simulation could not be done; expectations that are not
// met are counted.
func Run(ctx context.Context, f *File, o Options) (result Result, err error) {
	virtualtime.Run(o.Start, func(outside *virtualtime.Outside) {
		var s *simulation
		if s, err = newSimulation(ctx, f, o, outside); err != nil {
			return
		}
		defer s.close()
		if err = s.begin(); err != nil {
			return
		}
		for i, step := range f.Steps {
			if err = s.do(i, step); err != nil {
				return
			}
		}
		result = s.result
		if o.Objects {
			err = s.printObjects(o.Out)
		}
	})
	return result, err
}

// A simulation is the state of a run.
type simulation struct {
	file    *File
	options Options
	outside context.Context // is done when the user stops the command; not of the bubble: only Err may be called
	out     *ordered
	report  *report.Reporter
	seen    *observer
	result  Result

	api     *memapi.Server
	names   names
	config  *rest.Config // of the server that is simulated
	client  dynamic.Interface
	control *controlplane.ControlPlane

	ctx     context.Context // of everything in the simulation
	stop    context.CancelFunc
	running sync.WaitGroup // of the control plane
	server  *process
	refusal refusal
	changes atomic.Int64 // how many changes were made so far, without events
	docs    []manifest.Document
	sources manifest.Sources // of the scripts of the controllers in docs
	files   scriptFiles

	notRunning map[string]string // why the latest version of a controller did not run at the end of the last step, by its name

	mu     sync.Mutex // guards latest
	latest map[string]changesOf
}

// author is the user agent of the requests of the steps.
const author = "metascript-simulate"

// agent is the user agent of the server, from which an API server derives a field manager.
const agent = "metacontroller"

func newSimulation(ctx context.Context, f *File, o Options, outside *virtualtime.Outside) (*simulation, error) {
	out := &ordered{to: o.Out}
	if o.Objects {
		out.to = io.Discard
	}
	s := &simulation{file: f, options: o, outside: ctx, out: out, report: report.New(out, false), api: memapi.New(defaultNamespace, serverNamespace), latest: map[string]changesOf{}, notRunning: map[string]string{}}
	s.report.Style = style.For(o.Out)
	s.seen = &observer{Reporter: s.report, moment: newMoment()}
	s.names = names{s.api}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.config = &rest.Config{Host: "https://simulation", Transport: s.api, QPS: -1, UserAgent: agent, WarningHandlerWithContext: rest.NoWarnings{}}
	s.options.Server.Sandbox = runOutside(o.Server.Sandbox, outside)
	ownConfig := rest.CopyConfig(s.config)
	ownConfig.UserAgent = author
	var err error
	if s.client, err = dynamic.NewForConfig(ownConfig); err != nil {
		return nil, err
	}
	if s.control, err = controlplane.New(s.api, s.config, f.Ready); err != nil {
		return nil, err
	}
	s.api.OnChange = s.changed
	s.api.Refuse = s.refusal.refuse
	return s, nil
}

// changed is called with each change of an object.
func (s *simulation) changed(c memapi.Change) {
	o := c.After
	if o == nil {
		o = c.Before
	}
	if o.GetKind() != "Event" {
		s.changes.Add(1)
		s.mu.Lock()
		s.latest[object.Describe(o)] = changesOf{s.latest[object.Describe(o)].n + 1, changedField(c.Before, c.After)}
		s.mu.Unlock()
	}
	if c.After != nil && manifest.IsController(c.After) {
		s.report.Status(c.After)
	}
	if c.UserAgent == controlplane.UserAgent {
		s.printControl(c)
	}
	s.control.Changed(c)
}

// printControl prints what the control plane does.
func (s *simulation) printControl(c memapi.Change) {
	text := ""
	switch {
	case c.After == nil:
		text = object.Describe(c.Before) + " is deleted"
	case !reflect.DeepEqual(c.Before.Map()["status"], c.After.Map()["status"]):
		text = object.Describe(c.After) + controlplane.Summary(c.After)
	default:
		return
	}
	s.report.Print(s.report.Style.Dim("control plane: " + text))
}

// begin creates the definitions and the controllers, and starts the server.
func (s *simulation) begin() error {
	own, err := manifests.CRDs()
	if err != nil {
		return err
	}
	for _, crd := range own {
		if err := s.define(crd); err != nil {
			return err
		}
	}
	if s.docs, err = s.read("crd.yaml", controllerFile); err != nil {
		return err
	}
	controllers := manifest.Controllers(s.docs)
	if len(controllers) == 0 {
		return fmt.Errorf("no CompositeController and no DecoratorController in %s", filepath.Join(s.file.dir, controllerFile))
	}
	if err := onlyScripts(controllers); err != nil {
		return err
	}
	if err := s.files.open(manifest.ScriptFolders(s.options.Folders, controllers), s.file.editsScripts()); err != nil {
		return err
	}
	s.sources = manifest.ScriptSources(s.options.Folders, s.docs)
	s.report.SetControllers(controllers, s.sources)
	s.running.Go(func() { s.control.Run(s.ctx) })
	for _, doc := range s.docs {
		if err := s.apply(doc.Object); err != nil {
			return doc.Errorf("", "%v", err)
		}
	}
	if err := s.checkRules(); err != nil {
		return err
	}
	if s.server, err = s.startServer(); err != nil {
		return err
	}
	return s.settle()
}

// checkRules returns an error if a rule about readiness is about a kind that does not exist.
func (s *simulation) checkRules() error {
	for i, rule := range s.file.Ready {
		if _, _, err := s.names.resource(rule.Kind); err != nil {
			return s.file.errorf(fmt.Sprintf("ready[%d].kind", i), "%v", err)
		}
	}
	return nil
}

// close stops everything.
func (s *simulation) close() {
	if s.server != nil {
		s.server.stop()
	}
	s.stop()
	s.running.Wait()
	s.files.close()
	s.out.Flush()
}

// A process is a server that runs.
type process struct {
	cancel context.CancelFunc
	done   chan error
}

func (s *simulation) startServer() (*process, error) {
	options := s.options.Server
	options.Config, options.Observer, options.Workers = s.config, s.seen, 1
	if len(s.files.dirs) > 0 {
		options.Folders = scripts.NewPolledFolders(s.files.dirs, options.Log)
	}
	server, err := controller.New(options)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(s.ctx)
	p := &process{cancel, make(chan error, 1)}
	go func() { p.done <- server.Run(ctx) }()
	return p, nil
}

// stop stops the server and waits until it has stopped.
func (p *process) stop() {
	p.cancel()
	<-p.done
}

const (
	quiet = 15 * time.Second // a step ends when no object has changed for this time,
	limit = 10 * time.Minute // and fails if that is not the case after this time,
	most  = 3000             // or after this number of changes
)

// settle waits until nothing happens any more. The virtual time makes it exact: it advances only while everything waits.
func (s *simulation) settle() error {
	began, last, seen := time.Now(), time.Now(), s.changes.Load()
	first := seen
	s.mu.Lock()
	clear(s.latest)
	s.mu.Unlock()
	for time.Since(last) < quiet {
		if err := cmp.Or(s.seen.moment.sleep(time.Second/4), s.outside.Err()); err != nil {
			return err
		}
		if now := s.changes.Load(); now != seen || s.control.Busy() {
			seen, last = now, time.Now()
		}
		if time.Since(began) > limit || seen-first > most {
			return s.endless(time.Since(began), seen-first)
		}
	}
	return errors.Join(s.control.Failures()...)
}

// changesOf says how often an object was changed in a step, and how the last time.
type changesOf struct {
	n    int
	last string // such as `, last status.pages from 3 to 4`, or ""
}

// changedField returns which field of an object differs, without those that the API server sets.
func changedField(before, after *object.Object) string {
	if before == nil || after == nil {
		return ""
	}
	for _, one := range partial.Differences(withoutMetadata(after), withoutMetadata(before)) {
		return ", last " + one
	}
	return ""
}

// withoutMetadata returns the fields of an object without its metadata, except for labels and annotations.
func withoutMetadata(o *object.Object) map[string]any {
	m := maps.Clone(o.Map())
	m["metadata"] = map[string]any{"labels": m["metadata"].(map[string]any)["labels"], "annotations": m["metadata"].(map[string]any)["annotations"]}
	return m
}

// endless returns the error that a step does not end.
func (s *simulation) endless(after time.Duration, changes int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var subject string
	for name, c := range s.latest {
		if c.n > s.latest[subject].n || c.n == s.latest[subject].n && name < subject {
			subject = name
		}
	}
	return fmt.Errorf("objects still change after %s and %d changes, most often %s (%d times)%s; give the step a duration with wait if that is intended",
		after.Round(time.Second), changes, subject, s.latest[subject].n, s.latest[subject].last)
}

// onlyScripts returns an error if a controller has a webhook: there is nothing that it could call.
func onlyScripts(controllers []manifest.Document) error {
	for _, doc := range controllers {
		spec, _ := doc.Object.Map()["spec"].(map[string]any)
		hooks, _ := spec["hooks"].(map[string]any)
		for name, value := range hooks {
			if hook, _ := value.(map[string]any); hook["webhook"] != nil {
				return doc.Errorf("spec.hooks."+name+".webhook", "the hook %s is a webhook; a simulation runs only scripts", name)
			}
		}
	}
	return nil
}

// read reads objects from those files of the directory that exist.
func (s *simulation) read(names ...string) ([]manifest.Document, error) {
	var all []manifest.Document
	for _, name := range names {
		paths, _ := filepath.Glob(filepath.Join(s.file.dir, name))
		docs, err := manifest.Read(paths, strings.NewReader(""))
		if err != nil {
			return nil, err
		}
		all = append(all, docs...)
	}
	return all, nil
}
