package etags

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

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
		a, now := New(c.timeout, c.cleanup), time.Now()
		a.now = func() time.Time { return now }
		a.Put(Key{Parent: "u"}, "e", []byte("x"))
		now = now.Add(c.wait)
		if found := a.Get(Key{Parent: "u"}); (found.ETag == "e") != c.kept || (found.ID != 0) != c.kept {
			t.Errorf("timeout %s, cleanup %s: after %s the cache has %+v, want a response: %t", c.timeout, c.cleanup, c.wait, found, c.kept)
		}
	}
}

func TestExpiredResponsesAreDeleted(t *testing.T) {
	a, now := New(time.Minute, 5*time.Minute), time.Now()
	a.now = func() time.Time { return now }
	a.Get(Key{})
	a.Put(Key{Parent: "old"}, "e", []byte("x"))
	now = now.Add(4 * time.Minute)
	a.Put(Key{Parent: "new"}, "e", []byte("x"))
	a.Get(Key{})
	if n := a.kept.Len(); n != 2 {
		t.Errorf("before the cleanup %d responses are cached, want 2", n)
	}
	now = now.Add(time.Minute - 1)
	a.Get(Key{})
	now = now.Add(1)
	a.Get(Key{})
	if n, bytes := a.kept.Len(), a.bytes; n != 0 || bytes != 0 {
		t.Errorf("%d responses of %d bytes are cached, want none", n, bytes)
	}
}

func TestCacheSizeIsLimited(t *testing.T) {
	a := New(0, 0)
	half := make([]byte, maxCacheBytes/2)
	for i := range 5 {
		a.Put(Key{Parent: types.UID(fmt.Sprint(i))}, "e", half)
		if a.bytes > maxCacheBytes {
			t.Errorf("%d bytes are cached, want %d at most", a.bytes, maxCacheBytes)
		}
	}
	if a.Get(Key{Parent: "4"}).ID == 0 {
		t.Error("the last response is not cached")
	}
	if id := a.Put(Key{Parent: "4"}, "e", make([]byte, maxCacheBytes)); id != 0 {
		t.Errorf("a response that is too large has the ID %d", id)
	}
	if found := a.Get(Key{Parent: "4"}); found.ID != 0 || a.bytes != 0 {
		t.Errorf("after a response that is too large %d bytes are cached (and %+v), want none", a.bytes, found)
	}
}

// A response that replaces an equal one is another one.
func TestIDs(t *testing.T) {
	a, b := New(0, 0), New(0, 0)
	seen := map[ID]bool{}
	for range 3 {
		for _, cache := range []*Cache{a, b} {
			id := cache.Put(Key{Parent: "u"}, "e", []byte("x"))
			if id == 0 || seen[id] || cache.Get(Key{Parent: "u"}).ID != id {
				t.Errorf("the ID %d, and %d in the cache", id, cache.Get(Key{Parent: "u"}).ID)
			}
			seen[id] = true
		}
	}
	a.Drop(Key{Parent: "u"})
	b.Clear()
	if a.Get(Key{Parent: "u"}).ID != 0 || b.Get(Key{Parent: "u"}).ID != 0 {
		t.Error("a response was not dropped")
	}
}
