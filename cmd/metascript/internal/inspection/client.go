// Package inspection asks a server what it knows of an object; see package controller/inspect.
//
// [WhyCommand] returns the command why. [Flags.Open] returns a [Client]. Without --server-address, it finds the Pod of the server that leads
// (find.go), and reaches it by a port-forward of the API server (forward.go), or finds a server on this machine (local.go). The requests have the token of the user in the kubeconfig
// file, or of a ServiceAccount.
package inspection

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"metascript/cmd/metascript/internal/kubeconfig"
	"metascript/cmd/metascript/internal/serverflags"
	"metascript/controller/inspect"
)

// Flags are the flags that say which server is asked, and as whom.
type Flags struct {
	Cluster         kubeconfig.Flags
	Namespace       string // of the object; "" is that of the context
	Server          string // "" finds it
	ServerNamespace string // of the Pods of the server; "" is the only one that has such Pods
	Account         string // NAMESPACE/NAME of a ServiceAccount; "" is the user
}

// Register adds the flags to a set.
func (f *Flags) Register(flags *pflag.FlagSet) {
	f.Cluster.Register(flags)
	flags.StringVarP(&f.Namespace, "namespace", "n", "", "namespace of the object; defaults to that of the context")
	flags.StringVar(&f.Server, "server-address", "", "address of a server, such as 127.0.0.1:9998; by default a port-forward to the Pod of the server is used, or without a Pod a server on this machine")
	flags.StringVar(&f.ServerNamespace, "server-namespace", "", "namespace of the Pods of the server, which get your token; by default all are searched, and only one may have such Pods")
	flags.StringVar(&f.Account, "service-account", "", "ask as this ServiceAccount, NAMESPACE/NAME, with a token that is requested for ten minutes")
}

// A Client asks servers. It must be closed.
type Client struct {
	flags   *Flags
	cluster *kubeconfig.Cluster
	kube    kubernetes.Interface
	http    *http.Client
	notice  func(text string) // is called with a text that names the Pod to which the request is sent
	base    string            // of the URLs of requests
	forward *forward          // to the Pod of the server; nil before the first request, and with an address
	pod     types.UID         // of the Pod to which it was connected last; "" before
	localAt string            // the address at which a server on this machine is looked for
	local   bool              // it is connected to that one
}

// responseLimit is more than a server sends.
const responseLimit = 16 << 20

// Open returns a Client. It does not connect to a server before the first request. It writes to notices which Pod gets the token.
func (f *Flags) Open(ctx context.Context, notices io.Writer) (*Client, error) {
	base, err := baseOf(f.Server)
	if err != nil {
		return nil, err
	}
	cluster, err := f.Cluster.Load()
	if err != nil {
		return nil, err
	}
	c := &Client{flags: f, cluster: cluster, base: base, localAt: serverflags.DefaultInspect, notice: func(text string) { fmt.Fprintln(notices, text) }}
	if c.kube, err = kubernetes.NewForConfig(cluster.Config); err != nil {
		return nil, err
	}
	c.http, err = c.authenticated(ctx)
	return c, err
}

// baseOf returns the URL of the server at an address, which may be without http://. It returns an error if that is not one to which a token
// may be sent without encryption.
func baseOf(address string) (string, error) {
	if address == "" {
		return "", nil
	}
	base := strings.TrimSuffix(address, "/")
	if !strings.Contains(base, "://") {
		base = "http://" + base
	}
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || u.Host == "" {
		return "", fmt.Errorf("--server-address %s: want an address such as 127.0.0.1:9998", address)
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return "", fmt.Errorf("--server-address %s is not on this machine: your token would be sent without encryption; use a port-forward, which is the default", address)
	}
	return base, nil
}

