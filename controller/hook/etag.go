package hook

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"maps"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/bodies"
)

// What Answers keeps unless it is told otherwise, and at most.
const (
	answersTimeout = time.Hour
	answersCleanup = 10 * time.Minute
	answersBytes   = 64 << 20 // of one webhook
	answerOverhead = 256      // bytes that an answer takes beside its text
)

// Answers are those of one webhook that its server gave an ETag. They are asked for again with If-None-Match, so that
// the server need not send them once more. Those used least recently are forgotten first when they grow too large. It
// is safe for concurrent use.
type ResponseCache struct {
	// Room is what the answers of all webhooks take together; nil: they are not bounded together.
	Budget *bodies.Budget

	timeout, cleanup time.Duration
	now              func() time.Time

	mu    sync.Mutex
	kept  *simplelru.LRU[cacheKey, cachedResponse]
	bytes int
	swept time.Time
}

// An answerKey tells parents apart, and the revisions of one parent, each of which is asked about.
type cacheKey struct {
	parent   types.UID
	revision [sha256.Size]byte
}

type cachedResponse struct {
	etag  string
	body  []byte
	until time.Time
}

func (a cachedResponse) size() int { return len(a.body) + len(a.etag) + answerOverhead }

// NewAnswers keeps answers for timeout and removes older ones every cleanup; zero and below are defaults.
func NewResponseCache(timeout, cleanup time.Duration) *ResponseCache {
	a := &ResponseCache{
		timeout: cmp.Or(max(timeout, 0), answersTimeout), cleanup: cmp.Or(max(cleanup, 0), answersCleanup), now: time.Now,
	}
	a.kept, _ = simplelru.NewLRU(answersBytes/answerOverhead, func(_ cacheKey, gone cachedResponse) { a.forgotten(gone) }) // fails only for no size
	return a
}

func (a *ResponseCache) forgotten(gone cachedResponse) {
	a.bytes -= gone.size()
	if a.Budget != nil {
		a.Budget.GiveBack(int64(gone.size()))
	}
}

// Clear forgets all answers.
func (a *ResponseCache) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept.Purge()
}

// keyOf tells what distinguishes the parent of req, and the revision of it, from others: all but its status and what
// the API server keeps in its metadata.
func keyOf(req *Request) cacheKey {
	fields := maps.Clone(req.Parent.Object)
	delete(fields, "status")
	fields["metadata"] = []any{req.Parent.GetLabels(), req.Parent.GetAnnotations()}
	text, _ := json.Marshal(fields) // the request, which has all of it, is marshalled too
	return cacheKey{req.Parent.GetUID(), sha256.Sum256(text)}
}

// get gives the answer kept for key.
func (a *ResponseCache) get(key cacheKey) (cachedResponse, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep()
	found, ok := a.kept.Get(key)
	if !ok || !a.now().Before(found.until) {
		return cachedResponse{}, false
	}
	return found, true
}

// put keeps an answer, in place of the one there is.
func (a *ResponseCache) put(key cacheKey, etag string, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept.Remove(key)
	fresh := cachedResponse{etag, body, a.now().Add(a.timeout)}
	if fresh.size() > answersBytes || !a.makeRoom(int64(fresh.size())) {
		return
	}
	a.bytes += fresh.size()
	a.kept.Add(key, fresh)
	for a.bytes > answersBytes {
		a.kept.RemoveOldest()
	}
}

// makeRoom takes n bytes of the room for all, and forgets answers until there are as many. It cannot where those of other
// webhooks take it all.
func (a *ResponseCache) makeRoom(n int64) bool {
	if a.Budget == nil {
		return true
	}
	for !a.Budget.TryTake(n) {
		if _, _, some := a.kept.RemoveOldest(); !some {
			return false
		}
	}
	return true
}

// drop forgets the answer kept for key.
func (a *ResponseCache) drop(key cacheKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept.Remove(key)
}

// sweep removes what is too old, if it is time.
func (a *ResponseCache) sweep() {
	if now := a.now(); now.Sub(a.swept) >= a.cleanup {
		a.swept = now
		for _, key := range a.kept.Keys() {
			if old, _ := a.kept.Peek(key); !now.Before(old.until) {
				a.kept.Remove(key)
			}
		}
	}
}
