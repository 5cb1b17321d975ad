package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// cmdAs sends a request as another user. The API server notices changes of roles and policies a moment later, so cmdAs repeats
// the request until it has the wanted result. A request that is to be refused is a dry run, so that nothing changes before that.
func cmdAs(ts *testscript.TestScript, _ bool, args []string) {
	w, user := worldOf(ts), args[0]
	by, args := named("by", args[1:])
	refusal, args := named("refused", args)
	pattern, err := regexp.Compile(refusal)
	ts.Check(err)
	client, err := w.clientAs(user, by)
	ts.Check(err)
	admin := w.client
	defer func() { w.client = admin }()
	w.client = client
	ts.Check(eventually(func() error {
		if refusal == "" {
			return w.request(ts, nil, args)
		}
		err := w.request(ts, []string{metav1.DryRunAll}, args)
		if !apierrors.IsForbidden(err) || !pattern.MatchString(err.Error()) {
			return fmt.Errorf("%s as %s: got %v, want that it is forbidden, with an error that matches %q", strings.Join(args, " "), user, err, refusal)
		}
		fmt.Fprintln(ts.Stdout(), err)
		return nil
	}))
}

// request sends the request of one of the commands that cmdAs has, and prints the object that it creates.
func (w *world) request(ts *testscript.TestScript, dryRun []string, args []string) error {
	if args[0] == "apply" {
		return w.applyFile(ts, args[1], dryRun...)
	}
	resource, name, sub := split(args[1])
	r, err := w.named(resource)
	if err != nil {
		return err
	}
	ctx := context.Background()
	switch args[0] {
	case "create":
		return createAndPrint(ts, w, r, args[2], dryRun)
	case "patch":
		_, err = r.Patch(ctx, name, types.MergePatchType, []byte(fill(ts, args[2])), metav1.PatchOptions{DryRun: dryRun}, sub...)
	case "delete":
		err = r.Delete(ctx, name, metav1.DeleteOptions{DryRun: dryRun})
	case "deleteall":
		err = r.DeleteCollection(ctx, metav1.DeleteOptions{DryRun: dryRun}, metav1.ListOptions{})
	case "get":
		_, err = w.get(args[1])
	default:
		ts.Fatalf("as: unknown request %s", args[0])
	}
	return err
}

func createAndPrint(ts *testscript.TestScript, w *world, r dynamic.ResourceInterface, file string, dryRun []string) error {
	objects, err := w.decode(ts, ts.ReadFile(file))
	if err != nil {
		return err
	}
	o, err := r.Create(context.Background(), objects[0], metav1.CreateOptions{DryRun: dryRun})
	if err != nil {
		return err
	}
	text, err := o.MarshalJSON()
	fmt.Fprintf(ts.Stdout(), "%s", text)
	return err
}

// clientAs returns a client for the requests of a user: of the administrator, or else of the ServiceAccount by, who
// impersonates the user.
func (w *world) clientAs(user, by string) (dynamic.Interface, error) {
	config := rest.CopyConfig(w.config)
	if by != "" {
		token, err := w.token(by)
		if err != nil {
			return nil, err
		}
		config = rest.AnonymousClientConfig(w.config)
		config.BearerToken = token
	}
	config.Impersonate.UserName = user
	return dynamic.NewForConfig(config)
}

// token returns a token of a ServiceAccount, which is given as namespace/name.
func (w *world) token(account string) (string, error) {
	client, err := kubernetes.NewForConfig(w.config)
	if err != nil {
		return "", err
	}
	namespace, name, _ := strings.Cut(account, "/")
	request, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(context.Background(), name, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		return "", fmt.Errorf("create a token of ServiceAccount %s: %w", account, err)
	}
	return request.Status.Token, nil
}
