package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/util/jsonpath"
)

// commands are the commands of scripts, in addition to testscript's own:
//
//	start [as NAME] [flag...]  run the server and wait until it is ready; its health probes are at $HEALTH, its metrics
//	                           at $METRICS, its log is the file log; those of one with a name are at $HEALTH_NAME,
//	                           $METRICS_NAME and log-NAME
//	launch [as NAME] [flag...] the same without waiting
//	mount DIR FOLDER           make DIR a volume with the files of FOLDER, or replace its files, as the kubelet does
//	weak                       start servers without root's permission to read every file from here on
//	user NAME                  start servers as this user, with only the permissions of its roles, from here on
//	serviceaccount [NS/]NAME   start servers with a token of this ServiceAccount, from here on
//	end [NAME]                 end it with SIGTERM; it must exit with 0
//	crash [NAME]               end it with SIGKILL
//	ends [NAME]                wait until it has ended by itself, with another exit code than 0
//	dev [flag...]              run "metascript dev" beside the servers, under the name dev; its output is the file log-dev
//	plan CODE [flag...]        run "metascript plan"; its exit code must be CODE; its output is the file plan
//	predicted FILE             wait until the writes in the server's log after mark are exactly those in FILE, the output of "plan -o json"
//	kubeconfig                 write the file kubeconfig, for "exec $METASCRIPT"
//	observe [flag...]          run "metascript rbac --observe" beside the servers, under the name observe, until it is ended; its output is
//	                           the file log-observe
//	beside NAME COMMAND [flag...]
//	                           run a command of metascript beside the servers, under a name, until it is ended; its output is log-NAME
//	kubelet                    run a kubelet that forwards ports, with the node $NAME-node; servers have their names as host names then
//	kubelet runs [NS/]POD SERVER [FLAG...]
//	                           start a Pod of a StatefulSet on this node, with the label of servers, whose process is a server that has
//	                           these flags; its name ends with -0; "none": without a process; "impostor": another process; bare in the
//	                           place of the flags: without the StatefulSet
//	kubelet tokens             print the tokens that impostors got
//	kubelet fails POD          delete a Pod with its StatefulSet, and end its connections
//	can-i ACCOUNT VERB RESOURCE [flag...]
//	                           wait until "kubectl auth can-i" says yes, with ! no, for a ServiceAccount, NAMESPACE/NAME
//	granted ACCOUNT FILE       the same, yes, for each verb on each resource in the roles of FILE
//	fill FILE...               replace variables in files, as apply does
//	versions FILE              write the resourceVersions of all objects in the script's namespace into FILE
//	http URL                   print the status code and the body that a GET gives
//	cluster [audited]          use a new cluster from here on, without any definition; audited: see apart
//	suspend [NAME]             stop the server's process with SIGSTOP, as if its machine were suspended
//	resume [NAME]              continue it with SIGCONT
//	churn RESOURCE [TIME]      change spec.n of its objects, one after the other, for a time, or until the script ends
//	wrote USER WHAT...         wait until the audit log has successful writes of this user to exactly these resources, each as
//	                           RESOURCE[/SUBRESOURCE]@NAMESPACE
//	apart USER OTHER           check the audit log: both users wrote, and the first one not after the other had started to
//	apply FILE...              create or change the objects in FILE
//	many N FILE                apply the object in FILE N times, with $I from 1 to N
//	as USER [by ACCOUNT] [refused REGEXP] REQUEST
//	                           wait until this request of the user is permitted, or until a dry run of it is forbidden with an error
//	                           that matches; by: the ServiceAccount NAMESPACE/NAME impersonates the user. The requests are
//	                           apply FILE, create RESOURCE FILE, patch and get as below, delete RESOURCE/NAME, deleteall RESOURCE
//	stored FILE PATH VALUE     wait until the API server would store this value there in the object in FILE, if it were created
//	refused FILE               wait until the API server would refuse to create the object in FILE
//	writes MIN MAX [REGEXP]    check that the number of writes in the server's log, that match, is between the two
//	crd KIND PLURAL [what...]  create a kind in $GROUP: nostatus, cluster; the group's version is v1
//	delete RESOURCE/NAME [HOW] delete, and do not wait; in the Background, or as HOW says: Foreground, Orphan
//	patch RESOURCE/NAME JSON   merge-patch; with /status after NAME the status
//	get RESOURCE[/NAME] [PATH] print a field by JSONPath, or the whole as JSON
//	until REGEXP get ...       wait until what get, events, http or program (the binary, with arguments) prints matches
//	until not REGEXP get ...   wait until it prints something else
//	until gone RESOURCE/NAME   wait until it does not exist
//	events NAME                print the events about the object of that name, a line each: reason, message
//	quiet NAME                 check that the events about NAME have no warning of the server
//	log [of NAME] [new] REGEXP wait until the server's log matches; with ! it must not match now; new: only lines after mark
//	mark                       "log new" ignores the present log of the server without a name
//	api [of NAME] down|up|missed
//	                           disconnect the API server from the server, connect it again, wait until a connection was refused; a server
//	                           with a name has its own connection
//	api [of NAME] slow TIME    delay what is sent to the API server from here on
//	faults none|RULE... [and RULE...]
//	                           make faults between the API server and the servers that are started after the first such command; see
//	                           package test/faultproxy for rules
//	faults asked MIN MAX REGEXP
//	                           wait until at least MIN requests match since the rules were set, and check that there are not more than MAX, or
//	                           MAX is N/s: so many a second; a request is METHOD PATH CODE, the method of a watch is WATCH
//	lagging start|freeze|thaw  start a second API server, for the servers that are started from here on; hold what it observes in etcd, so
//	                           that its caches are behind; let it observe again
//	webhook [tls|mtls] [AUTH]  serve the hook of webhook_test.go; its address is $WEBHOOK
//	release                    answer the calls about parents with spec.wait
//	rotate                     give it another certificate, of another authority
//	calls PARENT MIN MAX       wait until the number of its calls for a parent is at least the first, and check that it is at most the second
//	collector                  receive traces by OTLP at $COLLECTOR; $COLLECTOR/spans lists them, $COLLECTOR/raw has all bytes
//	aggregated                 run an aggregated API server for things.things.$GROUP that refuses writes of ServiceAccounts
//	catset                     serve the webhook of the example catset; its address is $WEBHOOK
//	remember VAR get ...       store what get prints in a variable
//	theirs FILE...             create the objects in FILE as Metacontroller does, with the status
//	untold [random] SECRET...  check that no part of these values, nor of their base64, is in logs, events, conditions or metrics; random:
//	                           no long part
//	documented URL             check that /metrics at URL has the metrics that the documentation, the alerts and the dashboard name
//	mutator                    run an admission webhook that stores another value at each write of a ConfigMap with the label guarded
//	rival RESOURCE/NAME update|apply MAX JSON
//	                           write the object, by a patch or by server-side apply, whenever somebody else has changed it, at most MAX
//	                           times, until the script ends; $N in JSON is the number of the write. "until REGEXP rival RESOURCE/NAME" waits
//	                           for a number of writes
//	paced REGEXP               check in the server's log that of the writes that match, after the first ten, there is at most one a minute
//	sha1 VAR TEXT...           store the SHA-1 of the texts, one after the other, in a variable
//	simulated FILE RESOURCE... wait until the objects of these resources are those in FILE, which "metascript simulate -o yaml" printed
//
// $API_PORT is the port at which the server reaches the API server. $GROUP, $NAME, $WEBHOOK, $WEBHOOK_HOST, $WEBHOOK_PORT, $..._PEM and remembered variables whose names end with _UID, _SHA or _VALUE are put into files that are applied; other
// dollars are not changed, since scripts use them. Objects without a namespace are in the script's own, which is called $NAME.
var commands = map[string]func(ts *testscript.TestScript, neg bool, args []string){
	"start":          cmdStart,
	"launch":         cmdLaunch,
	"mount":          cmdMount,
	"weak":           cmdWeak,
	"user":           cmdUser,
	"serviceaccount": cmdServiceAccount,
	"end":            cmdEnd,
	"crash":          cmdCrash,
	"ends":           cmdEnds,
	"dev":            cmdDev,
	"fill":           cmdFill,
	"versions":       cmdVersions,
	"http":           cmdHTTP,
	"documented":     cmdDocumented,
	"cluster":        cmdCluster,
	"suspend":        cmdSuspend,
	"resume":         cmdResume,
	"churn":          cmdChurn,
	"apart":          cmdApart,
	"wrote":          cmdWrote,
	"apply":          cmdApply,
	"many":           cmdMany,
	"writes":         cmdWrites,
	"refused":        cmdRefused,
	"stored":         cmdStored,
	"crd":            cmdCRD,
	"delete":         cmdDelete,
	"patch":          cmdPatch,
	"get":            cmdGet,
	"until":          cmdUntil,
	"events":         cmdEvents,
	"quiet":          cmdQuiet,
	"mark":           cmdMark,
	"log":            cmdLog,
	"api":            cmdAPI,
	"faults":         cmdFaults,
	"lagging":        cmdLagging,
	"webhook":        cmdWebhook,
	"authority":      cmdAuthority,
	"ipv6":           cmdIPv6,
	"webproxy":       cmdWebProxy,
	"proxied":        cmdProxied,
	"release":        cmdRelease,
	"rotate":         cmdRotate,
	"calls":          cmdCalls,
	"catset":         cmdCatSet,
	"collector":      cmdCollector,
	"aggregated":     cmdAggregated,
	"remember":       cmdRemember,
	"approve":        cmdApprove,
	"theirs":         cmdTheirs,
	"peer":           cmdPeer,
	"mutator":        cmdMutator,
	"rival":          cmdRival,
	"paced":          cmdPaced,
	"sha1":           cmdSHA1,
	"simulated":      cmdSimulated,
	"untold":         cmdUntold,
	"as":             cmdAs,
	"kubeconfig":     cmdKubeconfig,
	"plan":           cmdPlan,
	"predicted":      cmdPredicted,
	"observe":        cmdObserve,
	"can-i":          cmdCanI,
	"granted":        cmdGranted,
	"kubelet":        cmdKubelet,
	"beside":         cmdBeside,
}

