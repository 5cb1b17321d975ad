// Package mistakes finds what is probably wrong with the objects in an answer of a hook, although the API server accepts each of them:
// a Service that finds no Pod, or a reference to a key that a ConfigMap does not have. It reports only what the objects of the one answer
// show.
package mistakes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/labels"

	"metascript/controller/object"
	"metascript/controller/schemas"
)

// An Answer is the objects of an answer.
type Answer struct {
	Children []*object.Object
	Others   []*object.Object // that exist: a Service may select their Pods
	// Partial reports whether a child is only a part of an object that exists.
	Partial func(child *object.Object) bool
}

// pods are Pods of an object: those that it makes from a template, or itself.
type pods struct {
	of     *object.Object
	path   string // of their spec
	labels map[string]any
	spec   map[string]any
}

// templates are the paths of the templates of Pods by kind; that of a Pod is the Pod.
var templates = map[string]string{
	"v1 Pod": "", "v1 ReplicationController": "spec.template", "apps/v1 Deployment": "spec.template", "apps/v1 ReplicaSet": "spec.template",
	"apps/v1 StatefulSet": "spec.template", "apps/v1 DaemonSet": "spec.template", "batch/v1 Job": "spec.template",
	"batch/v1 CronJob": "spec.jobTemplate.spec.template",
}

// podsOf returns the Pods of an object, or nil.
func podsOf(o *object.Object) *pods {
	path, known := templates[o.GetAPIVersion()+" "+o.GetKind()]
	if !known {
		return nil
	}
	template := o.Map()
	spec := "spec"
	if path != "" {
		for name := range strings.SplitSeq(path, ".") {
			template = below(template, name)
		}
		spec = path + ".spec"
	}
	return &pods{o, spec, below(below(template, "metadata"), "labels"), below(template, "spec")}
}

// Of returns the problems of a child.
func (a Answer) Of(child *object.Object) []schemas.Problem {
	if child.GetAPIVersion() == "v1" && child.GetKind() == "Service" {
		return a.service(child)
	}
	p := podsOf(child)
	if p == nil {
		return nil
	}
	var all []schemas.Problem
	for _, list := range []string{"initContainers", "containers"} {
		for i, container := range items(p.spec, list) {
			all = append(all, a.container(child, fmt.Sprintf("%s.%s[%d]", p.path, list, i), container)...)
		}
	}
	return all
}

func problem(path, format string, args ...any) schemas.Problem {
	return schemas.Problem{Path: path, Cause: schemas.Invalid, Text: fmt.Sprintf(format, args...)}
}

// container returns the problems of a container of Pods.
func (a Answer) container(of *object.Object, path string, container map[string]any) []schemas.Problem {
	var all []schemas.Problem
	if image := text(container, "image"); strings.ContainsFunc(image, unicode.IsSpace) {
		all = append(all, problem(path+".image", "%q is no image: it has a space", image))
	}
	ports := portNames(container)
	for _, probe := range []string{"livenessProbe", "readinessProbe", "startupProbe"} {
		for _, handler := range []string{"httpGet", "tcpSocket"} {
			if name := text(below(below(container, probe), handler), "port"); isName(name) && !ports[name] {
				all = append(all, problem(path+"."+probe+"."+handler+".port", "the container has no port with the name %q", name))
			}
		}
	}
	for i, env := range items(container, "env") {
		from := below(env, "valueFrom")
		for ref, kind := range map[string]string{"configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"} {
			if to := below(from, ref); to != nil && a.lacks(of, kind, to) {
				all = append(all, problem(fmt.Sprintf("%s.env[%d].valueFrom.%s.key", path, i, ref), "the %s %q in the answer has no key %q", kind, text(to, "name"), text(to, "key")))
			}
		}
	}
	return all
}

