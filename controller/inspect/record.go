package inspect

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/object"
	"metascript/controller/observe"
	"metascript/controller/recording"
	"metascript/controller/spec"
)

// Recordings are what a Handler needs for GET /v1/record.
type Recordings struct {
	Program string                  // the version of the server
	Live    *recording.Live         // is among the Sinks of the server
	Secrets func() []*object.Object // those in the caches of the server
}

// The limits of recordings. A user that needs more records again.
const (
	maxRecordings      = 8 // at the same time
	maxOfUser          = 2 // of one user, or of all ServiceAccounts of a namespace
	recordingQueue     = 16 << 20
	maxRecordingTime   = 24 * time.Hour
	maxRecordingBytes  = 16 << 30
	recordingTime      = 10 * time.Minute // the default
	recordingBytes     = 100 << 20        // the default
	recordingWriteTime = time.Minute      // after which a client that reads nothing is given up
)

// ServeRecordings adds the request GET /v1/record. Its response is a recording, which is sent while it is made; see package recording. The
// parameters are controller, which can be repeated, namespace, parent, for and bytes.
//
// The caller must be permitted to get each controller object that is named, or to list all if none is named, and to list the parents of
// those that run in the namespace, or everywhere without one. A reconcile is recorded only if the caller may list each kind of object in it,
// in the namespace of the object: the parent, children, related objects, and ConfigMaps with the scripts.
func (h *Handler) ServeRecordings(r Recordings) {
	running := &runningRecordings{of: map[string]int{}}
	h.Handle("GET /v1/record", Limits{Requests: maxRecordings}, func(caller *Caller, w http.ResponseWriter, req *http.Request) error {
		return h.serveRecord(r, running, caller, w, req)
	})
	h.Handle("DELETE /v1/record/{id}", Limits{Requests: maxRequests, Timeout: timeout}, running.serveEnd)
}

// RecordingHeader is the header of a response of GET /v1/record with the ID of the recording. DELETE /v1/record/ID, by the same user, ends the
// recording with the line that a complete one has.
const RecordingHeader = "Metascript-Recording"

// runningRecordings are the recordings that are being made, by their IDs.
type runningRecordings struct {
	all sync.Map // map[string]runningRecording

	mu sync.Mutex     // guards of
	of map[string]int // how many, by user
}

// begin counts a recording of a user. The caller must call end after it. It returns an error if the user has too many.
func (r *runningRecordings) begin(user string) (end func(), err error) {
	user = tenantOf(user)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of[user] >= maxOfUser {
		return nil, problemf(http.StatusTooManyRequests, "%s has %d recordings already: end one, or wait until it ends", strconv.Quote(user), maxOfUser)
	}
	r.of[user]++
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.of[user]--; r.of[user] == 0 {
			delete(r.of, user)
		}
	}, nil
}

// tenantOf returns the user; for a ServiceAccount, those of its namespace, of which who may create one may create many.
func tenantOf(user string) string {
	if namespace, _, found := strings.Cut(strings.TrimPrefix(user, serviceAccounts), ":"); found && strings.HasPrefix(user, serviceAccounts) {
		return serviceAccounts + namespace
	}
	return user
}

const serviceAccounts = "system:serviceaccount:"

// A runningRecording can be ended by its user.
type runningRecording struct {
	user string
	end  context.CancelFunc
}

// serveEnd ends a recording.
func (r *runningRecordings) serveEnd(caller *Caller, w http.ResponseWriter, req *http.Request) error {
	found, _ := r.all.Load(req.PathValue("id"))
	if one, ok := found.(runningRecording); ok && one.user == caller.Username {
		one.end()
		return respond(w, struct{}{})
	}
	return problemf(http.StatusNotFound, "there is no recording of yours with this ID; it may have ended")
}

func (h *Handler) serveRecord(from Recordings, running *runningRecordings, caller *Caller, w http.ResponseWriter, r *http.Request) error {
	filter, err := filterOf(r.URL.Query())
	if err != nil {
		return err
	}
	if err := h.mayRecord(r.Context(), caller, filter); err != nil {
		return err
	}
	done, err := running.begin(caller.Username)
	if err != nil {
		return err
	}
	defer done()
	out := &stream{http.NewResponseController(w), w}
	recorder := recording.New(recording.Options{
		Filter: *filter, Program: from.Program, Secrets: from.Secrets, May: h.mayList(r.Context(), caller),
		Flushed: func(recording.Progress) { out.flush() }, Queue: recordingQueue, Parents: h.parents,
	})
	defer from.Live.Add(recorder)()
	ctx, end := context.WithCancel(r.Context())
	defer end()
	id := rand.Text()
	running.all.Store(id, runningRecording{caller.Username, end})
	defer running.all.Delete(id)
	w.Header().Set(RecordingHeader, id)
	w.Header().Set("Content-Type", "application/gzip")
	w.Header().Set("Cache-Control", "no-store")
	// The client is gone if this fails, or the last line says why the recording ended.
	_, _ = recorder.Run(ctx, out)
	return nil
}

