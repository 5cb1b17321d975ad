package simulation

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/memapi"
	"metascript/cmd/metascript/internal/place"
	"metascript/controller/object"
	"metascript/engine"
)

// do does the i-th step, prints it, and checks its expectations. Its errors have the place of the step.
func (s *simulation) do(i int, step *Step) error {
	at := fmt.Sprintf("steps[%d]", i)
	s.out.Flush()
	s.report.Section(fmt.Sprintf("step %d: %s", i+1, step.title()))
	if i > 0 { // the start of the server belongs to the first step
		s.seen.begin()
	}
	s.refusal.set(step.Refuse)
	defer s.refusal.set(nil)
	failed := s.act(at, step)
	ends := s.settle
	if step.Wait != nil {
		ends = func() error { return s.seen.moment.sleep(step.Wait.Duration) }
	}
	if err := ends(); err != nil {
		return s.file.inStep(i, at, err)
	}
	if failed != nil && (step.Expect == nil || step.Expect.Error == "") {
		return s.file.inStep(i, at+step.actionField(), failed)
	}
	if err := s.check(at, step.Expect, failed); err != nil {
		return s.file.inStep(i, at, err)
	}
	return nil
}

// inStep returns the error of a step with its place, unless it has one in another file.
func (f *File) inStep(i int, field string, err error) error {
	if placed := (*place.Error)(nil); errors.As(err, &placed) && placed.Line > 0 {
		placed.Msg = fmt.Sprintf("step %d: %s", i+1, placed.Msg)
		return err
	}
	return f.errorf(field, "step %d: %v", i+1, err)
}

// act does the action of a step, which is in a field of the file.
func (s *simulation) act(field string, step *Step) error {
	switch {
	case step.Apply != nil:
		return s.applyAll(field+".apply", step.Apply)
	case step.Patch != nil:
		return s.patch(step.Patch.Object, step.Patch.Merge)
	case step.Delete != "":
		return s.delete(step.Delete)
	case step.Script != nil:
		return s.edit(step.Script)
	case step.Ready != "":
		return s.withObject(step.Ready, func(o *object.Object) error { return s.control.Ready(s.ctx, o) })
	case step.Fail != "":
		return s.withObject(step.Fail, func(o *object.Object) error { return s.control.Fail(s.ctx, o) })
	case step.Status != nil:
		return s.withObject(step.Status.Object, func(o *object.Object) error { return s.control.SetStatus(s.ctx, o, step.Status.Set) })
	case step.Restart:
		s.server.stop()
		var err error
		s.server, err = s.startServer()
		return err
	}
	return nil
}

// applyAll applies the objects of a step, which are in a field of the file.
func (s *simulation) applyAll(field string, objects *Objects) error {
	var all []manifest.Document
	for _, one := range objects.items {
		docs, err := s.file.objectsOf(field+one.path, one)
		if err != nil {
			return err
		}
		all = append(all, docs...)
	}
	for _, doc := range all {
		if err := s.apply(doc.Object); err != nil {
			return refused(doc, err)
		}
	}
	return nil
}

// objectsOf returns the objects of an item of a step, which is in a field of the file.
func (f *File) objectsOf(field string, one item) ([]manifest.Document, error) {
	if one.object != nil {
		value, _ := f.value.Find(field)
		return manifest.Objects(f.path, value, runtime.DeepCopyJSON(one.object))
	}
	if err := f.within(one.file); err != nil {
		return nil, f.errorf(field, "%v", err)
	}
	docs, err := manifest.Read([]string{filepath.Join(f.dir, one.file)}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.errorf(field, "there is no file %s%s", filepath.Join(f.dir, one.file), likeFile(one.file, f.dir))
	}
	return docs, err
}

