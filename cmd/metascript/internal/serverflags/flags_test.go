package serverflags

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"metascript/controller"
	"metascript/controller/api/v1alpha1"
)

// parsed returns the flags after parsing a command line.
func parsed(t *testing.T, args ...string) *Flags {
	t.Helper()
	f := &Flags{}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.Register(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	return f
}

func testConfig() *rest.Config { return &rest.Config{Host: "https://cluster.example.com"} }

func TestFlagsBecomeOptions(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "metacontroller")
	f := parsed(t, strings.Fields("--workers=3 --cache-flush-interval=0 --fallback-probe-interval=1m --apply-strategy=server-side-apply --apply-strategy-ssa-field-manager=me --client-go-qps=5 --client-go-burst=10 --leader-election --events-burst=7")...)
	options, err := f.Options(testConfig())
	if err != nil {
		t.Fatal(err)
	}
	type values struct {
		Workers, Burst, EventsBurst int
		QPS                         float32
		Flush, Probe                time.Duration
		Strategy                    v1alpha1.ApplyStrategy
		Manager, Namespace, ID      string
	}
	got := values{
		Workers: options.Workers, Burst: options.Config.Burst, EventsBurst: options.Events.Burst, QPS: options.Config.QPS,
		Flush: options.FlushInterval, Probe: options.ProbeEvery, Strategy: options.ApplyStrategy, Manager: options.FieldManager,
		Namespace: options.Election.Namespace, ID: options.Election.Name,
	}
	want := values{3, 10, 7, 5, 0, time.Minute, v1alpha1.ServerSideApply, "me", "metacontroller", "metacontroller"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

func TestDefaultOptions(t *testing.T) {
	options, err := parsed(t).Options(testConfig())
	if err != nil {
		t.Fatal(err)
	}
	if options.Config.QPS >= 0 || options.Election != nil || options.FlushInterval != 30*time.Minute {
		t.Errorf("QPS %v, election %v, flush interval %s", options.Config.QPS, options.Election, options.FlushInterval)
	}
}

func TestLeaderElectionNeedsANamespace(t *testing.T) {
	if _, err := parsed(t, "--leader-election").election.election(""); err == nil || !strings.Contains(err.Error(), "--leader-election-namespace") {
		t.Errorf("the error is %v", err)
	}
}

func TestDocsHaveEveryFlag(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "server.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## Flags\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var documented, registered []string
	for _, found := range regexp.MustCompile("`--([a-z-]+)`").FindAllStringSubmatch(section, -1) {
		documented = append(documented, found[1])
	}
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	new(Flags).Register(flags)
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			registered = append(registered, f.Name)
		}
	})
	slices.Sort(documented)
	if diff := cmp.Diff(registered, documented); diff != "" {
		t.Errorf("flags (-registered +in docs/server.md):\n%s", diff)
	}
}

func TestDefaultsOfTheSpec(t *testing.T) {
	for _, c := range []struct {
		args     []string
		strategy v1alpha1.ApplyStrategy
		missing  v1alpha1.MissingChildren
	}{
		{nil, v1alpha1.DynamicApply, v1alpha1.MissingChildrenDelete},
		{[]string{"--apply-strategy=server-side-apply", "--missing-children=Hold"}, v1alpha1.ServerSideApply, v1alpha1.MissingChildrenHold},
	} {
		var options controller.Options
		parsed(t, c.args...).defaults.Apply(&options)
		if options.ApplyStrategy != c.strategy || options.MissingChildren != c.missing {
			t.Errorf("%q: %s and %s", c.args, options.ApplyStrategy, options.MissingChildren)
		}
	}
}

func TestNamespaceOfThePodIsTheDefault(t *testing.T) {
	t.Setenv("POD_NAMESPACE", "pods")
	for _, c := range []struct{ args, server, lease string }{
		{"--leader-election", "pods", "pods"},
		{"--leader-election --namespace=mine", "mine", "mine"},
		{"--leader-election --leader-election-namespace=leases", "pods", "leases"},
	} {
		options, err := parsed(t, strings.Fields(c.args)...).Options(testConfig())
		if err != nil {
			t.Fatal(err)
		}
		if options.Namespace != c.server || options.Election.Namespace != c.lease {
			t.Errorf("%s: the server is in %s, its Lease in %s", c.args, options.Namespace, options.Election.Namespace)
		}
	}
}
