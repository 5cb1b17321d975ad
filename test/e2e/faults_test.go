package e2e

import (
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/rest"

	"metascript/test/faultproxy"
)

// A faulty is a proxy that makes faults between servers and the API server.
type faulty struct {
	*faultproxy.Proxy
	address string
	stop    func()

	authority []byte               // of its certificate
	since     time.Time            // when the rules were set last
	asked     []faultproxy.Request // since then
}

// faultyFor starts a proxy before the API server of a config. A request without a token is passed on with the credentials of config.
func faultyFor(config *rest.Config) (*faulty, error) {
	to, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	own, err := rest.TransportFor(config)
	if err != nil {
		return nil, err
	}
	other, err := rest.TransportFor(rest.AnonymousClientConfig(config))
	if err != nil {
		return nil, err
	}
	p := faultproxy.New(to, byToken{own, other})
	server := httptest.NewTLSServer(p) // without TLS, client-go sends no token
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return &faulty{Proxy: p, address: server.URL, authority: authority, stop: func() {
		p.Set() // nothing hangs
		server.CloseClientConnections()
		server.Close()
	}}, nil
}

// byToken sends requests with a token by the transport other, which adds no credentials.
type byToken struct{ own, other http.RoundTripper }

func (t byToken) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Header.Get("Authorization") != "" {
		return t.other.RoundTrip(r)
	}
	return t.own.RoundTrip(r)
}

func cmdFaults(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	if w.faults == nil {
		started, err := faultyFor(w.config)
		ts.Check(err)
		ts.Defer(started.stop)
		w.faults = started
	}
	switch args[0] {
	case "none":
		w.faults.set()
	case "asked":
		ts.Check(w.faults.count(ts, args[1:]))
	default:
		var rules []*faultproxy.Rule
		for words := range parts(args, "and") {
			rule, err := faultproxy.Parse(words)
			ts.Check(err)
			rules = append(rules, rule)
		}
		w.faults.set(rules...)
	}
}

// inFlight is how many requests a server may have sent before the first one is answered.
const inFlight = 16

// parts yields the parts of a list between separators.
func parts(list []string, separator string) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		for {
			i := slices.Index(list, separator)
			if i < 0 {
				yield(list)
				return
			}
			if !yield(list[:i]) {
				return
			}
			list = list[i+1:]
		}
	}
}

func (f *faulty) set(rules ...*faultproxy.Rule) {
	f.Proxy.Set(rules...)
	f.Take()
	f.since, f.asked = time.Now(), nil
}

// count waits until the number of requests that match, since the rules were set, is at least the first, and checks that it is at most the
// second. A request is METHOD PATH CODE. N/s as the second is N for each second since then, and those that were in flight.
func (f *faulty) count(ts *testscript.TestScript, args []string) error {
	least, err := strconv.Atoi(args[0])
	perSecond, isRate := strings.CutSuffix(args[1], "/s")
	most, otherErr := strconv.Atoi(perSecond)
	pattern, patternErr := regexp.Compile(args[2])
	if err := errors.Join(err, otherErr, patternErr); err != nil {
		return err
	}
	n := 0
	err = eventually(func() error {
		f.asked = append(f.asked, f.Take()...)
		n = 0
		for _, r := range f.asked {
			if pattern.MatchString(fmt.Sprintf("%s %s %d", r.Method, r.Path, r.Code)) {
				n++
			}
		}
		if n < least {
			return fmt.Errorf("%d such requests, want %d to %d", n, least, most)
		}
		return nil
	})
	took := time.Since(f.since).Seconds()
	if isRate {
		most = int(float64(most)*took) + inFlight
	}
	fmt.Fprintf(ts.Stdout(), "%d requests in %.1f s\n", n, took)
	if err == nil && n > most {
		for _, r := range f.asked {
			if line := fmt.Sprintf("%s %s %d", r.Method, r.Path, r.Code); pattern.MatchString(line) {
				fmt.Fprintln(ts.Stdout(), r.At.Format("15:04:05.000"), line)
			}
		}
		err = fmt.Errorf("%d such requests, want %d to %d", n, least, most)
	}
	return err
}
