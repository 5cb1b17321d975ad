// Package endpoints is what the server serves over HTTP: health probes, metrics and profiles. Each has an address of its own,
// so that a NetworkPolicy can let Prometheus reach the metrics and nobody reach the profiles.
package endpoints

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// An Endpoint is a handler and the address that it is served at.
type Endpoint struct {
	Flag    string // that sets Address
	Address string // "0" and "" are off
	Handler http.Handler
}

// Serve serves endpoints in the background until stop is called. It listens to all addresses before it returns. On an error,
// which names the flag, none is served. stop closes connections, and does not wait for answers.
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
		if err != nil {
			stop()
			return nil, fmt.Errorf("--%s: %w", e.Flag, err)
		}
		server := &http.Server{Handler: e.Handler, ReadHeaderTimeout: 5 * time.Second}
		servers = append(servers, server)
		go func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				log.Error("an address is not served any more", "flag", e.Flag, "error", err)
			}
		}()
	}
	return stop, nil
}
