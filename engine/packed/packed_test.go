package packed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"metascript/engine"
)

var (
	_ engine.Map   = Map{}
	_ engine.Array = Array{}
)

func parse(t testing.TB, text string) Map {
	t.Helper()
	m, err := Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", engine.Clip(text, 200), err)
	}
	return m
}

// decode is what the decoder of Go makes of JSON text, with integers where they fit.
func decode(text []byte) (map[string]any, error) {
	if !json.Valid(text) {
		return nil, errors.New("it is not valid")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("it is no object")
	}
	out, err := numbers(m)
	if err != nil {
		return nil, err
	}
	return out.(map[string]any), nil
}

func numbers(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n, nil
		}
		return strconv.ParseFloat(string(v), 64)
	case map[string]any:
		for key := range v {
			if v[key], err = numbers(v[key]); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = numbers(v[i]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// check compares every way to read v with want.
func check(t testing.TB, path string, v, want any) {
	t.Helper()
	switch want := want.(type) {
	case map[string]any:
		m, ok := v.(Map)
		if !ok || m.Len() != len(want) {
			t.Fatalf("%s is %T with other keys than %v", path, v, slices.Sorted(maps.Keys(want)))
		}
		keys := slices.Sorted(maps.Keys(want))
		if !slices.Equal(m.Keys(), keys) {
			t.Fatalf("%s has the keys %q, want %q", path, m.Keys(), keys)
		}
		n := 0
		for key, value := range m.All() {
			if key != keys[n] {
				t.Fatalf("%s: key %d is %q, want %q", path, n, key, keys[n])
			}
			check(t, path+"."+key, value, want[key])
			again, found := m.Get(key)
			if !found || !m.Has(key) || again != value {
				t.Fatalf("%s has %v for %q, want %v", path, again, key, value)
			}
			n++
		}
		for _, key := range append(keys, "", "\xff", "zzz") {
			for _, other := range []string{key + "x", key + "\x00", strings.TrimSuffix(key, "a")} {
				if _, is := want[other]; is != m.Has(other) {
					t.Fatalf("%s has %q: %t", path, other, m.Has(other))
				}
			}
		}
	case []any:
		a, ok := v.(Array)
		if !ok || a.Len() != len(want) {
			t.Fatalf("%s is %v, want %v", path, v, want)
		}
		n := 0
		for item := range a.All() {
			check(t, fmt.Sprintf("%s[%d]", path, n), item, want[n])
			if a.Index(n) != item {
				t.Fatalf("%s[%d] is %v, want %v", path, n, a.Index(n), item)
			}
			n++
		}
	case float64:
		if f, ok := v.(float64); !ok || math.Float64bits(f) != math.Float64bits(want) {
			t.Fatalf("%s is %v, want %v", path, v, want)
		}
	default:
		if v != want {
			t.Fatalf("%s is %#v, want %#v", path, v, want)
		}
	}
}

// texts are JSON objects with everything that is special.
func texts() []string {
	all := []string{
		`{"phase":"Running","l":["True","true","v1",""],"Running":{"v1":"x"}}`,
		`{}`, ` { } `, `{"a":{}}`, `{"a":[]}`, `{"a":null,"b":true,"c":false}`,
		`{"b":1,"a":2}`, `{"a":1,"b":{"d":1,"c":2},"a":3}`, `{"a":1,"a":2,"a":3,"":4,"":5}`,
		`{"i":[0,-0,1,-1,127,128,-128,9223372036854775807,-9223372036854775808,9223372036854775808,-9223372036854775809,18446744073709551616]}`,
		`{"f":[0.0,-0.0,1.0,1.5,1e3,1E-3,1e+2,1.7976931348623157e308,5e-324,1e-400,0.1,123456789012345678901234567890]}`,
		`{"s":["","a","\"","\\","\/","\b\f\n\r\t","\u0000","\u00e4","ä","\ud83d\ude00","😀","\ud83d","\ud83dx","\ude00","\ud83d\u0041","\ud83d\ud83d\ude00"]}`,
		"{\"s\":[\"\xff\",\"a\xe4b\",\"\xf0\x9f\x98\",\"\xed\xa0\x80\"],\"\xff\":1,\"\xfe\":2}",
		`{"\u0061":1,"a\"b":2}`,
		"{\n\t\"a\" :\r 1 , \"b\" : [ 1 , 2 ]\n}\n",
		`{"a":` + strings.Repeat(`[`, 200) + strings.Repeat(`]`, 200) + `}`,
		`{"a":` + strings.Repeat(`{"a":`, 200) + `1` + strings.Repeat(`}`, 200) + `}`,
	}
	for _, n := range []int{7, 8, 9, 10, 63, 64, 65, 300, 5000} {
		var m, list []string
		for i := range n {
			m = append(m, fmt.Sprintf(`"k%d":%d`, (i*7)%n, i))
			list = append(list, fmt.Sprintf(`"%s"`, strings.Repeat("x", i%50)))
		}
		all = append(all, `{"m":{`+strings.Join(m, ",")+`},"l":[`+strings.Join(list, ",")+`]}`)
	}
	// Elements of just under and just over 64 KiB.
	for n := maxNarrow - 40; n < maxNarrow+10; n++ {
		all = append(all, `{"l":[1,2,3,4,5,6,7,8,"`+strings.Repeat("x", n)+`",10],"m":{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"x":"`+strings.Repeat("x", n-18)+`","y":2}}`)
	}
	return all
}

var invalid = []string{
	``, ` `, `null`, `1`, `[]`, `"a"`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":1,`, `{"a":1,}`, `{,}`, `{a:1}`, `{"a" 1}`, `{"a":1 "b":2}`, `{}}`, `{} {}`,
	`{"a":[1,]}`, `{"a":[1 2]}`, `{"a":[`, `{"a":tru}`, `{"a":nul`, `{"a":True}`, `{"a":NaN}`, `{"a":01}`, `{"a":-}`, `{"a":1.}`, `{"a":.5}`, `{"a":1e}`, `{"a":1e+}`,
	`{"a":+1}`, `{"a":1e400}`, `{"a":-1e400}`, `{"a":"\x"}`, `{"a":"\u12"}`, `{"a":"\u12g4"}`, `{"a":"\ud83d\u12"}`, "{\"a\":\"\n\"}", "{\"a\":\"\\\n\"}", "{\"a\x00\":1}", `{"a":"`, `{"a":"\`, `{'a':1}`, `{"a":1;}`,
	"\ufeff{}", `{"a":0x10}`,
}

func TestParse(t *testing.T) {
	for _, text := range texts() {
		want, err := decode([]byte(text))
		if err != nil {
			t.Fatalf("%s: %v", engine.Clip(text, 200), err)
		}
		m := parse(t, text)
		check(t, "", m, want)
		if !reflect.DeepEqual(want, m.Build()) { // cmp.Diff takes too long for deep values
			t.Errorf("%s: built %v", engine.Clip(text, 200), m.Build())
		}
	}
}

func TestInvalidText(t *testing.T) {
	for _, text := range invalid {
		if _, err := decode([]byte(text)); err == nil {
			t.Errorf("%s: the decoder of Go accepts it", text)
		}
		if m, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s: got %v", text, m.Build())
		}
	}
	deep := `{"a":` + strings.Repeat(`[`, maxDepth) + strings.Repeat(`]`, maxDepth) + `}`
	if _, err := Parse([]byte(deep)); err == nil || !strings.Contains(err.Error(), "nested deeper than 10000 levels") {
		t.Errorf("deep: %v", err)
	}
	for text, want := range map[string]string{
		`{"a":1,}`:     `invalid character '}' at byte 7 of the JSON text: want a key`,
		`{"a":1e400}`:  `number 1e400 at byte 5 of the JSON text is out of range`,
		`{"a":[1`:      `the JSON text ends too early`,
		`{"a":"\ud8x"`: `invalid character 'x' at byte 10 of the JSON text: want a hexadecimal digit`,
	} {
		if _, err := Parse([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

func TestDrop(t *testing.T) {
	var dropped []string
	p := &Parser{
		Drop: func(outer, key string) bool { return key == "x" || outer == "metadata" && key == "managedFields" },
		Dropped: func(outer, key string, text []byte) {
			dropped = append(dropped, outer+"."+key+" "+string(text))
		},
	}
	m, err := p.Parse([]byte(`{"x":{"metadata":{"managedFields":1}},"metadata":{"managedFields": [ {"a":[1]} ] ,"name":"a","x":2,"y":{"x":3}},"managedFields":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"metadata": map[string]any{"name": "a", "y": map[string]any{"x": int64(3)}}, "managedFields": []any{}}
	if diff := cmp.Diff(want, m.Build()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	wantDropped := []string{`.x {"metadata":{"managedFields":1}}`, `metadata.managedFields [ {"a":[1]} ]`, "metadata.x 2"}
	if diff := cmp.Diff(wantDropped, dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	if _, err := p.Parse([]byte(`{"x":[}`)); err == nil {
		t.Error("what is dropped need not be valid")
	}
}

func TestPaths(t *testing.T) {
	m := parse(t, `{"metadata":{"name":"a","labels":{"x":"y"}},"items":[{"a":1},"b"],"n":1}`)
	if m.Text("metadata", "name") != "a" || m.Text("metadata", "labels") != "" || m.Text("n", "x") != "" || m.Text("no", "x") != "" {
		t.Error("Text does not return the strings")
	}
	if labels, ok := m.Map("metadata", "labels"); !ok || labels.Text("x") != "y" {
		t.Error("Map does not return the labels")
	}
	if _, ok := m.Map("items"); ok {
		t.Error("an array is a Map")
	}
	if items, ok := m.Array("items"); !ok || items.Len() != 2 || items.Index(0).(Map).Len() != 1 {
		t.Error("Array does not return the items")
	}
	if v, ok := m.At("n"); !ok || v != int64(1) {
		t.Error("At does not return the number")
	}
	if Empty.Len() != 0 || len(Empty.Build()) != 0 || Empty.IsZero() || !(Map{}).IsZero() {
		t.Error("Empty is not an empty object")
	}
}

func TestEqual(t *testing.T) {
	a, b := parse(t, `{"b":[1,"x"],"a":{"d":2,"c":null}}`), parse(t, ` {"a": {"c":null, "d":2}, "b":[1,"\u0078"]}`)
	if !a.Equal(b) || !a.Equal(a) || a == b || a.Equal(parse(t, `{"b":[1,"x"],"a":{"d":3,"c":null}}`)) {
		t.Error("objects are not compared by their content")
	}
}

// What is read must stay in memory although the objects around it are not referred to any more.
func TestTextsKeepTheObject(t *testing.T) {
	var kept []string
	for i := range 1000 {
		kept = append(kept, parse(t, fmt.Sprintf(`{"a":["%d"],"garbage":"%s"}`, i, strings.Repeat("x", 1000))).Build()["a"].([]any)[0].(string))
	}
	for i, s := range kept {
		if s != strconv.Itoa(i) {
			t.Fatalf("text %d is %q", i, s)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range append(texts(), invalid...) {
		if len(text) < 4096 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := bytes.Clone(text)
		want, wantErr := decode(text)
		m, err := Parse(text)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: got error %v, want %v", text, err, wantErr)
		}
		if !bytes.Equal(before, text) {
			t.Fatal("the text was changed")
		}
		if err != nil {
			return
		}
		check(t, "", m, want)
		if !reflect.DeepEqual(want, m.Build()) {
			t.Fatalf("%q: built %v", text, m.Build())
		}
		encoded, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		again := parse(t, string(encoded))
		if !again.Equal(m) && !hasFloat(want) {
			t.Fatalf("%s has other bytes than %q", encoded, text)
		}
	})
}

func hasFloat(v any) bool {
	switch v := v.(type) {
	case float64:
		return true
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), hasFloat)
	case []any:
		return slices.ContainsFunc(v, hasFloat)
	}
	return false
}

func TestMissingFieldsAreAdded(t *testing.T) {
	p := Parser{
		Drop:    func(outer, key string) bool { return outer == "" && key == "dropped" },
		Missing: map[string]string{"kind": "Pod", "dropped": "in its place"},
	}
	for text, want := range map[string]string{
		`{}`:                                     `{"dropped":"in its place","kind":"Pod"}`,
		`{"a":{"kind":1},"z":[{}]}`:              `{"a":{"kind":1},"dropped":"in its place","kind":"Pod","z":[{}]}`,
		`{"kind":"Other"}`:                       `{"kind":"Other"}`,
		`{"z":1,"dropped":{"kind":2},"a":"Pod"}`: `{"a":"Pod","dropped":"in its place","kind":"Pod","z":1}`,
	} {
		m, err := p.Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := m.MarshalJSON(); string(got) != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
}
