package javascript

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"metascript/engine"
	"metascript/runtimes/internal/host"
)

// maxSafe is the integer up to which float64 represents every integer exactly: JavaScript's Number.MAX_SAFE_INTEGER.
const maxSafe = 1<<53 - 1

// value returns the JavaScript value of a Go value in the request. at is its place in the request.
func (r *run) value(x any, at place) goja.Value {
	if view := r.view(x, at); view != nil {
		return &view.object
	}
	return r.scalar(x, at)
}

// view returns the view of a Go value in the request; nil if it is neither a map nor a list.
func (r *run) view(x any, at place) *node {
	switch x := x.(type) {
	case nil, bool, string, float64, int64:
		return nil
	case map[string]any:
		return r.mapView(engine.GoMap(x), at)
	case []any:
		return r.listView(engine.GoSlice(x), at)
	case engine.Map:
		return r.mapView(x, at)
	case engine.Array:
		return r.listView(x, at)
	}
	return nil
}

// scalar is value for what is neither a map nor a list.
func (r *run) scalar(x any, at place) goja.Value {
	switch n := x.(type) {
	case nil:
		return goja.Null()
	case string:
		return r.string(x)
	case bool, float64:
		return r.vm.ToValue(x)
	case int64:
		if n > maxSafe || n < -maxSafe {
			return r.wideInt(n, at)
		}
		return r.vm.ToValue(x)
	}
	panic(fmt.Sprintf("a %T in the request is not JSON-shaped", x))
}

// A place is the position of a value in the request: a field or an element of the view up. up is nil for the whole request.
type place struct {
	up    *node
	key   string
	index int // -1 for a field
}

// String returns the path that leads to the place, such as parent.spec.ports[0].
func (p place) String() string {
	switch {
	case p.up == nil:
		return ""
	case p.index >= 0:
		return host.Element(p.up.String(), p.index)
	}
	return naming.Field(p.up.String(), p.key)
}

// maxListed is how many views in a view are in the list of its node. A search in a longer list would take longer than in a map.
const maxListed = 8

// A node has the fields that both kinds of views have. Most views are read once, and few views in each of them. So a view with all
// that belongs to it is one block of memory, and those in it are a list until they are many.
type node struct {
	object      goja.Object // the object of the view
	up          *node       // up, key and index are its place
	key         string
	index       int32
	dirty       bool // the script changed the view or a view in it, so it may differ from its base
	r           *run
	first, next *node // the list of the views in it that were read, until it has vals; and the next in the list that has this node
}

// String returns the path that leads to the view.
func (n *node) String() string { return place{n.up, n.key, int(n.index)}.String() }

// markDirty marks n and all views that contain it as changed. Invariant: if a node is dirty, all nodes above it are dirty.
func (n *node) markDirty() {
	for ; n != nil && !n.dirty; n = n.up {
		n.dirty = true
	}
}

// Views behave like objects and arrays, with these exceptions: they cannot be frozen, they have no symbols, accessors or
// non-enumerable properties, and list views have no holes and no properties except their elements.

// A mapView is an object that shows a map. It never changes the map: it stores what the script sets. Its keys are sorted; keys
// that the script adds follow in the order of addition. To read the same key twice returns the same object.
type mapView struct {
	node
	inner dynamic[goja.DynamicObject]
	base  engine.Map
	*more // nil until needed
}

// more is what few map views need.
type more struct {
	vals map[string]goja.Value // views that were read and values that were set, nil for a deleted key; nil until there are many, or the script sets one
	keys []string              // in order; nil until needed. May contain deleted keys if hole is set
	hole bool
}

// needMore makes more.
func (m *mapView) needMore() {
	if m.more == nil {
		m.more = &more{}
	}
}

// mapView returns a view of a map.
func (r *run) mapView(base engine.Map, at place) *node {
	m := r.mapViews.next()
	m.up, m.key, m.index, m.r, m.base = at.up, at.key, int32(at.index), r, base
	r.becomeObject(&m.object, &m.inner, m)
	return &m.node
}

