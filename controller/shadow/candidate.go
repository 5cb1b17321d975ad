package shadow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"metascript/controller/account"
	"metascript/controller/binding"
	"metascript/controller/build"
	"metascript/controller/call"
	"metascript/controller/hook"
	"metascript/controller/observe"
	"metascript/controller/redact"
	"metascript/controller/spec"
	"metascript/controller/throttle"
	"metascript/engine"
	"metascript/scripts"
)

// A candidate is one version of a candidate, beside one version that runs. Only the goroutine of its controller uses its breakers and
// exceeded.
type candidate struct {
	key     string // two candidates with the same key are equal, and are compared with the same version
	source  string
	digest  string // "sha256:..."
	live    string // the digest of the scripts that run, as observe.Reconcile has it
	share   int
	rolls   bool // revisions refer to scripts: older ones have other scripts than those that run
	d       *spec.Declaration
	part    scripts.Assembled
	binding *binding.Binding
	running *call.Version // is in key by its address

	hooks    map[string]hook.Hook // those that spec.script serves, by their names
	beside   map[string]hook.Hook // the same hooks of the version that runs
	breakers map[string]*throttle.Breaker
	exceeded int // how often it exceeded a limit
}

// read reads the source of the candidate. It returns nil if there is nothing to compare it with.
func (s *shadowed) read(ctx context.Context, in *Input) (*candidate, error) {
	d, err := in.Declaration.WithShadow()
	if err != nil {
		return nil, err
	}
	percent, err := spec.ShadowShare(in.Declaration.Settings.Shadow)
	if err != nil {
		return nil, err
	}
	if in.Live == nil || in.Live.Loaded == nil || in.Live.Loaded.Built.Missing != "" || in.Builder == nil {
		return nil, nil
	}
	b := s.builder(in)
	wanted := b.Wanted(d)[""]
	s.reads.Store(&wanted) // a change from now on may or may not be in what is read
	if err := s.watch(ctx, in, &wanted); err != nil {
		return nil, err
	}
	made, failed := b.Sources.AssembleAll(map[string]scripts.Wanted{"": wanted}, false)
	if err := failed[""]; err != nil {
		return nil, fmt.Errorf("spec.shadow.script: %w", err)
	}
	c := &candidate{
		d: d, part: made[""], source: made[""].Source, share: percent, live: in.Live.Loaded.Built.Digest, rolls: d.ScriptRevisions,
		binding: in.Binding, running: in.Live, breakers: map[string]*throttle.Breaker{},
	}
	digest, err := c.part.Script.Digest(engine.Limits{Source: build.MaxSource})
	if err != nil {
		return nil, fmt.Errorf("spec.shadow.script: %w", err)
	}
	c.digest = "sha256:" + digest
	settings, err := json.Marshal(d.Script)
	c.key = fmt.Sprintf("%p %s %d %s", in.Live, digest, percent, settings)
	return c, err
}

// builder returns the Builder for a candidate.
func (s *shadowed) builder(in *Input) *build.Builder {
	b := *in.Builder
	b.Shadow, b.Log, b.Observe, b.Before = true, nil, nil, nil
	if in.Live != nil && in.Live.Loaded != nil {
		b.Before = &in.Live.Loaded.Built // whose webhooks are not called
	}
	return &b
}

// watch watches the ConfigMaps of the candidate, and waits until they can be read.
func (s *shadowed) watch(ctx context.Context, in *Input, wanted *scripts.Wanted) error {
	o := &s.of.options
	if o.References == nil {
		return nil
	}
	configMaps := build.ConfigMapsOf(wanted)
	if o.MayLoad != nil {
		if err := o.MayLoad(account.Of(in.Declaration.Settings.ServiceAccount), configMaps); err != nil {
			return fmt.Errorf("spec.shadow.script: %w", err)
		}
	}
	if err := o.References.Watch(s, s.reload, configMaps...); err != nil {
		return err
	}
	o.References.WaitForSyncOrError(ctx, s)
	return nil
}

// build compiles a candidate that was read, and finds its hooks.
func (s *shadowed) build(ctx context.Context, in *Input, c *candidate) error {
	parts := build.Parts{}
	if loaded := in.Live.Loaded.Candidate; loaded != nil {
		maps.Copy(parts, loaded.Parts)
	}
	parts[""] = c.part
	built, err := s.builder(in).Build(ctx, c.d, parts)
	if err != nil {
		return fmt.Errorf("spec.shadow.script: %w", err)
	}
	c.hooks, c.beside = c.served(built.Sync, built.Finalize, built.Customize), c.served(in.Live.Sync, in.Live.Finalize, in.Live.Customize)
	if len(c.hooks) == 0 {
		return spec.ErrServesNone
	}
	for name := range c.hooks {
		c.breakers[name] = throttle.NewBreaker(func() {})
	}
	return nil
}

// served returns the scripts among hooks that spec.script serves.
func (c *candidate) served(sync, finalize, customize hook.Hook) map[string]hook.Hook {
	all := map[string]hook.Hook{}
	for name, h := range map[string]hook.Hook{hook.Sync: sync, hook.Finalize: finalize, hook.Customize: customize} {
		if fallback, is := h.(*hook.Fallback); is {
			h = fallback.Script
		}
		if script, is := h.(*hook.Script); is && c.d.UsesScript(name) {
			all[name] = script.Quiet()
		}
	}
	return all
}

// compares reports whether a call of the version that runs can be compared.
func (c *candidate) compares(one observe.Call) bool {
	switch {
	case one.Request == nil || c.rolls && one.Revision != "", errors.Is(one.Err, context.Canceled), engine.IsKind(one.Err, engine.KindCanceled):
		return false
	case one.Err == nil && (one.Response == nil || one.Response.Settled):
		return false
	}
	return c.hooks[one.Name] != nil || c.hooks[hook.Customize] != nil
}

