package jsonnet

import (
	"math"
	"sync"

	"github.com/google/go-jsonnet/ast"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// A cache keeps the syntax trees of objects from one call to the next, whatever the program. Its key is what
// [engine.Env.Identify] gives: of an id only the last version is kept, and at most maxKept nodes in all. A tree in
// it is complete when it comes in, and nobody writes to it afterwards: the interpreter only reads.
type cache struct {
	mu    sync.Mutex
	trees *simplelru.LRU[string, kept]
	nodes int
}

type kept struct {
	version string
	tree    ast.Node
	nodes   int
}

const (
	// maxKept is the nodes that are kept: a Pod has about 150, of some 150 bytes each.
	maxKept = 400_000

	// maxTree is the nodes of the largest object that is kept; of larger ones, seldom all is read.
	maxTree = 20_000
)

// objects is shared by all programs.
var objects = newCache()

func newCache() *cache {
	c := &cache{}
	c.trees, _ = simplelru.NewLRU(maxKept, func(_ string, k kept) { c.nodes -= k.nodes }) // fails only for sizes below 1
	return c
}

// tree gives the tree of an object, or nil if it is not one to keep.
func (c *cache) tree(id, version string, object map[string]any) ast.Node {
	c.mu.Lock()
	k, ok := c.trees.Get(id)
	c.mu.Unlock()
	if ok && k.version == version {
		return k.tree
	}
	b := builder{keys: map[string]*ast.LiteralString{}}
	k = kept{version: version, tree: b.node(object)}
	k.nodes = b.nodes
	if b.unfit {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trees.Remove(id)
	c.trees.Add(id, k)
	for c.nodes += k.nodes; c.nodes > maxKept; {
		c.trees.RemoveOldest()
	}
	return k.tree
}

// A builder makes a complete tree. One with numbers that a call has to know of is unfit, as is a large one.
type builder struct {
	keys  map[string]*ast.LiteralString
	nodes int
	unfit bool
}

func (b *builder) node(v any) ast.Node {
	if b.nodes++; b.nodes > maxTree {
		b.unfit = true
	}
	if b.unfit {
		return nullNode
	}
	switch v := v.(type) {
	case int64:
		b.unfit = v > maxExact || v < -maxExact
	case float64:
		b.unfit = math.Abs(v) > maxExact
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
