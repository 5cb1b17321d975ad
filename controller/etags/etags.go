// Package etags caches the responses of webhooks that had an ETag: [Cache].
package etags

import (
	"cmp"
	"crypto/sha256"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
	"k8s.io/apimachinery/pkg/types"

	"metascript/controller/bodies"
)

// The defaults and limits of a Cache.
const (
	defaultCacheTimeout = time.Hour
	defaultCacheCleanup = 10 * time.Minute
	maxCacheBytes       = 64 << 20 // of one webhook
	entryOverhead       = 256      // bytes of an entry besides its text and ETag
)

// A Cache has the responses of one webhook that had an ETag. They are requested again with If-None-Match, so that
// the server need not send an unchanged response. The least recently used responses are removed when the cache is too large.
// It is safe for concurrent use.
type Cache struct {
	// Budget limits the caches of all webhooks together. If it is nil, there is no common limit.
	Budget *bodies.Budget

	timeout, cleanup time.Duration
	now              func() time.Time

	mu    sync.Mutex // guards the fields below; the lock of Budget may be taken while it is locked
	kept  *simplelru.LRU[Key, Response]
	bytes int
	swept time.Time
}

// A Key identifies a parent and one of its revisions, since the hook is called for each revision.
type Key struct {
	Parent   types.UID
	Revision [sha256.Size]byte
}

// A Response is a cached response. The zero value is none.
type Response struct {
	ETag string
	Body []byte
	ID   ID

	until time.Time
}

// An ID identifies a response that was cached, of all that this process has cached. The zero value is of none.
type ID uint64

// lastID is the last one.
var lastID atomic.Uint64

func (r Response) size() int { return len(r.Body) + len(r.ETag) + entryOverhead }

// New returns a cache that keeps responses for timeout and removes expired ones every cleanup. Values that are
// not above zero stand for the defaults.
func New(timeout, cleanup time.Duration) *Cache {
	a := &Cache{
		timeout: cmp.Or(max(timeout, 0), defaultCacheTimeout), cleanup: cmp.Or(max(cleanup, 0), defaultCacheCleanup), now: time.Now,
	}
	a.kept, _ = simplelru.NewLRU(maxCacheBytes/entryOverhead, func(_ Key, gone Response) { a.forgotten(gone) }) // fails only for no size
	return a
}

func (a *Cache) forgotten(gone Response) {
	a.bytes -= gone.size()
	if a.Budget != nil {
		a.Budget.GiveBack(int64(gone.size()))
	}
}

// Clear removes all responses.
func (a *Cache) Clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept.Purge()
}

// Get returns the cached response for key; none if it has expired.
func (a *Cache) Get(key Key) Response {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep()
	found, ok := a.kept.Get(key)
	if !ok || !a.now().Before(found.until) {
		return Response{}
	}
	return found
}

// Put adds a response, and returns its ID; zero if there is no space. It replaces the one with the same key.
func (a *Cache) Put(key Key, etag string, body []byte) ID {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept.Remove(key)
	fresh := Response{etag, body, ID(lastID.Add(1)), a.now().Add(a.timeout)}
	if fresh.size() > maxCacheBytes || !a.makeRoom(int64(fresh.size())) {
		return 0
	}
	a.bytes += fresh.size()
	a.kept.Add(key, fresh)
	for a.bytes > maxCacheBytes {
		a.kept.RemoveOldest()
	}
	return fresh.ID
}

// makeRoom takes n bytes of Budget, and removes responses until there is enough. It returns false if the caches of other
// webhooks use too much.
func (a *Cache) makeRoom(n int64) bool {
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

// Drop removes the response for key.
func (a *Cache) Drop(key Key) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept.Remove(key)
}

// sweep removes expired responses once in each cleanup interval.
func (a *Cache) sweep() {
	if now := a.now(); now.Sub(a.swept) >= a.cleanup {
		a.swept = now
		for _, key := range a.kept.Keys() {
			if old, _ := a.kept.Peek(key); !now.Before(old.until) {
				a.kept.Remove(key)
			}
		}
	}
}
