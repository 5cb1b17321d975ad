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
)

var (
	typeMapView  = reflect.TypeFor[*mapView]()
	typeListView = reflect.TypeFor[*listView]()
	typeWide     = reflect.TypeFor[*wide]()
	typeObject   = reflect.TypeFor[map[string]any]()
	typeArray    = reflect.TypeFor[[]any]()
	typeMap      = reflect.TypeFor[[][2]any]()
)

// answer makes a JSON-shaped map of what the function name returned. It may run script code, such as getters, so it
// must be called where goja's exceptions are caught.
func (r *run) answer(name string, v goja.Value) (map[string]any, error) {
	if what := kind(v); what != "an object" {
		e := &engine.Error{Kind: engine.KindResult, Msg: name + " returned " + what + ", want an object"}
		if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
			e.Hint = "does every path return?"
		}
		return nil, e
	}
	a := answer{Walk: engine.NewWalk(r.limits), limits: r.limits}
	x, err := a.value(v)
	if err != nil {
		return nil, err
	}
	return x.(map[string]any), nil
}

// kind says in words what v is. Only what it calls an object or an array can be part of an answer as such.
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

// kindOfObject is kind for objects. goja tells some of them apart by class, some only by what they export to.
func kindOfObject(o *goja.Object) string {
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

// hints say what to return instead of what JSON has no words for.
var hints = map[string]string{
	"a promise":   "await it",
	"a Map":       "use Object.fromEntries(map)",
	"a Set":       "use [...set]",
	"an Error":    "use its message",
	"undefined":   "use null, or leave the element out",
	"an iterator": "use [...iterator]",
}

// An answer is the walk through a script's answer, or through what it gives to a function of ours.
type answer struct {
	*engine.Walk
	limits engine.Limits
	look   func() // ends the call if it is to stop; nil where that is seen to
}

// Count counts a value.
func (a *answer) Count(n int) *engine.Error {
	if a.look != nil {
		a.look()
	}
	return a.Walk.Count(n)
}

func (a *answer) value(v goja.Value) (any, *engine.Error) {
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

func (a *answer) refuse(what string) *engine.Error {
	e := a.Errorf("is %s, which JSON does not have", what)
	e.Hint = hints[what]
	return e
}

func (a *answer) string(s goja.String) (any, *engine.Error) {
	if int64(s.Length()) > a.limits.Output { // too large even to be copied
		return nil, a.Count(s.Length())
	}
	text := s.String()
	return text, a.Count(len(text) + 2)
}

// number returns whole numbers as int64, since JavaScript does not tell 1 from 1.0, and JSON readers do.
func (a *answer) number(f float64) (any, *engine.Error) {
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

func (a *answer) object(o *goja.Object) (any, *engine.Error) {
	switch o.ExportType() {
	case typeMapView:
		return a.mapView(o.Export().(*mapView))
	case typeListView:
		return a.listView(o.Export().(*listView))
	case typeWide:
		return o.Export().(*wide).n, a.Count(20)
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
		return a.boxed(o)
	default:
		return nil, a.refuse(what)
	}
}

// boxed takes what new String and the like made, in which JSON.stringify too sees the value.
func (a *answer) boxed(o *goja.Object) (any, *engine.Error) {
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

// fields takes the enumerable properties of an object, except the undefined ones, as JSON.stringify does.
func (a *answer) fields(o *goja.Object) (any, *engine.Error) {
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
		if v == nil || goja.IsUndefined(v) {
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

func (a *answer) elements(o *goja.Object) (any, *engine.Error) {
	n := o.Get("length").ToInteger()
	return a.list(n, func(i int) (any, *engine.Error) { return a.value(o.Get(strconv.Itoa(i))) })
}

// list makes a list of n elements, unless they are more than an answer may have anyway: arrays can be sparse, and
// then their length says nothing about their size.
func (a *answer) list(n int64, element func(int) (any, *engine.Error)) (any, *engine.Error) {
	if n > int64(a.limits.Nodes) {
		if a.look != nil {
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

// mapView returns the map itself if the script changed nothing in it.
func (a *answer) mapView(m *mapView) (any, *engine.Error) {
	if !m.dirty {
		return m.base, a.shared(m.base)
	}
	if err := a.Count(2); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(m.base))
	for _, key := range m.Keys() {
		v, own := m.vals[key]
		if own && goja.IsUndefined(v) {
			continue
		}
		if err := a.EnterKey(key); err != nil {
			return nil, err
		}
		x, err := a.either(v, m.base[key])
		if err != nil {
			return nil, err
		}
		a.Leave()
		out[key] = x
	}
	return out, nil
}

func (a *answer) listView(l *listView) (any, *engine.Error) {
	if !l.dirty {
		return l.base, a.shared(l.base)
	}
	return a.list(int64(l.n), func(i int) (any, *engine.Error) {
		if l.vals[i] != nil {
			return a.value(l.vals[i])
		}
		return a.either(nil, l.base[i])
	})
}

// either takes the script's value v, or where it is nil the Go value x below it.
func (a *answer) either(v goja.Value, x any) (any, *engine.Error) {
	if v != nil {
		return a.value(v)
	}
	return x, a.shared(x)
}

// shared counts a Go value that goes out as it came in.
func (a *answer) shared(x any) *engine.Error {
	size := 8
	switch x := x.(type) {
	case string:
		size = len(x) + 2
	case map[string]any:
		for key, field := range x {
			if err := a.EnterKey(key); err != nil {
				return err
			}
			if err := a.shared(field); err != nil {
				return err
			}
			a.Leave()
		}
	case []any:
		for i, element := range x {
			if err := a.EnterIndex(i); err != nil {
				return err
			}
			if err := a.shared(element); err != nil {
				return err
			}
			a.Leave()
		}
	}
	return a.Count(size)
}
