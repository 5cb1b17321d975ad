// Package endpoints serves health probes, metrics and profiles over HTTP. Each has its own address, so that a NetworkPolicy can allow
// access to the metrics but not to the profiles.
//
// Every Pod of a cluster may be able to connect to these addresses. So requests and connections are limited in time, and in number for each
// address (connections.go): no client can use up the file descriptors of the server, or have its probes fail by many connections.
package endpoints

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// An Endpoint is a handler and its address.
type Endpoint struct {
	Flag    string // the name of the flag with the address, for errors
	Address string // "0" and "" mean that it is not served
	Handler http.Handler

	// Optional says that it is no error if the address cannot be used: another server on this machine may have the same default.
	Optional bool
	// Long says that responses may take long, so that a connection with a request is not closed for the sake of a new one.
	Long bool
}

// Limits of requests and connections.
const (
	headerTime     = 5 * time.Second  // for the header of a request
	requestTime    = 10 * time.Second // for a request with its body
	responseTime   = time.Minute      // for a response, unless its handler extends it
	idleTime       = time.Minute      // between two requests of a connection
	maxHeader      = 32 << 10         // bytes
	maxConnections = 128              // to one address
)

// Serve serves endpoints in the background until stop is called. It listens on all addresses before it returns. If it returns an
// error, which names the flag, no endpoint is served. stop closes connections, and does not wait for responses.
func Serve(log *slog.Logger, endpoints ...Endpoint) (stop func(), err error) {
	var servers []*http.Server
	stop = func() {
		for _, server := range servers {
			server.Close()
		}
	}
	for _, e := range endpoints {
		if e.Address == "0" || e.Address == "" {
			continue
		}
		listener, err := net.Listen("tcp", e.Address)
		if err != nil && e.Optional {
			log.Warn("an address is not served", "flag", e.Flag, "error", err, "hint", whatToDo(err))
			continue
		}
		if err != nil {
			stop()
			return nil, fmt.Errorf("--%s: %w: %s", e.Flag, err, whatToDo(err))
		}
		server := newServer(e)
		servers = append(servers, server)
		go func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				log.Error("an address is not served any more", "flag", e.Flag, "error", err)
			}
		}()
	}
	return stop, nil
}

// newServer returns the server of an endpoint.
func newServer(e Endpoint) *http.Server {
	open := connections{most: maxConnections, long: e.Long, all: map[net.Conn]connection{}}
	return &http.Server{
		Handler: withoutEnd(e.Handler), ConnState: open.changed,
		ReadHeaderTimeout: headerTime, ReadTimeout: requestTime, WriteTimeout: responseTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeader,
	}
}

// withoutEnd has the time for reading a request end with its header, if it has no body: afterwards only the end of the connection is waited
// for, which must not end a long response.
func withoutEnd(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == http.NoBody {
			_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // a writer without deadlines is one of a test
		}
		next.ServeHTTP(w, r)
	})
}

// whatToDo says what to do after a server could not listen.
func whatToDo(err error) string {
	var malformed *net.AddrError
	if errors.As(err, &malformed) {
		return "want an address such as :8080, 127.0.0.1:8080 or [::1]:8080, or 0 to turn it off"
	}
	return "set another address, or 0 to turn it off"
}
