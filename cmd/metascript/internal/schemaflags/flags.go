// Package schemaflags has the flags that choose which kinds a command knows: those of Kubernetes and of the files, or those of a
// cluster.
package schemaflags

import (
	"context"

	"github.com/spf13/pflag"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"

	"metascript/cmd/metascript/internal/kubeconfig"
	"metascript/controller/schemas"
	"metascript/manifests"
)

// Flags are the values of the flags.
type Flags struct {
	use     bool // the kinds of the cluster
	cluster kubeconfig.Flags
}

// Register adds the flags to a command.
func (f *Flags) Register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.use, "cluster", false, "use the kinds and schemas of the current cluster, instead of the built-in ones of Kubernetes; --kubeconfig, --context, --as and the other flags of kubectl imply --cluster")
	f.cluster.Register(flags)
}

// Schemas returns the kinds of Kubernetes, or of the cluster if the flags say so, with those of metascript and of definitions in
// files. Definitions in files have precedence over those of the cluster.
func (f *Flags) Schemas(ctx context.Context, files ...*apiextensionsv1.CustomResourceDefinition) (*schemas.Set, error) {
	base := schemas.Kubernetes()
	if f.use || f.cluster.Set() {
		cluster, err := f.cluster.Load()
		if err != nil {
			return nil, err
		}
		cluster.Config.WarningHandler = rest.NoWarnings{}
		if base, err = schemas.Cluster(ctx, cluster.Config); err != nil {
			return nil, cluster.Explain(err)
		}
	}
	return WithOwn(base, files...)
}

// WithOwn returns base with the kinds of metascript itself and of definitions in files.
func WithOwn(base *schemas.Set, files ...*apiextensionsv1.CustomResourceDefinition) (*schemas.Set, error) {
	own, err := manifests.CRDs()
	if err != nil {
		return nil, err
	}
	return base.With(append(own, files...)...)
}
