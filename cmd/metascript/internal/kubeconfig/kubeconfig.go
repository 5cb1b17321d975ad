// Package kubeconfig finds the cluster that a command uses, and decides whether it is on this machine.
package kubeconfig

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"metascript/cmd/metascript/internal/manifest"
	"metascript/cmd/metascript/internal/version"
	"metascript/engine"
)

// Flags are the flags that name a cluster.
type Flags struct{ Path, Context string }

// Register adds the flags to a set.
func (f *Flags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.Path, "kubeconfig", "", "path of a kubeconfig file")
	flags.StringVar(&f.Context, "context", "", "context in the kubeconfig file; defaults to its current context")
}

// KubectlFlags returns the flags with which kubectl uses the same cluster, with a space before each, or "".
func (f Flags) KubectlFlags() string {
	text := ""
	if f.Path != "" {
		text += " --kubeconfig " + f.Path
	}
	if f.Context != "" {
		text += " --context " + f.Context
	}
	return text
}

// A Cluster is a cluster that a command uses.
type Cluster struct {
	Config  *rest.Config
	Context string // in the kubeconfig file; "" in a Pod, and in a file without contexts
}

// Load returns the cluster. It reads the file at Path if that is not "", or else the files in the variable KUBECONFIG, or else
// ~/.kube/config, or else it uses the service account of the Pod.
func (f Flags) Load() (*Cluster, error) {
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
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(f.rules(), &clientcmd.ConfigOverrides{CurrentContext: f.Context}).ClientConfig()
	if clientcmd.IsEmptyConfig(err) {
		return nil, errors.New("find a cluster: this is not a Pod, and there is no kubeconfig file: name one with --kubeconfig or the variable KUBECONFIG, or put it at ~/.kube/config")
	}
	if err != nil {
		return nil, fmt.Errorf("find a cluster: %w", err)
	}
	config.UserAgent = version.UserAgent()
	c := &Cluster{Config: config, Context: f.Context}
	if c.Context == "" {
		c.Context = raw.CurrentContext
	}
	return c, nil
}

// Contexts returns the names of the contexts in the files, sorted; none if there is no file, or it cannot be read.
func (f Flags) Contexts() []string {
	raw, err := f.read()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(raw.Contexts))
}

// read returns the content of the files.
func (f Flags) read() (*api.Config, error) { return f.rules().Load() }

func (f Flags) rules() *clientcmd.ClientConfigLoadingRules {
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