// within returns an error if a file is not below the directory, or a link leads out of it: hooks would get what is in it.
func (f *File) within(name string) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%s is not in %s", name, f.dir)
	}
	in, err := os.OpenRoot(cmp.Or(f.dir, "."))
	if err != nil {
		return err
	}
	defer in.Close()
	if _, err := in.Stat(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// typedField matches the error of the API server about a field that has another type, and goValue the value in it.
var (
	typedField = regexp.MustCompile(`^(.*?: )failed to create typed patch object \(.*?\): \.([^\s:]+): (.*)$`)
	goValue    = regexp.MustCompile(`got &value\.valueUnstructured\{Value:(.*)\}`)
)

// refused returns the error of applying an object, with the place of the object in its file. If the API server names a field, it is that
// of the first one.
func refused(doc manifest.Document, err error) error {
	field, msg := "", err.Error()
	if match := typedField.FindStringSubmatch(msg); match != nil {
		field, msg = match[2], match[1]+match[2]+": "+goValue.ReplaceAllString(match[3], "got $1")
	} else if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		if details := status.Status().Details; details != nil && len(details.Causes) > 0 {
			field = details.Causes[0].Field
		}
	} else {
		field = "kind"
	}
	e := doc.Errorf(field, "%s", msg)
	e.About = ""
	return e
}

// likeFile returns the end of a message about a file that does not exist in a directory: the one that was probably meant.
func likeFile(name, dir string) string {
	stem := func(name string) string { return strings.TrimSuffix(name, filepath.Ext(name)) }
	entries, _ := os.ReadDir(dir) // without a list there is no hint
	byStem := map[string]string{}
	for _, entry := range entries {
		byStem[stem(entry.Name())] = entry.Name()
	}
	if same := byStem[stem(name)]; same != "" {
		return fmt.Sprintf("; did you mean %q?", same)
	}
	if like := engine.Nearest(stem(name), slices.Sorted(maps.Keys(byStem))); like != "" {
		return fmt.Sprintf("; did you mean %q?", byStem[like])
	}
	return ""
}

// apply does a server-side apply, like kubectl apply --server-side: an unknown field is an error. If the namespace of the object does
// not exist, it is created. A controller has no account here, since everything is permitted.
func (s *simulation) apply(o *object.Object) error {
	resource, namespaced, ok := s.api.Resource(o.GroupVersionKind())
	if !ok {
		return fmt.Errorf("%s: the kind %s is not defined in %s%s", object.Describe(o), o.GetKind(), o.GetAPIVersion(), s.names.undefined(o.GroupVersionKind()))
	}
	o = object.Copy(o)
	if namespaced && o.GetNamespace() == "" {
		o.SetNamespace(defaultNamespace)
	}
	if namespaced && s.api.Get(schema.GroupResource{Resource: "namespaces"}, object.Key{Name: o.GetNamespace()}) == nil {
		namespace := object.New(map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": o.GetNamespace()}})
		if err := s.apply(namespace); err != nil {
			return err
		}
	}
	if manifest.IsController(o) {
		unstructured.RemoveNestedField(o.Map(), "spec", "serviceAccount")
	}
	text, err := json.Marshal(o.Map())
	if err != nil {
		return err
	}
	force := true
	options := metav1.PatchOptions{FieldManager: author, Force: &force, FieldValidation: metav1.FieldValidationStrict}
	_, err = s.of(resource, o.GetNamespace()).Patch(s.ctx, o.GetName(), types.ApplyPatchType, text, options)
	return describe(err, "apply", o)
}

func describe(err error, verb string, o *object.Object) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", verb, object.Describe(o), err)
	}
	return nil
}

// define creates a CustomResourceDefinition.
func (s *simulation) define(crd *apiextensionsv1.CustomResourceDefinition) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		return err
	}
	o := object.New(content)
	o.SetGroupVersionKind(apiextensionsv1.SchemeGroupVersion.WithKind(manifest.KindCRD))
	unstructured.RemoveNestedField(o.Map(), "status")
	unstructured.RemoveNestedField(o.Map(), "metadata", "creationTimestamp")
	return s.apply(o)
}

func (s *simulation) of(resource schema.GroupVersionResource, namespace string) dynamic.ResourceInterface {
	if namespace == "" {
		return s.client.Resource(resource)
	}
	return s.client.Resource(resource).Namespace(namespace)
}

// patch changes fields of an object.
func (s *simulation) patch(reference string, fields map[string]any) error {
	return s.withObject(reference, func(o *object.Object) error {
		text, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		resource, _, _ := s.api.Resource(o.GroupVersionKind())
		_, err = s.of(resource, o.GetNamespace()).Patch(s.ctx, o.GetName(), types.MergePatchType, text, metav1.PatchOptions{FieldManager: author, FieldValidation: metav1.FieldValidationStrict})
		return describe(err, "patch", o)
	})
}