// authenticated returns a client that sends the token of the user, or of a ServiceAccount.
func (c *Client) authenticated(ctx context.Context) (*http.Client, error) {
	config := rest.AnonymousClientConfig(c.cluster.Config)
	config.TLSClientConfig = rest.TLSClientConfig{}
	switch from := c.cluster.Config; {
	case c.flags.Account != "":
		token, err := c.requestToken(ctx)
		if err != nil {
			return nil, err
		}
		config.BearerToken = token
	case from.Impersonate.UserName != "":
		return nil, errors.New("the server does not know --as: use --service-account NAMESPACE/NAME to ask as a ServiceAccount")
	case from.BearerToken == "" && from.BearerTokenFile == "" && from.ExecProvider == nil && from.AuthProvider == nil:
		return nil, errors.New("the user in the kubeconfig file has no token, but a client certificate or a password, which cannot be passed on to the server: use --service-account NAMESPACE/NAME to ask as a ServiceAccount, or --token")
	default:
		config.BearerToken, config.BearerTokenFile, config.ExecProvider, config.AuthProvider = from.BearerToken, from.BearerTokenFile, from.ExecProvider, from.AuthProvider
		config.AuthConfigPersister = from.AuthConfigPersister
	}
	config.Proxy = func(*http.Request) (*url.URL, error) { return nil, nil } // the address is on this machine
	config.Timeout = 30 * time.Second
	if c.flags.Server == "" {
		config.Dial = c.dial
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	// Its transport would send the token to the address that a redirect names.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client, nil
}

// requestToken returns a token of the ServiceAccount that only servers of this program accept.
func (c *Client) requestToken(ctx context.Context) (string, error) {
	namespace, name, both := strings.Cut(c.flags.Account, "/")
	if !both || namespace == "" || name == "" {
		return "", fmt.Errorf("--service-account %s: want NAMESPACE/NAME", c.flags.Account)
	}
	seconds := int64(600)
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{inspect.Audience}, ExpirationSeconds: &seconds}}
	token, err := c.kube.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, name, request, metav1.CreateOptions{})
	if err != nil {
		return "", c.cluster.Explain(fmt.Errorf("request a token of the ServiceAccount %s: %w", c.flags.Account, err))
	}
	return token.Status.Token, nil
}

// Close closes the connection to the server.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
	c.disconnect()
}

// An Object is the parameters that name an object. There are several if several API groups have the kind that a user names without
// its group.
type Object []url.Values

// Set sets a parameter.
func (o Object) Set(name, value string) {
	for _, values := range o {
		values.Set(name, value)
	}
}

// Object returns the object that is meant by the arguments KIND/NAME, or KIND and NAME. KIND is a kind, a resource or a short name, also
// with the group, as for kubectl.
func (c *Client) Object(args []string) (Object, error) {
	kind, name := args[0], ""
	if len(args) == 2 {
		name = args[1]
	} else if kind, name, _ = strings.Cut(args[0], "/"); name == "" {
		return nil, fmt.Errorf("%s: want KIND/NAME, such as deployment/web", args[0])
	}
	mappings, err := c.mappings(kind)
	if err != nil {
		return nil, c.cluster.Explain(err)
	}
	var object Object
	for _, mapping := range mappings {
		values := url.Values{"apiVersion": {mapping.GroupVersionKind.GroupVersion().String()}, "kind": {mapping.GroupVersionKind.Kind}, "name": {name}}
		if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
			values.Set("namespace", cmp.Or(c.flags.Namespace, c.cluster.Namespace))
		}
		object = append(object, values)
	}
	return object, nil
}

// GetNamed sends a request about the object that is meant by args, as for Object, and about one controller of it unless that is "". It
// returns the parameters of the object.
func (c *Client) GetNamed(ctx context.Context, path string, args []string, controller string, into any) (url.Values, error) {
	object, err := c.Object(args)
	if err != nil {
		return nil, err
	}
	if controller != "" {
		object.Set("controller", controller)
	}
	return c.GetObject(ctx, path, object, into)
}

// GetObject sends a request about an object; see Get. If several API groups have the kind, it asks about the object of each: the server
// knows only parents of controllers. It returns the parameters of the one that is known. It is an error if several are.
func (c *Client) GetObject(ctx context.Context, path string, object Object, into any) (url.Values, error) {
	var found []url.Values
	var failed []error
	for _, values := range object {
		err := c.Get(ctx, path, values, into)
		var problem *inspect.Problem
		switch {
		case err == nil:
			found = append(found, values)
		case !errors.As(err, &problem):
			return nil, err // the server is not reached
		case problem.Status == http.StatusNotFound:
			failed = append(failed, err)
		default:
			failed = slices.Insert(failed, 0, err)
		}
	}
	switch len(found) {
	case 0:
		return nil, failed[0]
	case 1:
		return found[0], nil
	}
	var forms []string
	for _, values := range found {
		group, _, _ := strings.Cut(values.Get("apiVersion"), "/")
		forms = append(forms, values.Get("kind")+"."+group+"/"+values.Get("name"))
	}
	return nil, fmt.Errorf("several API groups have the kind %s, and a parent of this name: name the group, as in %s", found[0].Get("kind"), strings.Join(forms, " or "))
}