// lacks reports whether a ConfigMap or a Secret in the answer does not have a key. One that is empty may be filled by others.
func (a Answer) lacks(of *object.Object, kind string, to map[string]any) bool {
	key := text(to, "key")
	if key == "" || to["optional"] == true {
		return false
	}
	for _, o := range a.Children {
		if o.GetAPIVersion() != "v1" || o.GetKind() != kind || o.GetName() != text(to, "name") || o.GetNamespace() != of.GetNamespace() || a.Partial(o) {
			continue
		}
		data := maps.Clone(below(o.Map(), "data"))
		for _, field := range []string{"stringData", "binaryData"} {
			for name := range below(o.Map(), field) {
				if data == nil {
					data = map[string]any{}
				}
				data[name] = true
			}
		}
		_, has := data[key]
		return len(data) > 0 && !has
	}
	return false
}

// service returns the problems of a Service.
func (a Answer) service(o *object.Object) []schemas.Problem {
	spec := below(o.Map(), "spec")
	selector := below(spec, "selector")
	if len(selector) == 0 || a.Partial(o) {
		return nil
	}
	var first *pods      // of the answer, that run until they are deleted
	var selected []*pods // all whose labels match
	possible := false    // others, whose labels match in part, can get the rest when they run
	for _, other := range slices.Concat(a.Children, a.Others) {
		p := podsOf(other)
		if p == nil {
			if group := other.GroupVersionKind().Group; strings.Contains(group, ".") && !strings.HasSuffix(group, ".k8s.io") && slices.Contains(a.Children, other) {
				return nil // a custom resource may stand for Pods
			}
			continue
		}
		if other.GetNamespace() != o.GetNamespace() {
			continue
		}
		if first == nil && other.GroupVersionKind().Group != "batch" && slices.Contains(a.Children, other) {
			first = p
		}
		equal := 0
		for key, value := range selector {
			if p.labels[key] == value {
				equal++
			}
		}
		possible = possible || equal > 0
		if equal == len(selector) {
			selected = append(selected, p)
		}
	}
	if first != nil && !possible && !slices.ContainsFunc(slices.Collect(maps.Keys(selector)), isAdded) {
		return []schemas.Problem{problem("spec.selector", "no Pod of the answer has one of these labels: the Pods of %s %q have %s", first.of.GetKind(), first.of.GetName(), shown(first.labels))}
	}
	var all []schemas.Problem
	for i, port := range items(spec, "ports") {
		name := text(port, "targetPort")
		if len(selected) > 0 && isName(name) && !slices.ContainsFunc(selected, func(p *pods) bool { return p.names(name) }) {
			all = append(all, problem(fmt.Sprintf("spec.ports[%d].targetPort", i), "no container of %s %q has a port with the name %q", selected[0].of.GetKind(), selected[0].of.GetName(), name))
		}
	}
	return all
}

// isAdded reports whether a label of Pods may be set by the controller that makes them, or by the server.
func isAdded(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	ofKubernetes := strings.HasSuffix(domain, "kubernetes.io") && domain != "app.kubernetes.io"
	return ofKubernetes || slices.Contains([]string{"controller-uid", "job-name", "pod-template-hash", "controller-revision-hash"}, key)
}

// shown returns the text of labels.
func shown(of map[string]any) string {
	set := labels.Set{}
	for key := range of {
		set[key] = text(of, key)
	}
	if len(set) == 0 {
		return "none"
	}
	return set.String()
}

// names reports whether a container of the Pods has a port with a name.
func (p *pods) names(name string) bool {
	return slices.ContainsFunc(slices.Concat(items(p.spec, "containers"), items(p.spec, "initContainers")), func(container map[string]any) bool {
		return portNames(container)[name]
	})
}

// portNames returns the names of the ports of a container.
func portNames(container map[string]any) map[string]bool {
	names := map[string]bool{}
	for _, port := range items(container, "ports") {
		names[text(port, "name")] = true
	}
	return names
}

// isName reports whether a port is given by a name. One without a letter is not valid.
func isName(port string) bool { return strings.ContainsFunc(port, unicode.IsLetter) }

func below(m map[string]any, name string) map[string]any {
	v, _ := m[name].(map[string]any)
	return v
}

func text(m map[string]any, name string) string {
	s, _ := m[name].(string)
	return s
}

func items(m map[string]any, name string) []map[string]any {
	var all []map[string]any
	list, _ := m[name].([]any)
	for _, item := range list {
		v, _ := item.(map[string]any)
		all = append(all, v) // also if it is nil, so that the indexes are those of the list
	}
	return all
}