func (s *simulation) delete(reference string) error {
	return s.withObject(reference, func(o *object.Object) error {
		resource, _, _ := s.api.Resource(o.GroupVersionKind())
		background := metav1.DeletePropagationBackground
		return describe(s.of(resource, o.GetNamespace()).Delete(s.ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &background}), "delete", o)
	})
}

// edit replaces the script of a controller, in the controller object or in the copy of its file.
func (s *simulation) edit(e *Edit) error {
	o, err := s.controller(e.Controller)
	if err != nil {
		return err
	}
	script, _, _ := unstructured.NestedMap(o.Map(), "spec", "script")
	if name, _ := script["file"].(string); name != "" {
		return s.files.edit(name, func(text string) (string, error) { return s.file.edited(e, object.Describe(o), text) })
	}
	text, inline := script["inline"].(string)
	if !inline {
		return fmt.Errorf("%s has neither spec.script.inline nor spec.script.file, which a step can edit", object.Describe(o))
	}
	if text, err = s.file.edited(e, object.Describe(o), text); err != nil {
		return err
	}
	return s.patch(object.Describe(o), map[string]any{"spec": map[string]any{"script": map[string]any{"inline": text}}})
}

// edited returns a script after an edit.
func (f *File) edited(e *Edit, of, text string) (string, error) {
	if e.File != "" {
		if err := f.within(e.File); err != nil {
			return "", err
		}
		content, err := os.ReadFile(filepath.Join(f.dir, e.File))
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no file %s%s", filepath.Join(f.dir, e.File), likeFile(e.File, f.dir))
		}
		return string(content), err
	}
	if n := strings.Count(text, e.Replace); n != 1 {
		return "", fmt.Errorf("script.replace must be in the script of %s exactly once, and is in it %d times: %q", of, n, e.Replace)
	}
	return strings.Replace(text, e.Replace, *e.With, 1), nil
}

// controller returns the controller with a name, or the only one.
func (s *simulation) controller(name string) (*object.Object, error) {
	var found []*object.Object
	var names []string
	for _, doc := range manifest.Controllers(s.docs) {
		names = append(names, doc.GetName())
		if name != "" && doc.GetName() != name {
			continue
		}
		o, err := s.names.find(object.Describe(doc.Object))
		if err != nil {
			return nil, err
		}
		found = append(found, o)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case name == "":
		return nil, fmt.Errorf("there are several controllers; name one: script.controller is one of %s", strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("there is no controller %s; the controllers are %s%s", name, strings.Join(names, ", "), didYouMean(name, names))
}

// withObject calls f with an object that a step names.
func (s *simulation) withObject(reference string, f func(*object.Object) error) error {
	o, err := s.names.find(reference)
	if err != nil {
		return err
	}
	return f(o)
}

// A refusal refuses requests of the server.
type refusal struct {
	mu   sync.Mutex // guards the fields below
	rule *Refusal
	left int
}

// set replaces the rule; nil refuses nothing.
func (r *refusal) set(rule *Refusal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rule = rule; rule != nil {
		r.left = rule.Times
	}
}

// refuse implements memapi.Server.Refuse.
func (r *refusal) refuse(w memapi.Write) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.rule == nil || w.UserAgent != agent || r.rule.Kind != w.Kind || r.rule.Verb != "" && r.rule.Verb != w.Verb || r.rule.Name != "" && r.rule.Name != w.Name {
		return nil
	}
	if r.rule.Times > 0 {
		if r.left == 0 {
			return nil
		}
		r.left--
	}
	return r.rule.err(w)
}

func (r *Refusal) err(w memapi.Write) error {
	code, message := r.Code, r.Message
	if code == 0 {
		code = 403
	}
	if message == "" {
		message = "refused by the simulation"
	}
	if code == 403 {
		return apierrors.NewForbidden(w.Resource.GroupResource(), w.Name, errors.New(message))
	}
	err := apierrors.NewGenericServerResponse(int(code), w.Verb, w.Resource.GroupResource(), w.Name, message, 0, false)
	err.ErrStatus.Message = message
	return err
}
