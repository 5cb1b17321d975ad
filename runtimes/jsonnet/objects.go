package jsonnet

import (
	"math"
	"sync"

	"github.com/google/go-jsonnet/ast"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// A cache keeps the syntax trees of objects between calls, for all programs. The key is the tenant, and the id that
// [engine.Env.Identify] gives; only the last version of an id is kept, and at most maxCachedNodes nodes in all. Invariant: a tree is
// complete when it is added, and it does not change afterwards: the interpreter only reads trees.
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
	tree    ast.Node
	nodes   int
}

const (
	// maxCachedNodes is the maximum number of nodes in the cache. A Pod has about 150, of some 150 bytes each.
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
func (c *cache) tree(id identity, version string, object map[string]any) ast.Node {
	c.mu.Lock()
	k, ok := c.trees.Get(id)
	c.mu.Unlock()
	if ok && k.version == version {
		return k.tree
	}
	b := builder{keys: map[string]*ast.LiteralString{}}
	k = cachedTree{version: version, tree: b.node(object)}
	k.nodes = b.nodes
	if b.uncacheable {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trees.Remove(id)
	c.trees.Add(id, k)
	for c.nodes += k.nodes; c.nodes > maxCachedNodes; {
		c.trees.RemoveOldest()
	}
	return k.tree
}

// A builder makes a complete tree. A tree is uncacheable if it is too large, or has numbers beyond 2^53, which a request has to
// record.
type builder struct {
	keys        map[string]*ast.LiteralString
	nodes       int
	uncacheable bool
}

func (b *builder) node(v any) ast.Node {
	if b.nodes++; b.nodes > maxCachedTree {
		b.uncacheable = true
	}
	if b.uncacheable {
		return nullNode
	}
	switch v := v.(type) {
	case int64:
		b.uncacheable = v > maxExact || v < -maxExact
	case float64:
		b.uncacheable = math.Abs(v) > maxExact
	case string:
		b.nodes += len(v) / 128
	case []any:
		n := &ast.Array{Elements: make([]ast.CommaSeparatedExpr, len(v))}
		for i, item := range v {
			n.Elements[i].Expr = b.node(item)
		}
		return n
	case map[string]any:
		return b.object(v)
	}
	return scalarNode(v)
}

func (b *builder) object(m map[string]any) ast.Node {
	n := &ast.DesugaredObject{Fields: make(ast.DesugaredObjectFields, 0, len(m))}
	for name, v := range m {
		key, ok := b.keys[name]
		if !ok {
			key = stringNode(name)
			b.keys[name] = key
		}
		n.Fields = append(n.Fields, ast.DesugaredObjectField{Name: key, Body: b.node(v), Hide: ast.ObjectFieldInherit})
	}
	return n
}
