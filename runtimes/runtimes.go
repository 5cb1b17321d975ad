// Package runtimes lists the languages in which scripts may be written. It is the only such list.
package runtimes

import (
	"metascript/engine"
	"metascript/runtimes/javascript"
	"metascript/runtimes/jsonnet"
	"metascript/runtimes/starlark"
)

// All returns a runtime for every language.
func All() map[string]engine.Runtime {
	return map[string]engine.Runtime{
		engine.Starlark:   starlark.New(),
		engine.JavaScript: javascript.New(),
		engine.Jsonnet:    jsonnet.New(),
	}
}
