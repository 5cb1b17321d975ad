package memapi

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"metascript/controller/object"
)

// notLatest is the message of a conflict about the resourceVersion.
const notLatest = "the object has been modified; please apply your changes to the latest version and try again"

// post creates an object, or answers a review, which is not stored.
func (s *Server) post(r *request) (int, any, error) {
	o, err := r.object()
	if err != nil {
		return 0, nil, err
	}
	if isReview(r.kind) {
		return http.StatusCreated, permitted(o), nil
	}
	o, err = s.create(r, o)
	return http.StatusCreated, o, err
}

// create stores a new object. It changes o.
func (s *Server) create(r *request, o *object.Object) (*object.Object, error) {
	if err := r.normalize(o); err != nil {
		return nil, err
	}
	if err := s.checkNamespace(r, o); err != nil {
		return nil, err
	}
	if o.GetResourceVersion() != "" {
		return nil, errors.New("resourceVersion should not be set on objects to be created")
	}
	o.SetManagedFields(nil)
	o, err := r.kind.recordUpdate(r.kind.empty(), o, r.manager(), "")
	if err != nil {
		return nil, err
	}
	return s.insert(r, o)
}

// insert stores a new object whose managed fields are up to date.
func (s *Server) insert(r *request, o *object.Object) (*object.Object, error) {
	s.complete(r.kind, o)
	path := field.NewPath("metadata")
	errs := validation.ValidateObjectMetaAccessor(o, r.kind.Namespaced, validNames(r.kind), path)
	if err := r.invalid(o.GetName(), r.kind.strategy.validate(o, nil, errs)); err != nil {
		return nil, err
	}
	if s.objects[r.resource()][object.KeyOf(o)] != nil {
		return nil, apierrors.NewAlreadyExists(r.resource(), o.GetName())
	}
	if err := s.catalog.define(r.kind, nil, o, r.dryRun()); err != nil {
		return nil, err
	}
	if !r.dryRun() {
		s.store(r.kind, nil, o)
	}
	return o, nil
}

// complete sets the fields of a new object that only the API server sets.
func (s *Server) complete(k *kind, o *object.Object) {
	if o.GetName() == "" && o.GetGenerateName() != "" {
		o.SetName(o.GetGenerateName() + s.names.suffix(o.GetGenerateName()))
	}
	unset(o, "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "resourceVersion")
	o.SetCreationTimestamp(metav1.NewTime(time.Now()))
	o.SetUID(s.names.uid(k, o))
	if k.generations {
		o.SetGeneration(1)
	}
	if k.HasStatus {
		delete(o.Map(), "status")
	}
	k.begin(o)
}

// unset removes fields of the metadata.
func unset(o *object.Object, names ...string) {
	metadata, _ := o.Map()["metadata"].(map[string]any)
	for _, name := range names {
		delete(metadata, name)
	}
}

// checkNamespace returns an error if the namespace of a new object does not exist, or is being deleted.
func (s *Server) checkNamespace(r *request, o *object.Object) error {
	if !r.kind.Namespaced {
		return nil
	}
	namespace := s.objects[namespaceResource.GroupResource()][object.Key{Name: o.GetNamespace()}]
	switch {
	case namespace == nil:
		return apierrors.NewNotFound(namespaceResource.GroupResource(), o.GetNamespace())
	case object.Deleting(namespace):
		err := apierrors.NewForbidden(r.resource(), o.GetName(), fmt.Errorf("unable to create new content in namespace %s because it is being terminated", o.GetNamespace()))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
			Type: "NamespaceTerminating", Message: fmt.Sprintf("namespace %s is being terminated", o.GetNamespace()), Field: "metadata.namespace",
		})
		return err
	}
	return nil
}

// normalize sets defaults of an object that a client sent, and removes unknown fields, about which the answer has warnings. With
// fieldValidation=Strict they are an error.
func (r *request) normalize(o *object.Object) error {
	unknown, err := r.kind.strategy.normalize(o)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if err := normalizeMetadata(o); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	slices.Sort(unknown)
	var warnings []string
	for _, path := range unknown {
		warnings = append(warnings, fmt.Sprintf("unknown field %q", path))
	}
	switch r.query.Get("fieldValidation") {
	case metav1.FieldValidationIgnore:
	case metav1.FieldValidationStrict:
		if len(warnings) > 0 {
			return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: strict decoding error: %s", r.kind.Kind, r.kind.Version, r.kind.Kind, joined(warnings)))
		}
	default:
		r.warnings = append(r.warnings, warnings...)
	}
	return nil
}

// normalizeMetadata removes what is empty in the metadata.
func normalizeMetadata(o *object.Object) error {
	metadata, _, err := objectmeta.GetObjectMeta(o.Map(), false)
	if err != nil || metadata == nil {
		return err
	}
	return objectmeta.SetObjectMeta(o.Map(), metadata)
}

// update replaces an object by the result of change, which is called with a copy of the object and may change it.
func (s *Server) update(r *request, change func(*object.Object) (*object.Object, error)) (*object.Object, error) {
	before := s.objects[r.resource()][r.Key]
	if before == nil {
		return nil, apierrors.NewNotFound(r.resource(), r.Name)
	}
	before = r.kind.inVersion(before)
	o, err := change(object.Copy(before))
	if err != nil {
		return nil, err
	}
	if err := r.normalize(o); err != nil {
		return nil, err
	}
	if o, err = r.kind.recordUpdate(object.Copy(before), o, r.manager(), r.subresource); err != nil {
		return nil, err
	}
	return s.replace(r, before, o)
}

