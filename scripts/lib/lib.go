// Package lib is the library that every script may load. It has the same functions for all languages, implemented once for
// JSON-shaped values.
//
// [Functions] lists them. For each function, a runtime defines a function of its language, which converts the arguments and calls
// [Function.Call]. The functions are deterministic, and the same in every language: they do not read a clock. Random values are derived
// from a key, see random.go. They never modify their arguments. Results may contain parts of the arguments by reference.
//
// # Limits
//
// For an interpreter, a call of a function is one step, even if the function does much work. So a function calls a [Meter] before
// it works: the Meter counts the work, and returns an error if a value would be too large. Arguments and results are nested at
// most [MaxDepth] levels deep.
//
// # Names
//
// In a script the library is called metascript: load("metascript.star", "yaml"), require("metascript"),
// import "metascript.libsonnet". A function is in a group, such as yaml.decode, or in none, such as hash.
package lib

import (
	"fmt"
	"slices"
	"strings"

	"metascript/engine"
)

// MaxDepth is the maximum nesting of values.
const MaxDepth = 100

// A Meter limits one call of a function. If a method returns an error, the call ends, and [Function.Call] returns that error
// unchanged.
type Meter interface {
	// Spend counts steps before they are done. A step is about as much work as an instruction of an interpreter.
	Spend(steps int64) error
	// CheckSize returns an error if a value of that many bytes is too large. what names the value in the error.
	CheckSize(bytes int64, what string) error
}

// A Drawer is a Meter of a call that may have random values.
type Drawer interface {
	Meter
	// Random returns where they come from; nil: there are none.
	Random() *engine.Random
}

// An Error is a fault of the script that called a function.
type Error struct {
	Msg  string // begins with the function's name
	Hint string // what to do about it, or ""
}

// Error returns the message, without the hint.
func (e *Error) Error() string { return e.Msg }

// A Type is the type of a parameter or of a result, as errors name it.
type Type string

// The types of parameters and results.
const (
	Any      Type = "anything"
	String   Type = "a string"
	Number   Type = "a number"
	Boolean  Type = "a boolean"
	Object   Type = "an object"
	List     Type = "a list"
	Quantity Type = "a quantity" // a string such as 100m, or a number
)

// A Param is a parameter. Optional parameters come last.
type Param struct {
	Name     string
	Type     Type
	Nullable bool // it may be null, which means an empty object or list
	Optional bool // it may be left out, and is null then
}

// A Function is a function of the library.
type Function struct {
	Name   string // with its group, if it is in one: yaml.decode
	Params []Param
	Result Type
	run    func(*call) (any, error)
}

// Group returns the name of f's group, or "" if it is in none, and the name of f in the group.
func (f *Function) Group() (group, name string) {
	if group, name, found := strings.Cut(f.Name, "."); found {
		return group, name
	}
	return "", f.Name
}

// Functions returns all functions; those of a group are together. The caller must not modify the list.
func Functions() []*Function { return functions }

// A Group has the functions whose names begin with Name and a dot. If Name is "", it has
// functions that are in no group.
type Group struct {
	Name      string
	Functions []*Function
}

// Groups returns all functions by group, in the order of [Functions]. The caller must not modify the list.
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

// Names returns the names that a script can load from the library: those of groups, and of functions that are in no group. The
// caller must not modify the list.
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

// Call calls f with args, which has one JSON-shaped value for each parameter. An error is an [*Error], or one of m.
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
	sizes []size // the sizes of args
	meter Meter
}

// errorf returns an error whose message begins with the function's name.
func (c *call) errorf(format string, args ...any) *Error {
	return &Error{Msg: c.Name + ": " + fmt.Sprintf(format, args...)}
}

// check returns an error if v does not have the type of the parameter p.
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

// whole returns the argument at i, a whole number from least to most; otherwise if it was left out.
func (c *call) whole(i int, otherwise, least, most int64) (int64, error) {
	if c.args[i] == nil {
		return otherwise, nil
	}
	n, ok := whole(c.args[i])
	if !ok || n < least || n > most {
		return 0, c.errorf("%s is %v, want a whole number from %d to %d", c.Params[i].Name, c.args[i], least, most)
	}
	return n, nil
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

// typeOf returns the type of v, as errors name it.
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
