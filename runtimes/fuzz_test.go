package runtimes_test

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"metascript/engine"
	"metascript/runtimes"
)

// echoScripts return their argument, once as it is and once as a copy.
var echoScripts = []struct{ language, entry, text string }{
	{engine.Starlark, "sync.star", `
def outer(v): # there is no recursion in Starlark
    return {k: inner(x) for k, x in v.items()} if type(v) == "dict" else [inner(x) for x in v] if type(v) == "list" else v

def inner(v):
    return dict(v) if type(v) == "dict" else list(v) if type(v) == "list" else v

def sync(given):
    return {"same": given, "copy": outer(given)}
`}, {engine.JavaScript, "sync.js", `
const copy = v => Array.isArray(v) ? v.map(copy)
  : v !== null && typeof v === 'object' ? Object.fromEntries(Object.entries(v).map(([key, value]) => [key, copy(value)]))
  : v
const sync = ({given}) => ({same: given, copy: copy(given)})
exports.sync = sync
`}, {engine.Jsonnet, "sync.jsonnet", `
{ sync(given):: { same: given, copy: std.parseJson(std.manifestJsonEx(given, '')) } }
`},
}

// FuzzEcho passes arbitrary JSON to a script in each language, which returns it: the result must be equal to the argument.
func FuzzEcho(f *testing.F) {
	for _, text := range []string{
		`null`, `{"a":[1,-2.5,true,"x",{"b":{}}]}`, `["",[],{},0,-0.0,1e15,1e-7,9007199254740991]`, `{"":{"length":1,"__proto__":{"x":1},"constructor":2}}`,
		`{"toString":1,"hasOwnProperty":null,"toJSON":"x","keys":[],"get":0,"$":1,"self":2}`, `"\u0000\u2028\ud83d\ude00\ud800<>&\\"`, `{"0":1,"-1":2,"01":3}`,
	} {
		f.Add(text)
	}
	programs := make([]engine.Program, len(echoScripts))
	for i, e := range echoScripts {
		s := engine.Script{Language: e.language, Entry: e.entry, Files: fstest.MapFS{e.entry: {Data: []byte(e.text)}}}
		p, err := runtimes.All()[e.language].Compile(f.Context(), s, engine.Limits{})
		if err != nil {
			f.Fatal(engine.DetailOf(err))
		}
		programs[i] = p
	}
	f.Fuzz(func(t *testing.T, text string) {
		given, ok := parse(text)
		if !ok {
			return
		}
		want := plain(given)
		for i, p := range programs {
			answer, err := p.Call(t.Context(), "sync", map[string]any{"given": given}, engine.Env{})
			if err != nil {
				t.Fatalf("%s: %s", echoScripts[i].language, engine.DetailOf(err))
			}
			for _, field := range []string{"same", "copy"} {
				if got := plain(answer[field]); !reflect.DeepEqual(got, want) {
					t.Errorf("%s, %s: got %#v, want %#v", echoScripts[i].language, field, got, want)
				}
			}
		}
		if !reflect.DeepEqual(plain(given), want) {
			t.Errorf("the argument was changed: %#v, was %#v", given, want)
		}
	})
}

// libraryScripts return the results of functions of the library for their argument.
var libraryScripts = []struct{ language, entry, text string }{
	{engine.Starlark, "sync.star", `
load("metascript.star", "hash", "json", "merge", "yaml")

def sync(given):
    return {
        "hash": hash(given), "json": json.encode(given), "yaml": yaml.encode(given), "merged": merge(given, given),
        "read": [json.decode(json.encode(given)), yaml.decode(yaml.encode(given)), json.decode(json.encode(given, 2))],
    }
`}, {engine.JavaScript, "sync.js", `
const {hash, json, merge, yaml} = require('metascript')
exports.sync = ({given}) => ({
  hash: hash(given), json: json.encode(given), yaml: yaml.encode(given), merged: merge(given, given),
  read: [json.decode(json.encode(given)), yaml.decode(yaml.encode(given)), json.decode(json.encode(given, 2))],
})
`}, {engine.Jsonnet, "sync.jsonnet", `
local m = import 'metascript.libsonnet';
{
  sync(given):: {
    hash: m.hash(given), json: m.json.encode(given), yaml: m.yaml.encode(given), merged: m.merge(given, given),
    read: [m.json.decode(m.json.encode(given)), m.yaml.decode(m.yaml.encode(given)), m.json.decode(m.json.encode(given, 2))],
  },
}
`},
}

