package javascript

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"

	"metascript/engine"
	"metascript/engine/packed"
	"metascript/engine/tree"
)

var (
	typeMapView  = reflect.TypeFor[*mapView]()
	typeListView = reflect.TypeFor[*listView]()
	typeWide     = reflect.TypeFor[*wideInt]()
	typeObject   = reflect.TypeFor[map[string]any]()
	typeArray    = reflect.TypeFor[[]any]()
	typeMap      = reflect.TypeFor[[][2]any]()
)

// convertResult converts the value that the function name returned to a JSON-shaped map. It may run script code, such as getters,
// so the caller must catch goja's exceptions.
func (r *run) convertResult(name string, v goja.Value) (map[string]any, error) {
	if what := kind(v); what != "an object" {
		e := &engine.Error{Kind: engine.KindResult, At: engine.Path{}, Msg: name + " returned " + what + ", want an object"}
		if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
			e.At, e.Hint = nil, "does every path return?"
		}
		return nil, e
	}
	a := converter{Walk: engine.NewWalk(r.limits), limits: r.limits}
	x, err := a.value(v)
	if err != nil {
		return nil, err
	}
	return x.(map[string]any), nil
}

// kind describes v for messages, such as "a number". Of all objects, only those that it calls an object or an array can be
// converted as such.
func kind(v goja.Value) string {
	switch v := v.(type) {
	case nil:
		return "undefined"
	case *goja.Symbol:
		return "a symbol"
	case *goja.Object:
		return kindOfObject(v)
	}
	if goja.IsUndefined(v) {
		return "undefined"
	}
	if goja.IsNull(v) {
		return "null"
	}
	switch v.ExportType().Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "a boolean"
	case reflect.Int64, reflect.Float64:
		return "a number"
	}
	return "a BigInt"
}

// kindOfObject is kind for objects. Some can be distinguished only by the type to which goja exports them.
func kindOfObject(o *goja.Object) string {
	if _, ok := arrayLength(headerOf(o)); ok { // the most frequent
		return "an array"
	}
	class, exports := o.ClassName(), o.ExportType()
	switch {
	case exports == typeMapView:
		return "an object"
	case exports == typeListView:
		return "an array"
	case exports == typeWide:
		return "a number"
	case exports == typePromise:
		return "a promise"
	case class == "Function" || callable(o):
		return "a function"
	case class == "Array" || class == "Error" || class == "Arguments":
		return "an " + strings.Replace(class, "Array", "array", 1)
	case class != "Object":
		return "a " + class
	case exports == typeObject:
		return "an object"
	case exports == typeMap:
		return "a Map"
	case exports == typeArray:
		return "a Set"
	}
	return "a special object"
}

// hints say what to return in place of a value that JSON does not have.
var hints = map[string]string{
	"a promise":   "await it",
	"a Map":       "use Object.fromEntries(map)",
	"a Set":       "use [...set]",
	"an Error":    "use its message",
	"undefined":   "use null, or leave the element out",
	"an iterator": "use [...iterator]",
	"NaN":         "arithmetic with undefined gives NaN: is there such a field?",
}

// A converter converts the result of a script, or an argument of a function of the library, to a JSON-shaped value.
type converter struct {
	*engine.Walk
	limits engine.Limits
	check  func()        // ends the call if it was stopped; nil if the caller checks that
	made   map[*node]any // what was made of views of Maps and Arrays, since a script may return one many times; nil until needed
}

// Count counts a value of n bytes as JSON.
func (a *converter) Count(n int) *engine.Error {
	if a.check != nil {
		a.check()
	}
	return a.Walk.Count(n)
}

func (a *converter) value(v goja.Value) (any, *engine.Error) {
	switch v := v.(type) {
	case goja.String:
		return a.string(v)
	case *goja.Object:
		return a.object(v)
	}
	switch kind(v) {
	case "null":
		return nil, a.Count(4)
	case "a boolean":
		return v.ToBoolean(), a.Count(5)
	case "a number":
		return a.number(v.ToFloat())
	}
	return nil, a.refuse(kind(v))
}

