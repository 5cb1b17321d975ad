package schemas

import (
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// numberInQuotes matches the text about a number in place of the name of a port.
var numberInQuotes = regexp.MustCompile(`^"\d+" is not valid: must contain at least one letter \(a-z\)$`)

// explained returns the problems of an object with what to do about some frequent mistakes, and without the problems that follow from
// them.
func explained(all []Problem, object map[string]any) []Problem {
	var follow []string // the paths of problems that say the same as others
	for i, p := range all {
		in, name := cutLast(p.Path)
		_, parent := cutLast(in)
		switch {
		case p.Cause == Unknown && parent == "template" && (name == "labels" || name == "annotations"):
			all[i].Text = "unknown field: write metadata: {" + name + ": …}"
			follow = append(follow, in+".metadata."+name, in+".metadata", in)
		case p.Cause == Unknown && parent == "template" && (name == "containers" || name == "volumes" || name == "initContainers"):
			all[i].Text = "unknown field: put it into template.spec"
			follow = append(follow, in+".spec."+name, in+".spec.containers", in+".spec")
		case p.Cause == Unknown && parent == "backend" && object["kind"] == "Ingress" && (name == "servicePort" || name == "serviceName"):
			all[i].Text = "unknown field: write service: {name: …, port: {number: …}}"
			if name == "serviceName" {
				follow = append(follow, in+".servicePort")
			}
		case p.Path == "spec.selector.matchLabels" && object["kind"] == "Service":
			all[i].Text = "a Service's selector has no matchLabels: write the labels directly"
		case p.Cause == WrongType && in == "data" && object["kind"] == "ConfigMap" && (strings.HasSuffix(p.Text, ", got an object") || strings.HasSuffix(p.Text, ", got a list")):
			all[i].Text += ": make text of it, for example with json.encode, JSON.stringify or std.manifestJson"
		case p.Text == noMatch:
			if _, has := valueAt(object, in); !has {
				all[i].Text += ": write metadata: {labels: …}"
			}
		case name == "targetPort" && numberInQuotes.MatchString(p.Text):
			all[i].Text += ": leave out the quotes"
		}
	}
	return slices.DeleteFunc(all, func(p Problem) bool {
		missing := p.Cause == Missing || p.Cause == Unknown && strings.HasSuffix(p.Path, ".servicePort")
		return missing && slices.Contains(follow, p.Path)
	})
}

// cutLast returns a path without its last name, and the name.
func cutLast(path string) (before, name string) {
	i := strings.LastIndexByte(path, '.')
	return path[:max(i, 0)], path[i+1:]
}

// labelPath returns the path of the label that an error about the labels in an object names by its key or its value. It is false if
// the error is not about a label.
func labelPath(err *field.Error, object map[string]any) (string, bool) {
	path := err.Field
	if in, found := strings.CutSuffix(path, "template.labels"); found {
		path = in + "template.metadata.labels" // the API server leaves it out
	}
	_, name := cutLast(path)
	bad, isText := err.BadValue.(string)
	if !isText || !slices.Contains([]string{"labels", "matchLabels", "selector", "nodeSelector"}, name) {
		return "", false
	}
	value, _ := valueAt(object, path)
	labels, _ := value.(map[string]any)
	if _, isKey := labels[bad]; isKey {
		return path + "[" + bad + "]", true
	}
	found := ""
	for key, value := range labels {
		if value == bad && (found == "" || key < found) {
			found = key
		}
	}
	return path + "[" + found + "]", found != ""
}
