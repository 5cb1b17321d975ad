package memapi

import (
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"metascript/controller/object"
)

// A request is a request about the objects of a kind.
type request struct {
	kind *kind
	object.Key
	subresource string
	query       url.Values
	header      http.Header
	body        []byte
	warnings    []string // for the answer
}

// serve answers a call.
func (s *Server) serve(c *call) *http.Response {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.agent = c.request.Header.Get("User-Agent")
	if answer, ok := s.catalog.discover(c); ok {
		return answer
	}
	r, err := s.catalog.parse(c)
	if err != nil {
		return failure(c, err, nil)
	}
	if c.request.Method == http.MethodGet && r.Name == "" && r.flag("watch") {
		return s.watch(c, r)
	}
	code, answer, err := s.handle(c.request.Method, r)
	if err != nil {
		return failure(c, err, r.warnings)
	}
	return success(c, code, r.outline(answer), r.warnings)
}

// parse finds the kind and the object that a call is about.
func (k *catalog) parse(c *call) (*request, error) {
	path := strings.Split(strings.Trim(c.request.URL.Path, "/"), "/")
	var gv schema.GroupVersion
	switch {
	case len(path) > 2 && path[0] == "api":
		gv.Version, path = path[1], path[2:]
	case len(path) > 3 && path[0] == "apis":
		gv.Group, gv.Version, path = path[1], path[2], path[3:]
	default:
		return nil, errNoPage
	}
	notFound := k.notServed(gv)
	r := &request{query: c.request.URL.Query(), header: c.request.Header, body: c.body}
	if path[0] == "namespaces" && len(path) > 2 && path[2] != "status" && path[2] != "finalize" {
		r.Namespace, path = path[1], path[2:]
	}
	if r.kind = k.byResource(gv.WithResource(path[0])); r.kind == nil || len(path) > 3 {
		return nil, notFound
	}
	if len(path) > 1 {
		r.Name = path[1]
	}
	if len(path) > 2 {
		r.subresource = path[2]
	}
	switch {
	case r.subresource == "", r.subresource == "status" && r.kind.HasStatus, r.subresource == "finalize" && r.kind.gvk() == namespaceKind:
		return r, nil
	}
	return nil, notFound
}

// errNoPage is the error of a path that is not served.
var errNoPage = errors.New("404 page not found")

// notServed returns the error for a resource that is not served. The API server knows only the paths of its own group versions.
func (k *catalog) notServed(gv schema.GroupVersion) error {
	if !slices.ContainsFunc(k.builtin, func(one *kind) bool { return one.GroupVersion() == gv }) {
		return errNoPage
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusNotFound, Reason: metav1.StatusReasonNotFound, Message: "the server could not find the requested resource",
		Details: &metav1.StatusDetails{},
	}}
}

// handle does a request that is answered with one object or a list.
func (s *Server) handle(method string, r *request) (int, any, error) {
	if err := r.refused(method, s.Refuse); err != nil {
		return 0, nil, err
	}
	switch {
	case method == http.MethodGet && r.Name == "":
		list, err := s.list(r)
		return http.StatusOK, list, err
	case method == http.MethodGet:
		o, err := s.get(r)
		return http.StatusOK, o, err
	case method == http.MethodPost && r.Name == "":
		return s.post(r)
	case method == http.MethodPut && r.Name != "":
		o, err := r.object()
		if err != nil {
			return 0, nil, err
		}
		o, err = s.update(r, func(*object.Object) (*object.Object, error) { return o, nil })
		return http.StatusOK, o, err
	case method == http.MethodPatch && r.Name != "":
		return s.patch(r)
	case method == http.MethodDelete && r.Name == "":
		return s.deleteAll(r)
	case method == http.MethodDelete:
		return s.remove(r)
	}
	if _, builtin := r.kind.strategy.(typed); !builtin {
		return 0, nil, apierrors.NewBadRequest("name must be provided")
	}
	return 0, nil, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
		Message: "the server does not allow this method on the requested resource", Details: &metav1.StatusDetails{},
	}}
}

// refused returns the error of refuse, which is Server.Refuse, for a request that would change an object.
func (r *request) refused(method string, refuse func(Write) error) error {
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodPatch: "patch", http.MethodDelete: "delete"}[method]
	if verb == "" || refuse == nil {
		return nil
	}
	return refuse(Write{verb, r.kind.GroupVersionResource, r.kind.Kind, r.Key, r.subresource, r.header.Get("User-Agent")})
}

