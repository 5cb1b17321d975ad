package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// listenHealth serves /healthz, which answers while the process lives, and /readyz, which answers 200 once ready
// does. An address of "0" or "" serves nothing.
func listenHealth(address string, ready func() bool) (*http.Server, error) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !ready() {
			http.Error(w, "caches are not filled yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	if address == "0" || address == "" {
		return server, nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--health-probe-bind-address: %w", err)
	}
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			fmt.Fprintln(os.Stderr, "health probes:", err)
		}
	}()
	return server, nil
}
