package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// ResourceRule names a resource of the API server at one version.
type ResourceRule struct {
	// apiVersion is the API group and version of the resource, such as apps/v1, or
	// v1 for the core group.
	APIVersion string `json:"apiVersion"`

	// resource is the plural name of the resource in lower case, such as
	// deployments.
	Resource string `json:"resource"`
}

// ChildUpdateMethod is how objects are updated that differ from what the hook
// returned.
//
// +kubebuilder:validation:Enum=OnDelete;Recreate;InPlace;RollingRecreate;RollingInPlace
type ChildUpdateMethod string

// The values of ChildUpdateMethod.
const (
	ChildUpdateOnDelete        ChildUpdateMethod = "OnDelete"
	ChildUpdateRecreate        ChildUpdateMethod = "Recreate"
	ChildUpdateInPlace         ChildUpdateMethod = "InPlace"
	ChildUpdateRollingRecreate ChildUpdateMethod = "RollingRecreate"
	ChildUpdateRollingInPlace  ChildUpdateMethod = "RollingInPlace"
)

// HookVersion defines by which keys a hook gets objects, and how strictly the
// server checks its answer.
//
// +kubebuilder:validation:Enum=v1;v2
type HookVersion string

// The values of HookVersion.
const (
	HookVersionV1 HookVersion = "v1"
	HookVersionV2 HookVersion = "v2"
)

// Hook defines what answers: a webhook, a script, or a script with a webhook
// as its fallback.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fallback) || (has(self.script) && has(self.webhook))",fieldPath=".fallback",message="fallback can only be set together with script and webhook: it says when the webhook is called instead of the script"
type Hook struct {
	// version defines the keys of the objects that the hook gets. v1: the key is
	// the name, or namespace/name for namespaced objects of a cluster-scoped
	// parent. v2: the key is namespace/name for every namespaced object, and
	// customize can select objects of all namespaces. Defaults to v1.
	//
	// +kubebuilder:default=v1
	Version HookVersion `json:"version,omitempty"`

	// webhook is the HTTP server that answers. If the hook also has a script, the
	// webhook answers only in the cases that fallback defines.
	Webhook *Webhook `json:"webhook,omitempty"`

	// script is the script that answers. It has a source of its own, or it is a
	// function of spec.script: the one that function names, or the one with the
	// name of the hook. If it is not set, the webhook answers.
	Script *HookScript `json:"script,omitempty"`

	// fallback defines when the webhook answers in place of the script, for a hook
	// that has both. Never: the webhook is not used. OnUnavailable: while the
	// script is not loaded, times out or exceeds a limit. OnError: also while the
	// script fails because of a bug, but not when it fails on purpose to report
	// wrong input. The server switches for all parents at once. It switches back
	// when the script changes, or when a probe call of the script, every few
	// minutes, succeeds. Defaults to OnUnavailable.
	Fallback Fallback `json:"fallback,omitempty"`
}

// Fallback defines when the webhook of a hook answers in place of its script.
//
// +kubebuilder:validation:Enum=Never;OnUnavailable;OnError
type Fallback string

// The values of Fallback.
const (
	FallbackNever         Fallback = "Never"
	FallbackOnUnavailable Fallback = "OnUnavailable"
	FallbackOnError       Fallback = "OnError"
)

// UncalledHook is a hook that is accepted but never called. It has no field
// script, so that nobody writes a script that never runs.
type UncalledHook struct {
	// version is the same field as in the other hooks. It has no effect.
	//
	// +kubebuilder:default=v1
	Version HookVersion `json:"version,omitempty"`

	// webhook is the same field as in the other hooks. It has no effect.
	Webhook *Webhook `json:"webhook,omitempty"`
}