// isFault reports whether the candidate fails although the script that runs does not, with liveErr. To exceed a limit is a fault whatever
// the script that runs does.
func isFault(err, liveErr error) bool {
	return err != nil && (liveErr == nil || errors.Is(err, errDropped) || engine.IsLimit(err))
}

// errDropped says that the candidate was not called.
var errDropped = errors.New("the candidate was not called")

// compare calls the candidate for a reconcile.
func (c *candidate) compare(ctx context.Context, j *job) *observe.Comparison {
	ctx = redact.NewContext(ctx, j.redactor)
	found := &observe.Comparison{About: j.about, UID: j.uid, Began: j.began, Script: c.digest, Live: c.live, Result: observe.Agrees}
	for _, one := range j.calls {
		if one.Name != hook.Customize && c.compares(one) && found.Result == observe.Agrees {
			c.compareCall(ctx, one, j.redactor, found)
		}
	}
	found.At = time.Now()
	if errors.Is(found.Err, errDropped) || engine.IsKind(found.Err, engine.KindCanceled) {
		return &observe.Comparison{
			About: j.about, UID: j.uid, Began: j.began, At: found.At, Script: c.digest, Live: c.live, Result: observe.Dropped,
		}
	}
	texts := []string{found.Difference, found.Child.Name}
	for _, w := range found.Writes {
		texts = append(texts, w.Text, w.Object.Name)
	}
	texts = j.redactor.Texts(texts)
	found.Difference, found.Child.Name, found.Err = texts[0], texts[1], j.redactor.Error(found.Err)
	for i := range found.Writes {
		found.Writes[i].Text, found.Writes[i].Object.Name = texts[2*i+2], texts[2*i+3]
	}
	return found
}

// compareCall compares one call of the sync or the finalize hook.
func (c *candidate) compareCall(ctx context.Context, live observe.Call, redactor *redact.Redactor, found *observe.Comparison) {
	differ := func(what string) { found.Result, found.Difference = observe.Differs, what }
	if what := c.otherHooks(); what != "" {
		differ(what)
		return
	}
	if c.hooks[hook.Customize] != nil {
		if what, err := c.compareCustomize(ctx, live, found); err != nil {
			found.Result, found.Err = observe.Failed, err
			return
		} else if what != "" {
			differ("customize: " + what)
			return
		}
	}
	if c.hooks[live.Name] == nil {
		return
	}
	req := *live.Request
	req.Recorder, req.Settled, req.Draws = nil, nil, nil
	answer, err := c.call(ctx, live.Name, &req, found)
	switch {
	case isFault(err, live.Err):
		found.Result, found.Err = observe.Failed, err
	case err == nil && live.Err != nil:
		differ("the candidate answers, and the script that runs fails: " + engine.DetailOf(live.Err))
	case err == nil:
		redactor.AddSets(answer.Children)
		if what, child := difference(live.Response, answer); what != "" {
			differ(what)
			found.Child = child
			found.Writes, found.More = writes(c.binding, &req, live.Response, answer)
		}
	}
}

// otherHooks says which hook only one of the versions has; "" if both have the same.
func (c *candidate) otherHooks() string {
	for _, name := range []string{hook.Sync, hook.Finalize, hook.Customize} {
		switch has, had := c.hooks[name] != nil, c.beside[name] != nil; {
		case has && !had:
			return "only the candidate has the hook " + name
		case had && !has:
			return "the candidate does not have the hook " + name
		}
	}
	return ""
}

// compareCustomize calls the customize hook of both versions: the reconcile most often had its answer from before.
func (c *candidate) compareCustomize(ctx context.Context, live observe.Call, found *observe.Comparison) (string, error) {
	req := hook.Request{
		Shape: hook.Customizing, Controller: live.Request.Controller, Parent: live.Request.Parent, Children: live.Request.Children,
		Now: live.Request.Now, Versioned: live.Request.Versioned,
	}
	now, liveErr := c.beside[hook.Customize].Call(ctx, &req)
	then, err := c.call(ctx, hook.Customize, &req, found)
	switch {
	case isFault(err, liveErr):
		return "", err
	case err == nil && liveErr != nil:
		return "the candidate answers, and the script that runs fails: " + engine.DetailOf(liveErr), nil
	case err != nil:
		return "", nil // both fail
	}
	return relatedDifference(now.Related, then.Related), nil
}

// call calls a hook of the candidate, unless its breaker prevents it.
func (c *candidate) call(ctx context.Context, name string, req *hook.Request, found *observe.Comparison) (*hook.Response, error) {
	breaker, parent, input := c.breakers[name], found.Parent, throttle.InputFor(req.Parent, name)
	if breaker.Admit(parent, input, time.Now()) != nil {
		return nil, errDropped
	}
	began := time.Now()
	answer, err := c.hooks[name].Call(ctx, req)
	found.Took += time.Since(began)
	if engine.IsLimit(err) {
		c.exceeded++
	}
	_ = breaker.Note(parent, input, err, time.Now()) // it returns err with what a reconcile would do
	return answer, err
}

// text returns what a comparison found, for the condition.
func text(c *observe.Comparison) string {
	if c.Err != nil {
		return "the candidate fails: " + engine.DetailOf(c.Err)
	}
	if len(c.Writes) == 0 {
		return c.Difference
	}
	const shown = 3
	var all []string
	for _, w := range c.Writes[:min(len(c.Writes), shown)] {
		all = append(all, w.Text)
	}
	more := ""
	if n := len(c.Writes) - len(all) + c.More; n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return c.Difference + "; the candidate would " + strings.Join(all, ", ") + more
}
