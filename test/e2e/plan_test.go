package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdPlan runs "metascript plan" in the script's folder, and checks its exit code. Its output is the file plan.
func cmdPlan(ts *testscript.TestScript, _ bool, args []string) {
	w, dir := worldOf(ts), ts.Getenv("WORK")
	path, err := w.proxiedKubeconfig(dir, w.proxy)
	ts.Check(err)
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	cmd := exec.Command(binary, slices.Concat([]string{"plan", "--kubeconfig=" + path}, strategyFlags(), args[1:])...)
	out, err := os.Create(ts.MkAbs("plan"))
	ts.Check(err)
	defer out.Close()
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, out, ts.Stderr()
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		ts.Fatalf("run plan: %v", err)
	}
	fmt.Fprint(ts.Stdout(), ts.ReadFile("plan"))
	if got := cmd.ProcessState.ExitCode(); got != want {
		ts.Fatalf("the exit code is %d, want %d", got, want)
	}
}

// A planDocument has the fields of the document of plan that tests read.
type planDocument struct {
	Complete bool
	Summary  struct {
		Parents map[string]int
	}
	Parents []struct {
		Namespace, Name, Result string
		Changes                 []struct {
			Action, Kind, Namespace, Name string
		}
	}
}

// writesOf are the writes that the server logs for an action. Those to ControllerRevisions are not predicted one by one.
var writesOf = map[string][]string{
	"create": {"create"}, "update": {"update"}, "delete": {"delete"}, "recreate": {"delete", "create"}, "status": {"update status"},
	"adopt": {"update"}, "release": {"update"}, "finalizer": {"update"}, "decorate": {"update"}, "suppressed": nil, "revision": nil,
}

var loggedWrite = regexp.MustCompile(`(?m)msg=wrote .*op="(create|update status|update|delete|apply) (\S+ \S+): (.*) error=<nil>`)

// verbOf returns the verb of a line that loggedWrite matches, as writesOf has it: an apply creates or updates.
func verbOf(match []string) string {
	switch {
	case match[1] != "apply":
		return match[1]
	case strings.HasPrefix(match[3], "desired and missing"):
		return "create"
	}
	return "update"
}

// cmdPredicted waits until the writes in the server's log since mark are exactly those in a document of plan. Several updates of one
// status count once: a status says how far a rolling update is.
func cmdPredicted(ts *testscript.TestScript, _ bool, args []string) {
	var plan planDocument
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &plan))
	var want []string
	for _, parent := range plan.Parents {
		for _, c := range parent.Changes {
			writes, known := writesOf[c.Action]
			if !known {
				ts.Fatalf("unknown action %q", c.Action)
			}
			for _, verb := range writes {
				want = append(want, fmt.Sprintf("%s %s %s/%s", verb, c.Kind, c.Namespace, c.Name))
			}
		}
	}
	slices.Sort(want)
	ts.Check(eventually(func() error {
		text, err := os.ReadFile(ts.MkAbs("log"))
		if err != nil {
			return err
		}
		var got []string
		for _, match := range loggedWrite.FindAllStringSubmatch(string(text[worldOf(ts).old:]), -1) {
			line := verbOf(match) + " " + match[2]
			if repeated := match[1] == "update status" && slices.Contains(got, line); !repeated && !strings.HasPrefix(match[2], "ControllerRevision ") {
				got = append(got, line)
			}
		}
		slices.Sort(got)
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("the writes of the server differ (-planned +done):\n%s", diff)
		}
		return nil
	}))
	fmt.Fprintln(ts.Stdout(), len(want), "writes as planned")
}