func cmdUser(ts *testscript.TestScript, _ bool, args []string) { worldOf(ts).user = args[0] }

func cmdServiceAccount(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	account := args[0]
	if !strings.Contains(account, "/") {
		account = w.name + "/" + account
	}
	token, err := w.token(account)
	ts.Check(err)
	w.serverToken = token
}

func cmdWeak(ts *testscript.TestScript, _ bool, _ []string) { worldOf(ts).weak = true }

func cmdApply(ts *testscript.TestScript, neg bool, args []string) {
	w := worldOf(ts)
	for _, file := range args {
		err := w.applyFile(ts, file)
		if neg {
			if err == nil {
				ts.Fatalf("%s was accepted", file)
			}
			fmt.Fprintln(ts.Stderr(), err)
			continue
		}
		ts.Check(err)
	}
}

func (w *world) applyFile(ts *testscript.TestScript, file string, dryRun ...string) error {
	objects, err := w.decode(ts, ts.ReadFile(file))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, o := range objects {
		if _, err := w.apply(o, dryRun...); err != nil {
			return err
		}
		if o.GetKind() == "CustomResourceDefinition" {
			if err := w.established(o); err != nil {
				return err
			}
		}
	}
	return nil
}

var placeholder = regexp.MustCompile(`\$(GROUP|NAME|WEBHOOK|WEBHOOK_HOST|WEBHOOK_PORT|[A-Z]+_(?:UID|PEM|SHA|VALUE))\b`)

