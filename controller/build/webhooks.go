package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/etags"
	"metascript/controller/hook"
	"metascript/controller/metrics"
	"metascript/controller/object"
	"metascript/controller/reach"
	"metascript/controller/redact"
	"metascript/controller/references"
	"metascript/controller/spec"
)

// WebhookClients are what the webhooks of a controller need while it runs: connections, credentials and metrics. They are
// used in this order: Open, Register, Close.
type WebhookClients struct {
	// Credentials are the Secrets and ConfigMaps that the webhooks refer to.
	Credentials *Credentials

	webhooks []*hook.Webhook
	metrics  []*metrics.Webhook
	tenant   *reach.Tenant         // of the webhooks; nil if nothing is limited
	registry prometheus.Registerer // nil if metrics are not registered
}

// A Reader reads for a controller, with the permissions of its account.
type Reader struct {
	Permit func(references.Object) error                                       // returns an error if the controller may not read one of the credentials; it is called before each use
	Get    func(ctx context.Context, o *object.Object) (*object.Object, error) // reads an object from the API server
}

// Open starts to watch the credentials. If registry is nil, metrics are not registered.
func (c *WebhookClients) Open(watcher *references.Watcher, registry prometheus.Registerer, reader Reader) error {
	c.registry = registry
	c.Credentials.permit = reader.Permit
	if c.tenant != nil {
		c.tenant.Service = servicesOf(c.tenant.Namespace, reader.Get)
	}
	return c.Credentials.watch(watcher)
}

// servicesOf returns a function that reads the addresses of a Service in a namespace whose Pods are in it too: one with a selector, which is
// no alias of another host.
func servicesOf(namespace string, get func(context.Context, *object.Object) (*object.Object, error)) func(context.Context, string) ([]netip.Addr, error) {
	return func(ctx context.Context, name string) ([]netip.Addr, error) {
		found, err := get(ctx, object.New(map[string]any{"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": name, "namespace": namespace}}))
		if err != nil {
			return nil, fmt.Errorf("read the Service %s/%s: %w", namespace, name, err)
		}
		var service corev1.Service
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(found.Map(), &service); err != nil {
			return nil, fmt.Errorf("read the Service %s/%s: %w", namespace, name, err)
		}
		if service.Spec.Type == corev1.ServiceTypeExternalName || len(service.Spec.Selector) == 0 {
			return nil, fmt.Errorf("the Service %s/%s has no selector, so that what responds may be anywhere", namespace, name)
		}
		var addresses []netip.Addr
		for _, text := range service.Spec.ClusterIPs {
			if address, err := netip.ParseAddr(text); err == nil {
				addresses = append(addresses, address)
			}
		}
		return addresses, nil
	}
}

// Register registers the metrics. The WebhookClients of the Reconciler that was replaced must be closed before, since their
// metrics have the same names and labels.
func (c *WebhookClients) Register() error {
	var failed []error
	for _, m := range c.metrics {
		if c.registry != nil {
			failed = append(failed, c.registry.Register(m))
		}
	}
	return errors.Join(failed...)
}

// Problems returns why webhooks cannot be called at the moment, for example because a Secret does not exist. It hides the
// content of Secrets.
func (c *WebhookClients) Problems() []string {
	var found []string
	redactor := redact.New()
	redactor.Add(c.Credentials.Secrets()...)
	for _, w := range c.webhooks {
		if w.Client.Endpoint == nil {
			continue
		}
		current, err := w.Client.Endpoint()
		if err = errors.Join(err, current.Check()); err != nil {
			found = append(found, fmt.Sprintf("webhook %s: %v", w.Address(), redactor.Error(err)))
		}
	}
	return found
}

// Close unregisters the metrics, closes the connections and ends the watches.
func (c *WebhookClients) Close() {
	for _, m := range c.metrics {
		if c.registry != nil {
			c.registry.Unregister(m)
		}
	}
	for _, w := range c.webhooks {
		w.Close()
	}
	c.Credentials.close()
}