// resource returns the resource for errors.
func (r *request) resource() schema.GroupResource { return r.kind.GroupResource() }

// flag reports whether a parameter of the query is true.
func (r *request) flag(name string) bool {
	value := r.query.Get(name)
	return r.query.Has(name) && value != "false" && value != "0"
}

// dryRun reports whether nothing is to be stored.
func (r *request) dryRun() bool { return slices.Contains(r.query["dryRun"], metav1.DryRunAll) }

// maxManager is the maximum length of the name of a field manager.
const maxManager = 128

// manager returns the name of the field manager, by default the first part of the user agent.
func (r *request) manager() string {
	if name := r.query.Get("fieldManager"); name != "" {
		return name
	}
	agent, _, _ := strings.Cut(r.header.Get("User-Agent"), "/")
	agent = strings.Map(func(c rune) rune {
		if !unicode.IsPrint(c) {
			return -1
		}
		return c
	}, agent)
	return agent[:min(len(agent), maxManager)]
}

// object decodes the body of a create or an update, and checks that it is the object that the path names.
func (r *request) object() (*object.Object, error) {
	o, err := decode(r.body)
	if err != nil {
		return nil, apierrors.NewBadRequest("the object provided is unrecognized (must be of type " + r.kind.Kind + "): " + err.Error())
	}
	if o.GetKind() == "" && o.GetAPIVersion() == "" {
		o.SetGroupVersionKind(r.kind.gvk())
	}
	if o.GroupVersionKind() != r.kind.gvk() {
		if wrong := r.kind.strategy.otherKind(r.kind, o); wrong != nil {
			return nil, wrong
		}
		return nil, apierrors.NewBadRequest(o.GetKind() + " in version " + `"` + o.GroupVersionKind().Version + `" cannot be handled as a ` + r.kind.Kind + ": " +
			"no kind " + `"` + o.GetKind() + `" is registered for version "` + o.GetAPIVersion() + `"`)
	}
	return o, r.place(o)
}

// place sets the namespace of o to that of the path, and checks that the names agree.
func (r *request) place(o *object.Object) error {
	switch {
	case r.kind.Namespaced && o.GetNamespace() == "":
		o.SetNamespace(r.Namespace)
	case o.GetNamespace() != r.Namespace:
		return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	}
	if r.Name != "" && o.GetName() != r.Name {
		if o.GetName() == "" {
			return apierrors.NewBadRequest("name must be provided")
		}
		return apierrors.NewBadRequest("the name of the object (" + o.GetName() + ") does not match the name on the URL (" + r.Name + ")")
	}
	return nil
}

// decode decodes JSON or YAML. Integers become int64.
func decode(text []byte) (*object.Object, error) {
	if !json.Valid(text) {
		asJSON, err := yaml.YAMLToJSON(text)
		if err != nil {
			return nil, err
		}
		text = asJSON
	}
	var content map[string]any
	if err := utiljson.Unmarshal(text, &content); err != nil {
		return nil, err
	}
	if content == nil {
		return nil, errors.New("it is empty")
	}
	return object.New(content), nil
}

// selects returns the function that reports whether an object is in a list or a watch.
func (r *request) selects() (func(*object.Object) bool, error) {
	byLabels, err := labels.Parse(r.query.Get("labelSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest("unable to parse requirement: " + err.Error())
	}
	byFields, err := fields.ParseSelector(r.query.Get("fieldSelector"))
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	return func(o *object.Object) bool {
		return (r.Namespace == "" || o.GetNamespace() == r.Namespace) && byLabels.Matches(labels.Set(o.GetLabels())) && byFields.Matches(fieldsOf(o))
	}, nil
}

// fieldsOf are the fields that selectors can name.
type objectFields struct{ *object.Object }

func fieldsOf(o *object.Object) fields.Fields { return objectFields{o} }

// Has implements fields.Fields.
func (f objectFields) Has(path string) bool { return f.Get(path) != "" }

// Get implements fields.Fields.
func (f objectFields) Get(path string) string {
	value := any(f.Object.Map())
	for name := range strings.SplitSeq(path, ".") {
		m, _ := value.(map[string]any)
		value = m[name]
	}
	text, _ := value.(string)
	return text
}

// contentType returns the media type of the body.
func (r *request) contentType() string {
	mediaType, _, _ := mime.ParseMediaType(r.header.Get("Content-Type"))
	return mediaType
}