// replace stores a changed object whose managed fields are up to date.
func (s *Server) replace(r *request, before, o *object.Object) (*object.Object, error) {
	if err := checkVersion(r, before, o); err != nil {
		return nil, err
	}
	if err := r.place(o); err != nil {
		return nil, err
	}
	o = r.restrict(before, o)
	o.SetGeneration(before.GetGeneration())
	if r.kind.generations && !apiequality.Semantic.DeepEqual(r.content(before), r.content(o)) {
		o.SetGeneration(before.GetGeneration() + 1)
	}
	errs := validation.ValidateObjectMetaAccessorUpdate(o, before, field.NewPath("metadata"))
	if err := r.invalid(o.GetName(), r.kind.strategy.validate(o, before, errs)); err != nil {
		return nil, err
	}
	if err := s.catalog.define(r.kind, before, o, r.dryRun()); err != nil {
		return nil, err
	}
	keepTimes(before, o)
	switch {
	case r.dryRun(), apiequality.Semantic.DeepEqual(before.Map(), o.Map()):
		return o, nil
	case object.Deleting(o) && !held(o):
		s.store(r.kind, o, nil)
	default:
		s.store(r.kind, before, o)
	}
	return o, nil
}

// checkVersion compares the resourceVersion and the UID of o, if it has any, with those of the stored object.
func checkVersion(r *request, before, o *object.Object) error {
	switch version := o.GetResourceVersion(); {
	case o.GetUID() != "" && o.GetUID() != before.GetUID():
		return apierrors.NewConflict(r.resource(), r.Name, fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: "+
			"Precondition failed: UID in precondition: %s, UID in object meta: %s", r.storageKey(), o.GetUID(), before.GetUID()))
	case version == before.GetResourceVersion():
	case version == "" && r.kind.unconditional:
		o.SetResourceVersion(before.GetResourceVersion())
	case version == "":
		required := field.Invalid(field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")
		return apierrors.NewInvalid(schema.GroupKind{Group: r.kind.Group, Kind: r.resource().Resource}, r.Name, field.ErrorList{required})
	default:
		return apierrors.NewConflict(r.resource(), r.Name, errors.New(notLatest))
	}
	return nil
}

// storageKey returns the key of the object in etcd.
func (r *request) storageKey() string {
	parts := []string{"/registry", r.kind.Group, r.resource().Resource, r.Namespace, r.Name}
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "/")
}

// invalid returns the error for what is wrong with an object. The API server returns the errors of a schema in any order; here they are
// sorted. Those of a definition stay in the order of its parts.
func (r *request) invalid(name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	if r.kind.gvk() == crdKind {
		return apierrors.NewInvalid(crdKind.GroupKind(), name, errs)
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int { return cmp.Compare(order(a), order(b)) })
	return apierrors.NewInvalid(r.kind.gvk().GroupKind(), name, errs)
}

// order returns the key by which errors are sorted: that rules were not checked is last.
func order(err *field.Error) string {
	if err.Field == "<nil>" {
		return "~"
	}
	return err.Field
}

// restrict returns o with the fields of before that the request cannot change: those of the metadata that the API server sets, the
// status if it is a subresource, and with the subresource everything else.
func (r *request) restrict(before, o *object.Object) *object.Object {
	switch r.subresource {
	case "":
		if r.kind.HasStatus {
			setOrDelete(o.Map(), "status", before.Map()["status"])
		}
	case "finalize":
		only := object.Copy(before)
		setOrDelete(only.Map(), "spec", o.Map()["spec"])
		o = only
	default:
		only := object.Copy(before)
		setOrDelete(only.Map(), "status", o.Map()["status"])
		only.SetManagedFields(o.GetManagedFields())
		o = only
	}
	o.SetUID(before.GetUID())
	o.SetCreationTimestamp(before.GetCreationTimestamp())
	o.SetDeletionTimestamp(before.GetDeletionTimestamp())
	o.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	return o
}

func setOrDelete(m map[string]any, key string, value any) {
	if value == nil {
		delete(m, key)
		return
	}
	m[key] = value
}

// content returns the part of o whose changes count as a generation.
func (r *request) content(o *object.Object) map[string]any {
	content := map[string]any{}
	for key, value := range o.Map() {
		if key != "metadata" && !(key == "status" && r.kind.HasStatus) {
			content[key] = value
		}
	}
	return content
}

// keepTimes keeps the times in the managed fields if nothing else has changed, so that the object is equal to before.
func keepTimes(before, o *object.Object) {
	old, changed := before.GetManagedFields(), o.GetManagedFields()
	same := slices.EqualFunc(old, changed, func(a, b metav1.ManagedFieldsEntry) bool {
		a.Time, b.Time = nil, nil
		return apiequality.Semantic.DeepEqual(a, b)
	})
	if !same {
		return
	}
	with := object.Copy(o)
	with.SetManagedFields(old)
	if apiequality.Semantic.DeepEqual(before.Map(), with.Map()) {
		o.SetManagedFields(old)
	}
}

// store makes a change, and notifies the watches. before is nil if after is created, after is nil if before is deleted.
func (s *Server) store(k *kind, before, after *object.Object) {
	s.version++
	change := Change{Resource: k.GroupVersionResource, Before: before, After: after, UserAgent: s.agent, version: s.version}
	if after != nil {
		after.SetResourceVersion(strconv.FormatInt(s.version, 10))
		if s.objects[k.GroupResource()] == nil {
			s.objects[k.GroupResource()] = map[object.Key]*object.Object{}
		}
		s.objects[k.GroupResource()][object.KeyOf(after)] = object.Copy(after)
		change.After = s.objects[k.GroupResource()][object.KeyOf(after)]
	} else {
		delete(s.objects[k.GroupResource()], object.KeyOf(before))
	}
	s.history = append(s.history, change)
	for w := range s.watches {
		w.notify(change)
	}
	if s.OnChange != nil {
		s.OnChange(change)
	}
}
