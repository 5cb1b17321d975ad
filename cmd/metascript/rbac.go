package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"metascript/cmd/metascript/internal/arguments"
	"metascript/cmd/metascript/internal/cases"
	"metascript/cmd/metascript/internal/flagvalue"
	"metascript/cmd/metascript/internal/kubeconfig"
	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/output"
	"metascript/cmd/metascript/internal/rbac"
	"metascript/cmd/metascript/internal/sandbox"
	"metascript/cmd/metascript/internal/serverflags"
	"metascript/controller"
	"metascript/controller/kube"
	"metascript/controller/schemas"
)

// rbacFlags are the flags of the command rbac.
type rbacFlags struct {
	files, parents, cases []string
	namespaces            []string
	watched               bool
	account               string
	part                  flagvalue.Choice
	server                string
	constrained           bool
	check                 bool
	observe               time.Duration
	cluster               kubeconfig.Flags
	output                output.Format
	defaults              serverflags.SpecDefaults
	sandbox               sandbox.Flags
}

// The parts of the output, as values of the flag.
const (
	partAll     = "all"
	partAccount = "account"
	partServer  = "server"
)

// rbacCommand returns the command rbac.
func rbacCommand() *cobra.Command {
	f := rbacFlags{part: flagvalue.OneOf(partAll, partAccount, partServer)}
	cmd := &cobra.Command{
		Use:        "rbac -f controller.yaml",
		SuggestFor: []string{"roles", "permissions", "auth"},
		Short:      "Print the permissions that controllers need, or compare them with a cluster",
		Long: `Print the ServiceAccount of each controller in the files, and the Roles, ClusterRoles and bindings that permit it exactly
what the controller needs, as YAML for kubectl apply -f -. A comment says why each verb is needed. The account is the one
in spec.serviceAccount, or in --service-account for controllers that have none. If the files contain the
CustomResourceDefinitions of the parents and children, the command needs no cluster.

The last objects for each controller are for a server that is not permitted to do everything: a ClusterRole with the label
` + rbac.AggregateLabel + `: "true", to read what the controller watches, and a Role to act as the
account. With --part only one of the two parts is printed.

With --namespace, the parents are only in these namespaces, and the account gets Roles there. Without --namespace, the account
gets ClusterRoles. For an object in one known namespace, such as a Secret of a webhook, it always gets a Role. With --watched,
the server gets Roles in these namespaces too.

The objects that a customize hook selects are known only when the hook is called. The command calls it with the parents of
--parent, and with those of test cases. The test cases are in the directories of the controllers, as for "metascript test", or
in the directories of --cases. With --observe, the command runs the controllers for that time against a cluster, like
"metascript dev --dry-run", and then prints what their hooks selected. Ctrl-C ends this earlier.

With --check, the command prints no objects. It compares what is needed with what the cluster permits to the account. It prints
what is missing, and what is permitted but not needed, with the roles and bindings that grant it. The exit code is 1 if there
is a difference.

With --output json or yaml, the output is a List with the objects, without comments. With --check it is an object with the
field exact and the list accounts; each has serviceAccount, controllers, exact, missing (verb, group, resource, subresource,
namespace, name and why) and excess (role, binding, group, grants and remedy).

With --check and --observe the command finds the cluster by --kubeconfig, the environment variable KUBECONFIG,
~/.kube/config, or the service account of its Pod, in this order. Then CustomResourceDefinitions, and ConfigMaps with
scripts, need not be in the files.`,
		Example: `  metascript rbac -f controller.yaml
  metascript rbac -f examples/catset --service-account catsets/controller | kubectl apply -f -
  metascript rbac -f controller.yaml -f crd.yaml --namespace team-a --namespace team-b
  metascript rbac -f controller.yaml --check`,
		Args: arguments.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return runRBAC(cmd, &f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVarP(&f.files, "filename", "f", nil, `files, directories or quoted patterns with the controllers, and with CustomResourceDefinitions; "-" is standard input`)
	flags.StringVar(&f.account, "service-account", "", "NAMESPACE/NAME of the ServiceAccount of controllers without spec.serviceAccount")
	flags.StringSliceVarP(&f.namespaces, "namespace", "n", nil, "the parents are only in this namespace; the flag can be repeated")
	flags.BoolVar(&f.watched, "watched", false, "the server runs with --watch-namespaces, and gets Roles in the namespaces of --namespace in place of ClusterRoles")
	flags.Var(&f.part, "part", "what is printed: "+f.part.Words())
	flags.StringVar(&f.server, "server-account", "metacontroller/metacontroller", "NAMESPACE/NAME of the ServiceAccount of the server")
	flags.BoolVar(&f.constrained, "constrained-impersonation", false, "permit the server only those requests as the account that the controller needs; this needs Kubernetes 1.36")
	flags.StringSliceVar(&f.parents, "parent", nil, "files, directories or quoted patterns with parents, for which customize hooks are called")
	flags.StringSliceVar(&f.cases, "cases", nil, "directories with test cases, for whose parents customize hooks are called; defaults to those of the files")
	flags.DurationVar(&f.observe, "observe", 0, "run the controllers as a dry run for this time, to see what their customize hooks ask for")
	flags.BoolVar(&f.check, "check", false, "compare with what a cluster permits, instead of printing")
	f.cluster.Register(flags)
	f.output.Register(flags)
	f.defaults.Register(flags)
	f.sandbox.Register(flags)
	_ = cmd.MarkFlagRequired("filename")
	cmd.MarkFlagsMutuallyExclusive("check", "part")
	return cmd
}

// errNotExact makes the exit code 1 after --check has printed the differences.
var errNotExact = errors.New("not every account has exactly what it needs")

// runRBAC reads all files before it uses a cluster: most errors are in the files.
func runRBAC(cmd *cobra.Command, f *rbacFlags) error {
	docs, err := manifest.Read(f.files, cmd.InOrStdin())
	if err != nil {
		return err
	}
	controllers := manifest.Controllers(docs)
	if len(controllers) == 0 {
		return fmt.Errorf("no CompositeController and no DecoratorController in %s%s", strings.Join(f.files, ", "), manifest.HintNested(f.files))
	}
	sandbox, err := f.sandbox.Open(nil, manifest.NeedWorkers(controllers))
	if err != nil {
		return err
	}
	defer sandbox.Close()
	if f.watched && len(f.namespaces) == 0 {
		return errors.New("--watched needs the namespaces that the server watches: add --namespace for each")
	}
	loader, err := f.loader(cmd, docs, sandbox)
	if err != nil {
		return err
	}
	var cluster *kubeconfig.Cluster
	if f.check || f.observe > 0 {
		if cluster, err = f.useCluster(cmd, loader); err != nil {
			return err
		}
	}
	loaded, err := loader.Load(cmd.Context(), controllers)
	if err != nil {
		return err
	}
	for _, c := range loaded {
		if c.Incomplete != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s: %s\n", c.ID, c.Incomplete)
		}
	}
	if f.check {
		return f.compare(cmd, cluster.Config, loaded)
	}
	return f.print(cmd, loaded)
}

// loader returns a Loader that uses only files.
func (f *rbacFlags) loader(cmd *cobra.Command, docs []manifest.Document, in *sandbox.Sandbox) (*rbac.Loader, error) {
	l := &rbac.Loader{Sandbox: in, Namespaces: f.namespaces, Watched: f.watched, Log: cmd.ErrOrStderr()}
	var err error
	if f.account != "" {
		if l.Account, err = parseAccount("service-account", f.account); err != nil {
			return nil, err
		}
	}
	crds, err := manifest.CRDs(docs)
	if err != nil {
		return nil, err
	}
	if l.Parents, err = manifest.Read(f.parents, cmd.InOrStdin()); err != nil {
		return nil, err
	}
	if l.Suites, err = f.suites(); err != nil {
		return nil, err
	}
	folders := slices.Clone(f.sandbox.Folders)
	for _, s := range l.Suites {
		crds, folders = append(crds, s.Definitions()...), append(folders, s.Dir())
	}
	if l.Schemas, err = schemas.Kubernetes().With(crds...); err != nil {
		return nil, err
	}
	l.Finder, l.Sources = rbac.Kinds(l.Schemas.Kinds()), manifest.ScriptSources(folders, docs)
	var options controller.Options
	f.defaults.Apply(&options)
	l.Strategy = options.ApplyStrategy
	return l, nil
}

// useCluster makes a Loader use a cluster: to find resources and ConfigMaps with scripts, and, if the flag is set, to observe the
// controllers.
func (f *rbacFlags) useCluster(cmd *cobra.Command, l *rbac.Loader) (*kubeconfig.Cluster, error) {
	cluster, err := f.cluster.Load()
	if err != nil {
		return nil, err
	}
	config := cluster.Config
	config.QPS, config.WarningHandler = -1, rest.NoWarnings{}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	if _, err := client.ServerVersion(); err != nil { // without this request, the error would seem to be one of a file
		if unreachable := kube.Unreachable(config, cluster.File, err); unreachable != nil {
			return nil, unreachable
		}
	}
	l.Finder = kube.NewResources(client, time.Hour)
	if l.Sources.ConfigMaps, err = rbac.ConfigMaps(cmd.Context(), l.Sources.ConfigMaps, config); err != nil {
		return nil, cluster.Explain(err)
	}
	if f.observe > 0 {
		log := slog.New(slog.DiscardHandler)
		l.Observer = &rbac.Observer{Period: f.observe, Out: cmd.ErrOrStderr(), Server: controller.Options{
			Config: config, Kubeconfig: cluster.File, Log: log, Sandbox: l.Sandbox.Sandbox, Folders: l.Sources.Folders,
		}}
		f.defaults.Apply(&l.Observer.Server)
	}
	return cluster, nil
}

// parseAccount returns the account that is the value of a flag.
func parseAccount(flag, value string) (*rbac.Account, error) {
	namespace, name, _ := strings.Cut(value, "/")
	if len(validation.IsDNS1123Label(namespace)) > 0 || len(validation.IsDNS1123Subdomain(name)) > 0 {
		return nil, fmt.Errorf("--%s %q: want NAMESPACE/NAME, such as default/controller", flag, value)
	}
	return &rbac.Account{Namespace: namespace, Name: name}, nil
}

// suites returns the test cases in the directories of the flag, or else those beside the files of the controllers.
func (f *rbacFlags) suites() ([]*cases.Suite, error) {
	if len(f.cases) > 0 {
		return readSuites(f.cases)
	}
	return suitesBeside(f.files)
}

// readSuites returns the test cases in directories. It returns an error if one cannot be read.
func readSuites(dirs []string) ([]*cases.Suite, error) {
	suites, err := cases.ReadSuites(dirs)
	for _, s := range suites {
		err = cmp.Or(err, s.Err())
	}
	return suites, err
}

// suitesBeside returns the test cases beside files, or in directories. A path can be a pattern.
func suitesBeside(paths []string) ([]*cases.Suite, error) {
	paths, err := manifest.Expand(paths)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, path := range paths {
		if path == "-" {
			continue
		}
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			path = filepath.Dir(path)
		}
		if cases.IsSuite(path) && !slices.Contains(dirs, path) {
			dirs = append(dirs, path)
		}
	}
	return readSuites(dirs)
}

