package recording

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"reflect"
	"slices"
	"strings"
	"weak"

	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/scrub"
	"metascript/controller/spec"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// An encoder writes reconciles without the values of Secrets. The Secrets must have been added to scrub.
type encoder struct {
	out   *Writer
	scrub *scrub.Scrubber

	versions map[weak.Pointer[build.Loaded]]version // those that were written. They are not kept in memory for it
	objects  map[packed.Ref]encoded                 // those of caches that were written; most objects of a request are those of the one before
	contents map[[sha256.Size]byte]encoded          // others, by the hash of their content; most objects of an answer are as in the one before
	values   int                                    // how many values were known when contents was begun
	buffer   []byte
}

// version is a version of a controller that was written.
type version struct {
	id       string
	redacted bool
}

// encoded is an object that was written.
type encoded struct {
	digest   string
	redacted bool
}

// maxEncoded is how many objects and versions an encoder remembers. An object that is forgotten is encoded again, and found to be written.
const maxEncoded = 1 << 16

func newEncoder(out *Writer, s *scrub.Scrubber) *encoder {
	return &encoder{
		out: out, scrub: s, versions: map[weak.Pointer[build.Loaded]]version{}, objects: map[packed.Ref]encoded{}, contents: map[[sha256.Size]byte]encoded{},
	}
}

// reconcile writes a reconcile, and before it the objects and the version of the controller that were not written yet.
func (e *encoder) reconcile(r *observe.Reconcile) error {
	e.addSecrets(r)
	version, err := e.version(r)
	if err != nil {
		return err
	}
	out := &Reconcile{
		Controller: version.id, Parent: e.ref(r.Parent.Kind, r.Parent.Namespace, r.Parent.Name), UID: string(r.UID), Began: r.Began.UTC(), Took: r.Took,
		Source: string(r.Source), Again: r.Again,
	}
	if why := r.Why.String(); why != "" {
		out.Why = strings.Split(why, ",")
	}
	for _, c := range r.Causes {
		out.Causes = append(out.Causes, Cause{
			Reason: c.Reason.String(), At: c.At.UTC(), Object: e.ref(c.Object.Kind, c.Object.Namespace, c.Object.Name), Change: string(c.Change), Fields: e.texts(c.Fields),
		})
	}
	for _, c := range r.Calls {
		call, err := e.call(r.Loaded, &c)
		if err != nil {
			return err
		}
		call.Redacted = call.Redacted || version.redacted
		out.Calls = append(out.Calls, call)
	}
	for _, w := range r.Writes {
		write, err := e.write(&w)
		if err != nil {
			return err
		}
		out.Writes = append(out.Writes, write)
	}
	if r.Err != nil {
		out.Error, _ = e.scrub.Text(r.Err.Error())
	}
	return e.out.Reconcile(out)
}

// addSecrets adds the Secrets among the objects of a reconcile, also those that a hook returned.
func (e *encoder) addSecrets(r *observe.Reconcile) {
	for _, c := range r.Calls {
		e.scrub.Add(c.Request.Parent)
		sets := []*object.Set{c.Request.Children, c.Request.Related}
		if c.Response != nil {
			sets = append(sets, c.Response.Children)
		}
		for _, set := range sets {
			if set == nil {
				continue
			}
			for _, o := range set.Group(secretKind) {
				e.scrub.Add(o)
			}
		}
	}
	for _, w := range r.Writes {
		e.scrub.Add(w.Before)
		e.scrub.Add(w.Stored)
		e.scrub.Add(w.Op.Object)
	}
}

// secretKind is the kind of Secrets.
var secretKind = object.Kind{Version: "v1", Kind: "Secret"}

// version writes the version of the controller, unless it was written.
func (e *encoder) version(r *observe.Reconcile) (version, error) {
	if r.Loaded == nil {
		return version{}, nil // a reconcile of no version; a reader reports it
	}
	if v, found := e.versions[weak.Make(r.Loaded)]; found {
		return v, nil
	}
	if len(e.versions) >= maxEncoded {
		clear(e.versions)
	}
	candidate := r.Loaded.Candidate
	id := fmt.Sprintf("%s/%s@%d-%.12s", r.Kind, r.Controller, r.Loaded.Generation, r.Loaded.Identity)
	c := &Controller{ID: id, Digest: r.Loaded.Built.Digest, Scripts: map[string]Script{}}
	content, redacted, err := e.scrub.Object(spec.ForHooks(candidate.Object))
	if err != nil {
		return version{}, err
	}
	c.Object, c.Redacted = content, len(redacted) > 0
	for name, part := range candidate.Parts {
		script := Script{Language: part.Language, Entry: part.Entry, Files: map[string]string{}}
		err := fs.WalkDir(part.Files, ".", func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(part.Files, path)
			clean, changed := e.scrub.Text(string(text))
			script.Files[path], c.Redacted = clean, c.Redacted || changed
			return err
		})
		if err != nil {
			return version{}, fmt.Errorf("%s: %w", build.SpecPath(name), err)
		}
		c.Scripts[name] = script
	}
	for _, resource := range r.Loaded.Resolved.Parents {
		c.Parents = append(c.Parents, resourceOf(resource))
	}
	for _, rule := range r.Loaded.Resolved.Children {
		c.Children = append(c.Children, resourceOf(rule.Resource))
	}
	v := version{id, c.Redacted}
	e.versions[weak.Make(r.Loaded)] = v
	return v, e.out.Controller(c)
}

