package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A ResourceRule names a resource of the API server at one version.
type ResourceRule struct {
	// The API group and version of the resource, such as apps/v1, or v1 for the
	// core group.
	APIVersion string `json:"apiVersion"`

	// The plural name of the resource in lower case, such as deployments.
	Resource string `json:"resource"`
}

// A ChildUpdateMethod says how objects that differ from what the hook wants
// are brought there.
//
// +kubebuilder:validation:Enum=OnDelete;Recreate;InPlace;RollingRecreate;RollingInPlace
type ChildUpdateMethod string

// The update methods.
const (
	ChildUpdateOnDelete        ChildUpdateMethod = "OnDelete"
	ChildUpdateRecreate        ChildUpdateMethod = "Recreate"
	ChildUpdateInPlace         ChildUpdateMethod = "InPlace"
	ChildUpdateRollingRecreate ChildUpdateMethod = "RollingRecreate"
	ChildUpdateRollingInPlace  ChildUpdateMethod = "RollingInPlace"
)

// A HookVersion says in which form a hook gets objects and how strictly its
// answer is read.
//
// +kubebuilder:validation:Enum=v1;v2
type HookVersion string

// The hook versions.
const (
	HookVersionV1 HookVersion = "v1"
	HookVersionV2 HookVersion = "v2"
)

// A Hook says who answers: a webhook, a script, or a script with a webhook to
// fall back on.
//
// +kubebuilder:validation:XValidation:rule="!has(self.fallback) || (has(self.script) && has(self.webhook))",fieldPath=".fallback",message="fallback says when the webhook beside a script answers: a hook that has it needs both script and webhook"
type Hook struct {
	// In which form the hook gets objects. v1 keys them by name, or by
	// namespace/name when a namespaced object is sent for a cluster-scoped one; v2
	// keys every namespaced object by namespace/name, and customize may select
	// across namespaces. v1 when absent.
	//
	// +kubebuilder:default=v1
	Version HookVersion `json:"version,omitempty"`

	// The HTTP server that answers. Beside a script it answers only when fallback
	// says so.
	Webhook *Webhook `json:"webhook,omitempty"`

	// The script that answers: a source of this hook's own, or with function alone
	// (or nothing) a function of spec.script. When absent, the webhook answers.
	Script *HookScript `json:"script,omitempty"`

	// When the webhook answers in place of the script, for a hook that has both.
	// Never: not at all. OnUnavailable: while the script is not loaded, times out
	// or breaks a limit. OnError: also while it fails by mistake, but not when it
	// fails on purpose to say that its input is wrong. The switch is for all
	// parents at once; back it goes when the script changes or a trial every few
	// minutes succeeds. OnUnavailable when absent.
	Fallback Fallback `json:"fallback,omitempty"`
}

// Fallback says when the webhook beside a script answers in its place.
//
// +kubebuilder:validation:Enum=Never;OnUnavailable;OnError
type Fallback string

// The fallbacks.
const (
	FallbackNever         Fallback = "Never"
	FallbackOnUnavailable Fallback = "OnUnavailable"
	FallbackOnError       Fallback = "OnError"
)

// An UncalledHook is one that objects may have and that is never called. It
// takes no script, so that nobody writes one in vain.
type UncalledHook struct {
	// As in the other hooks, and without effect.
	//
	// +kubebuilder:default=v1
	Version HookVersion `json:"version,omitempty"`

	// As in the other hooks, and without effect.
	Webhook *Webhook `json:"webhook,omitempty"`
}

