package scaffold

import (
	"fmt"
	"maps"

	"go.yaml.in/yaml/v3"
)

// parentName is the name of the parent in the files of a new project, and defaultNamespace its namespace if it has one.
const (
	parentName       = "example"
	defaultNamespace = "default"
)

// examples are the objects in the files of a project: its parent, and what the script returns for it.
type examples struct{ *Project }

// ChildName returns the name of the children of the parent in the files. The children of a DecoratorController have names of their own,
// since an object of their kind may already have the name of the parent.
func (p examples) ChildName() string { return parentName + p.either("", "-"+p.Name) }

// node returns the child as YAML, with tags in place of the values that come from the parent.
func (c Child) node() (*yaml.Node, error) {
	namespace := ""
	if c.needsNamespace() {
		namespace = "namespace: !var namespace, "
	}
	kind, err := word(c.Kind.Kind)
	if err != nil {
		return nil, err
	}
	text := fmt.Sprintf("apiVersion: %s\nkind: %s\nmetadata: {%sname: !var name, labels: !var labels}\n", c.APIVersion, kind, namespace)
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return nil, err
	}
	node := document.Content[0]
	node.Content = append(node.Content, c.Object.Content...)
	return node, nil
}

// spec returns the spec of the parent in the files.
func (p examples) spec() map[string]any {
	spec := map[string]any{}
	for _, f := range p.fields {
		spec[f.Name] = f.Value
	}
	return spec
}

// scope returns the values of the parent in the files, for objects with a name.
func (p examples) scope(name string) (*scope, error) { return p.scopeAt(name, p.spec()["version"]) }

// scopeAt returns the values of the parent with a version.
func (p examples) scopeAt(name string, version any) (*scope, error) {
	all, err := readFields()
	if err != nil {
		return nil, err
	}
	s := &scope{spec: map[string]any{}}
	for _, f := range all {
		s.spec[f.Name] = f.Value
	}
	s.spec["version"] = version
	selector := map[string]any{"app.kubernetes.io/name": p.Name, "app.kubernetes.io/instance": name}
	labels := maps.Clone(selector)
	labels["app.kubernetes.io/version"] = s.spec["version"]
	s.vars = map[string]any{
		"name": name, "namespace": p.childNamespace(), "selector": selector, "labels": labels,
		"image": fmt.Sprintf("%v:%v", s.spec["image"], s.spec["version"]),
	}
	return s, nil
}

// childNamespace returns the namespace of the children in the test cases.
func (p examples) childNamespace() string {
	if p.OfNamespaces() {
		return parentName
	}
	return defaultNamespace
}

// ParentObject returns the parent.
func (p examples) ParentObject() (map[string]any, error) { return p.parentWith(p.spec()["version"]) }

// ParentInvalid returns a parent that the script rejects.
func (p examples) ParentInvalid() (map[string]any, error) { return p.parentWith("latest") }

// parentWith returns the parent with a version.
func (p examples) parentWith(version any) (map[string]any, error) {
	metadata := map[string]any{"name": parentName}
	parent := map[string]any{"apiVersion": p.Parent.APIVersion, "kind": p.Parent.Kind, "metadata": metadata}
	if !p.Decorator {
		spec := p.spec()
		spec["version"] = version
		parent["spec"] = spec
		return parent, nil
	}
	metadata["annotations"] = map[string]any{p.Annotation("settings"): fmt.Sprintf("version: %v", version)}
	found, err := sampleOf(p.Parent)
	if err != nil {
		return nil, err
	}
	fields, err := p.fieldsOf(found, parentName)
	maps.Copy(parent, fields)
	return parent, err
}

// fieldsOf returns the fields of a sample of an object with a name, besides its apiVersion, kind and metadata.
func (p examples) fieldsOf(s *sample, name string) (map[string]any, error) {
	scope, err := p.scope(name)
	if err != nil || s.Object.IsZero() {
		return nil, err
	}
	value, err := scope.value(&s.Object)
	fields, _ := value.(map[string]any)
	return fields, err
}

// Observed returns the children, as they are in the cluster when they are ready.
func (p examples) Observed() []any {
	all := []any{}
	for _, c := range p.Children {
		metadata := map[string]any{"name": p.ChildName()}
		if c.needsNamespace() {
			metadata["namespace"] = p.childNamespace()
		}
		child := map[string]any{"apiVersion": c.APIVersion, "kind": c.Kind.Kind, "metadata": metadata}
		maps.Copy(child, c.sample.Observed)
		all = append(all, child)
	}
	return all
}

// AnswerNew returns the answer when no child exists.
func (p examples) AnswerNew() (map[string]any, error) {
	message := "waiting for " + join(p.Children, ", ", func(c Child) string { return c.Kind.Kind + " " + p.ChildName() })
	return p.answer("False", "Waiting", message)
}

// AnswerReady returns the answer when all children are ready.
func (p examples) AnswerReady() (map[string]any, error) {
	return p.answer("True", "ChildrenReady", "all children are ready")
}

// AnswerFinalize returns the answer of the finalize hook while children exist.
func (p examples) AnswerFinalize() map[string]any {
	return map[string]any{"attachments": []any{}, "annotations": map[string]any{p.Annotation("ready"): nil}, "finalized": false}
}

// answer returns the answer with a condition. A DecoratorController only sets an annotation.
func (p examples) answer(status, reason, message string) (map[string]any, error) {
	children := []any{}
	for _, c := range p.Children {
		child, err := p.desired(c)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	if p.Decorator {
		return map[string]any{"attachments": children, "annotations": map[string]any{p.Annotation("ready"): status}}, nil
	}
	condition := map[string]any{"type": "Ready", "status": status, "reason": reason, "message": message}
	return map[string]any{"children": children, "status": map[string]any{"conditions": []any{condition}}}, nil
}

// desired returns a child as an answer has it, with what the server sets.
func (p examples) desired(c Child) (map[string]any, error) {
	scope, err := p.scope(p.ChildName())
	if err != nil {
		return nil, err
	}
	node, err := c.node()
	if err != nil {
		return nil, err
	}
	value, err := scope.value(node)
	if err != nil {
		return nil, err
	}
	child := value.(map[string]any)
	metadata := child["metadata"].(map[string]any)
	if c.Namespaced && !c.needsNamespace() {
		metadata["namespace"] = defaultNamespace
	}
	if p.Decorator {
		metadata["annotations"] = map[string]any{"metacontroller.k8s.io/decorator-controller": p.Name}
		return child, nil
	}
	labels := maps.Clone(metadata["labels"].(map[string]any)) // other fields have the same map
	labels["controller-uid"] = "00000000-0000-0000-0000-000000000000"
	metadata["labels"] = labels
	return child, nil
}
