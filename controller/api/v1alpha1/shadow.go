package v1alpha1

// ShadowScript is a candidate for spec.script.
type ShadowScript struct {
	// script is the candidate. A field that is not set, such as timeout, limits,
	// libraries or version, has the value of spec.script; only the source, which
	// is language, inline, modules, file and configMapRef, is never taken from
	// there. Scripts that hooks have of their own, and webhooks, stay as they are.
	Script ControllerScript `json:"script"`

	// share is the percentage of the parents for which the candidate is called,
	// such as 10%. It is always called for the same parents. Defaults to 100%.
	//
	// +kubebuilder:validation:MaxLength=4
	// +kubebuilder:validation:XValidation:rule="self.matches('^([1-9][0-9]?|100)%$')",message="share must be a whole percentage from 1% to 100%, such as 10%"
	Share string `json:"share,omitempty"`
}

// ShadowStatus says what came of comparing the candidate in spec.shadow. The
// numbers count from the time when this candidate or the script that runs was
// loaded, and begin again when the server restarts.
type ShadowStatus struct {
	// source is where the candidate came from: inline, file and its path, or
	// configMap and its namespace/name/key.
	Source string `json:"source,omitempty"`

	// digest is a digest of the candidate and of all that it can load: sha256: and
	// hexadecimal digits.
	Digest string `json:"digest,omitempty"`

	// parents is the number of parents for which the candidate was compared.
	Parents int64 `json:"parents"`

	// total is the number of parents for which the candidate is called: those of
	// the share.
	Total int64 `json:"total"`

	// comparisons is the number of comparisons: agree, differ and errors together.
	Comparisons int64 `json:"comparisons"`

	// agree is the number of comparisons in which both scripts answered the same.
	Agree int64 `json:"agree"`

	// differ is the number of comparisons in which the answers were different.
	Differ int64 `json:"differ"`

	// errors is the number of comparisons in which the candidate failed, and the
	// script that runs did not.
	Errors int64 `json:"errors"`

	// dropped is the number of syncs that were not compared, because the candidate
	// takes too long to keep up, or because it exceeds a limit for the parent.
	Dropped int64 `json:"dropped"`
}
