package serverflags

import (
	"github.com/spf13/pflag"

	"metascript/cmd/metascript/internal/flagvalue"
	"metascript/controller"
	"metascript/controller/api/v1alpha1"
)

// SpecDefaults are the flags with defaults for fields of controller objects. The command dev has them too, so that it does the same as a
// server with the same flags.
type SpecDefaults struct{ strategy, missing flagvalue.Choice }

// The apply strategies, as values of the flag.
const (
	dynamicApply    = "dynamic-apply"
	serverSideApply = "server-side-apply"
)

// Register adds the flags to a set.
func (d *SpecDefaults) Register(flags *pflag.FlagSet) {
	d.strategy = flagvalue.OneOf(dynamicApply, serverSideApply)
	d.missing = flagvalue.OneOf(string(v1alpha1.MissingChildrenDelete), string(v1alpha1.MissingChildrenHold))
	flags.Var(&d.strategy, "apply-strategy", "how objects are updated, for controllers that do not set spec.applyStrategy: "+d.strategy.Words())
	flags.Var(&d.missing, "missing-children", "what an answer without children means while children exist, for webhooks that do not set missingChildren: "+d.missing.Words()+"; with Hold it is an error, and nothing is deleted")
}

// Apply sets the options for the flags.
func (d *SpecDefaults) Apply(o *controller.Options) {
	o.ApplyStrategy, o.MissingChildren = v1alpha1.DynamicApply, v1alpha1.MissingChildren(d.missing.String())
	if d.strategy.String() == serverSideApply {
		o.ApplyStrategy = v1alpha1.ServerSideApply
	}
}