// mappings returns the resource that a user means: of each group that has it, if the group is not named.
func (c *Client) mappings(named string) ([]*meta.RESTMapping, error) {
	cached := memory.NewMemCacheClient(c.kube.Discovery())
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	full, resource := schema.ParseResourceArg(strings.ToLower(named))
	if full != nil {
		if kind, err := mapper.KindFor(*full); err == nil {
			return one(mapper.RESTMapping(kind.GroupKind(), kind.Version))
		}
	}
	kinds, err := mapper.KindsFor(resource.WithVersion(""))
	if err == nil {
		return ofGroups(mapper, kinds)
	}
	if !meta.IsNoMatchError(err) {
		return nil, err
	}
	ofKind, groupKind := schema.ParseKindArg(named)
	if ofKind != nil {
		if mapping, err := mapper.RESTMapping(ofKind.GroupKind(), ofKind.Version); err == nil {
			return one(mapping, nil)
		}
	}
	if mapping, err := mapper.RESTMapping(groupKind); err == nil {
		return one(mapping, nil)
	}
	return nil, fmt.Errorf("the API server has no resource or kind %q", named)
}

func one(mapping *meta.RESTMapping, err error) ([]*meta.RESTMapping, error) {
	return []*meta.RESTMapping{mapping}, err
}

// ofGroups returns the resources of kinds: one of each group, in the version that the API server prefers.
func ofGroups(mapper meta.RESTMapper, kinds []schema.GroupVersionKind) (all []*meta.RESTMapping, err error) {
	seen := map[schema.GroupKind]bool{}
	for _, kind := range kinds {
		if seen[kind.GroupKind()] {
			continue
		}
		seen[kind.GroupKind()] = true
		mapping, err := mapper.RESTMapping(kind.GroupKind())
		if err != nil {
			return nil, err
		}
		all = append(all, mapping)
	}
	return all, nil
}

// Get sends a request to the server that leads, and decodes the response.
func (c *Client) Get(ctx context.Context, path string, values url.Values, into any) error {
	return c.follow(ctx, func() error { return c.get(ctx, path, values, into) })
}

// hops is how many other servers are asked: the leader may change meanwhile.
const hops = 3

// follow calls send, and again when it is connected to another server: if another one leads, or the connection to the Pod was lost.
func (c *Client) follow(ctx context.Context, send func() error) error {
	if c.flags.Server != "" {
		return send()
	}
	for hop := 0; ; hop++ {
		if !c.local && (c.forward == nil || c.forward.lost()) {
			if err := c.connect(ctx); err != nil {
				return err
			}
		}
		err := send()
		if c.local {
			return err
		}
		var problem *inspect.Problem
		switch {
		case err == nil || hop == hops || ctx.Err() != nil:
			return err
		case errors.As(err, &problem) && problem.Standby:
			asked := c.pod
			if failed := c.connect(ctx); failed != nil {
				return failed
			}
			if c.pod == asked {
				return err // the Lease names this server, but it does not lead yet
			}
		case !c.forward.lost():
			return err
		}
	}
}

func (c *Client) get(ctx context.Context, path string, values url.Values, into any) error {
	response, err := c.send(ctx, c.http, http.MethodGet, path+"?"+values.Encode())
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, responseLimit))
	if err != nil {
		return c.unreached(err)
	}
	return json.Unmarshal(text, into)
}

// send sends one request. A status that is not 200 is an error.
func (c *Client) send(ctx context.Context, by *http.Client, method, path string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, nil)
	if err != nil {
		return nil, err
	}
	response, err := by.Do(request)
	if err != nil {
		return nil, c.unreached(err)
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, responseLimit))
	if err != nil {
		return nil, c.unreached(err)
	}
	problem := &inspect.Problem{}
	if json.Unmarshal(text, problem) != nil || problem.Message == "" {
		return nil, fmt.Errorf("what responds at %s is not a server of this program: %s", c.at(), response.Status)
	}
	return nil, problem
}

// at names the server, for errors.
func (c *Client) at() string {
	if c.forward != nil {
		return fmt.Sprintf("the port %s of the Pod %s/%s", c.forward.port, c.forward.namespace, c.forward.pod)
	}
	return c.base
}

// unreached returns the error that the server does not respond.
func (c *Client) unreached(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err // the URL is not of use
	}
	return fmt.Errorf("nothing responds at %s: the server may be older than this command, or have another --inspect-address, or 0: %w", c.at(), err)
}
