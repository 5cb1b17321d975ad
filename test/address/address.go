// Package address finds addresses for servers that tests start.
package address

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Free gives a host:port of this machine that nothing listens on. The port is below those that the system gives to
// connections and to listeners on port 0: of those, another may have it before the server does.
func Free() (address string, err error) {
	for range 100 {
		var listener net.Listener
		if listener, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 20000+rand.IntN(10000))); err == nil {
			return listener.Addr().String(), listener.Close()
		}
	}
	return "", err
}
