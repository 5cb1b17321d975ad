package lib

// mergeValues applies a JSON merge patch (RFC 7386) to a target: objects are merged field by field, null removes a field, and any
// other value, such as a list, replaces the value of the target.
func mergeValues(c *call) (any, error) {
	memory := c.sizes[0].memory() + c.sizes[1].memory()
	if err := c.meter.CheckSize(memory, "the merged value"); err != nil {
		return nil, err
	}
	if err := c.meter.Spend(c.sizes[0].nodes + 2*c.sizes[1].nodes); err != nil {
		return nil, err
	}
	return merged(c.args[0], c.args[1]), nil
}

// merged returns target with the changes in patch. It does not modify them.
func merged(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	before, _ := target.(map[string]any)
	out := make(map[string]any, len(before)+len(changes))
	for key, v := range before {
		out[key] = v
	}
	for key, v := range changes {
		if v == nil {
			delete(out, key)
		} else {
			out[key] = merged(out[key], v)
		}
	}
	return out
}
