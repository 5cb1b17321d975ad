package pods

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/apimachinery/pkg/runtime/serializer/versioning"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// A Server serves lists and watches of Pods, in JSON. The Pods have managedFields, and belong to nobody. Their texts are made before, so
// that it needs little CPU time.
type Server struct {
	// Events are sent to watches, each to one of them. See Server.Event.
	Events chan string

	texts []string // of the Pods, with the placeholder
	metas []metav1.PartialObjectMetadata
}

// placeholder stands for the resourceVersion in a text.
const placeholder = "VERSION"

// NewServer returns a Server of n Pods.
func NewServer(n int) (*Server, error) {
	s := &Server{Events: make(chan string)}
	for i := range n {
		p := New(Name(i), i)
		meta := p["metadata"].(map[string]any)
		meta["resourceVersion"], meta["managedFields"] = placeholder, managedFields()
		delete(meta, "ownerReferences")
		text, err := json.Marshal(p)
		if err != nil {
			return nil, err
		}
		s.texts = append(s.texts, string(text))
		var only metav1.PartialObjectMetadata
		if err := json.Unmarshal(text, &only); err != nil {
			return nil, err
		}
		s.metas = append(s.metas, only)
	}
	return s, nil
}

// managedFields returns those of a Pod that the manager of its controller and the kubelet have written.
func managedFields() []any {
	fields := map[string]any{}
	for _, of := range []string{"spec", "status"} {
		in := map[string]any{}
		for i := range 20 {
			in[fmt.Sprintf("f:someFieldOfThePod%d", i)] = map[string]any{".": map[string]any{}, "f:name": map[string]any{}}
		}
		fields["f:"+of] = in
	}
	entry := func(manager string) any {
		return map[string]any{"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": fields}
	}
	return []any{entry("kube-controller-manager"), entry("kubelet")}
}

// Version returns the resourceVersion of a Pod, which grows with round and i.
func Version(i, round int) string { return fmt.Sprint(round*1_000_000 + i) }

// Event returns the text of a watch event of Pod i.
func (s *Server) Event(kind string, i, round int) string {
	return `{"type":"` + kind + `","object":` + versioned(s.texts[i], i, round) + "}\n"
}

// versioned returns a text with a resourceVersion.
func versioned(text string, i, round int) string {
	before, after, _ := strings.Cut(text, placeholder)
	return before + Version(i, round) + after
}

// ServeHTTP serves a streaming list with a watch, or a list in parts.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	n := len(s.texts)
	// No Pod has a label that is asked for, and each lacks the one that must not be there.
	if selector := r.URL.Query().Get("labelSelector"); selector != "" && !strings.HasPrefix(selector, "!") {
		n = 0
	}
	if r.URL.Query().Get("watch") == "" {
		s.list(w, r, n)
	} else {
		s.watch(w, r, n)
	}
}

// list serves the part of the list of the first n Pods that is asked for: as JSON, or only the metadata, in the format of Protobuf.
func (s *Server) list(w http.ResponseWriter, r *http.Request, n int) {
	from, _ := strconv.Atoi(r.URL.Query().Get("continue"))
	until, next := n, ""
	if limit, _ := strconv.Atoi(r.URL.Query().Get("limit")); limit > 0 && from+limit < n {
		until = from + limit
		next = strconv.Itoa(until)
	}
	meta := metav1.ListMeta{ResourceVersion: Version(n, 1), Continue: next}
	if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
		w.Header().Set("Content-Type", runtime.ContentTypeProtobuf)
		_ = encoder.Encode(&metav1.PartialObjectMetadataList{ListMeta: meta, Items: s.metas[from:until]}, w)
		return
	}
	head, _ := json.Marshal(meta)
	_, _ = fmt.Fprintf(w, `{"kind":"PodList","apiVersion":"v1","metadata":%s,"items":[`, head)
	for i := from; i < until; i++ {
		if i > from {
			_, _ = w.Write([]byte(","))
		}
		_, _ = w.Write([]byte(versioned(s.texts[i], i, 1)))
	}
	_, _ = w.Write([]byte("]}\n"))
}

// encoder encodes lists of metadata.
var encoder = func() runtime.Encoder {
	scheme := runtime.NewScheme()
	utilruntime.Must(metav1.AddMetaToScheme(scheme))
	serializer := protobuf.NewSerializer(scheme, scheme)
	return versioning.NewDefaultingCodecForScheme(scheme, serializer, nil, metav1.SchemeGroupVersion, nil)
}()

// watch sends the first n Pods if the watch begins with a list, and then the events.
func (s *Server) watch(w http.ResponseWriter, r *http.Request, n int) {
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		for i := range n {
			_, _ = w.Write([]byte(s.Event("ADDED", i, 1)))
		}
		_, _ = fmt.Fprintf(w, `{"type":"BOOKMARK","object":{"kind":"Pod","apiVersion":"v1","metadata":{"resourceVersion":%q,"annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", Version(n, 1))
	}
	for {
		w.(http.Flusher).Flush()
		select {
		case <-r.Context().Done():
			return
		case text := <-s.Events:
			_, _ = w.Write([]byte(text))
		}
	}
}
