package lib

// Conditions are a list of objects with different types, as in status.conditions.

// getCondition returns the condition with a type, or null.
func getCondition(c *call) (any, error) {
	i, err := c.find(c.text(1))
	if i < 0 || err != nil {
		return nil, err
	}
	return c.list(0)[i], nil
}

// isTrueCondition reports whether there is a condition with a type, and its status is True.
func isTrueCondition(c *call) (any, error) {
	i, err := c.find(c.text(1))
	if i < 0 || err != nil {
		return false, err
	}
	return c.list(0)[i].(map[string]any)["status"] == "True", nil
}

// setCondition returns the list with a condition in the place of the condition with the same type, or at the end.
func setCondition(c *call) (any, error) {
	condition := c.object(1)
	for _, field := range []string{"type", "status"} {
		if s, ok := condition[field].(string); !ok || s == "" {
			return nil, c.errorf("condition.%s is %s, want a string such as %s", field, describe(condition[field]), examples[field])
		}
	}
	i, err := c.find(condition["type"].(string))
	if err != nil {
		return nil, err
	}
	list := c.list(0)
	if err := c.meter.CheckSize(16*int64(len(list)+1), "the list of conditions"); err != nil {
		return nil, err
	}
	out := append(make([]any, 0, len(list)+1), list...)
	if i < 0 {
		return append(out, condition), nil
	}
	out[i] = condition
	return out, nil
}

// examples are values of the required fields, for errors.
var examples = map[string]string{"type": "Ready", "status": "True, False or Unknown"}

// describe returns what a field has that should have a string which is not empty.
func describe(v any) string {
	if v == "" {
		return "empty"
	}
	return string(typeOf(v))
}

// find returns the index of the first condition with that type, or -1.
func (c *call) find(conditionType string) (int, error) {
	found := -1
	for i, v := range c.list(0) {
		condition, ok := v.(map[string]any)
		if !ok {
			return -1, c.errorf("conditions[%d] is %s, want an object", i, typeOf(v))
		}
		if found < 0 && condition["type"] == conditionType {
			found = i
		}
	}
	return found, nil
}
