package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// enter puts an HTTP proxy, which counts writes, between the world and the API server. Without -short the API server is a new one,
// since some forms concern all objects of a cluster.
func (f *formTest) enter() {
	target := config
	if !testing.Short() {
		env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "KUBECONFIG=") })
		started, _, stop, err := startCluster(env)
		f.check(err)
		f.Cleanup(stop)
		target = started
	}
	var err error
	f.client, err = rest.HTTPClientFor(target)
	f.check(err)
	f.upstream = target.Host
	to, err := url.Parse(target.Host)
	f.check(err)
	forward := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Header.Del("Accept-Encoding") // the transport asks for compressed answers, and decompresses them
		},
		Transport:     f.client.Transport,
		FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	tap := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.tap(w, r, forward) }))
	f.Cleanup(tap.Close)
	f.check(f.world.enter(&rest.Config{Host: tap.URL, QPS: -1}, f.kubeconfig(tap.URL)))
	if testing.Short() {
		return
	}
	f.namespace("metacontroller")
	crds, err := ownDefinitions()
	f.check(err)
	for _, crd := range crds {
		f.apply(crd.Object)
	}
}

func (f *formTest) kubeconfig(address string) string {
	file := filepath.Join(f.dir, "tap")
	f.check(clientcmd.WriteToFile(api.Config{
		Clusters:       map[string]*api.Cluster{"tap": {Server: address}},
		Contexts:       map[string]*api.Context{"tap": {Cluster: "tap"}},
		CurrentContext: "tap",
	}, file))
	return file
}

// tap forwards a request, and counts it if it writes a child.
func (f *formTest) tap(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	if r.Method == http.MethodGet {
		forward.ServeHTTP(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	c := f.written(r, body)
	if c == nil {
		forward.ServeHTTP(w, r)
		return
	}
	before := f.version(c)
	answer := httptest.NewRecorder()
	forward.ServeHTTP(answer, r)
	f.count(c, r, before, answer)
	for key, values := range answer.Header() {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// written returns the child that a request writes; nil if it writes something else.
func (f *formTest) written(r *http.Request, body []byte) *formChild {
	at := strings.TrimSuffix(r.URL.Path, "/status")
	if r.Method == http.MethodPost {
		at = path.Join(at, readVersioned(body).Metadata.Name)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.byPath[at]
}

// A versioned is the part of an object that is read to count a write, or of a Status.
type versioned struct {
	Metadata struct{ Name, ResourceVersion string }
	Message  string
}

func readVersioned(text []byte) (o versioned) {
	_ = json.Unmarshal(text, &o) // an answer that is not JSON has no version
	return o
}

// version returns the resourceVersion of a child; "" if it does not exist.
func (f *formTest) version(c *formChild) string {
	answer, err := f.client.Get(f.upstream + c.path)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		return ""
	}
	return readVersioned(text).Metadata.ResourceVersion
}

// count counts a write of a child, which had the version before.
func (f *formTest) count(c *formChild, r *http.Request, before string, answer *httptest.ResponseRecorder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	result, n := readVersioned(answer.Body.Bytes()), &c.counts[f.restarts]
	switch {
	case r.URL.Query().Get("dryRun") != "":
		n.dryRuns++
	case answer.Code == http.StatusConflict:
	case answer.Code >= 300:
		if before == "" && n.creations == 0 {
			c.refused = result.Message
		}
	case r.Method == http.MethodDelete:
		n.deletions++
	case before == "":
		n.creations++
		if f.restarts == 0 && n.creations == 1 {
			c.created, c.refused = c.calls, ""
		}
	case result.Metadata.ResourceVersion == before:
		n.unchanged++
	default:
		n.updates++
	}
}
