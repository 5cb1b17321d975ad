package e2e

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// cmdKubeconfig writes the file kubeconfig for the user of the script, for commands that are not servers.
func cmdKubeconfig(ts *testscript.TestScript, _ bool, _ []string) {
	w := worldOf(ts)
	_, err := w.proxiedKubeconfig(ts.Getenv("WORK"), w.proxy)
	ts.Check(err)
}

// cmdObserve runs "metascript rbac --observe", which ends early when it gets SIGTERM.
func cmdObserve(ts *testscript.TestScript, _ bool, args []string) {
	worldOf(ts).beside(ts, "observe", append([]string{"rbac", "--observe=1h"}, args...))
}

// cmdCanI asks what "kubectl auth can-i" says. The answer changes a moment after a role has changed.
func cmdCanI(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(eventually(func() error { return worldOf(ts).canI(args[0], !neg, args[1:]) }))
}

// canI returns an error if "kubectl auth can-i" does not say what is wanted. account is NAMESPACE/NAME.
func (w *world) canI(account string, want bool, args []string) error {
	user := "system:serviceaccount:" + strings.Replace(account, "/", ":", 1)
	kubectl := exec.Command(*cluster, append([]string{"kubectl", "--kubeconfig=" + w.kubeconfig, "auth", "can-i", "--as=" + user}, args...)...)
	out, err := kubectl.Output() // it exits with 1 if the answer is no
	if answer := strings.TrimSpace(string(out)); answer != map[bool]string{true: "yes", false: "no"}[want] {
		return fmt.Errorf("%s: the answer is %q, want that it is allowed: %t (error: %v)", strings.Join(kubectl.Args[1:], " "), answer, want, err)
	}
	return nil
}

// cmdGranted asks "kubectl auth can-i" for each verb on each resource in the roles of a file.
func cmdGranted(ts *testscript.TestScript, _ bool, args []string) {
	w, asked := worldOf(ts), 0
	objects, err := w.decode(ts, ts.ReadFile(args[1]))
	ts.Check(err)
	for _, o := range objects {
		var role rbacv1.Role // a ClusterRole has the same fields
		ts.Check(runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &role))
		for _, rule := range role.Rules {
			for _, question := range questions(rule, role.Namespace) {
				asked++
				ts.Check(eventually(func() error { return w.canI(args[0], true, question) }))
			}
		}
	}
	fmt.Fprintln(ts.Stdout(), asked, "questions")
	if asked == 0 {
		ts.Fatalf("there is no rule in %s", args[1])
	}
}

// questions returns the arguments of "kubectl auth can-i" for each verb of a rule; no namespace means all of them.
func questions(rule rbacv1.PolicyRule, namespace string) [][]string {
	names := rule.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	where := "--all-namespaces"
	if namespace != "" {
		where = "--namespace=" + namespace
	}
	var all [][]string
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			plural, subresource, _ := strings.Cut(resource, "/")
			for _, name := range names {
				for _, verb := range rule.Verbs {
					what := strings.TrimSuffix(plural+"."+group, ".")
					if name != "" {
						what += "/" + name
					}
					all = append(all, []string{verb, what, "--subresource=" + subresource, where})
				}
			}
		}
	}
	return all
}
