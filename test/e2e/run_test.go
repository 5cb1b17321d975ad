package e2e

import (
	"flag"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
)

// Phrases in the first comment of a script that have an effect.
const (
	// The script needs a server of its own for a reason that its commands do not show.
	alone = "On a server of its own."
	// The script is about dynamic apply, as the default strategy.
	dynamicOnly = "With dynamic apply"
	// The script waits most of its time, for half a minute and more.
	long = "Takes long."
	// The script runs again with webhooks.
	also = "Also with webhooks"
	// The same, followed by the part that concerns webhooks: the script runs again also with -short.
	alsoShort = also + ": "
)

// strategy is the apply strategy of controllers that do not set one. With another one than the default, scripts do not run that set a
// strategy themselves, for which it changes nothing, or that say dynamicOnly.
var strategy = flag.String("strategy", dynamicApply, "run scripts with this --apply-strategy, except those that are for one strategy")

// dynamicApply is the default of the server.
const dynamicApply = "dynamic-apply"

// strategyFlags are the flags of servers for strategy. The default is tested without a flag.
func strategyFlags() []string {
	if *strategy == dynamicApply {
		return nil
	}
	return []string{"--apply-strategy=" + *strategy}
}

// A script is a file of testdata.
type script struct {
	name, file string
	commands   string // with the comments between them
	one        bool   // it is for one apply strategy
}

// scripts returns all scripts, sorted by name.
func scripts(t *testing.T) []script {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	all := make([]script, len(files))
	for i, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(txtar.Format(archive))
		sets := strings.Contains(text, "applyStrategy") || strings.Contains(text, "--apply-strategy")
		all[i] = script{name: strings.TrimSuffix(filepath.Base(file), ".txtar"), file: file, commands: string(archive.Comment)}
		all[i].one = sets || all[i].says(dynamicOnly)
	}
	return all
}

// says reports whether the first comment of the script contains words.
func (s script) says(words string) bool {
	var comment strings.Builder
	for line := range strings.Lines(s.commands) {
		text, found := strings.CutPrefix(line, "#")
		if !found {
			break
		}
		comment.WriteString(strings.TrimSuffix(text, "\n"))
	}
	return strings.Contains(comment.String(), words)
}

func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, scripts(t), setup)
}

// TestWebhooks runs the scripts with the phrase again, with every controller's inline script behind a webhook.
func TestWebhooks(t *testing.T) {
	t.Parallel()
	mark := also
	if testing.Short() {
		mark = alsoShort
	}
	runScripts(t, slices.DeleteFunc(scripts(t), func(s script) bool { return !s.says(mark) }), setupWebhooks)
}

// longSlots limit how many scripts that take long run at the same time. They mostly wait, and need none of slots; but if all of them began at
// once, with their servers and clusters, no API server would answer in time.
var longSlots = make(chan struct{}, 4)

// slots limit how many of the other scripts run at the same time.
var slots = sync.OnceValue(func() chan struct{} {
	return make(chan struct{}, flag.Lookup("test.parallel").Value.(flag.Getter).Get().(int))
})

// runScripts runs scripts, as many at a time as -parallel says, and in addition some of those that take long, which start first.
func runScripts(t *testing.T, all []script, setup func(*testscript.Env, script) error) {
	var files []string
	byName := map[string]script{}
	for _, takesLong := range []bool{true, false} {
		for _, s := range all {
			if s.says(long) == takesLong && !(s.one && *strategy != dynamicApply) {
				files = append(files, s.file)
				byName[s.name] = s
			}
		}
	}
	run := runner{t, byName, &sync.WaitGroup{}}
	defer run.running.Wait()
	testscript.RunT(run, testscript.Params{
		Files: files,
		Setup: func(env *testscript.Env) error {
			return setup(env, byName[strings.TrimPrefix(filepath.Base(env.WorkDir), "script-")])
		},
		Cmds:                commands,
		Condition:           condition,
		RequireExplicitExec: true,
	})
}

// condition reports whether a condition of a script is true: [kubernetes:1.36], if the cluster has this version or a newer one, [local],
// if the API server is on this machine, and [dynamic], if the default strategy is dynamic apply. [!kubernetes:1.36], [!local] and
// [!dynamic] are the opposites.
func condition(text string) (bool, error) {
	if text == "dynamic" {
		return *strategy == dynamicApply, nil
	}
	if text == "local" {
		u, err := url.Parse(config.Host)
		return err == nil && net.ParseIP(u.Hostname()).IsLoopback(), err
	}
	wanted, found := strings.CutPrefix(text, "kubernetes:")
	if !found {
		return false, fmt.Errorf("unknown condition %s", text)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return false, err
	}
	has, err := client.ServerVersion()
	if err != nil {
		return false, err
	}
	at, err := version.ParseGeneric(has.GitVersion)
	if err != nil {
		return false, err
	}
	least, err := version.ParseGeneric(wanted)
	return err == nil && at.AtLeast(least), err
}

// A runner runs scripts in their order; parallel tests have no order.
type runner struct {
	*testing.T
	scripts map[string]script
	running *sync.WaitGroup
}

func (r runner) Run(name string, f func(testscript.T)) {
	slots, isLong := slots(), r.scripts[name].says(long)
	if isLong {
		slots = longSlots
	} else {
		slots <- struct{}{}
	}
	r.running.Go(func() {
		if isLong { // the others do not wait for it
			slots <- struct{}{}
		}
		defer func() { <-slots }()
		r.T.Run(name, func(t *testing.T) { f(runner{T: t}) })
	})
}

func (r runner) Parallel() {} // scripts run in parallel already

func (r runner) Verbose() bool { return testing.Verbose() }

// The command stop of testscript ends a script as passed, and skips the rest of it. No script may use it.
func TestNoScriptHasTheCommandStop(t *testing.T) {
	for _, s := range scripts(t) {
		for line := range strings.Lines(s.commands) {
			if word, _, _ := strings.Cut(strings.TrimSpace(line), " "); word == "stop" {
				t.Errorf("%s says stop: a server is ended by \"end\"", s.file)
			}
		}
	}
}

func TestCanShare(t *testing.T) {
	for commands, want := range map[string]bool{
		"# One.\ncrd Widget widgets\nstart\n! get pods/p\nend\n": true,
		"start\n# Another.\nuntil gone pods/p\n":                 true,
		"start --workers=1\nend\n":                               false,
		"start\nend\nstart\nend\n":                               false,
		"start\nend\nget pods/p\n":                               false,
		"start\n! log error\nend\n":                              false,
		"start\ncrash\n":                                         false,
		"start\nuntil '^1' http $METRICS/metrics\nend\n":         false,
		"apply nothing.yaml\n":                                   false,
		"# On a server of its own.\nstart\nend\n":                false,
	} {
		if got := canShare(commands); got != want {
			t.Errorf("%q can share: %t, want %t", commands, got, want)
		}
	}
}