func resourceOf(r kube.Resource) Resource {
	return Resource{r.GroupVersion().String(), r.Kind, r.Resource, r.Namespaced, r.HasStatus}
}

// ref returns the name of an object.
func (e *encoder) ref(kind object.Kind, namespace, name string) Ref {
	return Ref{kind.GroupVersion().String(), kind.Kind, e.scrub.Name(namespace), e.scrub.Name(name)}
}

// texts returns texts without values.
func (e *encoder) texts(all []string) []string {
	var clean []string
	for _, text := range all {
		text, _ = e.scrub.Text(text)
		clean = append(clean, text)
	}
	return clean
}

// object writes an object, unless it was written. It returns its digest, and adds to *redacted whether a value of it was replaced.
func (e *encoder) object(o *object.Object, redacted *bool) (string, error) {
	written, err := e.encoded(o)
	if err != nil {
		return "", fmt.Errorf("%s: %w", object.Describe(o), err)
	}
	*redacted = *redacted || written.redacted
	return written.digest, nil
}

// encoded is object for one that is remembered.
func (e *encoder) encoded(o *object.Object) (encoded, error) {
	if content := o.Packed(); !content.IsZero() {
		return remembered(e.objects, content.Ref(), o, e.encode)
	}
	var err error
	if e.buffer, err = tree.AppendJSON(e.buffer[:0], o.Value()); err != nil {
		return encoded{}, err
	}
	sum := sha256.Sum256(e.buffer)
	if cap(e.buffer) > maxSpare {
		e.buffer = nil
	}
	if n := e.scrub.Values(); n != e.values {
		e.values = n
		clear(e.contents)
	}
	return remembered(e.contents, sum, o, e.encode)
}

// remembered returns what all has for an object, or else makes it.
func remembered[K comparable](all map[K]encoded, key K, o *object.Object, encode func(*object.Object) (encoded, error)) (encoded, error) {
	if before, found := all[key]; found {
		return before, nil
	}
	written, err := encode(o)
	if err == nil {
		if len(all) >= maxEncoded {
			clear(all)
		}
		all[key] = written
	}
	return written, err
}

// encode writes an object.
func (e *encoder) encode(o *object.Object) (encoded, error) {
	content, paths, err := e.scrub.Object(o)
	if err != nil {
		return encoded{}, err
	}
	digest, err := e.out.Object(content, paths)
	return encoded{digest, len(paths) > 0}, err
}