// held returns the view that was read or the value that was set for a key, and otherwise whether the key is in base, as far as it is
// known, and how many views are in the list.
func (m *mapView) held(key string) (v goja.Value, ok bool, listed int) {
	if m.more != nil && m.vals != nil {
		v, ok = m.vals[key]
		return v, ok, maxListed
	}
	for view := m.first; view != nil; view = view.next {
		if view.key == key {
			return &view.object, true, 0
		}
		listed++
	}
	return nil, false, listed
}

// Get implements [goja.DynamicObject].
func (m *mapView) Get(key string) goja.Value {
	v, ok, listed := m.held(key)
	if ok {
		return v
	}
	x, ok := m.base.Get(key)
	if !ok {
		m.r.miss(m, key)
		return nil
	}
	at := place{&m.node, key, -1}
	view := m.r.view(x, at)
	switch {
	case view == nil:
		return m.r.scalar(x, at)
	case listed < maxListed:
		view.next, m.first = m.first, view
	default:
		m.store(key, &view.object)
	}
	return &view.object
}

// isGroups reports whether m is a field of the request that has groups of objects.
func (m *mapView) isGroups() bool {
	return m.up != nil && m.up.up == nil && slices.Contains(host.Groups, m.key)
}

// missedGroup returns a hint if the script has read a group that does not exist, since it then works with undefined; "" otherwise.
func (r *run) missedGroup() string {
	if r.missed == nil {
		return ""
	}
	nearest := host.Nearest(r.missedKey, keysOfMap(r.missed.base))
	if nearest == "" {
		return ""
	}
	path := r.missed.String()
	return fmt.Sprintf("%[1]s[%[2]s] is undefined: did you mean %[1]s[%[3]s]?", path, naming.Quote(r.missedKey), naming.Quote(nearest))
}

// Has implements [goja.DynamicObject].
func (m *mapView) Has(key string) bool {
	if v, ok, _ := m.held(key); ok {
		return v != nil
	}
	_, ok := m.base.Get(key)
	return ok
}

// Set implements [goja.DynamicObject].
func (m *mapView) Set(key string, v goja.Value) bool {
	if !m.Has(key) {
		m.keys = append(m.Keys(), key)
	}
	m.store(key, v)
	m.markDirty()
	return true
}

// Delete implements [goja.DynamicObject].
func (m *mapView) Delete(key string) bool {
	if m.Has(key) {
		m.Keys()
		m.store(key, nil)
		m.hole = true
		m.markDirty()
	}
	return true
}

// Keys implements [goja.DynamicObject]. Later changes of the view do not change the returned slice: a caller may be iterating.
func (m *mapView) Keys() []string {
	m.needMore()
	switch {
	case m.keys == nil:
		m.keys = keysOfMap(m.base)
	case m.hole:
		existing := make([]string, 0, len(m.keys))
		for _, key := range m.keys {
			if m.Has(key) {
				existing = append(existing, key)
			}
		}
		m.keys, m.hole = existing, false
	}
	return m.keys
}

// keysOfMap returns the sorted keys of a map.
func keysOfMap(m engine.Map) []string {
	switch m := m.(type) {
	case engine.GoMap:
		keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
		slices.Sort(keys)
		return keys
	case interface{ Keys() []string }: // without the values
		return m.Keys()
	}
	keys := make([]string, 0, m.Len())
	for key := range m.All() {
		keys = append(keys, key)
	}
	return keys
}

// store stores a view or a value in vals. If the script has listed the keys, it may well read all of them.
func (m *mapView) store(key string, v goja.Value) {
	m.needMore()
	if m.vals == nil {
		m.vals = make(map[string]goja.Value, len(m.keys))
		for view := m.first; view != nil; view = view.next {
			m.vals[view.key] = &view.object
		}
	}
	m.vals[key] = v
}

// A listView is an array that shows a list. It never changes the list.
type listView struct {
	node
	inner dynamic[goja.DynamicArray]
	base  engine.Array
	vals  []goja.Value // views that were read and values that were set; nil for an element of base. Has n elements, or is nil until needed
	n     int          // the length of the array
}

// maxGap is by how many elements at once a script may make a list view longer. Arrays can be sparse, list views cannot.
const maxGap = 1 << 16

