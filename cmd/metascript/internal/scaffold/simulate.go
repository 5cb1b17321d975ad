package scaffold

import "fmt"

// ParentName returns how a step names the parent.
func (p examples) ParentName() string { return reference(p.Parent, "", parentName) }

// ParentWith returns the parent with a field, as a line of YAML.
func (p examples) ParentWith(field string) (string, error) {
	kind, err := word(p.Parent.Kind)
	return fmt.Sprintf("{apiVersion: %s, kind: %s, %s}", p.Parent.APIVersion, kind, field), err
}

// SetVersion returns the change of the parent that sets its version, as a line of YAML.
func (p examples) SetVersion(version string) string {
	if p.Decorator {
		return fmt.Sprintf(`{metadata: {annotations: {%s: "version: %s"}}}`, p.Annotation("settings"), version)
	}
	return fmt.Sprintf("{spec: {version: %s}}", version)
}

// ChildNames returns how a step names the children.
func (p examples) ChildNames() []string {
	var all []string
	for _, c := range p.Children {
		namespace := ""
		if c.Namespaced {
			namespace = p.childNamespace()
		}
		all = append(all, reference(c.Kind, namespace, p.ChildName()))
	}
	return all
}

// ChildrenWith returns the children, each as a line of YAML: with the label of a version, if they are updated.
func (p examples) ChildrenWith(version string) ([]string, error) {
	var all []string
	for _, c := range p.Children {
		namespace := ""
		if c.Namespaced && p.childNamespace() != defaultNamespace {
			namespace = ", namespace: " + p.childNamespace()
		}
		labels := ""
		if c.updated() {
			labels = fmt.Sprintf(", labels: {app.kubernetes.io/version: %s}", version)
		}
		kind, err := word(c.Kind.Kind)
		if err != nil {
			return nil, err
		}
		all = append(all, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s%s%s}}", c.APIVersion, kind, p.ChildName(), namespace, labels))
	}
	return all, nil
}

// ChildrenAt returns the children for another version than that of the parent in the files: with the fields that depend on it, if they are
// updated.
func (p examples) ChildrenAt(version string) ([]any, error) {
	before, err := p.scope(p.ChildName())
	if err != nil {
		return nil, err
	}
	after, err := p.scopeAt(p.ChildName(), version)
	if err != nil {
		return nil, err
	}
	var all []any
	for _, c := range p.Children {
		node, err := c.node()
		if err != nil {
			return nil, err
		}
		old, err := before.value(node)
		if err != nil {
			return nil, err
		}
		current, err := after.value(node)
		if err != nil {
			return nil, err
		}
		child := map[string]any{"metadata": map[string]any{}}
		if c.updated() {
			child = changed(old, current).(map[string]any) // its label changes
		}
		child["apiVersion"], child["kind"] = c.APIVersion, c.Kind.Kind
		metadata := child["metadata"].(map[string]any)
		metadata["name"] = p.ChildName()
		if c.needsNamespace() {
			metadata["namespace"] = p.childNamespace()
		}
		all = append(all, child)
	}
	return all, nil
}

// changed returns the fields of a value that differ from another value, or nil if there are none. Both have the same form.
func changed(old, current any) any {
	switch current := current.(type) {
	case map[string]any:
		fields := map[string]any{}
		for name, value := range current {
			if different := changed(old.(map[string]any)[name], value); different != nil {
				fields[name] = different
			}
		}
		if len(fields) > 0 {
			return fields
		}
		return nil
	case []any:
		var items []any
		for i, value := range current {
			if different := changed(old.([]any)[i], value); different != nil {
				items = append(items, different)
			}
		}
		if len(items) > 0 {
			return items
		}
		return nil
	}
	if old == current {
		return nil
	}
	return current
}

// reference returns how a step names an object. The API version is in it, since several groups may have a kind of that name.
func reference(kind Kind, namespace, name string) string {
	if namespace != "" && namespace != defaultNamespace {
		name = namespace + "/" + name
	}
	return kind.Name() + " " + name
}