func fill(ts *testscript.TestScript, text string) string {
	return placeholder.ReplaceAllStringFunc(text, func(name string) string { return ts.Getenv(name[1:]) })
}

func (w *world) decode(ts *testscript.TestScript, text string) ([]*unstructured.Unstructured, error) {
	text = fill(ts, text)
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096)
	var found []*unstructured.Unstructured
	for {
		var raw runtime.RawExtension
		err := decoder.Decode(&raw)
		o := &unstructured.Unstructured{}
		if err == nil && len(raw.Raw) > 0 { // as Kubernetes does it: integers stay integers; one with nothing but comments is empty
			err = utiljson.Unmarshal(raw.Raw, &o.Object)
		}
		if len(o.Object) > 0 {
			found = append(found, o)
		}
		if err != nil {
			if len(found) > 0 && err.Error() == "EOF" {
				return found, nil
			}
			return nil, err
		}
	}
}

// cmdMany applies with several concurrent requests.
func cmdMany(ts *testscript.TestScript, _ bool, args []string) {
	w, text := worldOf(ts), ts.ReadFile(args[1])
	n, err := strconv.Atoi(args[0])
	ts.Check(err)
	objects := make([]*unstructured.Unstructured, n)
	for i := range n {
		decoded, err := w.decode(ts, strings.ReplaceAll(text, "$I", strconv.Itoa(i+1)))
		ts.Check(err)
		objects[i] = decoded[0]
	}
	var group errgroup.Group
	group.SetLimit(16)
	for _, o := range objects {
		group.Go(func() error {
			_, err := w.apply(o)
			return err
		})
	}
	ts.Check(group.Wait())
}

