package offline

import (
	"fmt"
	"slices"
	"strings"

	"metascript/controller/build"
	"metascript/controller/hook"
	"metascript/engine"
)

// misnamed returns warnings about functions that are probably meant to be a hook that the controller does not have, such as finalise.
func misnamed(hooks build.Built) (all []error) {
	script := scriptOf(hooks.Sync)
	if script == nil {
		return nil
	}
	placed, isPlaced := script.Program.(engine.Placed)
	maker, makes := script.Program.(engine.ErrorMaker)
	if !isPlaced || !makes {
		return nil
	}
	functions := script.Program.Functions()
	for _, name := range []string{hook.Finalize, hook.Customize} {
		if name == hook.Finalize && hooks.Finalize != nil || name == hook.Customize && hooks.Customize != nil || slices.Contains(functions, name) {
			continue
		}
		for _, function := range functions {
			if function != script.Function && misspells(function, name) {
				at := engine.Lookup{Pos: placed.Place(function)}
				all = append(all, maker.LookupError("", at, fmt.Sprintf("no hook is called %s, so that the server does not call it", function), fmt.Sprintf("did you mean %s?", name)))
			}
		}
	}
	return all
}

// misspells reports whether a name is probably a misspelling of a hook's name: with other case, with s for z, with two letters exchanged,
// or without one letter. A longer name, such as finalized, is that of another function.
func misspells(name, of string) bool {
	name = strings.ReplaceAll(strings.ToLower(name), "_", "")
	if name == of || strings.ReplaceAll(name, "s", "z") == strings.ReplaceAll(of, "s", "z") {
		return true
	}
	for i := range of {
		if name == of[:i]+of[i+1:] || i > 0 && name == of[:i-1]+of[i:i+1]+of[i-1:i]+of[i+1:] {
			return true
		}
	}
	return false
}