// parents returns the parents of all controllers that run.
func (h *Handler) parents() (all []observe.About) {
	for _, r := range h.server.Running() {
		b := r.Binding()
		for key := range b.ReconciledKeys() {
			if parent := b.Parent(key); parent != nil && b.Has(parent) {
				all = append(all, observe.About{Kind: b.Kind, Controller: b.Name, Parent: key})
			}
		}
	}
	return all
}

// A stream is a response that is sent at once.
type stream struct {
	control *http.ResponseController
	http.ResponseWriter
}

// Write implements io.Writer. A client that does not read is not waited for, so that its recording ends.
func (s *stream) Write(p []byte) (int, error) {
	s.extend()
	return s.ResponseWriter.Write(p)
}

func (s *stream) flush() {
	s.extend()
	_ = s.control.Flush() // Write reports that the client is gone
}

// extend gives the client time to read what is written next.
func (s *stream) extend() {
	_ = s.control.SetWriteDeadline(time.Now().Add(recordingWriteTime)) // a writer without deadlines is one of a test
}

// filterOf reads the parameters of a request.
func filterOf(values url.Values) (*recording.Filter, error) {
	f := &recording.Filter{Controllers: values["controller"], Namespace: values.Get("namespace"), Parent: values.Get("parent"), For: recordingTime, Bytes: recordingBytes}
	if text := values.Get("for"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 || d > maxRecordingTime {
			return nil, problemf(http.StatusBadRequest, "the parameter for is %q, want a time such as 10m, of at most %s", text, maxRecordingTime)
		}
		f.For = d
	}
	if text := values.Get("bytes"); text != "" {
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Value() <= 0 || q.Value() > maxRecordingBytes {
			return nil, problemf(http.StatusBadRequest, "the parameter bytes is %q, want a quantity such as 100Mi, of at most %dGi", text, maxRecordingBytes>>30)
		}
		f.Bytes = q.Value()
	}
	for name := range values {
		if !slices.Contains([]string{"controller", "namespace", "parent", "for", "bytes"}, name) {
			return nil, problemf(http.StatusBadRequest, "there is no parameter %s: the parameters are controller, namespace, parent, for and bytes", strconv.Quote(name))
		}
	}
	return f, nil
}

// mayRecord returns an error if the caller may not read the controller objects of a filter, or their parents, or if none of them runs.
func (h *Handler) mayRecord(ctx context.Context, caller *Caller, f *recording.Filter) error {
	for _, kind := range []string{v1alpha1.KindCompositeController, v1alpha1.KindDecoratorController} {
		if len(f.Controllers) == 0 {
			if err := caller.May(ctx, "list", controllers(kind), "", ""); err != nil {
				return err
			}
		}
	}
	running := map[string]bool{}
	for _, r := range h.server.Running() {
		b := r.Binding()
		if len(f.Controllers) > 0 && !slices.Contains(f.Controllers, b.Name) {
			continue
		}
		running[b.Name] = true
		if len(f.Controllers) > 0 {
			if err := caller.May(ctx, "get", controllers(b.ID.Kind), "", b.Name); err != nil {
				return err
			}
		}
		for _, parent := range b.Parents {
			namespace := f.Namespace
			if !parent.Namespaced {
				namespace = ""
			}
			if err := caller.May(ctx, "list", parent.GroupResource(), namespace, ""); err != nil {
				return err
			}
		}
	}
	for _, name := range f.Controllers {
		if !running[name] {
			// Whether it exists is told only to who may get all controller objects: an error for one that does not run must not differ.
			if err := caller.May(ctx, "list", controllers(v1alpha1.KindCompositeController), "", ""); err != nil {
				return err
			}
			return problemf(http.StatusNotFound, "no controller %s runs on this server", strconv.Quote(name))
		}
	}
	return nil
}

// controllers returns the resource of controller objects of a kind.
func controllers(kind string) schema.GroupResource { return spec.Resources[kind].GroupResource() }

// rightAge is how long a right of a user is not asked for again while a recording is made.
const rightAge = time.Minute

// mayList returns a function that reports whether the caller may list the objects of a kind in a namespace. Only one goroutine calls it.
// What cannot be found out is denied.
func (h *Handler) mayList(ctx context.Context, caller *Caller) func(object.Kind, string) bool {
	type place struct {
		kind      object.Kind
		namespace string
	}
	type known struct {
		allowed bool
		at      time.Time
	}
	answers := map[place]known{}
	return func(kind object.Kind, namespace string) bool {
		at := place{kind, namespace}
		if before, found := answers[at]; found && time.Since(before.at) < rightAge {
			return before.allowed
		}
		found, err := h.resource(kind)
		if err == nil {
			err = caller.May(ctx, "list", found.GroupResource(), namespace, "")
		}
		answers[at] = known{err == nil, time.Now()}
		return err == nil
	}
}