// listView returns a view of a list.
func (r *run) listView(base engine.Array, at place) *node {
	l := r.listViews.next()
	l.up, l.key, l.index, l.r, l.base, l.n = at.up, at.key, int32(at.index), r, base, base.Len()
	r.becomeArray(&l.object, &l.inner, l)
	return &l.node
}

// Len implements [goja.DynamicArray].
func (l *listView) Len() int { return l.n }

// held returns the view that was read or the value that was set for an element, which exists, or else nil and how many views are in
// the list.
func (l *listView) held(i int) (v goja.Value, listed int) {
	if l.vals != nil {
		return l.vals[i], maxListed
	}
	for view := l.first; view != nil; view = view.next {
		if int(view.index) == i {
			return &view.object, 0
		}
		listed++
	}
	return nil, listed
}

// Get implements [goja.DynamicArray].
func (l *listView) Get(i int) goja.Value {
	if i < 0 || i >= l.n {
		return nil
	}
	v, listed := l.held(i)
	if v != nil {
		return v
	}
	x, at := l.base.Index(i), place{&l.node, "", i}
	view := l.r.view(x, at)
	switch {
	case view == nil:
		return l.r.scalar(x, at)
	case listed < maxListed:
		view.next, l.first = l.first, view
	default:
		l.ensureVals()[i] = &view.object
	}
	return &view.object
}

// Set implements [goja.DynamicArray].
func (l *listView) Set(i int, v goja.Value) bool {
	if i < 0 {
		panic(l.r.vm.NewTypeError("%d is no index", i))
	}
	if i >= l.n {
		l.SetLen(i + 1)
	}
	l.ensureVals()[i] = v
	l.markDirty()
	return true
}

// SetLen implements [goja.DynamicArray].
func (l *listView) SetLen(n int) bool {
	if n < 0 || n-l.n > maxGap {
		panic(l.r.vm.NewTypeError("cannot make an array of the request %d elements long; copy it first, with [...array]", n))
	}
	vals := l.ensureVals()
	for len(vals) < n {
		vals = append(vals, goja.Undefined())
	}
	clear(vals[n:])
	l.vals, l.n = vals[:n], n
	l.markDirty()
	return true
}

func (l *listView) ensureVals() []goja.Value {
	if l.vals == nil {
		l.vals = make([]goja.Value, l.n)
		for view := l.first; view != nil; view = view.next {
			l.vals[view.index] = &view.object
		}
	}
	return l.vals
}

// A wideInt is an integer that float64 may not represent exactly. There is one object for each value in a run, so that === works.
type wideInt struct {
	r  *run
	n  int64
	at place // where the script first read it
}

func (r *run) wideInt(n int64, at place) *goja.Object {
	if o, ok := r.wideInts[n]; ok {
		return o
	}
	if r.wideInts == nil {
		r.wideInts = map[int64]*goja.Object{}
	}
	o := r.vm.NewDynamicObject(&wideInt{r, n, at})
	r.wideInts[n] = o
	return o
}

// Get returns the three methods with which JavaScript converts an object to a primitive value or to JSON.
func (w *wideInt) Get(key string) goja.Value {
	switch key {
	case "toString":
		return w.r.vm.ToValue(func(goja.FunctionCall) goja.Value {
			return w.r.vm.ToValue(strconv.FormatInt(w.n, 10))
		})
	case "valueOf", "toJSON":
		return w.r.vm.ToValue(func(goja.FunctionCall) goja.Value {
			panic(w.r.throwable(&engine.Error{
				Kind: engine.KindRuntime,
				Msg:  strings.TrimSpace(fmt.Sprintf("%s %d is beyond 2^53: as a number it would be rounded", w.at, w.n)),
				Hint: "pass it on as it is, or take its digits with String()",
			}))
		})
	}
	return nil
}

// Has implements [goja.DynamicObject].
func (w *wideInt) Has(key string) bool {
	return key == "toString" || key == "valueOf" || key == "toJSON"
}

// Set implements [goja.DynamicObject].
func (w *wideInt) Set(string, goja.Value) bool { return false }

// Delete implements [goja.DynamicObject].
func (w *wideInt) Delete(string) bool { return false }

// Keys implements [goja.DynamicObject].
func (w *wideInt) Keys() []string { return nil }
