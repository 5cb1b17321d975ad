package rbac

import (
	"fmt"
	"io"
	"reflect"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"metascript/cmd/metascript/internal/output"
)

// Print prints objects as YAML documents, each once.
func Print(w io.Writer, all []Manifest) error {
	var printed []any
	for _, m := range all {
		if contains(printed, m.Object) {
			continue // several controllers have the same ServiceAccount
		}
		text, err := m.text()
		if err != nil {
			return err
		}
		if len(printed) > 0 {
			text = "---\n" + text
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
		printed = append(printed, m.Object)
	}
	return nil
}

// A List is a list of objects, as of kubectl.
type List struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Items      []any  `json:"items"`
}

// ListOf returns objects as a List, each once and without comments.
func ListOf(all []Manifest) *List {
	list := &List{APIVersion: "v1", Kind: "List", Items: []any{}}
	for _, m := range all {
		var rules []rbacv1.PolicyRule
		for _, rule := range m.Rules {
			rules = append(rules, rule.PolicyRule)
		}
		switch object := m.Object.(type) {
		case *rbacv1.Role:
			object.Rules = rules
		case *rbacv1.ClusterRole:
			object.Rules = rules
		}
		if !contains(list.Items, m.Object) {
			list.Items = append(list.Items, m.Object)
		}
	}
	return list
}

func contains(all []any, one any) bool {
	for _, other := range all {
		if reflect.DeepEqual(other, one) {
			return true
		}
	}
	return false
}

// text returns an object as a YAML document with comments.
func (m *Manifest) text() (string, error) {
	var b strings.Builder
	comment(&b, m.Comments)
	object, err := output.YAML(m.Object)
	if err != nil {
		return "", err
	}
	if len(m.Rules) == 0 {
		b.Write(object)
		return b.String(), nil
	}
	b.WriteString(strings.Replace(string(object), "rules: null\n", "rules:\n", 1))
	for _, rule := range m.Rules {
		comment(&b, rule.Comments)
		text, err := output.YAML([]rbacv1.PolicyRule{rule.PolicyRule})
		if err != nil {
			return "", err
		}
		b.Write(text)
	}
	return b.String(), nil
}

// comment writes lines as comments.
func comment(b *strings.Builder, lines []string) {
	for _, line := range lines {
		fmt.Fprintf(b, "# %s\n", strings.ReplaceAll(line, "\n", " ")) // a name in a file may contain anything
	}
}