// FuzzLibrary passes arbitrary JSON to the library: the results must be the same in each language, and decoding an encoded value
// must return that value.
func FuzzLibrary(f *testing.F) {
	for _, text := range []string{
		`null`, `{"a":[1,-2.5,true,"x",{"b":{}}]}`, `["",[],{},0,-0.0,1e15,1e-7,9007199254740991]`, `{"on":"yes","~":"null","<<":"=","1":"0x1"}`,
		`"\u0000\u2028\ud83d\ude00<>&\\"`, `{"a":" b\n\n c","d":"\te"}`, `{"__proto__":{"x":null},"length":2}`,
	} {
		f.Add(text)
	}
	var programs []engine.Program
	for _, u := range libraryScripts {
		s := engine.Script{Language: u.language, Entry: u.entry, Files: fstest.MapFS{u.entry: {Data: []byte(u.text)}}}
		p, err := runtimes.All()[u.language].Compile(f.Context(), s, engine.Limits{})
		if err != nil {
			f.Fatal(engine.DetailOf(err))
		}
		programs = append(programs, p)
	}
	f.Fuzz(func(t *testing.T, text string) {
		given, ok := parse(text)
		if !ok {
			return
		}
		var first any
		for i, p := range programs {
			answer, err := p.Call(t.Context(), "sync", map[string]any{"given": given}, engine.Env{})
			if err != nil {
				t.Fatalf("%s: %s", libraryScripts[i].language, engine.DetailOf(err))
			}
			for _, read := range answer["read"].([]any) {
				if !reflect.DeepEqual(withoutSign(plain(read)), withoutSign(plain(given))) {
					t.Errorf("%s reads %#v, wrote %#v", libraryScripts[i].language, read, given)
				}
			}
			if got := withoutSign(plain(answer)); first == nil {
				first = got
			} else if !reflect.DeepEqual(got, first) {
				t.Errorf("%s: got %#v, in %s it is %#v", libraryScripts[i].language, got, libraryScripts[0].language, first)
			}
		}
	})
}

// withoutSign returns v with negative zeros replaced by zero.
func withoutSign(v any) any {
	switch v := v.(type) {
	case float64:
		return v + 0
	case []any:
		for i := range v {
			v[i] = withoutSign(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = withoutSign(v[key])
		}
	}
	return v
}

// parse parses JSON. It accepts only texts that are far below the limits and whose numbers all languages can represent.
func parse(text string) (value any, ok bool) {
	const maxText, maxDepth = 4 << 10, 20
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if len(text) > maxText || d.Decode(&value) != nil {
		return nil, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false
	}
	return numbers(value, maxDepth)
}

// numbers returns v with its numbers as int64 or float64.
func numbers(v any, depth int) (_ any, ok bool) {
	if depth == 0 {
		return nil, false
	}
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, exact(float64(n))
		}
		x, err := v.Float64()
		return x, err == nil && exact(x)
	case []any:
		for i, element := range v {
			if v[i], ok = numbers(element, depth-1); !ok {
				return nil, false
			}
		}
	case map[string]any:
		for key, element := range v {
			if v[key], ok = numbers(element, depth-1); !ok {
				return nil, false
			}
		}
	}
	return v, true
}

// exact reports whether all languages can represent x exactly.
func exact(x float64) bool { return math.Abs(x) < 1<<53 }

// plain returns v after encoding and decoding it with encoding/json: all numbers are float64.
func plain(v any) any {
	var text bytes.Buffer
	if err := json.NewEncoder(&text).Encode(v); err != nil {
		return err
	}
	var out any
	if err := json.Unmarshal(text.Bytes(), &out); err != nil {
		return err
	}
	return out
}
