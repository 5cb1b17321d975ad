package inspection

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"metascript/controller/inspect"
)

// A noPodError says that there is no Pod of a server.
type noPodError struct{ error }

func (e noPodError) Unwrap() error { return e.error }

// probeTimeout is how long a server on this machine may take to answer.
const probeTimeout = 2 * time.Second

// connectLocally connects to the server on this machine at the default address, since there is no Pod of one, and says so. It reports
// whether there is one. Only a process of the user or of root gets the token: any user of the machine may listen at the port. Without such a
// process, hint says what to do.
func (c *Client) connectLocally(ctx context.Context) (found bool, hint string) {
	at, err := netip.ParseAddrPort(c.localAt)
	if err != nil || !answers(ctx, c.localAt) {
		return false, ""
	}
	if uid, known := listener(at); !known || uid != 0 && uid != os.Getuid() {
		return false, fmt.Sprintf("; at %s a server of another user of this machine may answer: if you trust it, use --server-address %[1]s", c.localAt)
	}
	c.local, c.base = true, "http://"+c.localAt
	c.notice(fmt.Sprintf("asking the server at %s on this machine, which gets %s", c.base, c.sent()))
	return true, ""
}

// answers reports whether a server of this program seems to be at an address. It sends no token.
func answers(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/v1/why", nil)
	if err != nil {
		return false
	}
	direct := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := direct.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var p inspect.Problem
	text, err := io.ReadAll(io.LimitReader(response.Body, responseLimit))
	return err == nil && response.StatusCode == http.StatusUnauthorized && json.Unmarshal(text, &p) == nil && p.Status == http.StatusUnauthorized
}

// listener returns the user of the process that listens at an IPv4 address of this machine, according to /proc/net/tcp.
func listener(at netip.AddrPort) (uid int, known bool) {
	file, err := os.Open("/proc/net/tcp")
	if err != nil {
		return 0, false
	}
	defer file.Close()
	const local, state, user, listens = 1, 3, 7, "0A"
	ip := at.Addr().As4()
	want := fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip[:]), at.Port())
	for lines := bufio.NewScanner(file); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) > user && fields[local] == want && fields[state] == listens {
			uid, err := strconv.Atoi(fields[user])
			return uid, err == nil
		}
	}
	return 0, false
}

// dial connects to the server: to its Pod, or on this machine.
func (c *Client) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if c.local {
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	return c.forward.dial()
}
