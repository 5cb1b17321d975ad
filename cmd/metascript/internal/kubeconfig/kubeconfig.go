// Package kubeconfig finds the cluster that a command uses, and decides whether it is on this machine.
package kubeconfig

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/roots"
	"metascript/cmd/metascript/internal/version"
	"metascript/controller/kube"
	"metascript/controller/shell"
	"metascript/engine"
)

// Flags are the flags that name a cluster and a user. Their names are those of kubectl.
type Flags struct {
	Path, Context string

	overrides clientcmd.ConfigOverrides // of what is in the file
	set       *pflag.FlagSet            // has the flags, after Register
}

// usage describes the flags in the help of each command. The other flags have the description of kubectl, and are hidden, since there
// are many and most users need none of them.
var usage = map[string]string{
	"kubeconfig": "path of a kubeconfig file",
	"context":    "context in the kubeconfig file; defaults to its current context",
	"user":       "user in the kubeconfig file; defaults to the one of the context",
	"as":         "act as this user, with the permissions of this user; a ServiceAccount is system:serviceaccount:NAMESPACE:NAME",
	"as-group":   "act as a member of this group too; needs --as, and can be repeated",
}

// Register adds the flags to a set. There is no flag for the name of a cluster in the file, since --cluster has another meaning here, and
// none for the timeout of requests, which would end watches.
func (f *Flags) Register(flags *pflag.FlagSet) {
	own := pflag.NewFlagSet("", pflag.ContinueOnError)
	own.StringVar(&f.Path, "kubeconfig", "", "")
	own.StringVar(&f.Context, "context", "", "")
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.CurrentContext, names.Timeout, names.ContextOverrideFlags.ClusterName, names.ContextOverrideFlags.Namespace = clientcmd.FlagInfo{}, clientcmd.FlagInfo{}, clientcmd.FlagInfo{}, clientcmd.FlagInfo{}
	clientcmd.BindOverrideFlags(&f.overrides, own, names)
	own.VisitAll(func(flag *pflag.Flag) {
		if text, ok := usage[flag.Name]; ok {
			flag.Usage = text
		} else {
			flag.Hidden = true
		}
	})
	flags.AddFlagSet(own)
	f.set = own
}

// Accept adds the flags that a command does not have, and --namespace, and does not show them. They have no effect, so that an alias with
// flags works with each command, as with kubectl.
func Accept(flags *pflag.FlagSet) {
	var f Flags
	f.Register(flags)
	f.set.StringP("namespace", "n", "", "namespace")
	f.set.VisitAll(func(flag *pflag.Flag) { flag.Hidden = true })
	flags.AddFlagSet(f.set) // without those that the command has
}

// Set reports whether one of the flags is set.
func (f *Flags) Set() bool {
	set := false
	f.visit(func(*pflag.Flag) { set = true })
	return set
}

// KubectlFlags returns the flags with which kubectl uses the same cluster as the same user, with a space before each, or "". The values
// of flags with secrets are not in it.
func (f *Flags) KubectlFlags() string {
	var text strings.Builder
	f.visit(func(flag *pflag.Flag) {
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if flag.Name == clientcmd.FlagBearerToken || flag.Name == clientcmd.FlagPassword {
				value = strings.ToUpper(flag.Name)
			}
			fmt.Fprintf(&text, " --%s=%s", flag.Name, shell.Quote(value))
		}
	})
	return text.String()
}

// visit calls do for each flag that is set.
func (f *Flags) visit(do func(*pflag.Flag)) {
	if f.set == nil {
		return // not registered
	}
	f.set.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed {
			do(flag)
		}
	})
}

// A Cluster is a cluster that a command uses.
type Cluster struct {
	Config  *rest.Config
	Context string          // in the kubeconfig file; "" in a Pod, and in a file without contexts
	File    kube.Kubeconfig // the file with the address

	Namespace string // of the context; "default" if it has none
}

// Explain returns an error that says what to check if err says that the cluster cannot be reached; err otherwise.
func (c *Cluster) Explain(err error) error {
	return cmp.Or(kube.Unreachable(c.Config, c.File, err), err)
}

