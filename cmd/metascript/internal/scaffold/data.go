package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"metascript/cmd/metascript/internal/types"
	"metascript/controller/shell"
)

// A page is a project as the templates see it: they call the exported methods in this file, and those in objects.go.
type page struct {
	*Project
	examples
}

// Script returns the name of the file with the script.
func (p *Project) Script() string { return "sync" + p.language.extension }

// Controller returns the kind of the controller object.
func (p *Project) Controller() string { return p.either("CompositeController", "DecoratorController") }

// Object returns the name of the field of a request that has the parent.
func (p *Project) Object() string { return p.either("parent", "object") }

// Attached returns the name of the field of a request, and of an answer, that has the children.
func (p *Project) Attached() string { return p.either("children", "attachments") }

// Child returns the type of the children, in TypeScript.
func (p page) Child() string { return p.either("Child", "Attachment") }

func (p *Project) either(composite, decorator string) string {
	if p.Decorator {
		return decorator
	}
	return composite
}

// Library returns the names in the library that the script uses.
func (p *Project) Library() []string {
	names := []string{"semver"}
	if slices.ContainsFunc(p.Children, func(c Child) bool { return c.Ready != nil && c.Ready.Condition != "" }) {
		names = append(names, "conditions")
	}
	if p.Decorator {
		names = append(names, "merge", "yaml")
	}
	slices.Sort(names)
	return names
}

// Annotation returns the key of an annotation of the objects that a DecoratorController decorates.
func (p *Project) Annotation(name string) string { return p.Name + ".example.com/" + name }

// InSpec returns where a user writes a field of the spec, for errors.
func (p *Project) InSpec(name string) string {
	return p.either("spec.", p.Annotation("settings")+": ") + name
}

// CheckComment returns the comment above the check of the version.
func (p page) CheckComment() string {
	return fmt.Sprintf("A check %s. After an error nothing is changed or deleted, an event on the %s has the message, and the call is retried.",
		p.either("that the CustomResourceDefinition cannot make", "of the settings"), p.Parent.Kind)
}

// Makes returns what the controller is for.
func (p page) Makes() string {
	return title(p.AllChildren()) + " for each " + p.Parent.Kind + p.either("", " that has the annotation")
}

// AllChildren returns the kinds of the children as text.
func (p *Project) AllChildren() string {
	return list(p.Children, func(c Child) string { return a(c.Kind.Kind) })
}

// They returns a pronoun for the children, in the cases that a sentence needs: they, them.
func (p page) They(one, several string) string {
	if len(p.Children) == 1 {
		return one
	}
	return several
}

// WithReadiness returns the children that may exist and not be ready.
func (p page) WithReadiness() []Child {
	return slices.DeleteFunc(slices.Clone(p.Children), func(c Child) bool { return c.Ready == nil })
}

// WithoutReadiness returns a sentence about the children that are ready when they exist, or "".
func (p page) WithoutReadiness() string {
	others := slices.DeleteFunc(slices.Clone(p.Children), func(c Child) bool { return c.Ready != nil })
	text := list(others, func(c Child) string { return a(c.Kind.Kind) })
	switch len(others) {
	case 0:
		return ""
	case 1:
		return " " + title(text) + " is ready when it exists."
	}
	return " " + title(text) + " are ready when they exist."
}

// Guessed returns the kinds whose plural names are guesses.
func (p *Project) Guessed() []Kind {
	var all []Kind
	if p.Decorator && p.Parent.Custom {
		all = append(all, p.Parent)
	}
	for _, c := range p.Children {
		if c.Custom {
			all = append(all, c.Kind)
		}
	}
	return all
}

// NeedsNamespace reports whether the script has to set the namespaces of children, because the parent has none.
func (p *Project) NeedsNamespace() bool {
	return slices.ContainsFunc(p.Children, func(c Child) bool { return c.needsNamespace() })
}

// OfNamespaces reports whether the parents are namespaces.
func (p *Project) OfNamespaces() bool { return p.Parent.Name() == "Namespace.v1" }

// needsNamespace reports whether the script has to set the namespace of the child.
func (c Child) needsNamespace() bool { return c.Namespaced && !c.project.Parent.Namespaced }

// Function returns the name of the function that returns the child.
func (c Child) Function() string { return c.function }

// Parameters returns the parameters of the function, and the arguments of its call.
func (c Child) Parameters() string {
	if c.needsNamespace() {
		return "namespace, name, spec"
	}
	return "name, spec"
}

