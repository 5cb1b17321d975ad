package build

import (
	"encoding/base64"
	"log/slog"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"metascript/controller/hook"
	"metascript/controller/informer"
	"metascript/controller/object"
	"metascript/controller/object/objecttest"
	"metascript/controller/references"
)

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// secret returns a Secret with these values in the namespace ns.
func secret(name string, values map[string]string) *object.Object {
	data := map[string]any{}
	for key, value := range values {
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return object.New(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name, "namespace": "ns"}, "data": data,
	})
}

// openWebhook loads a controller with one webhook that has these settings, and watches its credentials in a cluster that has
// these objects.
func openWebhook(t *testing.T, settings string, objects ...runtime.Object) (*hook.Webhook, *WebhookClients, *fake.FakeDynamicClient) {
	t.Helper()
	return openWebhookIn(t, settings, func(*fake.FakeDynamicClient) {}, objects...)
}

// openWebhookIn is openWebhook with a function that prepares the client.
func openWebhookIn(t *testing.T, settings string, prepare func(*fake.FakeDynamicClient), objects ...runtime.Object) (*hook.Webhook, *WebhookClients, *fake.FakeDynamicClient) {
	t.Helper()
	kinds := map[schema.GroupVersionResource]string{secrets: "SecretList", objecttest.ConfigMaps: "ConfigMapList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, objecttest.ForClient(objects...)...)
	prepare(client)
	loaded := load(t, newBuilder(), "hooks: {sync: {webhook: {url: 'https://127.0.0.1:1/', "+settings+"}}}")
	clients := &loaded.Clients
	if err := clients.Open(references.NewWatcher(informer.NewFactory(client, slog.New(slog.DiscardHandler))), nil, Reader{Permit: func(references.Object) error { return nil }}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(clients.Close)
	return loaded.Sync.(*hook.Webhook), clients, client
}

func TestCredentialsAreReadOrTheErrorNamesThem(t *testing.T) {
	configMap := object.New(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "ca", "namespace": "ns"}, "data": map[string]any{"other": "hunter2"},
	})
	invalid := secret("token", nil)
	invalid.Map()["data"] = map[string]any{"t": "%hunter2"}
	basic := "basicAuth: {secretRef: {name: admin, namespace: ns}}"
	for name, c := range map[string]struct {
		settings string
		object   runtime.Object
		header   string
		want     string // the error
	}{
		"a token":              {tokenSettings, secret("token", map[string]string{"t": " hunter2\n"}), "Bearer hunter2", ""},
		"another scheme":       {"authorization: {type: Token, secretRef: {name: token, namespace: ns, key: t}}", secret("token", map[string]string{"t": "x"}), "Token x", ""},
		"a password":           {basic, secret("admin", map[string]string{"username": "admin", "password": "hunter2\n"}), "Basic YWRtaW46aHVudGVyMg==", ""},
		"other keys":           {"basicAuth: {secretRef: {name: admin, namespace: ns}, usernameKey: u, passwordKey: p}", secret("admin", map[string]string{"u": "admin", "p": "hunter2"}), "Basic YWRtaW46aHVudGVyMg==", ""},
		"no Secret":            {tokenSettings, secret("other", nil), "", "authorization: Secret ns/token does not exist"},
		"no key":               {tokenSettings, secret("token", map[string]string{"u": "hunter2"}), "", "authorization: Secret ns/token has no key t"},
		"no data":              {tokenSettings, secret("token", nil), "", "authorization: Secret ns/token has no key t"},
		"an empty value":       {tokenSettings, secret("token", map[string]string{"t": ""}), "", "authorization: key t of Secret ns/token is empty"},
		"two lines":            {tokenSettings, secret("token", map[string]string{"t": "hunter2\nhunter3"}), "", "authorization: key t of Secret ns/token has more than one line"},
		"no base64":            {tokenSettings, invalid, "", "authorization: key t of Secret ns/token is not in base64"},
		"no user name":         {basic, secret("admin", map[string]string{"password": "hunter2"}), "", "basicAuth: Secret ns/admin has no key username"},
		"no password":          {basic, secret("admin", map[string]string{"username": "hunter2"}), "", "basicAuth: Secret ns/admin has no key password"},
		"no CA":                {caSettings, secret("ca", map[string]string{"ca.pem": "hunter2"}), "", "caBundle: Secret ns/ca has no key ca.crt"},
		"no CA in a ConfigMap": {"caBundle: {configMapRef: {name: ca, namespace: ns}}", configMap, "", "caBundle: ConfigMap ns/ca has no key ca.crt"},
		"no ConfigMap":         {"caBundle: {configMapRef: {name: cb, namespace: ns}}", configMap, "", "caBundle: ConfigMap ns/cb does not exist"},
		"no key of a key pair": {"clientTLS: {secretRef: {name: c, namespace: ns}}", secret("c", map[string]string{"tls.crt": "hunter2"}), "", "clientTLS: Secret ns/c has no key tls.key"},
	} {
		t.Run(name, func(t *testing.T) {
			h, clients, _ := openWebhook(t, c.settings, c.object)
			clients.Credentials.WaitForSyncOrError(t.Context())
			endpoint, err := h.Client.Endpoint()
			if got := errorText(err); got != c.want || endpoint.Authorization != c.header {
				t.Errorf("header %q, error %q, want %q and %q", endpoint.Authorization, got, c.header, c.want)
			}
			if problems := clients.Problems(); (len(problems) > 0) != (err != nil) {
				t.Errorf("problems %q with error %v", problems, err)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestMissingPermissionIsNamedInTheError(t *testing.T) {
	const refusal = `secrets is forbidden: User "u" cannot list resource "secrets" in API group "" in the namespace "ns"`
	h, clients, _ := openWebhookIn(t, tokenSettings, func(client *fake.FakeDynamicClient) {
		client.PrependReactor("list", "secrets", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonForbidden, Message: refusal}}
		})
	})
	clients.Credentials.WaitForSyncOrError(t.Context())
	_, err := h.Client.Endpoint()
	if got := errorText(err); !strings.HasPrefix(got, "authorization: Secret ns/token cannot be read: ") || !strings.HasSuffix(got, refusal) {
		t.Errorf("error %q, want one that names the Secret, the verb and the resource", got)
	}
}

func TestCredentialsCannotBeReadWithoutACluster(t *testing.T) {
	loaded := load(t, newBuilder(), "hooks: {sync: {webhook: {url: 'https://127.0.0.1:1/', "+tokenSettings+"}}}")
	_, err := loaded.Sync.Call(t.Context(), widgetRequest())
	if want := "webhook https://127.0.0.1:1/: authorization: Secret ns/token cannot be read without a cluster"; errorText(err) != want {
		t.Errorf("error %v, want %q", err, want)
	}
}

func TestOnlyChangedContentOfSecretIsReported(t *testing.T) {
	h, clients, client := openWebhook(t, tokenSettings)
	changes := make(chan struct{}, 10)
	if err := clients.Credentials.OnChange(func() { changes <- struct{}{} }); err != nil {
		t.Fatal(err)
	}
	clients.Credentials.WaitForSyncOrError(t.Context())
	if _, err := client.Resource(secrets).Namespace("ns").Create(t.Context(), secret("token", map[string]string{"t": "one"}).Unstructured(), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	expect := func(header string) {
		t.Helper()
		<-changes
		if endpoint, err := h.Client.Endpoint(); endpoint.Authorization != header || (err != nil) != (header == "") {
			t.Errorf("header %q, error %v, want %q", endpoint.Authorization, err, header)
		}
	}
	update := func(o *object.Object) {
		t.Helper()
		if _, err := client.Resource(secrets).Namespace("ns").Update(t.Context(), o.Unstructured(), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	expect("Bearer one")
	labeled := secret("token", map[string]string{"t": "one"})
	labeled.SetLabels(map[string]string{"a": "b"})
	update(labeled)
	update(secret("token", map[string]string{"t": "two"}))
	expect("Bearer two")
	if err := client.Resource(secrets).Namespace("ns").Delete(t.Context(), "token", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	expect("")
	if len(changes) > 0 {
		t.Error("a changed label was reported as a change of the content")
	}
}
