package build

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
	"metascript/controller/redact"
	"metascript/controller/references"
	"metascript/controller/spec"
)

// WebhookClients are what the webhooks of a controller have open while it runs: connections, the Secrets and ConfigMaps that
// they refer to, and metrics.
type WebhookClients struct {
	webhooks    []*hook.Webhook
	metrics     []*hook.Metrics
	Credentials *Credentials
	registry    prometheus.Registerer // nil: metrics are not registered
}

// Open begins to watch what the webhooks refer to.
func (l *WebhookClients) Open(watcher *references.Watcher, registry prometheus.Registerer) error {
	l.registry = registry
	return l.Credentials.watch(watcher)
}

// Register makes the metrics seen. Before it, those of the loop that was replaced must be gone.
func (l *WebhookClients) Register() error {
	var failed []error
	for _, m := range l.metrics {
		if l.registry != nil {
			failed = append(failed, l.registry.Register(m))
		}
	}
	return errors.Join(failed...)
}

// Problems says why webhooks cannot be called as things are.
func (l *WebhookClients) Problems() []string {
	var found []string
	hidden := redact.New()
	hidden.Add(l.Credentials.Secrets()...)
	for _, w := range l.webhooks {
		if w.Client.Endpoint == nil {
			continue
		}
		met, err := w.Client.Endpoint()
		if err = errors.Join(err, met.Check()); err != nil {
			found = append(found, fmt.Sprintf("webhook %s: %v", w.Address(), hidden.Error(err)))
		}
	}
	return found
}

// Close gives everything back.
func (l *WebhookClients) Close() {
	for _, m := range l.metrics {
		if l.registry != nil {
			l.registry.Unregister(m)
		}
	}
	for _, w := range l.webhooks {
		w.Close()
	}
	l.Credentials.close()
}

// webhook makes a hook that calls a server, and notes in loaded what it has open.
func (w *loading) webhook(name string, set *v1alpha1.Hook, loaded *Built) (hook.Hook, error) {
	at := fmt.Sprintf("hooks.%s.webhook", name)
	address, err := addressOf(set.Webhook)
	if errors.Is(err, errMalformed) {
		return malformedAddress(at, err, loaded), nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	if deref(set.Webhook.URL) != "" && set.Webhook.Service != nil {
		loaded.Warnings = append(loaded.Warnings, at+" has both url and service: url is used")
	}
	made := &hook.Webhook{URL: address, Version: VersionOf(set, nil), Answers: answersOf(set.Webhook.Etag)}
	made.Strict = cmp.Or(set.Webhook.ResponseUnmarshallMode, defaultModes[made.Version]) == v1alpha1.ResponseUnmarshallModeStrict
	made.Hold = cmp.Or(set.Webhook.MissingChildren, w.MissingChildren) == v1alpha1.MissingChildrenHold
	made.Room, made.Limit = w.room, w.Sandbox.Ceilings.Output
	if made.Answers != nil {
		made.Answers.Room = w.Cached
	}
	if size := set.Webhook.MaxResponseSize; size != nil && size.Value() > 0 {
		made.Limit = size.Value()
		loaded.Warnings = append(loaded.Warnings, w.excessive(at, made.Limit)...)
	}
	if timeout := set.Webhook.Timeout; timeout != nil {
		made.Timeout = timeout.Duration
	}
	settings, entry := settingsFor(set.Webhook, address, w.endpoints)
	if entry >= 0 {
		at = fmt.Sprintf("endpointConfigs[%d]", entry)
		w.usedEntries[entry] = true
	}
	if w.Before != nil {
		return w.Before.webhooks[name], nil
	}
	met, err := newEndpoint(settings, loaded.Clients.Credentials)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	metrics := hook.NewMetrics(name, w.labels(made))
	made.Client.Endpoint, made.Client.Wrap = met.now, metrics.Wrap
	loaded.Clients.webhooks = append(loaded.Clients.webhooks, made)
	loaded.webhooks[name] = made
	loaded.Clients.metrics = append(loaded.Clients.metrics, metrics)
	return made, nil
}

// excessive says that a webhook may not answer with as much as it is allowed to.
func (w *loading) excessive(at string, limit int64) []string {
	if w.room == nil || limit <= w.room.Size() {
		return nil
	}
	return []string{fmt.Sprintf("%s.maxResponseSize is %s, above what all answers in flight may have together, which counts: --webhook-memory=%s", at, showBytes(limit), showBytes(w.room.Size()))}
}

// labels are those of a webhook's metrics.
func (w *loading) labels(of *hook.Webhook) prometheus.Labels {
	kind, name, _ := strings.Cut(w.owner, "/")
	return prometheus.Labels{"url": of.Address(), "controller_name": name, "controller_type": kind}
}

// unusedEntries lists the endpointConfigs that are of no webhook.
func (w *loading) unusedEntries() []string {
	var found []string
	for i, entry := range w.endpoints {
		if !w.usedEntries[i] {
			found = append(found, fmt.Sprintf("endpointConfigs[%d] has no effect: no webhook at %s takes its settings from it", i, entry.Host))
		}
	}
	return found
}

// defaultModes say how strictly a webhook's answer is read when it does not say.
var defaultModes = map[string]v1alpha1.ResponseUnmarshallMode{
	hook.V1: v1alpha1.ResponseUnmarshallModeLoose,
	hook.V2: v1alpha1.ResponseUnmarshallModeStrict,
}

// errMalformed says that a URL cannot be called.
var errMalformed = errors.New("its URL must be http:// or https://, a host and a path")

// addressOf gives a webhook's URL. An error does not show it, since a password may be in it.
func addressOf(w *v1alpha1.Webhook) (string, error) {
	address := deref(w.URL)
	if address == "" {
		if w.Service == nil || deref(w.Path) == "" {
			return "", errors.New("give it a url, or a service and a path")
		}
		address = serviceURL(w.Service) + *w.Path
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || defaultPorts[u.Scheme] == "" {
		return "", errMalformed
	}
	return address, nil
}

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

// answersOf keeps answers if that is asked for.
func answersOf(etag *v1alpha1.WebhookEtagConfig) *hook.Answers {
	if etag == nil || !spec.IsTrue(etag.Enabled) {
		return nil
	}
	return hook.NewAnswers(seconds(etag.CacheTimeoutSeconds), seconds(etag.CacheCleanupSeconds))
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
