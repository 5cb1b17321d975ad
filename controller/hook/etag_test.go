package hook

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

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
	h.Cache = NewResponseCache(0, 0)
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
		h.Cache = NewResponseCache(0, 0)
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

func TestCachedResponsesExpire(t *testing.T) {
	for _, c := range []struct {
		timeout, cleanup, wait time.Duration
		kept                   bool
	}{
		{0, 0, defaultCacheTimeout - 1, true},
		{0, 0, defaultCacheTimeout, false},
		{time.Minute, 0, time.Minute - 1, true},
		{time.Minute, 0, time.Minute, false},
		{0, time.Second, time.Minute, true},
		{-time.Second, -time.Second, time.Minute, true},
	} {
		a, now := NewResponseCache(c.timeout, c.cleanup), time.Now()
		a.now = func() time.Time { return now }
		a.put(cacheKey{parent: "u"}, "e", []byte("x"))
		now = now.Add(c.wait)
		if found, kept := a.get(cacheKey{parent: "u"}); kept != c.kept || (found.etag != "") != c.kept {
			t.Errorf("timeout %s, cleanup %s: after %s %q is kept: %t, want %t", c.timeout, c.cleanup, c.wait, found.etag, kept, c.kept)
		}
	}
}

func TestExpiredResponsesAreDeleted(t *testing.T) {
	a, now := NewResponseCache(time.Minute, 5*time.Minute), time.Now()
	a.now = func() time.Time { return now }
	a.get(cacheKey{})
	a.put(cacheKey{parent: "old"}, "e", []byte("x"))
	now = now.Add(4 * time.Minute)
	a.put(cacheKey{parent: "new"}, "e", []byte("x"))
	a.get(cacheKey{})
	if n := a.kept.Len(); n != 2 {
		t.Errorf("before the cleanup %d responses are cached, want 2", n)
	}
	now = now.Add(time.Minute - 1)
	a.get(cacheKey{})
	now = now.Add(1)
	a.get(cacheKey{})
	if n, bytes := a.kept.Len(), a.bytes; n != 0 || bytes != 0 {
		t.Errorf("%d responses of %d bytes are cached, want none", n, bytes)
	}
}

func TestCacheSizeIsLimited(t *testing.T) {
	a := NewResponseCache(0, 0)
	half := make([]byte, maxCacheBytes/2)
	for i := range 5 {
		a.put(cacheKey{parent: types.UID(fmt.Sprint(i))}, "e", half)
		if a.bytes > maxCacheBytes {
			t.Errorf("%d bytes are cached, want %d at most", a.bytes, maxCacheBytes)
		}
	}
	if _, kept := a.get(cacheKey{parent: "4"}); !kept {
		t.Error("the last response is not cached")
	}
	a.put(cacheKey{parent: "4"}, "e", make([]byte, maxCacheBytes))
	if _, kept := a.get(cacheKey{parent: "4"}); kept || a.bytes != 0 {
		t.Errorf("after a response that is too large %d bytes are cached (of the response before: %t), want none", a.bytes, kept)
	}
}
