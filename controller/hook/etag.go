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
	"metascript/engine/tree"
)

// The defaults and limits of a ResponseCache.
const (
	defaultCacheTimeout = time.Hour
	defaultCacheCleanup = 10 * time.Minute
	maxCacheBytes       = 64 << 20 // of one webhook
	entryOverhead       = 256      // bytes of an entry besides its text and ETag
)

// A ResponseCache has the responses of one webhook that had an ETag. They are requested again with If-None-Match, so that
// the server need not send an unchanged response. The least recently used responses are removed when the cache is too large.
// It is safe for concurrent use.
type ResponseCache struct {
	// Budget limits the caches of all webhooks together. If it is nil, there is no common limit.
	Budget *bodies.Budget

	timeout, cleanup time.Duration
	now              func() time.Time

	mu    sync.Mutex // guards the fields below; the lock of Budget may be taken while it is locked
	kept  *simplelru.LRU[cacheKey, cachedResponse]
	bytes int
	swept time.Time
}

// A cacheKey identifies a parent and one of its revisions, since the hook is called for each revision.
type cacheKey struct {
	parent   types.UID
	revision [sha256.Size]byte
}

type cachedResponse struct {
	etag  string
	body  []byte
	until time.Time
}

func (a cachedResponse) size() int { return len(a.body) + len(a.etag) + entryOverhead }

// NewResponseCache returns a cache that keeps responses for timeout and removes expired ones every cleanup. Values that are
// not above zero stand for the defaults.
func NewResponseCache(timeout, cleanup time.Duration) *ResponseCache {
	a := &ResponseCache{
		timeout: cmp.Or(max(timeout, 0), defaultCacheTimeout), cleanup: cmp.Or(max(cleanup, 0), defaultCacheCleanup), now: time.Now,
	}
	a.kept, _ = simplelru.NewLRU(maxCacheBytes/entryOverhead, func(_ cacheKey, gone cachedResponse) { a.forgotten(gone) }) // fails only for no size
	return a
}

func (a *ResponseCache) forgotten(gone cachedResponse) {
	a.bytes -= gone.size()
	if a.Budget != nil {
		a.Budget.GiveBack(int64(gone.size()))
	}
}

// clear removes all responses.
func (a *ResponseCache) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept.Purge()
}

// keyOf returns the key for the parent of req. It depends on all fields except the status and the metadata that the API
// server sets.
func keyOf(req *Request) cacheKey {
	content, _ := tree.MapOf(req.Parent.Value())
	fields := maps.Collect(content.All())
	fields["status"], fields["metadata"] = nil, []any{req.Parent.GetLabels(), req.Parent.GetAnnotations()}
	text, _ := json.Marshal(fields) // no error: the whole request is marshalled too
	return cacheKey{req.Parent.GetUID(), sha256.Sum256(text)}
}

// get returns the cached response for key, if it has not expired.
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

// put adds a response. It replaces the one with the same key.
func (a *ResponseCache) put(key cacheKey, etag string, body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept.Remove(key)
	fresh := cachedResponse{etag, body, a.now().Add(a.timeout)}
	if fresh.size() > maxCacheBytes || !a.makeRoom(int64(fresh.size())) {
		return
	}
	a.bytes += fresh.size()
	a.kept.Add(key, fresh)
	for a.bytes > maxCacheBytes {
		a.kept.RemoveOldest()
	}
}

// makeRoom takes n bytes of Budget, and removes responses until there is enough. It returns false if the caches of other
// webhooks use too much.
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

// drop removes the response for key.
func (a *ResponseCache) drop(key cacheKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept.Remove(key)
}

// sweep removes expired responses once in each cleanup interval.
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