func (a *converter) refuse(what string) *engine.Error {
	e := a.Errorf("is %s, which JSON does not have", what)
	e.Hint = hints[what]
	return e
}

func isUndefined(v goja.Value) bool { return v == nil || goja.IsUndefined(v) }

func (a *converter) string(s goja.String) (any, *engine.Error) {
	if int64(s.Length()) > a.limits.Output { // too large to copy
		return nil, a.Count(s.Length())
	}
	text := s.String()
	return text, a.Count(len(text) + 2)
}

// number returns whole numbers as int64, since JavaScript does not distinguish 1 from 1.0, and readers of JSON do.
func (a *converter) number(f float64) (any, *engine.Error) {
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0):
		return nil, a.refuse(strconv.FormatFloat(f, 'g', -1, 64))
	case f != math.Trunc(f):
		return f, a.Count(8)
	case math.Abs(f) > maxSafe:
		e := a.Errorf("is %g, beyond 2^53, where a number of JavaScript is not exact", f)
		e.Hint = "use a string"
		return nil, e
	}
	return int64(f), a.Count(8)
}

func (a *converter) object(o *goja.Object) (any, *engine.Error) {
	switch o.ExportType() {
	case typeMapView:
		return a.mapView(o.Export().(*mapView))
	case typeListView:
		return a.listView(o.Export().(*listView))
	case typeWide:
		return o.Export().(*wideInt).n, a.Count(20)
	}
	switch what := kindOfObject(o); what {
	case "an object":
		return a.fields(o)
	case "an array":
		return a.elements(o)
	case "a Date":
		t, ok := o.Export().(time.Time)
		if !ok {
			return nil, a.refuse("an invalid Date")
		}
		return t.UTC().Format("2006-01-02T15:04:05.000Z"), a.Count(26)
	case "a String", "a Number", "a Boolean":
		return a.wrapper(o)
	default:
		return nil, a.refuse(what)
	}
}

// wrapper converts the object of new String, new Number or new Boolean to its value, as JSON.stringify does.
func (a *converter) wrapper(o *goja.Object) (any, *engine.Error) {
	if s, ok := o.ToString().(goja.String); ok && o.ClassName() == "String" {
		return a.string(s)
	}
	switch x := o.Export().(type) {
	case int64:
		return a.number(float64(x))
	case float64:
		return a.number(x)
	default:
		return x, a.Count(5)
	}
}

// fields converts the enumerable properties of an object, except the undefined ones, as JSON.stringify does: scripts copy optional
// fields with {subdomain: spec.serviceName}, and types of TypeScript allow that.
func (a *converter) fields(o *goja.Object) (any, *engine.Error) {
	if err := a.Count(2); err != nil {
		return nil, err
	}
	keys := keysOf(o)
	if len(keys) == 0 && callable(o.GetSymbol(goja.SymIterator)) {
		return nil, a.refuse("an iterator") // JSON.stringify would make {} of it
	}
	m := make(map[string]any, min(len(keys), a.limits.Nodes))
	for _, key := range keys {
		v := o.Get(key)
		if isUndefined(v) {
			continue
		}
		if err := a.EnterKey(key); err != nil {
			return nil, err
		}
		x, err := a.value(v)
		if err != nil {
			return nil, err
		}
		a.Leave()
		m[key] = x
	}
	return m, nil
}

func (a *converter) elements(o *goja.Object) (any, *engine.Error) {
	n := o.Get("length").ToInteger()
	return a.list(n, func(i int) (any, *engine.Error) { return a.value(o.Get(strconv.Itoa(i))) })
}

