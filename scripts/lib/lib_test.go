package lib_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/scripts/lib"
)

type (
	obj = map[string]any
	arr = []any
)

// A free meter has no limits. It records the steps and the largest size.
type free struct{ steps, bytes int64 }

func (f *free) Spend(n int64) error               { f.steps += n; return nil }
func (f *free) CheckSize(n int64, _ string) error { f.bytes = max(f.bytes, n); return nil }

// call calls a function by name, with null for arguments that are left out.
func call(name string, args ...any) (any, error) { return callWith(&free{}, name, args...) }

func callWith(m lib.Meter, name string, args ...any) (any, error) {
	for _, f := range lib.Functions() {
		if f.Name == name {
			return f.Call(append(args, make(arr, len(f.Params)-len(args))...), m)
		}
	}
	panic("there is no " + name)
}

func TestFunctions(t *testing.T) {
	for _, c := range []struct {
		name string
		args arr
		want any // an error is a part of its text, with the hint
	}{
		{"json.encode", arr{obj{"b": int64(1), "a": arr{nil, true, 1.5, "<é\n>"}}}, `{"a":[null,true,1.5,"<é\n>"],"b":1}`},
		{"json.encode", arr{obj{"a": 1.0, "b": math.Copysign(0, -1)}}, `{"a":1,"b":0}`},
		{"json.encode", arr{arr{int64(1)}, int64(2)}, "[\n  1\n]"},
		{"json.encode", arr{arr{}, int64(9)}, errors.New("indent is 9, want a whole number from 0 to 8")},
		{"json.encode", arr{"a", "  "}, errors.New("json.encode: indent is a string, want a number")},
		{"json.encode", arr{math.NaN()}, errors.New("which JSON does not have")},
		{"json.encode", arr{"\xff"}, errors.New("not UTF-8")},
		{"json.decode", arr{` {"a": [1, 1.0, 1e2, -0, "x"]} `}, obj{"a": arr{int64(1), 1.0, 100.0, int64(0), "x"}}},
		{"json.decode", arr{"null"}, nil},
		{"json.decode", arr{"{\n  \"a\": tru\n}"}, errors.New("line 2, column 11: invalid character")},
		{"json.decode", arr{`{"a": 1`}, errors.New("line 1, column 8: the text ends within a value")},
		{"json.decode", arr{"1 2"}, errors.New("there is more after the value")},
		{"json.decode", arr{"9223372036854775808"}, errors.New("beyond 64 bits (have it as a string)")},
		{"json.decode", arr{"1e999"}, errors.New("too large")},
		{"json.decode", arr{strings.Repeat("[", 1000)}, errors.New("nested deeper than 100 levels")},
		{"json.decode", arr{nil}, errors.New("json.decode: text is null, want a string")},

		{"base64.encode", arr{"höhe"}, "aMO2aGU="},
		{"base64.decode", arr{"aMO2aGU="}, "höhe"},
		{"base64.decode", arr{"aMO2\naGU=\n"}, "höhe"},
		{"base64.decode", arr{"a?"}, errors.New("illegal base64 data at input byte 1")},
		{"base64.decode", arr{"/w=="}, errors.New("not UTF-8 (pass binary data on in its encoded form")},
		{"sha256", arr{"abc"}, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},

		{"hash", arr{obj{"image": "nginx", "replicas": int64(3)}}, "w45cd7nncz"},
		{"hash", arr{obj{"replicas": 3.0, "image": "nginx"}}, "w45cd7nncz"},
		{"hash", arr{nil}, "gh5qjcjwf9"},

		{"merge", arr{obj{"a": obj{"b": int64(1), "c": int64(2)}, "l": arr{int64(1)}}, obj{"a": obj{"c": nil, "d": int64(3)}, "l": arr{}}},
			obj{"a": obj{"b": int64(1), "d": int64(3)}, "l": arr{}}},
		{"merge", arr{obj{"a": "b"}, nil}, nil},
		{"merge", arr{arr{"a"}, obj{"b": obj{"c": nil}}}, obj{"b": obj{}}},

		{"conditions.get", arr{arr{obj{"type": "A"}, obj{"type": "B", "status": "True"}}, "B"}, obj{"type": "B", "status": "True"}},
		{"conditions.get", arr{nil, "B"}, nil},
		{"conditions.get", arr{arr{"B"}, "B"}, errors.New("conditions.get: conditions[0] is a string, want an object")},
		{"conditions.isTrue", arr{arr{obj{"type": "B", "status": "True"}}, "B"}, true},
		{"conditions.isTrue", arr{arr{obj{"type": "B", "status": "False"}}, "B"}, false},
		{"conditions.isTrue", arr{arr{obj{"type": "B", "status": true}}, "B"}, false},
		{"conditions.set", arr{arr{obj{"type": "A"}, obj{"type": "B", "x": "y"}, obj{"type": "C"}}, obj{"type": "B", "status": "True"}},
			arr{obj{"type": "A"}, obj{"type": "B", "status": "True"}, obj{"type": "C"}}},
		{"conditions.set", arr{nil, obj{"type": "B", "status": "True"}}, arr{obj{"type": "B", "status": "True"}}},
		{"conditions.set", arr{nil, obj{"type": "B", "status": true}}, errors.New("condition.status is a boolean, want a string such as True, False or Unknown")},
		{"conditions.set", arr{nil, obj{"type": "", "status": "True"}}, errors.New("condition.type is empty")},

		{"labels.matches", arr{nil, obj{"a": "b"}}, false},
		{"labels.matches", arr{obj{}, nil}, true},
		{"labels.matches", arr{obj{"matchLabel": obj{}}, obj{}}, errors.New(`a selector has no "matchLabel" (it has matchLabels and matchExpressions)`)},
		{"labels.matches", arr{obj{"matchExpressions": arr{obj{"key": "a", "operator": "in"}}}, obj{}}, errors.New(`selector.matchExpressions[0] has operator "in", want In,`)},

		{"semver.parse", arr{"v1.29.3-gke.100+x.y"}, obj{"major": int64(1), "minor": int64(29), "patch": int64(3), "prerelease": "gke.100", "build": "x.y"}},
		{"semver.parse", arr{"1.2"}, errors.New(`semver.parse: "1.2" is not a version`)},
		{"semver.valid", arr{"1.2.3"}, true},
		{"semver.valid", arr{"01.2.3"}, false},
		{"semver.valid", arr{int64(1)}, false},
		{"semver.valid", arr{"99999999999999999999.0.0"}, false},

		{"quantity.parse", arr{"100m"}, 0.1},
		{"quantity.parse", arr{"1.5Gi"}, int64(1610612736)},
		{"quantity.parse", arr{int64(2)}, int64(2)},
		{"quantity.parse", arr{0.25}, 0.25},
		{"quantity.parse", arr{"7Ei"}, int64(7 << 60)},
		{"quantity.parse", arr{"8Ei"}, errors.New("larger than a quantity may be")},
		{"quantity.parse", arr{"1e999999999"}, errors.New("larger than a quantity may be")},
		{"quantity.parse", arr{"1 Gi"}, errors.New(`"1 Gi" is not a quantity (a quantity is a number with a suffix`)},
		{"quantity.parse", arr{true}, errors.New("quantity.parse: quantity is a boolean, want a quantity")},
		{"quantity.milli", arr{"0.1"}, int64(100)},
		{"quantity.milli", arr{"1u"}, int64(1)},
		{"quantity.milli", arr{"7Ei"}, errors.New("more than 64 bits")},
		{"quantity.compare", arr{"1Ki", "1024"}, int64(0)},
		{"quantity.compare", arr{"1k", "1Ki"}, int64(-1)},
		{"quantity.add", arr{"1Gi", "512Mi"}, "1536Mi"},
		{"quantity.add", arr{"100m", "-0.1"}, "0"},
		{"quantity.add", arr{int64(0), "1Gi"}, "1Gi"},
		{"quantity.add", arr{"7Ei", "7Ei"}, errors.New("the sum is larger")},
		{"quantity.format", arr{int64(1 << 30), "binary"}, "1Gi"},
		{"quantity.format", arr{"0.5"}, "500m"},
		{"quantity.format", arr{"1Gi", "decimal"}, "1073741824"},
		{"quantity.format", arr{"1000", "exponent"}, "1e3"},
		{"quantity.format", arr{"1", "hex"}, errors.New(`style is "hex", want decimal, binary or exponent`)},
	} {
		got, err := call(c.name, c.args...)
		if want, ok := c.want.(error); ok {
			if err == nil || !strings.Contains(withHint(err), want.Error()) {
				t.Errorf("%s(%v): error %v, want %v", c.name, c.args, withHint(err), want)
			}
		} else if err != nil || !cmp.Equal(got, c.want) {
			t.Errorf("%s(%v) = %#v, %v, want %#v", c.name, c.args, got, err, c.want)
		}
	}
}

