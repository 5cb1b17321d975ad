// Package replay makes the calls of a recording again, with an edited controller, and compares the answers.
//
// [Run] reads the recording, makes the calls on all CPUs, and sums up the results:
//
//   - controllers.go makes the hooks of the edited controller and of those in the recording
//   - objects.go has the recorded calls, and call.go makes one again
//   - answers.go and differences.go compare two answers
//   - effects.go plans the writes that follow from an answer
//   - groups.go sums up the results; report.go, expect.go and text.go have the output
//   - case.go makes a case of "metascript test" of a call
//
// The result does not depend on the order in which the calls end: they are summed up in the order of the recording.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/cmd/metascript/internal/place"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/build"
	"metascript/controller/kinds"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/plan"
	"metascript/controller/recording"
	"metascript/engine"
	"metascript/scripts"
)

// Options say what is replayed.
type Options struct {
	File       *recording.File
	Controller *object.Object // the edited controller
	Sandbox    build.Sandbox
	Sources    scripts.Sources // of the scripts of the edited controller
	Kinds      kinds.Table     // the kinds that are known without the recording

	Namespace string // of the parents; "": all
	Parent    string // the name of a parent; "": all
	Call      int    // the number of a call; 0: all

	Expect  []string              // the differences that are expected; see Matches
	Locate  func(err error) error // adds the place in the files to an error in a script; nil: nothing is added
	Workers int                   // how many calls are made at a time; default: one for each CPU
}

// A run is one run of a replay.
type run struct {
	*Options
	versions []*recording.Controller // of the controller, in the recording
	finder   *finder

	edited   *loaded
	recorded map[string]*loaded // by the ID; nil: it has no scripts, or they do not load,
	failed   map[string]error   // and why
	report   *reporter
}

// Run replays the calls of a recording.
func Run(ctx context.Context, o Options) (*Report, error) {
	r := &run{Options: &o, recorded: map[string]*loaded{}, failed: map[string]error{}}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	r.report = newReporter(r)
	if err := r.replayAll(ctx); err != nil {
		return nil, err
	}
	return r.report.finish(), r.checkParents()
}

// prepare makes the hooks.
func (r *run) prepare(ctx context.Context) error {
	r.finder = &finder{recorded: map[schema.GroupVersionResource]kube.Resource{}, offline: &kube.Offline{Kinds: r.Kinds}}
	if err := r.findVersions(); err != nil {
		return err
	}
	for _, c := range r.versions {
		r.finder.add(c.Parents)
		r.finder.add(c.Children)
	}
	var err error
	if r.edited, err = newController(ctx, r.given(), nil, r.Options, r.finder); err != nil {
		return err
	}
	for _, c := range r.versions {
		r.recorded[c.ID] = nil
		if len(c.Scripts) > 0 {
			if r.recorded[c.ID], err = recordedController(ctx, c, r.Options, r.finder); err != nil {
				r.recorded[c.ID], r.failed[c.ID] = nil, err
			}
		}
	}
	return ctx.Err()
}

// maxNamed is how long the name of a controller of a recording is in a message.
const maxNamed = 300

// findVersions finds the versions of the controller in the recording. It is an error if there is none.
func (r *run) findVersions() error {
	var others []string
	for _, c := range r.File.Controllers {
		o, err := decodeObject(c.Object)
		switch name := ""; {
		case err != nil: // a line that was edited; its calls cannot be replayed
		case o.GetKind() == r.Controller.GetKind() && o.GetName() == r.Controller.GetName():
			r.versions = append(r.versions, c)
		default:
			if name = engine.Clip(object.Describe(o), maxNamed); !slices.Contains(others, name) {
				others = append(others, name)
			}
		}
	}
	switch {
	case len(r.versions) > 0:
		return nil
	case len(others) == 0:
		return r.unusable("the recording has no controllers")
	}
	return r.unusable("the recording has no calls of %s: it has those of %s", object.Describe(r.Controller), strings.Join(place.FirstTexts(others), ", "))
}

// unusable returns an error about the recording, with what is wrong with the file: that may be the reason.
func (r *run) unusable(format string, args ...any) error {
	return fmt.Errorf("%s: %w", r.File.Path, errors.Join(append([]error{fmt.Errorf(format, args...)}, r.File.Problems...)...))
}

