package cases

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller/kinds"
	"metascript/controller/object"
)

// kindsOf returns the kinds of the children in all cases in files, observed and expected ones, by the resources that they probably are.
// So a case about a kind without a definition needs no child of this kind, if another case has one. A case that cannot be read is an
// error when it is run.
func kindsOf(files []string) map[schema.GroupVersionResource]object.Kind {
	all := map[schema.GroupVersionResource]object.Kind{}
	for _, file := range files {
		c, err := readCase(file)
		if err != nil {
			continue
		}
		children := slices.Concat(c.input.Children, c.input.Attachments)
		for _, field := range []string{"children", "attachments"} {
			expected, _ := c.want.Answer[field].([]any)
			for _, item := range expected {
				child, _ := item.(map[string]any)
				children = append(children, child)
			}
		}
		for _, child := range children {
			o := *object.New(child)
			if kind := o.GroupVersionKind(); kind.Kind != "" {
				all[kind.GroupVersion().WithResource(kinds.Plural(kind.Kind))] = kind
			}
		}
	}
	return all
}
