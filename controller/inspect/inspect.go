// Package inspect serves what a server knows of parents over HTTP, to users who may read them.
//
// A [Handler] finds out by a TokenReview who sends a request, and asks the API server by SubjectAccessReviews what this user may read.
// So it shows nothing that the user could not read with kubectl. It is meant for an address of the loopback interface, which is reached
// by kubectl port-forward, or by the commands of this program, which do the same.
//
// GET /v1/why returns a [Why], what the last reconciles of a parent did, and GET /v1/tree a [Tree], its ownership tree. Other packages
// add requests with [Handler.Handle]. A request that fails has a [Problem] as its response.
//
// A server that does not lead reconciles nothing: it responds with the identity of the one that leads.
package inspect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"metascript/controller/access"
	"metascript/controller/history"
	"metascript/controller/kube"
	"metascript/controller/object"
	"metascript/controller/reconcile"
	"metascript/controller/spec"
)

// A TokenReviewer creates TokenReviews. The client of the API server implements it.
type TokenReviewer interface {
	Create(context.Context, *authenticationv1.TokenReview, metav1.CreateOptions) (*authenticationv1.TokenReview, error)
}

// A Server is what a Handler reads.
type Server struct {
	Tokens    TokenReviewer
	Rights    access.Creator
	Resources *kube.Resources
	Leader    func() (identity string, leads bool) // identity is that of the server that leads, "" if it is not known
	Running   func() []*reconcile.Reconciler
	APIServer func() string                // how the API server answers, if not well; "" otherwise
	Object    func(spec.ID) *object.Object // a controller object, from the cache; nil if it is not there
}

// A Handler serves requests. It is safe for concurrent use.
type Handler struct {
	server  Server
	history *history.History // nil: it is turned off
	reviews *reviews
	mux     *http.ServeMux
}

// Limits of the requests of this package.
const (
	maxRequests = 16               // that are served at the same time, of each pattern
	timeout     = 20 * time.Second // of one
	maxResponse = 4 << 20          // bytes
)

// New returns a Handler. kept may be nil.
func New(server Server, kept *history.History) *Handler {
	h := &Handler{server: server, history: kept, reviews: newReviews(server), mux: http.NewServeMux()}
	h.Handle("GET /v1/why", Limits{Requests: maxRequests, Timeout: timeout}, h.serveWhy)
	h.Handle("GET /v1/tree", Limits{Requests: maxRequests, Timeout: timeout}, h.serveTree)
	h.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, problemf(http.StatusNotFound, "this server does not serve %s %s", r.Method, r.URL.Path))
	})
	return h
}

// Limits limit the requests of one pattern.
type Limits struct {
	Requests int           // that are served at the same time; others get the status 429
	Timeout  time.Duration // of one; zero: none
}

// Handle adds a request. serve is called if the sender of the request is known and this server leads. Before it reads anything for the
// caller, it must ask caller.May. If it returns an error, it must not have written anything: that is the response. The error may be a
// *Problem.
func (h *Handler) Handle(pattern string, limits Limits, serve func(caller *Caller, w http.ResponseWriter, r *http.Request) error) {
	free := make(chan struct{}, limits.Requests)
	h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		select {
		case free <- struct{}{}:
			defer func() { <-free }()
		default:
			w.Header().Set("Retry-After", "1")
			fail(w, problemf(http.StatusTooManyRequests, "the server has %d such requests already: try again in a second", limits.Requests))
			return
		}
		ctx := r.Context()
		if limits.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, limits.Timeout)
			defer cancel()
		}
		if err := h.serve(serve, w, r.WithContext(ctx)); err != nil {
			fail(w, err)
		}
	})
}

func (h *Handler) serve(serve func(*Caller, http.ResponseWriter, *http.Request) error, w http.ResponseWriter, r *http.Request) error {
	caller, err := h.reviews.callerOf(r)
	if err != nil {
		return err
	}
	leader, leads := h.server.Leader()
	if leads {
		return serve(caller, w, r)
	}
	p := problemf(http.StatusServiceUnavailable, "this server does not lead, so it reconciles nothing: ask the server %s", leader)
	if p.Standby, p.Leader = true, leader; leader == "" {
		p.Message = "this server does not lead, so it reconciles nothing; no server leads at the moment"
	}
	return p
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) { h.mux.ServeHTTP(w, r) }

// A Problem is the response of a request that failed.
type Problem struct {
	Status  int    `json:"status"` // of the response
	Message string `json:"message"`
	Standby bool   `json:"standby,omitempty"` // the server does not lead
	Leader  string `json:"leader,omitempty"`  // the identity of the server that leads, if this one does not
}

// Error implements error.
func (p *Problem) Error() string { return p.Message }

func problemf(status int, format string, args ...any) *Problem {
	return &Problem{Status: status, Message: fmt.Sprintf(format, args...)}
}

// fail responds with an error.
func fail(w http.ResponseWriter, err error) {
	var p *Problem
	switch {
	case errors.As(err, &p):
	case errors.Is(err, context.DeadlineExceeded):
		p = problemf(http.StatusGatewayTimeout, "the server could not respond in %s: %v", timeout, err)
	default:
		p = problemf(http.StatusInternalServerError, "%v", err)
	}
	begin(w)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // the caller is gone if this fails
}

// respond responds with a value, unless it is too large.
func respond(w http.ResponseWriter, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if len(text) > maxResponse {
		return problemf(http.StatusInsufficientStorage, "the response has %d bytes, more than %d: name one controller with the parameter controller", len(text), maxResponse)
	}
	begin(w)
	_, _ = w.Write(append(text, '\n')) // the caller is gone if this fails
	return nil
}

func begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
}
