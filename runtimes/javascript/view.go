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

// maxSafe is the largest integer up to which float64 holds every integer, JavaScript's Number.MAX_SAFE_INTEGER.
const maxSafe = 1<<53 - 1

// value returns a Go value to the script. at says where in the request it is.
func (r *run) value(x any, at place) goja.Value {
	switch x := x.(type) {
	case nil:
		return goja.Null()
	case bool, string, float64:
		return r.vm.ToValue(x)
	case int64:
		if x > maxSafe || x < -maxSafe {
			return r.wide(x, at)
		}
		return r.vm.ToValue(x)
	case map[string]any:
		return r.vm.NewDynamicObject(&mapView{node: node{r: r, place: at}, base: x})
	case []any:
		return r.vm.NewDynamicArray(&listView{node: node{r: r, place: at}, base: x, n: len(x)})
	}
	panic(fmt.Sprintf("a %T in the request is not JSON-shaped", x))
}

// A place is where a value was read from: the field key, or the element index, of the view up. For the whole request up is nil.
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

// A node is what the two kinds of views have in common.
type node struct {
	place
	r     *run
	dirty bool // the script changed it, or something in it: it is no longer equal to its base
}

// touch marks n as changed, and all views that contain it. Invariant: if a node is dirty, so are all above it.
func (n *node) touch() {
	for ; n != nil && !n.dirty; n = n.up {
		n.dirty = true
	}
}

// Views can do what objects and arrays can, except that they cannot be frozen, have symbols, accessors and hidden
// fields, and that lists have no holes and no fields beside their elements.

// A mapView shows a Go map as an object and never writes to it: what the script sets stays in the view. Its keys are
// sorted, those that the script adds come last. Reading the same key twice gives the same object.
type mapView struct {
	node
	base map[string]any
	vals map[string]goja.Value // views that were read, values that were set, and nil for what was deleted
	keys []string              // in order; nil until needed. May hold deleted ones while holes is set
	hole bool
}

// Get implements [goja.DynamicObject].
func (m *mapView) Get(key string) goja.Value {
	if v, ok := m.vals[key]; ok {
		return v
	}
	x, ok := m.base[key]
	if !ok {
		return nil
	}
	v := m.r.value(x, place{&m.node, key, -1})
	if o, ok := v.(*goja.Object); ok {
		m.keep(key, o)
	}
	return v
}

// Has implements [goja.DynamicObject].
func (m *mapView) Has(key string) bool {
	if v, ok := m.vals[key]; ok {
		return v != nil
	}
	_, ok := m.base[key]
	return ok
}

// Set implements [goja.DynamicObject].
func (m *mapView) Set(key string, v goja.Value) bool {
	if !m.Has(key) {
		m.keys = append(m.Keys(), key)
	}
	m.keep(key, v)
	m.touch()
	return true
}

// Delete implements [goja.DynamicObject].
func (m *mapView) Delete(key string) bool {
	if m.Has(key) {
		m.Keys()
		m.keep(key, nil)
		m.hole = true
		m.touch()
	}
	return true
}

// Keys returns a list that later changes of the map do not disturb: somebody may be going through it.
func (m *mapView) Keys() []string {
	switch {
	case m.keys == nil:
		m.keys = slices.Sorted(maps.Keys(m.base))
	case m.hole:
		kept := make([]string, 0, len(m.keys))
		for _, key := range m.keys {
			if m.Has(key) {
				kept = append(kept, key)
			}
		}
		m.keys, m.hole = kept, false
	}
	return m.keys
}

func (m *mapView) keep(key string, v goja.Value) {
	if m.vals == nil {
		m.vals = map[string]goja.Value{}
	}
	m.vals[key] = v
}

// A listView shows a Go slice as an array and never writes to it.
type listView struct {
	node
	base []any
	vals []goja.Value // as long as the list, once needed: views that were read and values that were set; nil is base's
	n    int
}

// maxGap is by how many elements at once a script may make a list longer. Its own arrays can be sparse, views
// cannot.
const maxGap = 1 << 16

// Len implements [goja.DynamicArray].
func (l *listView) Len() int { return l.n }

// Get implements [goja.DynamicArray].
func (l *listView) Get(i int) goja.Value {
	if i < 0 || i >= l.n {
		return nil
	}
	if l.vals != nil && l.vals[i] != nil {
		return l.vals[i]
	}
	v := l.r.value(l.base[i], place{&l.node, "", i})
	if o, ok := v.(*goja.Object); ok {
		l.own()[i] = o
	}
	return v
}

// Set implements [goja.DynamicArray].
func (l *listView) Set(i int, v goja.Value) bool {
	if i < 0 {
		panic(l.r.vm.NewTypeError("%d is no index", i))
	}
	if i >= l.n {
		l.SetLen(i + 1)
	}
	l.own()[i] = v
	l.touch()
	return true
}

// SetLen implements [goja.DynamicArray].
func (l *listView) SetLen(n int) bool {
	if n < 0 || n-l.n > maxGap {
		panic(l.r.vm.NewTypeError("cannot make an array of the request %d elements long; copy it first, with [...array]", n))
	}
	vals := l.own()
	for len(vals) < n {
		vals = append(vals, goja.Undefined())
	}
	clear(vals[n:])
	l.vals, l.n = vals[:n], n
	l.touch()
	return true
}

func (l *listView) own() []goja.Value {
	if l.vals == nil {
		l.vals = make([]goja.Value, l.n)
	}
	return l.vals
}

// A wide is an integer that float64 cannot hold for sure. There is one object for each value in a run, so that ===
// works between them.
type wide struct {
	r  *run
	n  int64
	at place // where it was first read
}

func (r *run) wide(n int64, at place) *goja.Object {
	if o, ok := r.wides[n]; ok {
		return o
	}
	if r.wides == nil {
		r.wides = map[int64]*goja.Object{}
	}
	o := r.vm.NewDynamicObject(&wide{r, n, at})
	r.wides[n] = o
	return o
}

// Get returns the three methods by which JavaScript makes something else of an object.
func (w *wide) Get(key string) goja.Value {
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
func (w *wide) Has(key string) bool { return key == "toString" || key == "valueOf" || key == "toJSON" }

// Set implements [goja.DynamicObject].
func (w *wide) Set(string, goja.Value) bool { return false }

// Delete implements [goja.DynamicObject].
func (w *wide) Delete(string) bool { return false }

// Keys implements [goja.DynamicObject].
func (w *wide) Keys() []string { return nil }
