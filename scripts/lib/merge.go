package lib

// mergeValues applies a patch to a target as a JSON merge patch, RFC 7386: objects are merged field by field, null
// removes a field, and all else, lists too, replaces what was there.
func mergeValues(c *call) (any, error) {
	held := c.sizes[0].held() + c.sizes[1].held()
	if err := c.meter.Hold(held, "the merged value"); err != nil {
		return nil, err
	}
	if err := c.meter.Spend(c.sizes[0].nodes + 2*c.sizes[1].nodes); err != nil {
		return nil, err
	}
	return merged(c.args[0], c.args[1]), nil
}

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
