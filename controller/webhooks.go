package controller

import (
	"cmp"
	"fmt"
	"net/http"

	"metascript/controller/api/v1alpha1"
	"metascript/controller/hook"
)

// webhook makes a hook that calls a server. A url beside a service wins, as in Metacontroller.
func webhook(name string, set *v1alpha1.Hook) (hook.Hook, string, error) {
	w := set.Webhook
	if what := unsupportedWebhook(w); what != "" {
		return nil, "", unsupported(fmt.Sprintf("hooks.%s.webhook.%s", name, what))
	}
	made := &hook.Webhook{URL: deref(w.URL), Version: versionOf(set, nil), Client: webhookClient}
	made.Strict = cmp.Or(w.ResponseUnmarshallMode, defaultModes[made.Version]) == v1alpha1.ResponseUnmarshallModeStrict
	if w.Timeout != nil {
		made.Timeout = w.Timeout.Duration
	}
	switch {
	case made.URL != "" && w.Service != nil:
		return made, fmt.Sprintf("hooks.%s.webhook has both url and service: url is used", name), nil
	case made.URL != "":
		return made, "", nil
	case w.Service == nil || deref(w.Path) == "":
		return nil, "", fmt.Errorf("hooks.%s.webhook: give it a url, or a service and a path", name)
	}
	made.URL = serviceURL(w.Service) + *w.Path
	return made, "", nil
}

// defaultModes say how strictly a webhook's answer is read when it does not say.
var defaultModes = map[string]v1alpha1.ResponseUnmarshallMode{
	hook.V1: v1alpha1.ResponseUnmarshallModeLoose,
	hook.V2: v1alpha1.ResponseUnmarshallModeStrict,
}

// webhookClient keeps as many connections to a server as there may be calls to it at a time.
var webhookClient = func() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = 100
	return &http.Client{Transport: transport}
}()

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
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

func unsupportedWebhook(w *v1alpha1.Webhook) string {
	switch {
	case w.Etag != nil && isTrue(w.Etag.Enabled):
		return "etag"
	case w.CABundle != nil:
		return "caBundle"
	case w.ClientTLS != nil:
		return "clientTLS"
	case w.Authorization != nil:
		return "authorization"
	case w.BasicAuth != nil:
		return "basicAuth"
	}
	return ""
}
