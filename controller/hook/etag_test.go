package hook

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/etags"
	"metascript/controller/object/objecttest"
)

// A tagger answers with a status that holds body's text and with an ETag, and notes what it was asked with.
type tagger struct {
	body, etag string
	unchanged  int // the status for a request that has the ETag
	seen       []string
}

func (s *tagger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	s.seen = append(s.seen, r.Header.Get("If-None-Match"))
	w.Header().Set("ETag", s.etag)
	if s.etag != "" && r.Header.Get("If-None-Match") == s.etag {
		w.WriteHeader(s.unchanged)
		return
	}
	_, _ = io.WriteString(w, s.body)
}

// tagged gives a webhook that keeps answers, and its server.
func tagged(t *testing.T) (*Webhook, *tagger) {
	s := &tagger{body: `{"status":{"a":1}}`, etag: `"one"`, unchanged: http.StatusNotModified}
	h := serve(t, s.ServeHTTP)
	h.Cache = etags.New(0, 0)
	return h, s
}

func TestUnchangedResponseIsReadFromCache(t *testing.T) {
	for _, unchanged := range []int{http.StatusNotModified, http.StatusPreconditionFailed} {
		h, s := tagged(t)
		s.unchanged = unchanged
		for range 2 {
			if got := ask(t, h, newRequest(t)).Status["a"]; got != int64(1) {
				t.Errorf("status.a is %v, want 1", got)
			}
		}
		s.body, s.etag = `{"status":{"a":2}}`, `"two"`
		for range 2 {
			if got := ask(t, h, newRequest(t)).Status["a"]; got != int64(2) {
				t.Errorf("status.a is %v, want 2", got)
			}
		}
		if diff := cmp.Diff([]string{"", `"one"`, `"one"`, `"two"`}, s.seen); diff != "" {
			t.Errorf("status %d: the requests had If-None-Match (-want +got):\n%s", unchanged, diff)
		}
	}
}

func TestNotModifiedWithoutCachedResponseIsAnError(t *testing.T) {
	for _, code := range []int{http.StatusNotModified, http.StatusPreconditionFailed} {
		h := answerWith(t, code, "")
		h.Cache = etags.New(0, 0)
		if _, err := h.Call(t.Context(), newRequest(t)); !strings.HasPrefix(fault(t, h, err), fmt.Sprintf("status %d ", code)) {
			t.Errorf("status %d: error %v", code, err)
		}
	}
}

func TestResponseWithoutETagIsNotCached(t *testing.T) {
	h, s := tagged(t)
	s.etag = ""
	ask(t, h, newRequest(t))
	ask(t, h, newRequest(t))
	if diff := cmp.Diff([]string{"", ""}, s.seen); diff != "" {
		t.Errorf("the requests had If-None-Match (-want +got):\n%s", diff)
	}
}

// Otherwise it would be used until the server returns another response.
func TestInvalidResponseIsNotCached(t *testing.T) {
	h, s := tagged(t)
	for _, broken := range []string{`{"status":`, `{"status":1}`} {
		s.body = broken
		if _, err := h.Call(t.Context(), newRequest(t)); err == nil {
			t.Errorf("%s is no error", broken)
		}
	}
	if diff := cmp.Diff([]string{"", ""}, s.seen); diff != "" {
		t.Errorf("the requests had If-None-Match (-want +got):\n%s", diff)
	}
}

// The parent of an old revision has the name and UID of the latest, and must never get the answer about it.
func TestResponsesAreCachedPerRevisionOfParent(t *testing.T) {
	h, s := tagged(t)
	latest := newRequest(t)
	ask(t, h, latest)
	for name, change := range map[string]func(*Request){
		"the spec of an old revision":     func(r *Request) { r.Parent.Map()["spec"] = map[string]any{"replicas": int64(1)} },
		"annotations of an old revision":  func(r *Request) { r.Parent.SetAnnotations(map[string]string{"a": "b"}) },
		"labels of an old revision":       func(r *Request) { r.Parent.SetLabels(map[string]string{"a": "b"}) },
		"another parent":                  func(r *Request) { r.Parent.SetUID("u2") },
		"a field of ours at the top":      func(r *Request) { r.Parent.Map()["data"] = map[string]any{} },
		"another parent of the same name": func(r *Request) { r.Parent.SetUID(types.UID("u3")) },
	} {
		req := newRequest(t)
		change(req)
		ask(t, h, req)
		if last := s.seen[len(s.seen)-1]; last != "" {
			t.Errorf("%s: the request had If-None-Match %s, want none", name, last)
		}
	}
	latest.Parent.Map()["status"] = map[string]any{"ready": int64(2)}
	latest.Parent.SetResourceVersion("7")
	check := unchanged(t, latest)
	ask(t, h, latest)
	check()
	if last := s.seen[len(s.seen)-1]; last != `"one"` {
		t.Errorf("another status: the request had If-None-Match %q, want the answer's ETag", last)
	}
	latest.Parent = objecttest.Packed(t, latest.Parent)
	ask(t, h, latest)
	if last := s.seen[len(s.seen)-1]; last != `"one"` {
		t.Errorf("the parent of a cache: the request had If-None-Match %q, want the answer's ETag", last)
	}
}

// A cached response from which nothing follows is not decoded.
func TestSettledResponseIsNotDecoded(t *testing.T) {
	h, s := tagged(t)
	first := ask(t, h, newRequest(t))
	if first.Cached == 0 || first.Settled {
		t.Fatalf("the first response is %+v", first)
	}
	var settled []etags.ID
	req := newRequest(t)
	req.Settled = func(cached etags.ID) bool {
		settled = append(settled, cached)
		return len(settled) == 2
	}
	for n, want := range []bool{false, true, false} {
		got := ask(t, h, req)
		if got.Settled != want || (got.Status == nil) != want || got.Cached != first.Cached {
			t.Errorf("response %d is %+v, want one that is settled: %t", n, got, want)
		}
	}
	s.etag = `"two"`
	if got := ask(t, h, req); got.Settled || got.Cached == 0 || got.Cached == first.Cached {
		t.Errorf("the response with another ETag is %+v", got)
	}
	s.etag = ""
	if got := ask(t, h, req); got.Settled || got.Cached != 0 {
		t.Errorf("the response without an ETag is %+v", got)
	}
	if diff := cmp.Diff([]etags.ID{first.Cached, first.Cached, first.Cached}, settled); diff != "" {
		t.Errorf("Settled was asked about (-want +got):\n%s", diff)
	}
}