func withHint(err error) string {
	var e *lib.Error
	if errors.As(err, &e) && e.Hint != "" {
		return e.Msg + " (" + e.Hint + ")"
	}
	if err == nil {
		return "nil"
	}
	return err.Error()
}

// The examples in RFC 7386.
func TestMergeIsJSONMergePatch(t *testing.T) {
	for _, c := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"a":1,"e":null}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		target, _ := call("json.decode", c[0])
		patch, _ := call("json.decode", c[1])
		got, err := call("merge", target, patch)
		text, _ := call("json.encode", got)
		if err != nil || text != c[2] {
			t.Errorf("merge(%s, %s) = %v, %v, want %s", c[0], c[1], text, err, c[2])
		}
	}
}

// The order of the example on semver.org.
func TestVersionOrder(t *testing.T) {
	order := strings.Fields("0.9.9 1.0.0-alpha 1.0.0-alpha.1 1.0.0-alpha.beta 1.0.0-beta 1.0.0-beta.2 1.0.0-beta.11 1.0.0-rc.1 v1.0.0 1.0.1 1.2.0 1.10.0 2.0.0 2.1.0 2.1.1")
	for i, a := range order {
		for j, b := range order {
			want := int64(0)
			switch {
			case i < j:
				want = -1
			case i > j:
				want = 1
			}
			if got, err := call("semver.compare", a, b+"+build"); err != nil || got != want {
				t.Errorf("semver.compare(%s, %s) = %v, %v, want %d", a, b, got, err, want)
			}
		}
	}
}