// cmdWrites waits for the minimum, since the effect of a write is visible before the server has logged it.
func cmdWrites(ts *testscript.TestScript, _ bool, args []string) {
	least, err := strconv.Atoi(args[0])
	ts.Check(err)
	most, err := strconv.Atoi(args[1])
	ts.Check(err)
	line := regexp.MustCompile("msg=wrote ")
	if len(args) == 3 {
		line = regexp.MustCompile(`(?m)msg=wrote .*op="?(` + args[2] + `)`)
	}
	n := 0
	err = eventually(func() error {
		text, err := os.ReadFile(ts.MkAbs("log"))
		if n = len(line.FindAll(text, -1)); err == nil && n < least {
			err = fmt.Errorf("%d writes, want %d to %d", n, least, most)
		}
		return err
	})
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), n, "writes")
	if n > most {
		ts.Fatalf("%d writes, want %d to %d", n, least, most)
	}
}

// cmdRefused waits until an admission policy that was applied is in effect.
func cmdRefused(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	objects, err := w.decode(ts, ts.ReadFile(args[0]))
	ts.Check(err)
	r, err := w.resource(objects[0])
	ts.Check(err)
	ts.Check(eventually(func() error {
		_, err := r.Create(context.Background(), objects[0], metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
			return nil
		}
		return fmt.Errorf("%s is not refused yet: %v", args[0], err)
	}))
}

// crdTemplate preserves all fields, so that tests need no schema.
const crdTemplate = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[2]s.$GROUP}
spec:
  group: $GROUP
  scope: %[3]s
  names: {kind: %[1]s, plural: %[2]s}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {%[4]s}
    schema:
      openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

func cmdCRD(ts *testscript.TestScript, _ bool, args []string) {
	w, scope, status := worldOf(ts), "Namespaced", "status: {}"
	for _, option := range args[2:] {
		switch option {
		case "cluster":
			scope = "Cluster"
		case "nostatus":
			status = ""
		default:
			ts.Fatalf("crd: unknown option %s", option)
		}
	}
	objects, err := w.decode(ts, fmt.Sprintf(crdTemplate, args[0], args[1], scope, status))
	ts.Check(err)
	_, err = w.apply(objects[0])
	ts.Check(err)
	ts.Check(w.established(objects[0]))
}

// established waits until objects of a definition can be created. Discovery lists it a moment after its condition is True.
func (w *world) established(crd *unstructured.Unstructured) error {
	return eventually(func() error {
		text, err := w.get("customresourcedefinitions/"+crd.GetName(), `{.status.conditions[?(@.type=="Established")].status}`)
		if err == nil && text != "True" {
			err = errors.New(crd.GetName() + " is not established")
		}
		if err == nil {
			_, err = w.named(crd.GetName())
		}
		return err
	})
}

