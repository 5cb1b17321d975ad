package jsonnet

import (
	"math"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"metascript/engine"
)

// A cache keeps the trees of objects between calls, for all programs. The key is the tenant, and the id that [engine.Env.Identify]
// gives; only the last version of an id is kept, and at most maxCachedNodes nodes in all. A tree is a [part] without a request: the
// objects and lists in it that no call has read yet are only pointers to the object. It counts as if it was complete.
type cache struct {
	mu    sync.Mutex // guards all fields
	trees *simplelru.LRU[identity, cachedTree]
	nodes int // the sum of the nodes of all trees
}

// An identity is the key of an object in a cache.
type identity struct{ tenant, id string }

// A cachedTree is the tree of one version of an object.
type cachedTree struct {
	version string
	tree    *part
	nodes   int
}

const (
	// maxCachedNodes is the maximum number of nodes in the cache. A Pod has about 150. They take some 12 KB after a function that reads
	// five fields of it, and some 32 KB when all of it has been read.
	maxCachedNodes = 400_000

	// maxCachedTree is the maximum number of nodes of a cached tree. Scripts rarely read all of a larger object.
	maxCachedTree = 20_000
)

// objects is the cache of all programs.
var objects = newCache()

func newCache() *cache {
	c := &cache{}
	c.trees, _ = simplelru.NewLRU(maxCachedNodes, func(_ identity, k cachedTree) { c.nodes -= k.nodes }) // fails only for sizes below 1
	return c
}

// tree returns the tree of an object, from the cache if possible, or nil if the object cannot be cached.
func (c *cache) tree(id identity, version string, object engine.Map) *part {
	c.mu.Lock()
	k, ok := c.trees.Get(id)
	c.mu.Unlock()
	if ok && k.version == version {
		return k.tree
	}
	var s survey
	if !s.object(object) {
		return nil
	}
	k = cachedTree{version: version, tree: newRoot(object, nil, nil), nodes: s.nodes}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trees.Remove(id)
	c.trees.Add(id, k)
	for c.nodes += k.nodes; c.nodes > maxCachedNodes; {
		c.trees.RemoveOldest()
	}
	return k.tree
}

// A survey counts the nodes of a tree. It ends with false if the tree cannot be cached: it is too large, or has numbers beyond 2^53,
// which a request has to record.
type survey struct{ nodes int }

func (s *survey) value(v any) bool {
	if s.nodes++; s.nodes > maxCachedTree {
		return false
	}
	switch v := v.(type) {
	case int64:
		return v <= maxExact && v >= -maxExact
	case float64:
		return math.Abs(v) <= maxExact
	case string:
		s.nodes += len(v) / 128
	case []any:
		for _, item := range v {
			if !s.value(item) {
				return false
			}
		}
	case map[string]any:
		return s.object(engine.GoMap(v))
	case engine.Array:
		for i := range v.Len() {
			if !s.value(v.Index(i)) {
				return false
			}
		}
	case engine.Map:
		return s.object(v)
	}
	return true
}

func (s *survey) object(m engine.Map) bool {
	if plain, ok := m.(engine.GoMap); ok { // without sorting its keys
		for _, v := range plain {
			if !s.value(v) {
				return false
			}
		}
		return true
	}
	for _, v := range m.All() {
		if !s.value(v) {
			return false
		}
	}
	return true
}
