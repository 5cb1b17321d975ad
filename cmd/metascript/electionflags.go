package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/uuid"

	"metascript/controller"
)

// electionFlags are the flags about servers that run side by side.
type electionFlags struct {
	on            bool
	lock          choice
	namespace, id string
}

func (f *electionFlags) register(flags *pflag.FlagSet) {
	f.lock = oneOf("leases")
	flags.BoolVar(&f.on, "leader-election", false, "work only while this server leads those that run beside it; the others stand by")
	flags.Var(&f.lock, "leader-election-resource-lock", "what servers compete for; Kubernetes has nothing else any more")
	flags.StringVar(&f.namespace, "leader-election-namespace", "", "namespace of the Lease; by default the Pod's")
	flags.StringVar(&f.id, "leader-election-id", "metacontroller", "name of the Lease")
}

// namespaceFile is where a Pod finds its namespace.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// podNamespace is the namespace of the Pod that this is, or "".
func podNamespace() string {
	text, _ := os.ReadFile(namespaceFile) // outside of a Pod there is none
	return cmp.Or(os.Getenv("POD_NAMESPACE"), strings.TrimSpace(string(text)))
}

// election is what the flags ask for, in the server's own namespace by default; nil: there is none.
func (f *electionFlags) election(own string) (*controller.Election, error) {
	if !f.on {
		return nil, nil
	}
	namespace := cmp.Or(f.namespace, own)
	if namespace == "" {
		return nil, errors.New("--leader-election needs --leader-election-namespace, since this is no Pod, which would know its own")
	}
	if f.id == "" {
		return nil, errors.New("--leader-election-id must be a name")
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find a name for this server: %w", err)
	}
	return &controller.Election{Namespace: namespace, Name: f.id, Identity: host + "_" + string(uuid.NewUUID())}, nil
}