// checkParents returns an error if no call could be replayed because the parents are of other kinds, or if there are no calls.
func (r *run) checkParents() error {
	name, p := object.Describe(r.Controller), r.report
	switch {
	case p.calls == 0:
		return r.unusable("the recording has no calls of %s", name)
	case p.report.Calls == 0:
		return r.unusable("the recording has %s of %s, and none is selected", count(p.calls, "call", "calls"), name)
	}
	for kind := range p.kinds {
		if r.edited.Rule(kind) != nil {
			return nil
		}
	}
	return fmt.Errorf("%s: the parents in the recording are of the kind %s, and those of %s in the file are of the kind %s", r.File.Path, strings.Join(kindNames(p.kinds), ", "), name, r.edited.parentKinds())
}

// NeedsWorkers reports whether a script in a recording runs in worker processes.
func NeedsWorkers(file *recording.File) bool {
	return slices.ContainsFunc(file.Controllers, func(c *recording.Controller) bool {
		for _, script := range c.Scripts {
			if script.Language == engine.TypeScript {
				return true
			}
		}
		o, err := decodeObject(c.Object)
		return err == nil && o.TextAt("spec", "isolation") == string(v1alpha1.IsolationProcess)
	})
}

// given returns the edited controller with what the API server had set when it was recorded, for scripts that read it. It has no
// resourceVersion, by which an engine would take it for the recorded one.
func (r *run) given() *object.Object {
	o := object.Copy(r.Controller)
	before, err := decodeObject(r.versions[len(r.versions)-1].Object)
	if err != nil {
		return o
	}
	if o.GetUID() == "" {
		o.SetUID(before.GetUID())
	}
	if o.GetGeneration() == 0 {
		o.SetGeneration(before.GetGeneration())
	}
	if created := o.GetCreationTimestamp(); created.IsZero() {
		o.SetCreationTimestamp(before.GetCreationTimestamp())
	}
	o.SetResourceVersion("")
	return o
}

// maxPending limits the memory in bytes of the calls that are read and not summed up: a slow one must not let those after it fill the
// memory. At most 1024 are read.
const (
	maxPending = 256 << 20
	minPending = maxPending >> 10
)

// replayAll does the second pass. One goroutine reads, several make calls, and the results are summed up in the order of the calls.
func (r *run) replayAll(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workers := cmp.Or(r.Workers, runtime.GOMAXPROCS(0))
	jobs, results := make(chan *job, 2*workers), make(chan *result, 2*workers)
	pending := semaphore.NewWeighted(maxPending)
	var reading error
	go func() {
		defer close(jobs)
		reading = r.read(ctx, func(j *job) bool {
			if pending.Acquire(ctx, j.weight()) != nil {
				return false
			}
			jobs <- j
			return true
		})
	}()
	var calling sync.WaitGroup
	for range workers {
		calling.Go(func() {
			for j := range jobs {
				results <- r.replay(ctx, j)
			}
		})
	}
	go func() { calling.Wait(); close(results) }()
	r.report.addAll(results, func(j *job) { pending.Release(j.weight()) })
	return errors.Join(reading, ctx.Err())
}

// errStopped ends the reading.
var errStopped = errors.New("stopped")

// read reads the recording, and passes the selected calls to do, until it returns false.
func (r *run) read(ctx context.Context, do func(*job) bool) error {
	serverSide, number, position := false, 0, 0
	err := r.File.Each(func(rec *recording.Recorded) error {
		recorded, ofController := r.recorded[rec.Controller]
		if !ofController {
			return nil
		}
		for _, w := range rec.Writes {
			serverSide = serverSide || w.Verb == string(plan.Apply)
		}
		selected := r.selects(rec.Parent)
		for i := range rec.Calls {
			if number++; !selected || r.Call != 0 && r.Call != number {
				continue
			}
			if !do(&job{number: number, position: position, call: &rec.Calls[i], of: rec, recorded: recorded, serverSide: serverSide}) {
				return errStopped
			}
			position++
		}
		return nil
	})
	r.report.calls = number
	if errors.Is(err, errStopped) {
		return ctx.Err()
	}
	return err
}