// A Webhook is an HTTP server that a hook's requests are posted to, as JSON.
type Webhook struct {
	// The full URL, such as http://catset.metacontroller/sync. It goes before
	// service and path. One of url and service is needed.
	URL *string `json:"url,omitempty"`

	// The path that is appended to the address of service, such as /sync. Ignored
	// beside url.
	Path *string `json:"path,omitempty"`

	// The Service whose address is called. Ignored beside url.
	Service *ServiceReference `json:"service,omitempty"`

	// How long one call may take, as a duration such as 500ms, 10s or 1m30s. 10s
	// when absent, and for zero and below.
	//
	// +kubebuilder:validation:Format=duration
	Timeout *metav1.Duration `json:"timeout,omitempty"`

	// Whether answers are remembered and asked for again only if the server's ETag
	// says that they changed. Off when absent.
	Etag *WebhookEtagConfig `json:"etag,omitempty"`

	// How an answer is read: loose ignores fields it does not know, strict refuses
	// them, and fields that occur twice. When absent, loose for version v1 and
	// strict for v2.
	ResponseUnmarshallMode ResponseUnmarshallMode `json:"responseUnMarshallMode,omitempty"`

	// How large an answer may be as JSON, as a quantity such as 64Mi, unpacked
	// if it is sent with gzip. All answers in flight together have the server's
	// --webhook-memory, 128Mi unless it is set. When absent, or zero and below,
	// the server's --max-script-output, 16Mi unless it is set.
	MaxResponseSize *resource.Quantity `json:"maxResponseSize,omitempty"`

	// What an answer means whose children (a decorator's attachments) are
	// missing or null, while there are some. Delete: all of them are deleted, as
	// by Metacontroller. Hold: it is an error, nothing changes, and the webhook
	// has to answer with an empty list to have them deleted; of a customize hook
	// the list is relatedResources. When absent, the server's flag
	// --missing-children, which is Delete when it is not set.
	MissingChildren MissingChildren `json:"missingChildren,omitempty"`

	// Certificates by which the server is verified, for https. The system's root
	// certificates when absent.
	CABundle *CABundle `json:"caBundle,omitempty"`

	// The certificate that is shown to a server that asks for one. None when
	// absent.
	ClientTLS *ClientTLS `json:"clientTLS,omitempty"`

	// A credential for the Authorization header of every request. Not beside
	// basicAuth. None when absent.
	Authorization *Authorization `json:"authorization,omitempty"`

	// A user name and password that are sent with every request. Not beside
	// authorization. None when absent.
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`
}

// A ServiceReference names a Service, which is called at
// protocol://name.namespace:port.
type ServiceReference struct {
	// The name of the Service.
	Name string `json:"name"`

	// The namespace of the Service.
	Namespace string `json:"namespace"`

	// The port of the Service. 80 when absent.
	Port *int32 `json:"port,omitempty"`

	// http or https. http when absent.
	Protocol *string `json:"protocol,omitempty"`
}

// A WebhookEtagConfig says whether and how long a webhook's answers are
// remembered by their ETag.
type WebhookEtagConfig struct {
	// Whether answers are remembered. False when absent.
	Enabled *bool `json:"enabled,omitempty"`

	// How long an answer is remembered, in seconds. An hour when absent.
	CacheTimeoutSeconds *int32 `json:"cacheTimeoutSeconds,omitempty"`

	// How often answers that are older are thrown away, in seconds. Ten minutes
	// when absent.
	CacheCleanupSeconds *int32 `json:"cacheCleanupSeconds,omitempty"`
}

// A ResponseUnmarshallMode says how a webhook's answer is read.
//
// +kubebuilder:validation:Enum=loose;strict
type ResponseUnmarshallMode string

// The unmarshal modes.
const (
	ResponseUnmarshallModeLoose  ResponseUnmarshallMode = "loose"
	ResponseUnmarshallModeStrict ResponseUnmarshallMode = "strict"
)

// MissingChildren says what a webhook's answer without a list of children means.
//
// +kubebuilder:validation:Enum=Delete;Hold
type MissingChildren string

// What an answer without children means.
const (
	MissingChildrenDelete MissingChildren = "Delete"
	MissingChildrenHold   MissingChildren = "Hold"
)

// An EndpointConfig holds connection settings for the webhooks at one host.
type EndpointConfig struct {
	// The host, or host:port, such as catset.metacontroller or
	// catset.metacontroller:8443; upper and lower case are the same, and so are
	// the protocol's own port and none. A webhook with a service is at
	// name.namespace.
	Host string `json:"host"`

	// Certificates by which the server is verified, for https. The system's root
	// certificates when absent.
	CABundle *CABundle `json:"caBundle,omitempty"`

	// The certificate that is shown to a server that asks for one. None when
	// absent.
	ClientTLS *ClientTLS `json:"clientTLS,omitempty"`

	// A credential for the Authorization header of every request. Not beside
	// basicAuth. None when absent.
	Authorization *Authorization `json:"authorization,omitempty"`

	// A user name and password that are sent with every request. Not beside
	// authorization. None when absent.
	BasicAuth *BasicAuth `json:"basicAuth,omitempty"`
}

// A CABundle says where the certificates are by which a server is verified:
// exactly one of its fields is set.
type CABundle struct {
	// The certificates themselves, in PEM.
	Inline *string `json:"inline,omitempty"`

	// A key of a Secret that holds them, in PEM.
	SecretRef *ResourceKeyRef `json:"secretRef,omitempty"`

	// A key of a ConfigMap that holds them, in PEM.
	ConfigMapRef *ResourceKeyRef `json:"configMapRef,omitempty"`
}

// A ResourceKeyRef names a key of a Secret or ConfigMap that holds
// certificates.
type ResourceKeyRef struct {
	// The name of the Secret or ConfigMap.
	Name string `json:"name"`

	// The namespace of the Secret or ConfigMap.
	Namespace string `json:"namespace"`

	// The key whose value is meant. ca.crt when absent.
	//
	// +kubebuilder:default=ca.crt
	Key string `json:"key,omitempty"`
}

// A ClientTLS says where the certificate is that is shown to a server that
// asks for one.
type ClientTLS struct {
	// The Secret that holds both the certificate and its private key.
	SecretRef SecretRef `json:"secretRef"`

	// The key of the Secret whose value is the certificate, in PEM. tls.crt when
	// absent.
	//
	// +kubebuilder:default=tls.crt
	CertKey string `json:"certKey,omitempty"`

	// The key of the Secret whose value is the private key, in PEM. tls.key when
	// absent.
	//
	// +kubebuilder:default=tls.key
	PrivateKeyKey string `json:"privateKeyKey,omitempty"`
}

// An Authorization says where the credential for the Authorization header is.
type Authorization struct {
	// The scheme that stands before the credential, such as Bearer or Token. Not
	// Basic, for which there is basicAuth. Bearer when absent.
	//
	// +kubebuilder:default=Bearer
	Type string `json:"type,omitempty"`

	// The key of a Secret whose value is the credential.
	SecretRef SecretKeyRef `json:"secretRef"`
}

// A BasicAuth says where a user name and password are.
type BasicAuth struct {
	// The Secret that holds both.
	SecretRef SecretRef `json:"secretRef"`

	// The key of the Secret whose value is the user name. username when absent.
	//
	// +kubebuilder:default=username
	UsernameKey string `json:"usernameKey,omitempty"`

	// The key of the Secret whose value is the password. password when absent.
	//
	// +kubebuilder:default=password
	PasswordKey string `json:"passwordKey,omitempty"`
}

// A SecretRef names a Secret.
type SecretRef struct {
	// The name of the Secret.
	Name string `json:"name"`

	// The namespace of the Secret.
	Namespace string `json:"namespace"`
}

// A SecretKeyRef names a key of a Secret.
type SecretKeyRef struct {
	// The name of the Secret.
	Name string `json:"name"`

	// The namespace of the Secret.
	Namespace string `json:"namespace"`

	// The key whose value is meant.
	Key string `json:"key"`
}