func TestConstraints(t *testing.T) {
	for _, c := range []struct{ constraint, yes, no string }{
		{"1.2.3", "1.2.3 v1.2.3 1.2.3+x", "1.2.4 1.2.2 1.2.3-rc.1"},
		{"=1.2", "1.2.0 1.2.9", "1.3.0 1.1.9 1.2.0-rc.1 1.3.0-rc.1"},
		{"1.x", "1.0.0 1.9.9", "2.0.0 0.9.0 2.0.0-rc.1"},
		{"*", "0.0.0 9.9.9-rc.1", ""},
		{"!=1.2", "1.3.0 1.1.0", "1.2.0 1.2.7"},
		{">=1.2.0 <2", "1.2.0 1.9.9 2.0.0-rc.1", "1.1.9 2.0.0 1.2.0-rc.1"},
		{">= 1.2.0, < 2", "1.2.0 1.9.9", "1.1.9 2.0.0"},
		{">1.2", "1.3.0", "1.2.9"},
		{"<=1.2", "1.2.9 1.0.0", "1.3.0"},
		{">1.2.3", "1.2.4 1.2.4-rc.1", "1.2.3 1.2.3-rc.1"},
		{">1.2.3-rc.1", "1.2.3-rc.1.0 1.2.3-rc.2 1.2.3", "1.2.3-rc.1"},
		{"<=1.2.3", "1.2.3 1.2.3-rc.1", "1.2.4 1.2.4-rc.1"},
		{"~1.2.3", "1.2.3 1.2.9", "1.3.0 1.2.2 1.3.0-rc.1"},
		{"~1", "1.0.0 1.9.0", "2.0.0"},
		{"^1.2.3", "1.2.3 1.9.0", "2.0.0 1.2.2 2.0.0-rc.1"},
		{"^0.2.3", "0.2.3 0.2.9", "0.3.0"},
		{"^0.0.3", "0.0.3", "0.0.4"},
		{"^0.0", "0.0.3", "0.1.0"},
		{"^0", "0.9.0", "1.0.0"},
		{"<1 || >=2", "0.9.0 2.1.0", "1.5.0"},
		{">=1.28", "v1.29.3-gke.100", "v1.27.9"},
	} {
		for _, v := range strings.Fields(c.yes) {
			if got, err := call("semver.satisfies", v, c.constraint); err != nil || got != true {
				t.Errorf("semver.satisfies(%s, %s) = %v, %v, want true", v, c.constraint, got, err)
			}
		}
		for _, v := range strings.Fields(c.no) {
			if got, err := call("semver.satisfies", v, c.constraint); err == nil && got != false {
				t.Errorf("semver.satisfies(%s, %s) = %v, want false", v, c.constraint, got)
			}
		}
	}
	for _, wrong := range []string{"", "||", ">=1.2.0 ||", "=>1", "1.2.3.4", "one", ">", "1..2", ">=1.2.0 and <2"} {
		if got, err := call("semver.satisfies", "1.2.3", wrong); err == nil {
			t.Errorf("semver.satisfies(1.2.3, %q) = %v, want an error", wrong, got)
		}
	}
}

