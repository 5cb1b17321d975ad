package scaffold

import "fmt"

// ParentName returns how a step names the parent.
func (p examples) ParentName() string { return reference(p.Parent, "", parentName) }

// ParentWith returns the parent with a field, as a line of YAML.
func (p examples) ParentWith(field string) string {
	return fmt.Sprintf("{apiVersion: %s, kind: %s, %s}", p.Parent.APIVersion, p.Parent.Kind, field)
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

// ChildrenWith returns the children with the label of a version, each as a line of YAML.
func (p examples) ChildrenWith(version string) []string {
	var all []string
	for _, c := range p.Children {
		namespace := ""
		if c.Namespaced && p.childNamespace() != defaultNamespace {
			namespace = ", namespace: " + p.childNamespace()
		}
		all = append(all, fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s%s, labels: {app.kubernetes.io/version: %s}}}",
			c.APIVersion, c.Kind.Kind, p.ChildName(), namespace, version))
	}
	return all
}

// reference returns how a step names an object. The API version is in it, since several groups may have a kind of that name.
func reference(kind Kind, namespace, name string) string {
	if namespace != "" && namespace != defaultNamespace {
		name = namespace + "/" + name
	}
	return kind.Name() + " " + name
}