// Calls returns the list of the calls of the functions, on one line if there is room.
func (p page) Calls(level int) string {
	calls := join(p.Children, ", ", Child.call)
	margin := strings.Repeat(p.language.indent, level)
	if len(margin+calls) <= width-len("local desired = [];") {
		return "[" + calls + "]"
	}
	between := ",\n" + margin + p.language.indent
	return "[" + between[1:] + join(p.Children, between, Child.call) + ",\n" + margin + "]"
}

func (c Child) call() string { return c.function + "(" + c.Parameters() + ")" }

// A parameter is a parameter of a function, with its type in TypeScript.
type parameter struct{ Name, Type string }

// ParameterTypes returns the parameters of the function with their types.
func (c Child) ParameterTypes() []parameter {
	var all []parameter
	for name := range strings.SplitSeq(c.Parameters(), ", ") {
		of := "string"
		if name == "spec" {
			of = "Spec"
		}
		all = append(all, parameter{name, of})
	}
	return all
}

// TypedParameters returns the parameters of the function as TypeScript has them.
func (c Child) TypedParameters() string {
	var all []string
	for _, p := range c.ParameterTypes() {
		all = append(all, p.Name+": "+p.Type)
	}
	return strings.Join(all, ", ")
}

// Fields returns the fields of the spec.
func (p page) Fields() []field { return p.fields }

// Description returns what the child is for.
func (c Child) Description() string {
	if c.About == "" {
		return "The " + c.Kind.Kind + ". Add the fields that it needs."
	}
	return "The " + c.Kind.Kind + " " + c.About + "."
}

// Literal returns the child as a literal, which begins at a level of indentation.
func (c Child) Literal(level int) (string, error) {
	node, err := c.node()
	if err != nil {
		return "", err
	}
	return c.project.language.literal(node, level), nil
}

// Defaults returns the fields of the spec with their values, as a literal.
func (p page) Defaults() (string, error) {
	node := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	for _, f := range p.fields {
		var value yaml.Node
		if err := value.Encode(f.Value); err != nil {
			return "", err
		}
		value.Style |= yaml.FlowStyle
		node.Content = append(node.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: f.Name}, &value)
	}
	return p.language.literal(node, 0), nil
}

// SpecFields returns the schemas of the fields of the spec, each as a line of YAML.
func (p page) SpecFields() ([]string, error) {
	var lines []string
	for _, f := range p.fields {
		text, err := yaml.Marshal(&f.Schema)
		if err != nil {
			return nil, err
		}
		lines = append(lines, f.Name+": "+strings.TrimSpace(string(text)))
	}
	return lines, nil
}

// Required returns the names of the fields of the spec that are required, as a list in YAML.
func (p page) Required() string {
	var names []string
	for _, f := range p.fields {
		if f.Required {
			names = append(names, f.Name)
		}
	}
	return "[" + strings.Join(names, ", ") + "]"
}

// Types returns the files and directories for editors, as text.
func (p page) Types() string {
	var names []string
	for file := range types.Files([]string{p.language.name}, &types.Texts{}) {
		first, _, _ := strings.Cut(file, "/")
		names = append(names, "`"+first+"`")
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// Advice returns what a user should know, and what to type next.
func (p *Project) Advice(dir string) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s %s: %s for each %s%s.\n", p.Controller(), p.Name, p.AllChildren(), p.Parent.Name(),
		p.either("", " with the annotation "+p.Annotation("settings")))
	for _, kind := range p.Guessed() {
		fmt.Fprintf(&text, "%s is not a kind of Kubernetes. Its plural name in controller.yaml, %s, is a guess: compare it with \"kubectl api-resources\".\n", kind.Name(), kind.Plural)
	}
	fmt.Fprintf(&text, "Whoever can edit the objects of the namespace %s can do what the controller can do.\n", p.Account.Namespace)
	if p.OwnNamespace {
		fmt.Fprintf(&text, "\"kubectl delete -k\" deletes this namespace, with everything in it.\n")
	}
	text.WriteString("\nNext:\n")
	if dir != "." {
		fmt.Fprintf(&text, "  cd %s\n", shell.Quote(dir))
	}
	text.WriteString("  metascript check -f controller.yaml\n  metascript test .\n  metascript simulate .\n")
	text.WriteString("  " + p.either("kubectl apply -f crd.yaml && ", "") + "metascript dev -f controller.yaml   # in a cluster\n")
	text.WriteString("  kubectl apply -f parent.yaml   # in another terminal\n")
	text.WriteString("  kubectl apply -k .   # the server in the cluster runs it\n")
	return text.String()
}
