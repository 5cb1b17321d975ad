// Package runtimes lists the languages in which scripts may be written. It is the only such list.
package runtimes

import (
	"metascript/engine"
	"metascript/runtimes/javascript"
	"metascript/runtimes/jsonnet"
	"metascript/runtimes/starlark"
)

// InProcess returns a runtime for every language in which scripts that are not trusted can run in a process that must not end.
// TypeScript is not one of them: see javascript.NewTypeScript.
func InProcess() map[string]engine.Runtime {
	some := All()
	delete(some, engine.TypeScript)
	return some
}

// All returns a runtime for every language.
func All() map[string]engine.Runtime {
	return map[string]engine.Runtime{
		engine.Starlark:   starlark.New(),
		engine.JavaScript: javascript.New(),
		engine.TypeScript: javascript.NewTypeScript(),
		engine.Jsonnet:    jsonnet.New(),
	}
}