// groups writes the objects of a set.
func (e *encoder) groups(set *object.Set, redacted *bool) ([]Group, error) {
	if set == nil {
		return nil, nil
	}
	groups := []Group{}
	for _, kind := range set.Kinds() {
		group := Group{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Objects: []string{}}
		for _, o := range set.Group(kind) {
			digest, err := e.object(o, redacted)
			if err != nil {
				return nil, err
			}
			group.Objects = append(group.Objects, digest)
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// call writes the objects of a call and returns it.
func (e *encoder) call(loaded *build.Loaded, c *observe.Call) (Call, error) {
	out := Call{Hook: c.Name, Revision: c.Revision, Now: c.Request.Now.UTC(), Took: c.Took, Finalizing: c.Request.Finalizing}
	out.OlderScript = c.Revision != "" && loaded != nil && !isHookOf(loaded, c)
	describeHook(c.Hook, &out)
	var err error
	if out.Parent, err = e.object(c.Request.Parent, &out.Redacted); err != nil {
		return out, err
	}
	if c.Name != hook.Customize {
		if out.Children, err = e.groups(c.Request.Children, &out.Redacted); err != nil {
			return out, err
		}
		if out.Related, err = e.groups(c.Request.Related, &out.Redacted); err != nil {
			return out, err
		}
	}
	out.Random = e.random(c.Request.Draws.All())
	if c.Err != nil {
		clean, changed := e.scrub.Text(c.Err.Error())
		out.Error, out.Redacted = clean, out.Redacted || changed || strings.Contains(clean, "[redacted")
		var later *hook.RetryAfter
		if errors.As(c.Err, &later) {
			out.RetryAfter = later.After
		}
	}
	if c.Response != nil {
		out.Answer, err = e.answer(c.Name, c.Response, &out.Redacted)
	}
	return out, err
}

// random returns random values, by their labels. Those that are secret were added to scrub, with the other texts of the reconcile.
func (e *encoder) random(drawn map[string]string) map[string]string {
	clean := make(map[string]string, len(drawn))
	for label, value := range drawn {
		label, _ = e.scrub.Text(label)
		clean[label], _ = e.scrub.Text(value)
	}
	return clean
}

// isHookOf reports whether the hook that was called is one of that version.
func isHookOf(loaded *build.Loaded, c *observe.Call) bool {
	for _, h := range []hook.Hook{loaded.Built.Sync, loaded.Built.Finalize, loaded.Built.Customize} {
		if h != nil && reflect.TypeOf(h).Comparable() && h == c.Hook {
			return true
		}
	}
	return false
}

// describeHook sets what a call has of its hook.
func describeHook(h hook.Hook, out *Call) {
	switch h := h.(type) {
	case *hook.Script:
		out.RefuseMissing = h.RefuseMissing
		out.Limits = &Limits{Timeout: h.Limits.Timeout, Steps: h.Limits.Steps, Memory: h.Limits.Memory, Output: h.Limits.Output}
	case *hook.Webhook:
		out.Webhook, out.RefuseMissing = true, h.RefuseMissing
	case *hook.Fallback:
		if active, _ := h.Active(); active {
			describeHook(h.Webhook, out)
			return
		}
		describeHook(h.Script, out)
	default:
		out.Webhook = true
	}
}

// answer writes the objects of an answer and returns it.
func (e *encoder) answer(name string, r *hook.Response, redacted *bool) (*Answer, error) {
	out := &Answer{ResyncAfter: r.ResyncAfter, Finalized: r.Finalized, NotFinalized: r.NotFinalized, Settled: r.Settled}
	var err error
	if r.Status != nil {
		if out.Status, err = e.json(r.Status, redacted); err != nil {
			return nil, fmt.Errorf("the status in an answer: %w", err)
		}
	}
	out.Labels, out.Annotations = e.changes(r.Labels, redacted), e.changes(r.Annotations, redacted)
	if r.Children != nil {
		for o := range r.Children.Added() {
			digest, err := e.object(o, redacted)
			if err != nil {
				return nil, err
			}
			out.Children = append(out.Children, digest)
		}
	}
	for _, event := range r.Events {
		out.Events = append(out.Events, Event{event.Type, e.text(event.Reason, redacted), e.text(event.Message, redacted)})
	}
	for _, warning := range r.Warnings {
		out.Warnings = append(out.Warnings, e.text(warning.Error(), redacted))
	}
	if name == hook.Customize {
		out.Related, err = e.json(Rules(r.Related), redacted)
	}
	return out, err
}

// json returns a value as JSON without values of Secrets.
func (e *encoder) json(v any, redacted *bool) (json.RawMessage, error) {
	text, paths, err := e.scrub.JSON(v)
	*redacted = *redacted || len(paths) > 0
	return text, err
}

// text returns a text without values.
func (e *encoder) text(text string, redacted *bool) string {
	clean, changed := e.scrub.Text(text)
	*redacted = *redacted || changed
	return clean
}

// changes returns changes of labels or annotations without values.
func (e *encoder) changes(all hook.Changes, redacted *bool) map[string]*string {
	if len(all) == 0 {
		return nil
	}
	clean := map[string]*string{}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		value := all[key]
		if value != nil {
			text := e.text(*value, redacted)
			value = &text
		}
		clean[e.text(key, redacted)] = value
	}
	return clean
}

// Rules returns the rules of a customize hook as they are in [Answer.Related]: a list of objects with the fields apiVersion, resource,
// namespace, names, labels and namespaces, of which the last two are selectors in the form of kubectl. What is not set is left out.
func Rules(rules []hook.RelatedRule) []any {
	all := []any{}
	for _, rule := range rules {
		one := map[string]any{"apiVersion": rule.APIVersion, "resource": rule.Resource}
		if rule.Namespace != "" {
			one["namespace"] = rule.Namespace
		}
		if rule.Names != nil {
			names := []any{}
			for _, name := range rule.Names {
				names = append(names, name)
			}
			one["names"] = names
		}
		for field, selector := range map[string]labels.Selector{"labels": rule.Labels, "namespaces": rule.Namespaces} {
			if selector != nil {
				one[field] = selector.String()
			}
		}
		all = append(all, one)
	}
	return all
}

// write writes the objects of a write and returns it.
func (e *encoder) write(w *observe.Write) (Write, error) {
	var redacted bool
	out := Write{Verb: string(w.Verb), Object: e.ref(w.Op.Object.GroupVersionKind(), w.Op.Object.GetNamespace(), w.Op.Object.GetName()), Took: w.Took}
	out.Why, _ = e.scrub.Text(w.Why)
	var err error
	if w.Before != nil {
		if out.Before, err = e.object(w.Before, &redacted); err != nil {
			return out, err
		}
	}
	if w.Stored != nil && w.Err == nil {
		if out.After, err = e.object(w.Stored, &redacted); err != nil {
			return out, err
		}
	}
	if w.Err != nil {
		// Package kube has removed the values that the API server quoted.
		out.Error, _ = e.scrub.Text(w.Err.Error())
	}
	return out, nil
}