// Webhook is an HTTP server that gets the requests of a hook as JSON, with the
// method POST.
type Webhook struct {
	// url is the full URL, such as http://catset.metacontroller/sync. It takes
	// precedence over service and path. Either url, or service and path, must be
	// set.
	URL *string `json:"url,omitempty"`

	// path is the path of the URL for service, such as /sync. It is ignored if url
	// is set.
	Path *string `json:"path,omitempty"`

	// service is the Service that is called. It is ignored if url is set.
	Service *ServiceReference `json:"service,omitempty"`

	// timeout is how long one call may take, as a duration such as 500ms, 10s or
	// 1m30s. Defaults to 10s, also if it is zero or negative.
	//
	// +kubebuilder:validation:Format=duration
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// etag makes the server cache answers, and reuse a cached answer while the
	// webhook reports, by its ETag, that it did not change. Defaults to no cache.
	Etag *WebhookEtagConfig `json:"etag,omitempty"`

	// responseUnMarshallMode defines how an answer is decoded. loose: unknown
	// fields are ignored. strict: unknown and duplicate fields are errors.
	// Defaults to loose for version v1 and to strict for v2.
	ResponseUnmarshallMode ResponseUnmarshallMode `json:"responseUnMarshallMode,omitempty"`

	// maxResponseSize is the maximum size of an answer as JSON, after gzip
	// decompression, as a quantity such as 64Mi. Defaults to the server's flag
	// --max-script-output (16Mi unless the flag is set), also if it is zero or
	// negative. The flag --webhook-memory (128Mi unless it is set) limits all
	// answers in flight together.
	MaxResponseSize *resource.Quantity `json:"maxResponseSize,omitempty"`

	// missingChildren defines what an answer means in which children (for a
	// decorator: attachments) are missing or null, while some exist. Delete: all
	// of them are deleted, as in Metacontroller. Hold: it is an error, and nothing
	// changes; to delete them, the webhook must return an empty list. For a
	// customize hook, the rule applies to relatedResources. Defaults to the
	// server's flag --missing-children, which is Delete unless it is set.
	MissingChildren MissingChildren `json:"missingChildren,omitempty"`

	// caBundle holds the certificates that verify the certificate of the HTTP
	// server, for https. Defaults to the system's root certificates.
	CABundle *CABundle `json:"caBundle,omitempty"`

	// clientTLS is the client certificate, for an HTTP server that requests one.
	// Defaults to none.
	ClientTLS *ClientTLS `json:"clientTLS,omitempty"`

	// authorization is a credential that is sent in the Authorization header of
	// every request. It cannot be set together with basicAuth. Defaults to none.
	Authorization *Authorization `json:"authorization,omitempty"`

	// basicAuth is a user name and a password that are sent with every request. It
	// cannot be set together with authorization. Defaults to none.
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`
}

// ServiceReference names a Service. It is called at
// protocol://name.namespace:port.
type ServiceReference struct {
	// name is the name of the Service.
	Name string `json:"name"`

	// namespace is the namespace of the Service.
	Namespace string `json:"namespace"`

	// port is the port of the Service. Defaults to 80.
	Port *int32 `json:"port,omitempty"`

	// protocol is http or https. Defaults to http.
	Protocol *string `json:"protocol,omitempty"`
}

// WebhookEtagConfig defines whether answers are cached with their ETag, and
// for how long.
type WebhookEtagConfig struct {
	// enabled turns the cache on. Defaults to false.
	Enabled *bool `json:"enabled,omitempty"`

	// cacheTimeoutSeconds is how long an answer is cached, in seconds. Defaults to
	// 3600, one hour.
	CacheTimeoutSeconds *int32 `json:"cacheTimeoutSeconds,omitempty"`

	// cacheCleanupSeconds is the interval, in seconds, at which expired answers
	// are removed from the cache. Defaults to 600, ten minutes.
	CacheCleanupSeconds *int32 `json:"cacheCleanupSeconds,omitempty"`
}

// ResponseUnmarshallMode defines how the answer of a webhook is decoded.
//
// +kubebuilder:validation:Enum=loose;strict
type ResponseUnmarshallMode string

// The values of ResponseUnmarshallMode.
const (
	ResponseUnmarshallModeLoose  ResponseUnmarshallMode = "loose"
	ResponseUnmarshallModeStrict ResponseUnmarshallMode = "strict"
)

// MissingChildren defines what the answer of a webhook without a list of
// children means.
//
// +kubebuilder:validation:Enum=Delete;Hold
type MissingChildren string

// The values of MissingChildren.
const (
	MissingChildrenDelete MissingChildren = "Delete"
	MissingChildrenHold   MissingChildren = "Hold"
)

// EndpointConfig holds connection settings for the webhooks of one host.
type EndpointConfig struct {
	// host is the host, or host:port, such as catset.metacontroller or
	// catset.metacontroller:8443. It is not case-sensitive. Without a port, it is
	// the default port of the protocol. The host of a webhook with a service is
	// name.namespace.
	Host string `json:"host"`

	// caBundle holds the certificates that verify the certificate of the HTTP
	// server, for https. Defaults to the system's root certificates.
	CABundle *CABundle `json:"caBundle,omitempty"`

	// clientTLS is the client certificate, for an HTTP server that requests one.
	// Defaults to none.
	ClientTLS *ClientTLS `json:"clientTLS,omitempty"`

	// authorization is a credential that is sent in the Authorization header of
	// every request. It cannot be set together with basicAuth. Defaults to none.
	Authorization *Authorization `json:"authorization,omitempty"`

	// basicAuth is a user name and a password that are sent with every request. It
	// cannot be set together with authorization. Defaults to none.
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`
}