// split splits RESOURCE/NAME[/SUBRESOURCE].
func split(what string) (resource, name string, sub []string) {
	parts := strings.Split(what, "/")
	if len(parts) > 1 {
		name = parts[1]
	}
	if len(parts) > 2 {
		sub = parts[2:]
	}
	return parts[0], name, sub
}

func cmdDelete(ts *testscript.TestScript, _ bool, args []string) {
	resource, name, _ := split(args[0])
	r, err := worldOf(ts).named(resource)
	ts.Check(err)
	propagation := metav1.DeletePropagationBackground
	if len(args) > 1 {
		propagation = metav1.DeletionPropagation(args[1])
	}
	ts.Check(r.Delete(context.Background(), name, metav1.DeleteOptions{PropagationPolicy: &propagation}))
}

func cmdPatch(ts *testscript.TestScript, neg bool, args []string) {
	resource, name, sub := split(args[0])
	r, err := worldOf(ts).named(resource)
	ts.Check(err)
	text := placeholder.ReplaceAllStringFunc(args[1], func(v string) string { return ts.Getenv(v[1:]) })
	_, err = r.Patch(context.Background(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{}, sub...)
	if neg {
		if err == nil {
			ts.Fatalf("the patch was accepted")
		}
		fmt.Fprintln(ts.Stderr(), err)
		return
	}
	ts.Check(err)
}

// get reads an object or a list and prints a field of it.
func (w *world) get(what string, path ...string) (string, error) {
	resource, name, _ := split(what)
	r, err := w.named(resource)
	if err != nil {
		return "", err
	}
	var data any
	if name != "" {
		o, err := r.Get(context.Background(), name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		data = o.Object
	} else {
		list, err := r.List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		data = list.UnstructuredContent()
	}
	if len(path) == 0 {
		text, err := json.MarshalIndent(data, "", "  ")
		return string(text), err
	}
	query := jsonpath.New("get").AllowMissingKeys(true)
	if err := query.Parse(path[0]); err != nil {
		return "", err
	}
	var out bytes.Buffer
	err = query.Execute(&out, data)
	return out.String(), err
}

func cmdGet(ts *testscript.TestScript, neg bool, args []string) {
	text, err := worldOf(ts).get(args[0], args[1:]...)
	if neg {
		if !apierrors.IsNotFound(err) {
			ts.Fatalf("%s is there (error: %v)", args[0], err)
		}
		return
	}
	ts.Check(err)
	fmt.Fprintln(ts.Stdout(), text)
}

func cmdUntil(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	if args[0] == "gone" {
		ts.Check(w.eventuallyRead([]string{"get", args[1]}, func() error {
			_, err := w.get(args[1])
			switch {
			case apierrors.IsNotFound(err):
				return nil
			case err != nil:
				return err
			}
			return fmt.Errorf("%s is still there", args[1])
		}))
		return
	}
	if *kill != "" && slices.Contains(args, "events") {
		return // what a server had not recorded when it was killed is lost
	}
	want := true
	if args[0] == "not" {
		want, args = false, args[1:]
	}
	pattern, err := regexp.Compile(args[0])
	ts.Check(err)
	var text string
	ts.Check(w.eventuallyRead(args[1:], func() error {
		var err error
		text, err = w.read(args[1:])
		if err == nil && pattern.MatchString(text) != want {
			err = fmt.Errorf("%s: got %q, want that it matches %q: %t", strings.Join(args[1:], " "), text, args[0], want)
		}
		return err
	}))
	fmt.Fprintln(ts.Stdout(), text)
}

// read runs "get ...", "events ...", "calls ..." or "program ...", which is the binary with arguments.
func (w *world) read(args []string) (string, error) {
	switch args[0] {
	case "get":
		return w.get(args[1], args[2:]...)
	case "events":
		return w.events(args[1])
	case "http":
		return fetch(args[1])
	case "program":
		text, err := w.program(args[1:]...).CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return string(text), err
	case "rival":
		return w.wrote(args[1])
	case "calls":
		return w.webhook.callCounts(args[1]), nil
	}
	return "", fmt.Errorf("%s cannot be read", args[0])
}

func cmdMark(ts *testscript.TestScript, _ bool, _ []string) {
	text, err := os.ReadFile(ts.MkAbs(logOf("")))
	ts.Check(err)
	worldOf(ts).old = len(text)
}

// linesAround returns the lines of text in which text[from:to] is.
func linesAround(text []byte, from, to int) []byte {
	from = bytes.LastIndexByte(text[:from], '\n') + 1
	if end := bytes.IndexByte(text[to:], '\n'); end >= 0 {
		return text[from : to+end]
	}
	return text[from:]
}

func cmdLog(ts *testscript.TestScript, neg bool, args []string) {
	name, args := named("of", args)
	old := 0
	if args[0] == "new" {
		old, args = worldOf(ts).old, args[1:]
	}
	want, err := regexp.Compile(args[0])
	ts.Check(err)
	path := ts.MkAbs(logOf(name))
	if neg {
		text, err := os.ReadFile(path)
		ts.Check(err)
		if found := want.FindIndex(text[old:]); found != nil {
			ts.Fatalf("the log has a match in:\n%s", linesAround(text[old:], found[0], found[1]))
		}
		return
	}
	ts.Check(eventually(func() error {
		text, err := os.ReadFile(path)
		if err == nil && !want.Match(text[old:]) {
			err = fmt.Errorf("the log has no match of %q", args[0])
		}
		return err
	}))
}

func cmdAPI(ts *testscript.TestScript, _ bool, args []string) {
	name, args := named("of", args)
	w := worldOf(ts)
	p := w.proxy
	if name != "" {
		p = w.server(ts, name).proxy
	}
	switch args[0] {
	case "slow":
		delay, err := time.ParseDuration(args[1])
		ts.Check(err)
		p.slow(delay)
	case "missed":
		ts.Check(eventually(p.missed))
	default:
		p.set(args[0] == "down")
	}
}

func cmdRemember(ts *testscript.TestScript, _ bool, args []string) {
	text, err := worldOf(ts).read(args[1:])
	ts.Check(err)
	if text == "" {
		ts.Fatalf("%s: there is nothing to remember", strings.Join(args[1:], " "))
	}
	ts.Setenv(args[0], text)
}

// cmdApprove sets the annotation with which the guard of a controller lets a version through, as the command at the end of the message of
// the condition GuardPassed does it.
func cmdApprove(ts *testscript.TestScript, _ bool, args []string) {
	w := worldOf(ts)
	message, err := w.get(args[0], `{.status.conditions[?(@.type=="GuardPassed")].message}`)
	ts.Check(err)
	resource, name, _ := split(args[0])
	command := regexp.MustCompile(`kubectl annotate --overwrite ` + resource + ` ` + name + ` (\S+)=(\S+)$`).FindStringSubmatch(message)
	if command == nil {
		ts.Fatalf("the message has no command: %s", message)
	}
	r, err := w.named(resource)
	ts.Check(err)
	_, err = r.Patch(context.Background(), name, types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, command[1], command[2]), metav1.PatchOptions{})
	ts.Check(err)
}

// prepareCluster creates the definitions of the controllers in the cluster, once for all scripts.
func prepareCluster() error {
	w, err := newWorld("prepare")
	if err != nil {
		return err
	}
	defer w.proxy.close()
	home := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "metacontroller"}}}
	if _, err := w.apply(home); err != nil {
		return err
	}
	crds, err := ownDefinitions()
	if err != nil {
		return err
	}
	for _, crd := range crds {
		if _, err := w.apply(crd); err != nil {
			return err
		}
		if err := w.established(crd); err != nil {
			return err
		}
	}
	return nil
}
