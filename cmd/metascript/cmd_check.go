package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"metascript/controller"
	"metascript/controller/api/v1alpha1"
	"metascript/controller/api/validation"
	"metascript/controller/object"
	"metascript/engine"
	"metascript/manifests"
	"metascript/scripts"
)

func checkCommand() *cobra.Command {
	var files []string
	var flags sandboxFlags
	cmd := &cobra.Command{
		Use:   "check -f FILE",
		Short: "Check controllers, and other objects, without a cluster",
		Long: `Check the objects in files without a cluster. A controller is held against the rules of its definition, as the API
server would do it, and its scripts are compiled. Other objects are held against the CustomResourceDefinitions
among the files; what has no definition there is passed over.`,
		Example: `  metascript check -f examples/pythonlambda/controller.yaml -f examples/pythonlambda/crd.yaml`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			docs, err := readFiles(files, cmd.InOrStdin())
			if err != nil {
				return err
			}
			if len(docs) == 0 {
				return fmt.Errorf("no objects in %s%s", strings.Join(files, ", "), nested(files))
			}
			sandbox, err := flags.open(nil, asksForWorkers(docs))
			if err != nil {
				return err
			}
			defer sandbox.close()
			return check(cmd, docs, sandbox.Sandbox, flags.folders)
		},
	}
	cmd.Flags().StringSliceVarP(&files, "filename", "f", nil, `files or folders with the objects; "-" is standard input`)
	flags.register(cmd.Flags())
	_ = cmd.MarkFlagRequired("filename")
	return cmd
}

// errFound is what check exits with after it told what is wrong.
var errFound = errors.New("not all is well")

func check(cmd *cobra.Command, docs []document, sandbox controller.Sandbox, folders []string) error {
	theirs, err := definitions(docs)
	if err != nil {
		return err
	}
	c, err := newChecker(theirs)
	if err != nil {
		return err
	}
	c.out, c.sandbox, c.sources = cmd.OutOrStdout(), sandbox, offlineSources(folders, docs)
	for _, doc := range docs {
		c.check(cmd, doc)
	}
	if c.found {
		return errFound
	}
	return nil
}

type checker struct {
	out     io.Writer
	sandbox controller.Sandbox
	sources scripts.Sources
	known   map[schema.GroupKind]*validation.Validator
	found   bool // something is wrong
}

// newChecker knows our own definitions and theirs.
func newChecker(theirs []*apiextensionsv1.CustomResourceDefinition) (*checker, error) {
	c := &checker{known: map[schema.GroupKind]*validation.Validator{}}
	own, err := manifests.CRDs()
	if err != nil {
		return nil, err
	}
	for _, crd := range append(own, theirs...) {
		if err := c.learn(crd); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// refusals are what the API server would say against a controller.
func (c *checker) refusals(doc document) []string {
	var all []string
	for _, err := range c.known[doc.GroupVersionKind().GroupKind()].Validate(doc.Object.Object) {
		all = append(all, fmt.Sprintf("%s: the API server would refuse it, or leave it out: %v", doc.file, err))
	}
	return all
}

// warn says what check would say of a controller that is run nevertheless.
func warn(out io.Writer, doc document, sandbox controller.Sandbox) error {
	c, err := newChecker(nil)
	if err != nil {
		return err
	}
	for _, text := range c.refusals(doc) {
		fmt.Fprintf(out, "warning: %s\n", text)
	}
	for _, doubt := range controller.Doubts(doc.Object, sandbox) {
		fmt.Fprintf(out, "warning: %s: %s\n", doc.file, doubt)
	}
	return nil
}

func (c *checker) learn(crd *apiextensionsv1.CustomResourceDefinition) error {
	v, err := validation.New(crd)
	if err != nil {
		return fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
	}
	c.known[schema.GroupKind{Group: crd.Spec.Group, Kind: crd.Spec.Names.Kind}] = v
	return nil
}

func (c *checker) check(cmd *cobra.Command, doc document) {
	kind := doc.GroupVersionKind().GroupKind()
	name := fmt.Sprintf("%s: %s", doc.file, object.Describe(doc.Object))
	if kind.Kind == "CustomResourceDefinition" {
		fmt.Fprintf(c.out, "%s: ok, its objects are held against it\n", name)
		return
	}
	validator, known := c.known[kind]
	if !known && kind.Group == v1alpha1.Group {
		c.found = true
		fmt.Fprintf(c.out, "%s: there is no such kind in %s\n", name, v1alpha1.Group)
		return
	}
	if !known {
		fmt.Fprintf(c.out, "%s: passed over, its definition is not among the files\n", name)
		return
	}
	wrong := false
	for _, err := range validator.Validate(doc.Object.Object) {
		wrong = true
		fmt.Fprintf(c.out, "%s: %s\n", name, err)
	}
	said := "ok"
	if !wrong && isController(doc.Object) {
		said, wrong = c.compile(cmd, name, doc.Object)
	}
	c.found = c.found || wrong
	if !wrong {
		fmt.Fprintf(c.out, "%s: %s\n", name, said)
	}
}

// compile compiles the scripts of a controller; it gives what to say when nothing is wrong.
func (c *checker) compile(cmd *cobra.Command, name string, o *object.Object) (said string, wrong bool) {
	hooks, doubts, err := controller.Check(cmd.Context(), o, c.sandbox, c.sources)
	if err != nil {
		fmt.Fprintf(c.out, "%s: %s\n", name, engine.DetailOf(err))
		return "", true
	}
	for _, doubt := range doubts {
		fmt.Fprintf(c.out, "%s: warning: %s\n", name, doubt)
	}
	return "ok, hooks: " + strings.Join(hooks, ", "), false
}
