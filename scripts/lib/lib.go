// Package lib is the library that every script may load: one set of functions for all languages, written once over
// JSON-shaped values.
//
// [Functions] lists them. A runtime makes a function of its language of each, converts what it is called with, and
// does [Function.Call]. What the functions do is deterministic, and the same in every language: they read no clock and
// no randomness, and never write to what they are given, parts of which may come back by reference.
//
// # Bounds
//
// A function is one step of an interpreter, however much it does. So it asks before it does much: a [Meter] counts
// work and refuses what is too large. Arguments are trees at most [MaxDepth] levels deep, and so are results.
//
// # Names
//
// In a script the library is called metascript: load("metascript.star", "yaml"), require("metascript"),
// import "metascript.libsonnet". Functions stand alone, such as hash, or in a group, such as yaml.decode.
package lib

import (
	"fmt"
	"slices"
	"strings"
)

// MaxDepth is how deeply values may be nested.
const MaxDepth = 100

// A Meter is what a call of a function is bounded by. Its errors end the call, and come out of [Function.Call] as they
// are.
type Meter interface {
	// Spend counts steps, each about as much work as an instruction of an interpreter, before they are taken.
	Spend(steps int64) error
	// Hold refuses to make what takes more bytes than a value may; what names it.
	Hold(bytes int64, what string) error
}

// An Error is a mistake of the script's that called a function.
type Error struct {
	Msg  string // begins with the function's name
	Hint string // what to do about it, when we know
}

// Error implements error, without the hint.
func (e *Error) Error() string { return e.Msg }

// A Type is what a parameter takes or a function gives, in the words of its messages.
type Type string

// The types there are.
const (
	Any      Type = "anything"
	String   Type = "a string"
	Number   Type = "a number"
	Boolean  Type = "a boolean"
	Object   Type = "an object"
	List     Type = "a list"
	Quantity Type = "a quantity" // a string such as 100m, or a number
)

// A Param is a parameter. Those that are optional come last, and are null when they are left out.
type Param struct {
	Name     string
	Type     Type
	Nullable bool // null stands for an empty one
	Optional bool
}

// A Function is one of the library's.
type Function struct {
	Name   string // with its group, if it is in one: yaml.decode
	Params []Param
	Result Type
	run    func(*call) (any, error)
}

// Group returns the name of the group that f is in, "" for none, and f's name within it.
func (f *Function) Group() (group, name string) {
	if group, name, found := strings.Cut(f.Name, "."); found {
		return group, name
	}
	return "", f.Name
}

// Functions lists all functions; those of a group are together. The list is shared.
func Functions() []*Function { return functions }

// A Group is functions that have the part of their name before the dot in common, or, without a Name, none.
type Group struct {
	Name      string
	Functions []*Function
}

// Groups lists all functions by their groups, in the order of Functions. The list is shared.
func Groups() []Group { return groups }

var groups = func() []Group {
	var all []Group
	for _, f := range functions {
		name, _ := f.Group()
		if len(all) == 0 || all[len(all)-1].Name != name {
			all = append(all, Group{Name: name})
		}
		last := &all[len(all)-1]
		last.Functions = append(last.Functions, f)
	}
	return all
}()

// Names lists what a script finds in the library: groups, and functions that stand alone. The list is shared.
func Names() []string { return names }

var names = func() []string {
	var names []string
	for _, f := range functions {
		group, name := f.Group()
		if group != "" {
			name = group
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}()

// Call returns the result for args, one JSON-shaped value for each parameter.
func (f *Function) Call(args []any, m Meter) (any, error) {
	c := call{Function: f, args: args, meter: m, sizes: make([]size, len(args))}
	for i, p := range f.Params {
		if err := c.check(p, args[i]); err != nil {
			return nil, err
		}
		if err := c.measure(&c.sizes[i], args[i], 0); err != nil {
			return nil, err
		}
	}
	return f.run(&c)
}

// A call is one call of a function.
type call struct {
	*Function
	args  []any
	sizes []size // of the arguments
	meter Meter
}

// errorf makes an error of the function's.
func (c *call) errorf(format string, args ...any) *Error {
	return &Error{Msg: c.Name + ": " + fmt.Sprintf(format, args...)}
}

// check refuses an argument of another type than the parameter's.
func (c *call) check(p Param, v any) error {
	if v == nil && (p.Nullable || p.Optional) || p.Type == Any {
		return nil
	}
	got := typeOf(v)
	if got == p.Type || p.Type == Quantity && (got == String || got == Number) {
		return nil
	}
	return c.errorf("%s is %s, want %s", p.Name, got, p.Type)
}

// text returns the argument at i, a string.
func (c *call) text(i int) string { return c.args[i].(string) }

// object returns the argument at i, an object or null.
func (c *call) object(i int) map[string]any {
	m, _ := c.args[i].(map[string]any)
	return m
}

// list returns the argument at i, a list or null.
func (c *call) list(i int) []any {
	l, _ := c.args[i].([]any)
	return l
}

// typeOf names the type of v.
func typeOf(v any) Type {
	switch v.(type) {
	case bool:
		return Boolean
	case int64, float64:
		return Number
	case string:
		return String
	case []any:
		return List
	case map[string]any:
		return Object
	}
	return "null"
}
