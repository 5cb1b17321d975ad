package main

import (
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"metascript/cmd/metascript/internal/flagvalue"
	"metascript/cmd/metascript/internal/folder"
	"metascript/cmd/metascript/internal/scaffold"
	"metascript/scripts/lib/editor"
)

// initFlags are the flags of the command init.
type initFlags struct {
	language, kind flagvalue.Choice
	parent         kindValue
	children       kindsValue
	account        string
	server         string
	dir            string
}

// initCommand returns the command init, with which an author begins.
func initCommand() *cobra.Command {
	f := initFlags{language: flagvalue.OneOf(scaffold.Languages()...), kind: flagvalue.OneOf("Composite", "Decorator")}
	var project *scaffold.Project
	cmd := &cobra.Command{
		Use:        "init NAME",
		SuggestFor: []string{"new", "scaffold", "generate"},
		Short:      "Write the files of a new controller",
		Long: `Write the files of a new controller: a script that works, the controller object, a CustomResourceDefinition of the parent,
a parent to try, test cases, the steps of a simulation, the ServiceAccount of the controller with its namespace and its roles, type
definitions for editors, and a README. They are written below the directory NAME. If one of these files exists already, the command
fails and writes nothing.

A CompositeController makes children for each object of a new kind, the parent. This kind is NAME in the group
example.com, unless --parent is set. A DecoratorController (--kind Decorator) makes children for each object of a kind that exists,
if the object has an annotation.

The controller acts as the ServiceAccount in --service-account, whose namespace must exist. Without this flag, both are named NAME, and
the namespace is among the files. Whoever can edit the objects of this namespace can do what the controller can do. The roles of the
account are those that "metascript rbac" prints, and so are those of the server, whose ServiceAccount is in --server-account. "kubectl
apply -k NAME" installs all of it.

Write a kind as Kind.group/version, such as Deployment.apps/v1 or Service.v1. The group and the version of a kind of
Kubernetes can be left out. For other kinds, the script has only a name and labels: add the rest.`,
		Example: `  metascript init webapp
  metascript init webapp --language JavaScript --children Deployment,Service --parent WebApp.acme.io/v1
  metascript init guard --kind Decorator --parent Namespace --children NetworkPolicy`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return errors.New("want one NAME, such as metascript init webapp")
			}
			return scaffold.ValidateName(args[0])
		},
		// What the flags say together is checked before the command starts, so that the exit code of an error is 2.
		PreRunE: func(_ *cobra.Command, args []string) (err error) {
			project, err = f.project(args[0])
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := f.dir
			if dir == "" {
				dir = args[0]
			}
			return writeProject(cmd.OutOrStdout(), project, dir)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := cmd.Flags()
	flags.Var(&f.language, "language", "language of the script: "+f.language.Words())
	flags.Var(&f.kind, "kind", "kind of the controller: "+f.kind.Words())
	flags.Var(&f.parent, "parent", "kind of the parents")
	flags.Var(&f.children, "children", "kinds of the children, separated by commas (default Deployment.apps/v1, for a Decorator ConfigMap.v1)")
	flags.StringVar(&f.account, "service-account", "", "NAMESPACE/NAME of the ServiceAccount of the controller (default NAME/NAME)")
	flags.StringVar(&f.server, "server-account", "metascript/metascript", "NAMESPACE/NAME of the ServiceAccount of the server")
	flags.StringVar(&f.dir, "dir", "", "directory in which the files are written (default NAME)")
	_ = cmd.RegisterFlagCompletionFunc("parent", cobra.FixedCompletions(scaffold.KindNames(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("children", completeKinds)
	_ = cmd.MarkFlagDirname("dir")
	return cmd
}

// project returns the project that the flags describe.
func (f *initFlags) project(name string) (*scaffold.Project, error) {
	o := scaffold.Options{
		Name: name, Language: f.language.String(), Decorator: f.kind.String() == "Decorator", Parent: f.parent.kind, Children: f.children.kinds,
	}
	server, err := parseAccount("server-account", f.server)
	if err != nil {
		return nil, err
	}
	o.Server = *server
	if f.account != "" {
		account, err := parseAccount("service-account", f.account)
		if err != nil {
			return nil, err
		}
		o.Account = *account
	}
	return scaffold.New(o)
}

// writeProject writes the files, and prints their names and what to do next.
func writeProject(out io.Writer, project *scaffold.Project, dir string) error {
	files, err := project.Files()
	if err != nil {
		return err
	}
	if err := writeNew(dir, files); err != nil {
		return err
	}
	last := ""
	for _, file := range files {
		name := file.Path
		if below := path.Dir(editor.Stubs); path.Dir(name) == below {
			name = below // its files are one for each part of the library
		}
		if name != last {
			fmt.Fprintln(out, filepath.Join(dir, filepath.FromSlash(name)))
		}
		last = name
	}
	_, err = io.WriteString(out, "\n"+project.Advice(dir))
	return err
}

// writeNew writes files below a directory, which need not exist.
func writeNew(dir string, files []folder.File) error {
	into, err := folder.Open(dir)
	if err != nil {
		return err
	}
	defer into.Close()
	err = into.Create(files...)
	if exist := (*folder.ExistError)(nil); errors.As(err, &exist) {
		return fmt.Errorf("%w: choose another directory with --dir", err)
	}
	return err
}

// completeKinds completes the last kind of a list of kinds.
func completeKinds(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	before := typed[:strings.LastIndex(typed, ",")+1]
	var lists []string
	for _, name := range scaffold.KindNames() {
		lists = append(lists, before+name)
	}
	return lists, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// A kindValue is the value of a flag that is a kind.
type kindValue struct{ kind scaffold.Kind }

// String returns the name of the kind, or "".
func (v *kindValue) String() string {
	if v.kind.Kind == "" {
		return ""
	}
	return v.kind.Name()
}

// Type returns the type of the flag for help.
func (v *kindValue) Type() string { return "Kind.group/version" }

// Set implements pflag.Value.
func (v *kindValue) Set(name string) (err error) {
	v.kind, err = scaffold.ParseKind(name)
	return err
}

// A kindsValue is the value of a flag that is a list of kinds. If the flag is repeated, the lists are joined.
type kindsValue struct{ kinds []scaffold.Kind }

// String returns the names of the kinds.
func (v *kindsValue) String() string {
	var names []string
	for _, kind := range v.kinds {
		names = append(names, kind.Name())
	}
	return strings.Join(names, ",")
}

// Type returns the type of the flag for help.
func (v *kindsValue) Type() string { return "kinds" }

// Set implements pflag.Value.
func (v *kindsValue) Set(list string) error {
	for name := range strings.SplitSeq(list, ",") {
		kind, err := scaffold.ParseKind(strings.TrimSpace(name))
		if err != nil {
			return err
		}
		v.kinds = append(v.kinds, kind)
	}
	return nil
}