// A value that is nested too deeply is an error of each function.
func TestNestingIsLimited(t *testing.T) {
	deep := any("x")
	for range 5000 {
		deep = arr{deep}
	}
	for _, f := range lib.Functions() {
		if f.Params[0].Type != lib.Any || f.Name == "semver.valid" {
			continue
		}
		if _, err := call(f.Name, deep); err == nil || !strings.Contains(err.Error(), "nested deeper than 100 levels") {
			t.Errorf("%s of a value that is nested deeply: %v", f.Name, err)
		}
	}
}

var errEnd = errors.New("the end")

// A little meter has low limits. A call that exceeds them must end with the error of the meter.
type little struct{ left int64 }

func (m *little) Spend(n int64) error {
	if m.left -= n; m.left < 0 {
		return errEnd
	}
	return nil
}

func (m *little) CheckSize(n int64, _ string) error {
	if n > 1<<16 {
		return errEnd
	}
	return nil
}

func TestStepsAreCounted(t *testing.T) {
	long := strings.Repeat("1.0.0 ", 1<<20)
	wide := make(arr, 1<<17)
	args := map[lib.Type]any{lib.String: long, lib.Any: wide, lib.Object: obj{"a": long}, lib.List: wide, lib.Number: int64(1), lib.Quantity: long}
	for _, f := range lib.Functions() {
		var given arr
		for _, p := range f.Params {
			given = append(given, args[p.Type])
		}
		if _, err := f.Call(given, &little{left: 20_000}); !errors.Is(err, errEnd) {
			t.Errorf("%s of a large value: %v, want %v", f.Name, err, errEnd)
		}
	}
}

// FuzzFunctions passes arbitrary text to every function, which must return a result or an error.
func FuzzFunctions(f *testing.F) {
	for _, text := range []string{"", "1.2.3-a.1+b", ">=1 <2 || ^0.1", "1.5Gi", "-.5e3", "[1, {\"a\": null}]", "a: &x [*x]\n---\n!!binary x", "Ready", "YWE="} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := call("yaml.decode", text)
		if err != nil {
			v = text
		}
		args := map[lib.Type]any{
			lib.String: text, lib.Any: v, lib.Quantity: text, lib.Number: int64(len(text)),
			lib.Object: obj{"type": text, "status": text, "matchExpressions": arr{v}, text: v}, lib.List: arr{obj{"type": text}, v},
		}
		for _, f := range lib.Functions() {
			var given arr
			for _, p := range f.Params {
				given = append(given, args[p.Type])
			}
			if v, err := f.Call(given, &free{}); err == nil && v == nil && f.Result != lib.Any {
				t.Errorf("%s(%v) gives nothing", f.Name, given)
			}
			if len(f.Params) > 0 && f.Params[0].Type == lib.Object { // a selector that has nothing else
				given[0] = obj{"matchLabels": v, "matchExpressions": arr{obj{"key": text, "operator": "In", "values": arr{text}}}}
				_, _ = f.Call(given, &free{})
			}
		}
	})
}