// webhook makes a hook that is a webhook, and adds its client to built.Clients. If Before is set, it returns the webhook in
// Before.
func (w *building) webhook(name string, set *v1alpha1.Hook) (hook.Hook, error) {
	path := fmt.Sprintf("hooks.%s.webhook", name)
	address, err := addressOf(set.Webhook)
	if malformed := malformedError(""); errors.As(err, &malformed) {
		return w.malformedURL(path, err), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	w.warnWebhook(path, set.Webhook)
	settings, entry := settingsFor(set.Webhook, address, w.declaration.EndpointConfigs)
	if entry >= 0 {
		path = fmt.Sprintf("endpointConfigs[%d]", entry)
		w.usedEntries[entry] = true
	}
	if w.Before != nil {
		return w.Before.webhooks[name], nil
	}
	connection, err := newEndpoint(settings, w.built.Clients.Credentials)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	made := w.newWebhook(set, address)
	made.Client.Tenant = w.built.Clients.tenant
	counts := metrics.NewWebhook(name, w.labels(made))
	made.Client.Endpoint, made.Client.Wrap = connection.current, counts.Wrap
	w.built.webhooks[name] = made
	w.built.Clients.webhooks = append(w.built.Clients.webhooks, made)
	w.built.Clients.metrics = append(w.built.Clients.metrics, counts)
	return made, nil
}

// newWebhook makes a webhook without its connection settings.
func (w *building) newWebhook(set *v1alpha1.Hook, address string) *hook.Webhook {
	made := &hook.Webhook{URL: address, Version: VersionOf(set, nil), Cache: responseCacheOf(set.Webhook.Etag)}
	made.Strict = cmp.Or(set.Webhook.ResponseUnmarshallMode, defaultModes[made.Version]) == v1alpha1.ResponseUnmarshallModeStrict
	made.RefuseMissing = cmp.Or(set.Webhook.MissingChildren, w.MissingChildren) == v1alpha1.MissingChildrenHold
	made.InFlight, made.Limit = w.inFlight, w.Sandbox.Ceilings.Output
	if limit, isSet := maxResponseSize(set.Webhook); isSet {
		made.Limit = limit
	}
	if made.Cache != nil {
		made.Cache.Budget = w.Cached
	}
	if timeout := set.Webhook.Timeout; timeout != nil {
		made.Timeout = timeout.Duration
	}
	return made
}

// warnWebhook adds warnings about the settings of a webhook. path is where it is in the spec.
func (w *building) warnWebhook(path string, set *v1alpha1.Webhook) {
	if deref(set.URL) != "" && set.Service != nil {
		w.warn(path + " has both url and service: url is used")
	}
	if limit, isSet := maxResponseSize(set); isSet && w.inFlight != nil && limit > w.inFlight.Size() {
		w.warn(fmt.Sprintf("%s.maxResponseSize is %s, above the maximum for all answers in flight together, which is used instead: --webhook-memory=%s", path, showBytes(limit), showBytes(w.inFlight.Size())))
	}
}

// maxResponseSize returns the limit in bytes that a webhook sets for its responses, and whether it sets one.
func maxResponseSize(set *v1alpha1.Webhook) (limit int64, isSet bool) {
	limit = bytesOf(set.MaxResponseSize)
	return limit, limit > 0
}

// labels returns the labels of a webhook's metrics.
func (w *building) labels(of *hook.Webhook) prometheus.Labels {
	kind, name, _ := strings.Cut(w.owner, "/")
	return prometheus.Labels{"url": of.Address(), "controller_name": name, "controller_type": kind}
}

// unusedEntries returns a warning for each of the endpointConfigs that applies to no webhook.
func (w *building) unusedEntries() []string {
	var warnings []string
	for i, entry := range w.declaration.EndpointConfigs {
		if !w.usedEntries[i] {
			warnings = append(warnings, fmt.Sprintf("endpointConfigs[%d] has no effect: no webhook at %s takes its settings from it", i, entry.Host))
		}
	}
	return warnings
}

// defaultModes are the defaults of responseUnMarshallMode, by the protocol version.
var defaultModes = map[string]v1alpha1.ResponseUnmarshallMode{
	hook.V1: v1alpha1.ResponseUnmarshallModeLoose,
	hook.V2: v1alpha1.ResponseUnmarshallModeStrict,
}

// A malformedError says why a URL cannot be called.
type malformedError string

func (e malformedError) Error() string { return string(e) }

const (
	noURL      malformedError = "its URL must be http:// or https://, a host and a path"
	noScheme   malformedError = noURL + ": it has no http:// or https://"
	noSlash    malformedError = "its path must begin with /"
	noBrackets malformedError = noURL + ": an IPv6 address needs brackets, such as http://[::1]:8080/sync"
)

// unbracketed matches a URL whose host is an IPv6 address without brackets.
var unbracketed = regexp.MustCompile(`^https?://[0-9a-fA-F]*:[0-9a-fA-F]*:[0-9a-fA-F:.]*(/|$)`)

// addressOf returns the URL of a webhook. An error does not show the URL, since it may contain a password.
func addressOf(w *v1alpha1.Webhook) (string, error) {
	address := deref(w.URL)
	if address == "" {
		switch {
		case w.Service == nil && deref(w.Path) == "":
			return "", errors.New("it has no url: set url, or service and path")
		case w.Service == nil:
			return "", errors.New("it has a path and no service: set service, with name and namespace, or url")
		case deref(w.Path) == "":
			return "", errors.New("it has a service and no path: set path, such as /sync")
		}
		address = serviceURL(w.Service) + *w.Path
	}
	u, err := url.Parse(address)
	switch {
	case err == nil && u.Host != "" && defaultPorts[u.Scheme] != "":
		return address, nil
	case deref(w.URL) == "" && !strings.HasPrefix(*w.Path, "/"):
		return "", noSlash
	case !strings.Contains(address, "://"):
		return "", noScheme
	case err != nil && unbracketed.MatchString(address):
		return "", noBrackets
	}
	return "", noURL
}

// serviceURL returns the URL of a Service without a path. The defaults are http and port 80.
func serviceURL(s *v1alpha1.ServiceReference) string {
	port, protocol := int32(80), "http"
	if s.Port != nil {
		port = *s.Port
	}
	if deref(s.Protocol) != "" {
		protocol = *s.Protocol
	}
	return fmt.Sprintf("%s://%s.%s:%d", protocol, s.Name, s.Namespace, port)
}

// responseCacheOf returns the cache of responses by ETag, or nil if it is not enabled.
func responseCacheOf(etag *v1alpha1.WebhookEtagConfig) *etags.Cache {
	if etag == nil || !spec.IsTrue(etag.Enabled) {
		return nil
	}
	return etags.New(seconds(etag.CacheTimeoutSeconds), seconds(etag.CacheCleanupSeconds))
}

// tagged computes Hooks.Tagged.
func (w *building) tagged() bool {
	sync, isWebhook := w.built.Sync.(*hook.Webhook)
	return isWebhook && sync.Cache != nil && !w.AlwaysResync
}

func seconds(n *int32) time.Duration {
	if n == nil {
		return 0
	}
	return time.Duration(*n) * time.Second
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
