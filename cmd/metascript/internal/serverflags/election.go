package serverflags

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/uuid"

	"metascript/cmd/metascript/internal/flagvalue"
	"metascript/controller/lease"
)

// electionFlags are the flags about leader election.
type electionFlags struct {
	on            bool
	lock          flagvalue.Choice // for compatibility with Metacontroller; there is only one value
	namespace, id string
}

// register adds the flags to a set.
func (f *electionFlags) register(flags *pflag.FlagSet) {
	f.lock = flagvalue.OneOf("leases")
	flags.BoolVar(&f.on, "leader-election", false, "work only while this server holds the Lease; the other servers are on standby")
	flags.Var(&f.lock, "leader-election-resource-lock", "the kind of the lock; Kubernetes supports only leases")
	flags.StringVar(&f.namespace, "leader-election-namespace", "", "namespace of the Lease; defaults to the namespace of the Pod")
	flags.StringVar(&f.id, "leader-election-id", "metacontroller", "name of the Lease")
}

// namespaceFile has the namespace of the Pod.
const namespaceFile = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

// podNamespace returns the namespace of the Pod that the program runs in, or "".
func podNamespace() string {
	text, _ := os.ReadFile(namespaceFile) // outside of a Pod it does not exist
	return cmp.Or(os.Getenv("POD_NAMESPACE"), strings.TrimSpace(string(text)))
}

// election returns the options for leader election, or nil if it is off. The default of the namespace is ofServer. The identity is new
// for each process: a restarted container has the same host name as before, and must not treat the old Lease as its own.
func (f *electionFlags) election(ofServer string) (*lease.Election, error) {
	if !f.on {
		return nil, nil
	}
	namespace := cmp.Or(f.namespace, ofServer)
	if namespace == "" {
		return nil, errors.New("--leader-election needs --leader-election-namespace, since it does not run in a Pod, whose namespace would be the default")
	}
	if f.id == "" {
		return nil, errors.New("--leader-election-id must be a name")
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("find a name for this server: %w", err)
	}
	return &lease.Election{Namespace: namespace, Name: f.id, Identity: host + "_" + string(uuid.NewUUID())}, nil
}
