package e2e

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/client-go/rest"

	"metascript/test/address"
	"metascript/test/faultproxy"
)

// A lagging is a second API server of the cluster, whose caches can be behind.
type lagging struct {
	*faultproxy.Lag
	host string // host:port
	stop func()
}

// cmdLagging starts the second API server, holds what it observes, or lets it observe again.
func cmdLagging(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	switch {
	case args[0] == "start":
		var err error
		w.lagging, err = startLagging(w.config)
		ts.Check(err)
		ts.Defer(w.lagging.stop)
	case args[0] == "freeze":
		w.lagging.Freeze()
	case args[0] == "thaw":
		w.lagging.Thaw()
	default:
		ts.Fatalf("lagging: want start, freeze or thaw")
	}
}

// startLagging starts an API server with the arguments of the one of config, which must run on this machine, except that a Lag is before
// etcd.
func startLagging(config *rest.Config) (*lagging, error) {
	args, err := argumentsOf(config)
	if err != nil {
		return nil, err
	}
	on, err := address.Free()
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(on)
	if err != nil {
		return nil, err
	}
	var lag *faultproxy.Lag
	var changed []string
	for _, arg := range args[1:] { // the first one is the program
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--etcd-servers":
			free, err := address.Free()
			if err != nil {
				return nil, err
			}
			if lag, err = faultproxy.NewLag(free, strings.TrimPrefix(value, "http://")); err != nil {
				return nil, err
			}
			arg = "--etcd-servers=http://" + lag.Address()
		case "--secure-port":
			arg = "--secure-port=" + port
		}
		if !strings.HasPrefix(name, "--audit") {
			changed = append(changed, arg)
		}
	}
	server := exec.Command(args[0], changed...)
	if err := server.Start(); err != nil {
		return nil, err
	}
	l := &lagging{lag, on, func() {
		_ = server.Process.Kill()
		_ = server.Wait()
		lag.Close()
	}}
	other := rest.CopyConfig(config)
	other.Host = "https://" + on
	client, err := rest.HTTPClientFor(other)
	if err != nil {
		return l, err
	}
	return l, eventually(func() error {
		response, err := client.Get(other.Host + "/readyz")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != 200 {
			return fmt.Errorf("the second API server is not ready: %s", response.Status)
		}
		return nil
	})
}

// argumentsOf returns the command line of the API server of a config.
func argumentsOf(config *rest.Config) ([]string, error) {
	u, err := url.Parse(config.Host)
	if err != nil {
		return nil, err
	}
	processes, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	for _, path := range processes {
		text, err := os.ReadFile(path)
		if args := strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00"); err == nil && len(args) > 2 && args[1] == "kube-apiserver" && strings.Contains(string(text), "--secure-port="+u.Port()+"\x00") {
			return args, nil
		}
	}
	return nil, fmt.Errorf("no process of the API server %s is found", config.Host)
}
