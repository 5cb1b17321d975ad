package reach

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

// refuses returns what Networks says of an address, "" if it is permitted.
func refuses(n *Networks, address string) string {
	if err := n.check(netip.MustParseAddr(address)); err != nil {
		return err.Error()
	}
	return ""
}

func TestAddressesOfTenants(t *testing.T) {
	n := &Networks{Own: func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("10.1.2.3")}, nil }}
	for _, address := range []string{
		"127.0.0.1", "127.255.255.254", "::1", "0.0.0.0", "0.1.2.3", "::", "::ffff:127.0.0.1", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "2002:7f00:1::",
		"169.254.169.254", "::ffff:169.254.169.254", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1", "fe80::1", "fe80::1%eth0", "fd00:ec2::254", "fd20:ce::254", "100.100.100.200", "168.63.129.16", "192.0.0.192",
		"224.0.0.1", "ff02::1", "ff02::1%eth0", "255.255.255.255", "64:ff9b:1::1",
		"10.1.2.3", "::ffff:10.1.2.3", "64:ff9b::10.1.2.3", "2002:0a01:0203::",
	} {
		if got := refuses(n, address); !strings.Contains(got, "--webhook-networks") {
			t.Errorf("%s: %q", address, got)
		}
	}
	for _, address := range []string{"10.1.2.4", "192.168.0.1", "8.8.8.8", "fd00::8", "2001:db8::1", "64:ff9b::8.8.8.8", "100.64.0.1", "::ffff:8.8.8.8"} {
		if got := refuses(n, address); got != "" {
			t.Errorf("%s: %q", address, got)
		}
	}
}

func TestNetworksArePermitted(t *testing.T) {
	n := &Networks{Own: func() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("10.1.2.3")}, nil }}
	for _, text := range []string{"127.0.0.1/8", "fe80::/10", "10.1.0.0/16"} {
		network, err := ParseNetwork(text)
		if err != nil {
			t.Fatal(err)
		}
		n.Allowed = append(n.Allowed, network)
	}
	for _, address := range []string{"127.0.0.1", "127.9.9.9", "::ffff:127.0.0.1", "fe80::1", "fe80::1%eth0", "10.1.2.3"} {
		if got := refuses(n, address); got != "" {
			t.Errorf("%s: %q", address, got)
		}
	}
	// The address of a translator is another one.
	for _, address := range []string{"::1", "0.0.0.0", "64:ff9b::127.0.0.1", "169.254.169.254"} {
		if refuses(n, address) == "" {
			t.Errorf("%s is permitted", address)
		}
	}
	n.Own = func() ([]netip.Addr, error) { return nil, errors.New("no addresses") }
	if got := refuses(n, "8.8.8.8"); got != "find the addresses of the server: no addresses" {
		t.Errorf("got %q", got)
	}
	for _, text := range []string{"", "10.0.0.1", "10.0.0.0/33", "::ffff:10.0.0.0/104", "localhost"} {
		if _, err := ParseNetwork(text); err == nil {
			t.Errorf("%q is a network", text)
		}
	}
}

func TestOwnAddressesAreThoseOfTheInterfaces(t *testing.T) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		address, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		if got := refuses(&Networks{}, address.String()); got == "" {
			t.Errorf("%s is permitted", address)
		}
	}
}

// A proxy would resolve the name itself.
func TestTenantsUseNoProxy(t *testing.T) {
	transport := &http.Transport{}
	transport.Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy.example.com"})
	if (&Tenant{Networks: &Networks{}}).Apply(transport); transport.Proxy != nil {
		t.Error("a proxy is used")
	}
}
