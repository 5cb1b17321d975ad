package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"

	"metascript/controller"
)

// An endpoint is something that the server serves over HTTP.
type endpoint struct {
	flag    string // that sets its address
	address string // "0" and "" are off
	handler http.Handler
}

// serveAll serves endpoints until close is called.
func serveAll(log *slog.Logger, endpoints ...endpoint) (stop func(), err error) {
	var servers []*http.Server
	stop = func() {
		for _, server := range servers {
			server.Close()
		}
	}
	for _, e := range endpoints {
		if e.address == "0" || e.address == "" {
			continue
		}
		listener, err := net.Listen("tcp", e.address)
		if err != nil {
			stop()
			return nil, fmt.Errorf("--%s: %w", e.flag, err)
		}
		server := &http.Server{Handler: e.handler, ReadHeaderTimeout: 5 * time.Second}
		servers = append(servers, server)
		go func() {
			if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
				log.Error("an address is not served any more", "flag", e.flag, "error", err)
			}
		}()
	}
	return stop, nil
}

// probePatience is less than the second that a kubelet waits for an answer.
const probePatience = 900 * time.Millisecond

// probes answers /healthz while the server gets on, and /readyz once it is ready and as long as few scripts run on that
// cannot be stopped, and else say why not.
func probes(server *controller.Server, scripts *sandbox) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), probePatience)
		defer cancel()
		if err := server.Healthy(ctx); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if waiting := append(server.Waiting(), scripts.overrun(time.Now())...); len(waiting) > 0 {
			http.Error(w, strings.Join(waiting, "\n"), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

// profiles serves what "go tool pprof" reads.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
