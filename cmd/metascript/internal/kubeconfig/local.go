package kubeconfig

import (
	"net/netip"
	"net/url"
	"strings"
)

// LocalRule says in help which clusters are local; see [Cluster.Local].
const LocalRule = `A cluster is local if its address is a loopback address, 0.0.0.0, localhost or a name that ends with
.localhost or .docker.internal, host.k3d.internal, or the name of a container of kind (NAME-control-plane) or
k3d (k3d-NAME).`

// Local reports whether the address of a cluster is on this machine, as for kind, k3d and Docker Desktop. A private address is not:
// production clusters have private addresses too. Nor is an address that is reached through a proxy.
func (c *Cluster) Local() bool {
	if c.Config.Proxy != nil {
		return false
	}
	host := c.Config.Host
	if !strings.Contains(host, "://") {
		host = "https://" + host
	}
	address, err := url.Parse(host)
	return err == nil && isLocal(strings.ToLower(address.Hostname()))
}

// isLocal reports whether a host in lower case is this machine, or a container on it.
func isLocal(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback() || ip.IsUnspecified()
	}
	if !strings.Contains(host, ".") { // in the DNS of Docker, and perhaps in that of a company
		return host == "localhost" || strings.HasSuffix(host, "-control-plane") || strings.HasPrefix(host, "k3d-")
	}
	return host == "host.k3d.internal" || strings.HasSuffix(host, ".localhost") || strings.HasSuffix(host, ".docker.internal")
}