// print prints the objects of the controllers.
func (f *rbacFlags) print(cmd *cobra.Command, all []*rbac.Controller) error {
	server, err := parseAccount("server-account", f.server)
	if err != nil {
		return err
	}
	var objects []rbac.Manifest
	for _, c := range all {
		if f.part.String() != partServer {
			objects = append(objects, c.ForAccount()...)
		}
		if f.part.String() != partAccount {
			objects = append(objects, c.ForServer(*server, f.constrained)...)
		}
	}
	if !f.output.IsText() {
		return f.output.Print(cmd.OutOrStdout(), rbac.ListOf(objects))
	}
	return rbac.Print(cmd.OutOrStdout(), objects)
}

// comparison is the output of --check for programs.
type comparison struct {
	Exact    bool              `json:"exact"` // each account has exactly what it needs
	Accounts []rbac.Difference `json:"accounts"`
}

// compare compares the rights of the controllers with those in a cluster. It does not use the context of the command, which Ctrl-C
// has ended if it ended an observation.
func (f *rbacFlags) compare(cmd *cobra.Command, config *rest.Config, all []*rbac.Controller) error {
	checker, err := rbac.NewChecker(config)
	if err != nil {
		return err
	}
	differences, err := checker.Check(context.WithoutCancel(cmd.Context()), all)
	if err != nil {
		return err
	}
	result := comparison{Exact: true, Accounts: differences}
	for _, d := range differences {
		result.Exact = result.Exact && d.Exact
		if f.output.IsText() {
			fmt.Fprint(cmd.OutOrStdout(), d.Text())
		}
	}
	if !f.output.IsText() {
		if err := f.output.Print(cmd.OutOrStdout(), result); err != nil {
			return err
		}
	}
	if !result.Exact {
		return errNotExact
	}
	return nil
}
