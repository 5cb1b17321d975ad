// Package scaffold makes the files of a new controller: the controller object with a script that works, a CustomResourceDefinition,
// a parent, test cases, steps of a simulation, the ServiceAccount with its namespace and its roles, types for editors and a README.
//
// [New] checks what the user asks for, and returns a [Project]. [Project.Files] returns its files. Nothing here uses the disk.
//
// What the files contain is in files too, below this directory:
//
//   - templates has a template for each file of a project. The values for them are in template.go.
//   - samples has an example of each kind of child, in YAML. A tag such as !spec marks a value that comes from the parent. package
//     scaffold writes a sample as a literal of the language of the script (literal.go), and as YAML with the values of a parent, for the
//     test cases (sample.go). So each sample exists once, and not in each language.
//   - fields.yaml has the fields of the parent's spec that the samples use.
package scaffold

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gobuffalo/flect"
	"k8s.io/apimachinery/pkg/util/validation"

	"metascript/cmd/metascript/internal/rbac"
	"metascript/controller/kinds"
)

// Options say what a project is.
type Options struct {
	Name      string // of the controller, and of the kind of its parents unless Parent is set
	Language  string // one of Languages
	Decorator bool   // a DecoratorController, else a CompositeController
	Parent    Kind   // the zero value means a kind named after Name; a DecoratorController must have one
	Children  []Kind // empty means DefaultChildren

	Account rbac.Account // the controller acts as it; the zero value means one named after Name, in a new namespace named after Name
	Server  rbac.Account // of the server that runs the controller
}

// A Project is a controller whose files can be written.
type Project struct {
	Name      string
	Decorator bool
	Parent    Kind
	Children  []Child
	Account   rbac.Account
	Server    rbac.Account

	// OwnNamespace reports whether the files have the namespace of the account: in one that others use, whoever can edit its objects could do
	// what the controller can do.
	OwnNamespace bool

	language *language
	fields   []field
}

// A Child is a kind of children of the controller.
type Child struct {
	Kind
	*sample
	project  *Project
	function string // the name of the function of the script that returns the child
}

// maxName is the maximum length of a name: the names that are made of it may have up to 63 characters.
const maxName = 50

// ValidateName returns an error if name cannot be the name of a project.
func ValidateName(name string) error {
	if len(validation.IsDNS1035Label(name)) == 0 && len(name) <= maxName {
		return nil
	}
	text := fmt.Sprintf("want lower-case letters, digits and dashes, beginning with a letter, at most %d characters", maxName)
	if near := nameLike(name); near != name && len(validation.IsDNS1035Label(near)) == 0 && len(near) <= maxName {
		text += fmt.Sprintf("; did you mean %s?", near)
	}
	return fmt.Errorf("the name %q: %s", name, text)
}

var (
	hump      = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	notInName = regexp.MustCompile(`[^a-z0-9]+`)
)

// nameLike returns a valid name that is like another one: my-app for MyApp, my_app and my.app.
func nameLike(name string) string {
	name = strings.ToLower(hump.ReplaceAllString(name, "$1-$2"))
	return strings.Trim(notInName.ReplaceAllString(name, "-"), "-")
}

// New returns the project that the options describe. The name must be valid.
func New(o Options) (*Project, error) {
	p := &Project{Name: o.Name, Decorator: o.Decorator, Parent: o.Parent, Account: o.Account, Server: o.Server, language: languageOf(o.Language)}
	if err := p.setAccount(); err != nil {
		return nil, err
	}
	if err := p.setParent(); err != nil {
		return nil, err
	}
	children := o.Children
	if len(children) == 0 {
		children = []Kind{DefaultChild(o.Decorator)}
	}
	for _, kind := range children {
		if err := p.addChild(kind); err != nil {
			return nil, err
		}
	}
	p.nameFunctions()
	return p, p.findFields()
}

// DefaultChild returns the kind of the children if none is given.
func DefaultChild(decorator bool) Kind {
	name := "Deployment.apps/v1"
	if decorator {
		name = "ConfigMap.v1"
	}
	kind, err := ParseKind(name)
	if err != nil {
		panic(err) // it is a kind of Kubernetes
	}
	return kind
}

// setAccount sets the account if it is not given. Its namespace must be a new one, because it is deleted with the controller.
func (p *Project) setAccount() error {
	if p.Account.Name != "" {
		return nil
	}
	if p.Name == defaultNamespace || strings.HasPrefix(p.Name, "kube-") || p.Name == p.Server.Namespace {
		return fmt.Errorf("the namespace of the controller would be %s, which is not a new one, and would be deleted with the controller: choose another NAME, or set --service-account", p.Name)
	}
	p.Account, p.OwnNamespace = rbac.Account{Namespace: p.Name, Name: p.Name}, true
	return nil
}

// setParent checks the parent, or sets it if it is not given.
func (p *Project) setParent() error {
	switch {
	case p.Decorator && p.Parent.Kind == "":
		return errors.New("a DecoratorController needs --parent, the kind that it decorates, such as --parent Deployment.apps/v1")
	case p.Decorator:
		return nil
	case p.Parent.Kind == "":
		kind := flect.Pascalize(p.Name)
		p.Parent = Kind{kinds.Resource{APIVersion: "example.com/v1alpha1", Kind: kind, Plural: kinds.Plural(kind), Namespaced: true}, true}
	case !p.Parent.Custom:
		return fmt.Errorf("--parent %s is a kind of Kubernetes, but the parent of a CompositeController is a kind of your own: leave it out for %s.example.com/v1alpha1, or decorate %s with --kind Decorator",
			p.Parent.Name(), flect.Pascalize(p.Name), p.Parent.Plural)
	}
	return nil
}

// addChild checks a kind of children, and adds it.
func (p *Project) addChild(kind Kind) error {
	switch {
	case slices.ContainsFunc(p.Children, func(c Child) bool { return c.Name() == kind.Name() }):
		return fmt.Errorf("--children has %s twice", kind.Name())
	case kind.Name() == p.Parent.Name():
		return fmt.Errorf("--children %s is the kind of the parent too: the children would be parents", kind.Name())
	case p.Parent.Namespaced && !kind.Namespaced:
		return fmt.Errorf("--children %s has no namespace, but the parent %s has one: Kubernetes does not permit that an object in a namespace owns such an object", kind.Name(), p.Parent.Name())
	}
	found, err := sampleOf(kind)
	if err != nil {
		return err
	}
	p.Children = append(p.Children, Child{kind, found, p, ""})
	return nil
}

// nameFunctions sets the names of the functions. If two kinds have the same name, their groups are added.
func (p *Project) nameFunctions() {
	count := map[string]int{}
	for _, c := range p.Children {
		count[c.Kind.Kind]++
	}
	for i, c := range p.Children {
		words := "new " + flect.Underscore(c.Kind.Kind)
		if group, _, _ := strings.Cut(c.GVK().Group, "."); count[c.Kind.Kind] > 1 && group != "" {
			words += " " + group
		}
		p.Children[i].function = p.language.function(words)
	}
}

// findFields sets the fields of the parent's spec.
func (p *Project) findFields() error {
	all, err := readFields()
	if err != nil {
		return err
	}
	used := map[string]bool{"version": true}
	for _, c := range p.Children {
		c.uses(used)
	}
	p.fields = slices.DeleteFunc(all, func(f field) bool { return !used[f.Name] })
	return nil
}