// CABundle holds the certificates that verify the certificate of an HTTP
// server. Exactly one of its fields must be set.
type CABundle struct {
	// inline is the certificates themselves, in PEM format.
	Inline *string `json:"inline,omitempty"`

	// secretRef is a key of a Secret that holds the certificates, in PEM format.
	SecretRef *ResourceKeyRef `json:"secretRef,omitempty"`

	// configMapRef is a key of a ConfigMap that holds the certificates, in PEM
	// format.
	ConfigMapRef *ResourceKeyRef `json:"configMapRef,omitempty"`
}

// ResourceKeyRef selects a key of a Secret or ConfigMap that holds
// certificates.
type ResourceKeyRef struct {
	// name is the name of the Secret or ConfigMap.
	Name string `json:"name"`

	// namespace is the namespace of the Secret or ConfigMap.
	Namespace string `json:"namespace"`

	// key is the key to select. Defaults to ca.crt.
	//
	// +kubebuilder:default=ca.crt
	Key string `json:"key,omitempty"`
}

// ClientTLS selects a client certificate.
type ClientTLS struct {
	// secretRef is the Secret that holds both the certificate and its private key.
	SecretRef SecretRef `json:"secretRef"`

	// certKey is the key of the Secret that holds the certificate, in PEM format.
	// Defaults to tls.crt.
	//
	// +kubebuilder:default=tls.crt
	CertKey string `json:"certKey,omitempty"`

	// privateKeyKey is the key of the Secret that holds the private key, in PEM
	// format. Defaults to tls.key.
	//
	// +kubebuilder:default=tls.key
	PrivateKeyKey string `json:"privateKeyKey,omitempty"`
}

// Authorization selects the credential for the Authorization header.
type Authorization struct {
	// type is the authentication scheme, which is sent before the credential, such
	// as Bearer or Token. For the scheme Basic, use basicAuth. Defaults to Bearer.
	//
	// +kubebuilder:default=Bearer
	Type string `json:"type,omitempty"`

	// secretRef is the key of a Secret that holds the credential.
	SecretRef SecretKeyRef `json:"secretRef"`
}

// BasicAuth selects a user name and a password.
type BasicAuth struct {
	// secretRef is the Secret that holds both.
	SecretRef SecretRef `json:"secretRef"`

	// usernameKey is the key of the Secret that holds the user name. Defaults to
	// username.
	//
	// +kubebuilder:default=username
	UsernameKey string `json:"usernameKey,omitempty"`

	// passwordKey is the key of the Secret that holds the password. Defaults to
	// password.
	//
	// +kubebuilder:default=password
	PasswordKey string `json:"passwordKey,omitempty"`
}

// SecretRef names a Secret.
type SecretRef struct {
	// name is the name of the Secret.
	Name string `json:"name"`

	// namespace is the namespace of the Secret.
	Namespace string `json:"namespace"`
}

// SecretKeyRef selects a key of a Secret.
type SecretKeyRef struct {
	// name is the name of the Secret.
	Name string `json:"name"`

	// namespace is the namespace of the Secret.
	Namespace string `json:"namespace"`

	// key is the key to select.
	Key string `json:"key"`
}
