// Package validation says offline what an API server would say to an object, given the object's
// CustomResourceDefinition: unknown fields, violations of the schema, and rules in CEL, with the same code
// that the API server runs.
//
// Make a [Validator] with [New] and keep it, since compiling a schema and its rules takes far longer than
// asking; then call [Validator.Validate] for what is wrong with an object and [Validator.Default] for what
// the API server would store of it.
//
// It answers as if the object were created with kubectl, with two differences. An unknown field is an error,
// with the name that was probably meant, although the API server may drop it with a warning. And status is
// looked at too, as if it were written through its subresource afterwards, so that the objects of a dry run,
// which have one, are looked at as a whole.
//
// The kinds of Kubernetes itself have no CustomResourceDefinition. Make their Validators with [NewBuiltin], from the OpenAPI
// schemas that the API server publishes. They say less than its code, which checks more than the schemas and package rules say.
//
// [Definition] says what is wrong with a CustomResourceDefinition.
//
// What an API server knows only at run time has no part in it: admission webhooks and policies, rules that
// compare with an older version of the object, conversion between versions.
package validation