// Load returns the cluster. It reads the file at Path if that is not "", or else the files in the variable KUBECONFIG, or else
// ~/.kube/config, or else it uses the service account of the Pod.
func (f *Flags) Load() (*Cluster, error) {
	if err := checkVariable(); f.Path == "" && err != nil {
		return nil, err
	}
	raw, err := f.read()
	if errors.Is(err, os.ErrNotExist) {
		if _, missing := manifest.ReadFile(f.Path); missing != nil {
			err = missing // it has the name that was probably meant
		}
	}
	if err != nil {
		return nil, fmt.Errorf("find a cluster: %w", err)
	}
	if f.Context != "" && raw.Contexts[f.Context] == nil {
		return nil, fmt.Errorf("find a cluster: %w", noContext(f.Context, raw))
	}
	overrides := f.overrides
	overrides.CurrentContext = f.Context
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules(), &overrides).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("find a cluster: this is not a Pod, and there is no kubeconfig file: name one with --kubeconfig or the variable KUBECONFIG, or put it at ~/.kube/config")
	}
	if err != nil {
		return nil, fmt.Errorf("find a cluster: %w", err)
	}
	config.UserAgent = version.UserAgent()
	c := &Cluster{Config: config, Context: cmp.Or(f.Context, raw.CurrentContext), Namespace: "default"}
	if context := raw.Contexts[c.Context]; context != nil && raw.Clusters[context.Cluster] != nil {
		c.File = kube.Kubeconfig(raw.Clusters[context.Cluster].LocationOfOrigin)
	}
	if context := raw.Contexts[c.Context]; context != nil {
		c.Namespace = cmp.Or(context.Namespace, c.Namespace)
	}
	if err := c.check(); err != nil {
		return nil, fmt.Errorf("find a cluster: %w", err)
	}
	roots.SetFallback() // a process that uses no cluster makes no connection with TLS
	return c, nil
}

// check returns an error if the settings for connections cannot be used.
func (c *Cluster) check() error {
	if _, err := rest.TLSConfigFor(c.Config); err != nil {
		return fmt.Errorf("a certificate or a key of %s cannot be used: %w: check certificate-authority, client-certificate and client-key", c.File, err)
	}
	return checkProxies()
}

// checkProxies returns an error if a variable is not the address of a proxy. net/http takes a part of such a value as the address,
// or connects without a proxy. The error does not show the value, which may contain a password.
func checkProxies() error {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		value := os.Getenv(name)
		if value != "" && !strings.Contains(value, "://") {
			value = "http://" + value // as net/http does
		}
		if u, err := url.Parse(value); err != nil || value != "" && u.Host == "" {
			return fmt.Errorf("the variable %s is not the address of a proxy, such as http://proxy.example.com:3128", name)
		}
	}
	return nil
}

// Contexts returns the names of the contexts in the files, sorted; none if there is no file, or it cannot be read.
func (f *Flags) Contexts() []string {
	raw, err := f.read()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

// read returns the content of the files.
func (f *Flags) read() (*api.Config, error) { return f.rules().Load() }

func (f *Flags) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = f.Path
	return rules
}

// noContext returns the error that there is no context of a name.
func noContext(name string, in *api.Config) error {
	names := slices.Sorted(maps.Keys(in.Contexts))
	if near := engine.Nearest(name, names); near != "" {
		return fmt.Errorf("there is no context %q: did you mean %q?", name, near)
	}
	if len(names) == 0 {
		return fmt.Errorf("there is no context %q: the kubeconfig file has no contexts", name)
	}
	return fmt.Errorf("there is no context %q: want one of %s", name, strings.Join(names, ", "))
}

// checkVariable returns an error if KUBECONFIG is set and none of its files exists. client-go ignores such a variable
// silently, and would then use another cluster.
func checkVariable() error {
	value := os.Getenv(clientcmd.RecommendedConfigPathEnvVar)
	if strings.TrimSpace(value) == "" {
		return nil
	}
	for _, path := range filepath.SplitList(value) {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return nil // any other error is reported when the file is read
		}
	}
	return fmt.Errorf("find a cluster: the variable KUBECONFIG names %s, and there is no such file", value)
}
