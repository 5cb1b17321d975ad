package scaffold

import (
	"bytes"
	"slices"

	"metascript/cmd/metascript/internal/rbac"
	"metascript/controller/references"
	"metascript/controller/rights"
	"metascript/controller/spec"
)

// ScriptConfigMap returns the name of the ConfigMap with the script. It is in the namespace of the account.
func (p *Project) ScriptConfigMap() string { return p.Name + "-script" }

// roles returns the ServiceAccount of the controller, its roles and those of the server: what "metascript rbac" prints for the objects of
// kustomization.yaml, in which the script is in a ConfigMap.
func (p *Project) roles(d *declared) ([]byte, error) {
	known := slices.Clone(d.schemas.Kinds())
	for _, kind := range p.Guessed() {
		known = append(known, kind.Resource)
	}
	resolved, err := spec.Resolve(d.Declaration, rbac.Kinds(known))
	if err != nil {
		return nil, err
	}
	c := &rbac.Controller{ID: d.ID(), Account: p.Account, Rights: rights.Of(&rights.Controller{
		Shape: d.Shape, Parents: resolved.Parents, Children: resolved.Children,
		Finalizes: p.Decorator, ServerSide: true, AccountNamespace: p.Account.Namespace,
		References: []references.Object{{Kind: "ConfigMap", Namespace: p.Account.Namespace, Name: p.ScriptConfigMap()}},
	})}
	var text bytes.Buffer
	err = rbac.Print(&text, slices.Concat(c.ForAccount(), c.ForServer(p.Server, false)))
	return text.Bytes(), err
}
