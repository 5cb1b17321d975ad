package reach

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// Networks says at which addresses the webhooks of tenants may be called. The server calls them from its own place in the network, where
// more can be reached than from the Pods of a tenant: itself, by its loopback interface, and its node.
type Networks struct {
	Allowed []netip.Prefix               // where webhooks may be called in spite of the rules; not those of IPv4 in IPv6
	Own     func() ([]netip.Addr, error) // the addresses of the server; nil: those of its network interfaces
}

// An addressRange is addresses where webhooks of tenants are not called.
type addressRange struct {
	netip.Prefix
	what string
}

// refusedRanges are those that are the same for every server. Link-local addresses have the services of a cloud that give credentials to a
// machine, and so have some others.
var refusedRanges = []addressRange{
	{netip.MustParsePrefix("127.0.0.0/8"), loopback},
	{netip.MustParsePrefix("::1/128"), loopback},
	{netip.MustParsePrefix("0.0.0.0/8"), loopback}, // a connection to it goes to this machine
	{netip.MustParsePrefix("::/128"), loopback},
	{netip.MustParsePrefix("169.254.0.0/16"), linkLocal},
	{netip.MustParsePrefix("fe80::/10"), linkLocal},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
	{netip.MustParsePrefix("255.255.255.255/32"), "a broadcast address"},
	{netip.MustParsePrefix("192.0.0.0/24"), metadata},       // Oracle Cloud
	{netip.MustParsePrefix("100.100.100.200/32"), metadata}, // Alibaba Cloud
	{netip.MustParsePrefix("168.63.129.16/32"), metadata},   // Azure
	{netip.MustParsePrefix("fd00:ec2::/32"), metadata},      // Amazon Web Services
	{netip.MustParsePrefix("fd20:ce::254/128"), metadata},   // Google Cloud
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an address of which it is not known to what IPv4 address it is translated"},
}

const (
	loopback  = "a loopback address"
	linkLocal = "a link-local address"
	metadata  = "an address of the metadata service of a cloud"
)

// translated are the networks whose addresses have an IPv4 address, and where it begins, in bytes.
var translated = []struct {
	netip.Prefix
	at int
}{
	{netip.MustParsePrefix("::/96"), 12},           // IPv4-compatible
	{netip.MustParsePrefix("::ffff:0:0:0/96"), 12}, // IPv4-translated
	{netip.MustParsePrefix("64:ff9b::/96"), 12},    // NAT64
	{netip.MustParsePrefix("2002::/16"), 2},        // 6to4
}

// check returns an error if webhooks of tenants are not called at an address.
func (n *Networks) check(address netip.Addr) error {
	address = address.Unmap().WithZone("") // a prefix contains no address with a zone
	if slices.ContainsFunc(n.Allowed, func(p netip.Prefix) bool { return p.Contains(address) }) {
		return nil
	}
	what, err := n.refuses(address)
	if err == nil && what != "" {
		err = refusedAddress(fmt.Sprintf("%s is %s, where no webhook of a controller with spec.serviceAccount is called; the administrator of the server can permit it with --webhook-networks", address, what))
	}
	return err
}

// refuses says what an address is, "" if webhooks of tenants are called there.
func (n *Networks) refuses(address netip.Addr) (string, error) {
	for _, r := range refusedRanges {
		if r.Contains(address) {
			return r.what, nil
		}
	}
	for _, t := range translated {
		if t.Contains(address) {
			bytes := address.As16()
			v4, _ := netip.AddrFromSlice(bytes[t.at : t.at+4])
			if what, err := n.refuses(v4); err != nil || what != "" {
				return what, err
			}
		}
	}
	own := n.Own
	if own == nil {
		own = interfaceAddresses
	}
	all, err := own()
	if err != nil {
		return "", fmt.Errorf("find the addresses of the server: %w", err)
	}
	if slices.Contains(all, address) {
		return "an address of the server itself", nil
	}
	return "", nil
}

// interfaceAddresses returns the addresses of the network interfaces. They are read for each connection, since they may change.
func interfaceAddresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var own []netip.Addr
	for _, a := range all {
		if network, is := a.(*net.IPNet); is {
			if address, valid := netip.AddrFromSlice(network.IP); valid {
				own = append(own, address.Unmap())
			}
		}
	}
	return own, nil
}

// ParseNetwork reads a network such as 10.0.0.0/8 or fd00::/8.
func ParseNetwork(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return p, fmt.Errorf("%q is not a network: want one such as 10.0.0.0/8 or fd00::/8", text)
	case p.Addr().Is4In6():
		return p, fmt.Errorf("%q is a network of IPv4 addresses: write it as such, like 10.0.0.0/8", text)
	}
	return p.Masked(), nil
}
