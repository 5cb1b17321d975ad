package jsonnet

import (
	"math"
	"sync"

	"github.com/google/go-jsonnet/ast"

	"metascript/engine"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

// A part is the node of a map or a list of the request. Its entries are made when it is first evaluated, so that what a script does not
// read costs nothing. To the interpreter it is an operator that has only this package: the guard notes the node when its evaluation
// begins, and the operator returns the value, which has the layout of the interpreter's own.
//
// What is read of objects is recorded by parts: the interpreter reads the scalars of a map without this package, so that all of them
// count as read when the part is evaluated, except for some that change often.
//
// The values of maps that are read are the same in all calls that share a part. Only what changes in a call is made for each:
// an object's cache of fields, and the elements of an array.
type part struct {
	ast.Unary           // must be first: begin converts its address
	value     any       // an engine.Map or an engine.Array
	at        *place    // unknown if shared
	request   *request  // nil: shared by many calls
	once      sync.Once // makes the fields below
	object    *simpleLayers
	items     []entry
	wholeKeys []string // of values that would be read apart, if they were kept as values: they are read with the map

	// root is the part of the packed object in which value is, for which reads are recorded; nil if there is none.
	root   *part
	offset packed.Offset // of value in the object, or of the map that has the scalar
	size   uint32        // of the object, in its root
	scalar *apart        // nil: p is a map or a list
}

// An apart is the value of a key that is read apart from the others in the map; see packed.Apart.
type apart struct {
	value
	key string
}

// opPart is the operator of a part. The parser has no such operator.
const opPart = ast.UnaryOp(100)

// An entry is a value in a map or a list: content if it is a scalar, and body otherwise.
type entry struct {
	content value
	body    ast.Node
}

// maxShort is the length in bytes up to which a string is kept as a value: characters take four bytes each in it.
const maxShort = 64

// newPart returns the part for a Map or an Array.
func newPart(v any, at *place, r *request) *part {
	return &part{Unary: ast.Unary{Op: opPart, Expr: nullNode}, value: v, at: at, request: r}
}

// newRoot is newPart for an object. Its reads can be recorded if it is packed.
func newRoot(m engine.Map, at *place, r *request) *part {
	p := newPart(m, at, r)
	if object, ok := m.(packed.Map); ok {
		p.root, p.size = p, uint32(object.Size())
	}
	return p
}

// within notes that p is a part of in, whose value is still there.
func (p *part) within(in *part) *part {
	if in == nil || in.root == nil {
		return p
	}
	p.root, p.offset = in.root, in.offset+packed.OffsetOf(p.value, in.value)
	return p
}

// apart returns the entry of a scalar in a map that is read apart from it, or e if no reads are recorded, or it is not kept as a value.
func (e entry) apart(in *part, key string) entry {
	switch {
	case in.root == nil:
		return e
	case e.content == nil:
		in.wholeKeys = append(in.wholeKeys, key)
		return e
	}
	p := &part{Unary: ast.Unary{Op: opPart, Expr: nullNode}, root: in.root, offset: in.offset, scalar: &apart{e.content, key}}
	return entry{body: &p.Unary}
}

// record records that the script has made something of p, whose entries are made.
func (r *request) record(p *part) {
	for _, object := range r.recorded[p.root] {
		if p.scalar != nil {
			object.ValueRead(p.offset, p.scalar.key)
			continue
		}
		object.EntriesRead(p.offset)
		for _, key := range p.wholeKeys {
			object.ValueRead(p.offset, key)
		}
	}
}

// entry returns the entry for a JSON-shaped value in a part, or outside of any; r is nil in a shared tree. Only some values need a place.
func (r *request) entry(v any, in *part, at func() *place) entry {
	recorded, isRecorded := v.(packed.RecordedMap)
	if isRecorded = isRecorded && r != nil; isRecorded {
		v = recorded.Unrecorded()
	}
	v = packed.Whole(v) // other calls may read more of a shared tree
	switch v := v.(type) {
	case nil:
		return entry{content: layout.null}
	case bool:
		if v {
			return entry{content: layout.yes}
		}
		return entry{content: layout.no}
	case int64:
		if v > maxExact || v < -maxExact {
			return entry{body: r.wideNode(v, at())}
		}
		return entry{content: newNumber(float64(v))}
	case float64:
		if math.Abs(v) > maxExact {
			r.addFloat(v)
		}
		return entry{content: newNumber(v)}
	case string:
		if len(v) > maxShort {
			return entry{body: stringNode(v)}
		}
		return entry{content: newString(v)}
	}
	var where *place
	if r != nil {
		where = at()
	}
	if list, ok := tree.ArrayOf(v); ok {
		return entry{body: &newPart(list, where, r).within(in).Unary}
	}
	m, _ := tree.MapOf(v)
	tree := r.sharedTree(m, where)
	switch {
	case tree != nil:
	case isRecorded:
		tree = newRoot(m, where, r)
	default:
		tree = newPart(m, where, r).within(in)
	}
	if isRecorded {
		r.follow(tree, recorded)
	}
	return entry{body: &tree.Unary}
}

// follow notes that reads of a tree are reads of an object. A tree that another call has made may be of an equal object.
func (r *request) follow(tree *part, object packed.RecordedMap) {
	if tree.root != tree || tree.size != uint32(object.Unrecorded().Size()) {
		object.Whole()
		return
	}
	if r.recorded == nil {
		r.recorded = map[*part][]packed.RecordedMap{}
	}
	r.recorded[tree] = append(r.recorded[tree], object)
}

// maxLevel is the depth in the request down to which objects are looked up in the cache.
const maxLevel = 4

// sharedTree returns the cached tree of an object, or nil if the object cannot be cached.
func (r *request) sharedTree(v engine.Map, at *place) *part {
	if r == nil || r.identify == nil {
		return nil // in a shared tree, or there are none
	}
	level := 0
	for p := at; p != nil; p = p.in {
		if p.whole != "" {
			return nil // not a part of the request
		}
		level++
	}
	if level == 0 || level > maxLevel {
		return nil
	}
	id, version := r.identify(v)
	if id == "" {
		return nil
	}
	return objects.tree(identity{r.tenant, id}, version, v)
}

// make returns the interpreter's value of p, for the call of g.
func (p *part) make(g *guard) value {
	p.once.Do(p.fill)
	if p.root != nil {
		g.request.record(p)
	}
	if p.scalar != nil {
		return p.scalar.value
	}
	if p.object != nil {
		g.charge(int64(len(p.object.fields)) / 8)
		return newObject(p.object)
	}
	g.charge(int64(len(p.items)) / 8)
	thunks := make([]thunk, len(p.items))
	elements := make([]*thunk, len(p.items))
	for i, item := range p.items {
		thunks[i] = thunk{content: item.content, body: item.body}
		if item.content == nil {
			thunks[i].env = noEnvironment
		}
		elements[i] = &thunks[i]
	}
	return newArray(elements)
}

func (p *part) fill() {
	switch v := p.value.(type) {
	case engine.Array:
		p.items = make([]entry, v.Len())
		for i := range p.items {
			p.items[i] = p.request.entry(v.Index(i), p, func() *place { return &place{in: p.at, index: i} })
		}
	case engine.Map:
		p.fillObject(v)
	}
	if p.request == nil {
		p.value = nil // the entries refer to what they need
	}
}

// fillObject makes the fields of an object. Their order does not matter: the interpreter sorts what it shows.
func (p *part) fillObject(m engine.Map) {
	p.object = &simpleLayers{upValues: bindings{}, fields: make(map[string]field, m.Len())}
	bodies := make([]entry, m.Len())
	add := func(key string, v any) {
		e := p.request.entry(v, p, func() *place { return &place{in: p.at, key: key} })
		if packed.Apart(key) {
			e = e.apart(p, key)
		}
		bodies[0] = e
		p.object.fields[key] = newField(&bodies[0])
		bodies = bodies[1:]
		p.request.addKey(key)
	}
	if plain, ok := m.(engine.GoMap); ok {
		for key, v := range plain {
			add(key, v)
		}
		return
	}
	for key, v := range m.All() {
		add(key, v)
	}
}

// addKey records a key of a map that is not in a shared tree.
func (r *request) addKey(key string) {
	if r == nil {
		return
	}
	if r.keys == nil {
		r.keys = map[string]bool{}
	}
	r.keys[key] = true
}

// evaluatePart is the operator of a part.
func evaluatePart(i interpreter, _ value) (value, error) {
	g := loggerOf(i).guard
	return g.request.part.make(g), nil
}
