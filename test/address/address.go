// Package address finds addresses for servers that tests start.
package address

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
)

// The ports are below those that the system gives to connections and to listeners on port 0, since of those another may
// have one before the server does, and above those of the test cluster.
const first, ports = 20000, 10000

// next is the port to try next. It begins anywhere, since other processes look for ports too.
var next atomic.Uint32

func init() { next.Store(rand.Uint32N(ports)) }

// Free returns a host:port of this machine that nothing listens on, and that it gave to nobody else.
func Free() (address string, err error) { return FreeOn("127.0.0.1") }

// FreeOn is Free for a host, such as [::1].
func FreeOn(host string) (address string, err error) {
	for range 100 {
		var listener net.Listener
		if listener, err = net.Listen("tcp", fmt.Sprintf("%s:%d", host, first+next.Add(1)%ports)); err == nil {
			return listener.Addr().String(), listener.Close()
		}
	}
	return "", err
}