// list returns a list of n elements, or an error if a result may not have that many: the length of a sparse array says nothing
// about its size.
func (a *converter) list(n int64, element func(int) (any, *engine.Error)) (any, *engine.Error) {
	if n > int64(a.limits.Nodes) {
		if a.check != nil {
			return nil, engine.TooMuchMemory(engine.Pos{}, a.limits, "the array")
		}
		return nil, &engine.Error{
			Kind: engine.KindOutput,
			Msg: fmt.Sprintf("the answer has an array of %d elements at %s, but may have %d values in all",
				n, a.Path(), a.limits.Nodes),
		}
	}
	if err := a.Count(2); err != nil {
		return nil, err
	}
	list := make([]any, n)
	for i := range list {
		if err := a.EnterIndex(i); err != nil {
			return nil, err
		}
		x, err := element(i)
		if err != nil {
			return nil, err
		}
		a.Leave()
		list[i] = x
	}
	return list, nil
}

// mapView returns the map of the request itself if the script did not change it.
func (a *converter) mapView(m *mapView) (any, *engine.Error) {
	if !m.dirty {
		return a.whole(&m.node, m.base)
	}
	if err := a.Count(2); err != nil {
		return nil, err
	}
	out := make(map[string]any, m.base.Len())
	for _, key := range m.Keys() {
		v, stored, _ := m.held(key)
		if stored && isUndefined(v) {
			continue
		}
		if err := a.EnterKey(key); err != nil {
			return nil, err
		}
		var x any
		var err *engine.Error
		if stored {
			x, err = a.value(v)
		} else {
			x, _ = m.base.Get(key)
			x, err = a.shared(x)
		}
		if err != nil {
			return nil, err
		}
		a.Leave()
		out[key] = x
	}
	return out, nil
}

func (a *converter) listView(l *listView) (any, *engine.Error) {
	if !l.dirty {
		return a.whole(&l.node, l.base)
	}
	return a.list(int64(l.n), func(i int) (any, *engine.Error) {
		if v, _ := l.held(i); v != nil {
			return a.value(v)
		}
		return a.shared(l.base.Index(i))
	})
}

// whole is shared for what a view shows.
func (a *converter) whole(view *node, x any) (any, *engine.Error) {
	x = packed.Whole(x)
	made, ok := a.made[view]
	if ok {
		return made, a.countShared(x)
	}
	made, err := a.shared(x)
	switch x.(type) {
	case engine.GoMap, engine.GoSlice: // shared, if it can be
		return made, err
	}
	if a.made == nil {
		a.made = map[*node]any{}
	}
	a.made[view] = made
	return made, err
}

// shared counts a Go value of the request, and returns it as maps and slices: by reference if it has only those.
func (a *converter) shared(x any) (any, *engine.Error) {
	x = packed.Whole(x)
	if err := a.countShared(x); err != nil {
		return nil, err
	}
	return tree.Native(x), nil
}

// countShared counts a Go value of the request.
func (a *converter) countShared(x any) *engine.Error {
	switch x := x.(type) {
	case string:
		return a.Count(len(x) + 2)
	case nil, bool, int64, float64:
		return a.Count(8)
	case engine.GoMap:
		return a.countShared(map[string]any(x))
	case map[string]any:
		for key, field := range x {
			if err := a.countField(key, field); err != nil {
				return err
			}
		}
	case engine.Map:
		for key, field := range x.All() {
			if err := a.countField(key, field); err != nil {
				return err
			}
		}
	default:
		return a.countElements(x)
	}
	return a.Count(8)
}

// countField counts a field of a map.
func (a *converter) countField(key string, x any) *engine.Error {
	err := a.EnterKey(key)
	if err == nil {
		err = a.countShared(x)
	}
	if err == nil {
		a.Leave()
	}
	return err
}

// countElements counts a list.
func (a *converter) countElements(x any) *engine.Error {
	list, _ := tree.ArrayOf(x)
	for i := range list.Len() {
		if err := a.EnterIndex(i); err != nil {
			return err
		}
		if err := a.countShared(list.Index(i)); err != nil {
			return err
		}
		a.Leave()
	}
	return a.Count(8)
}
