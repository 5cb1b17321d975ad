// Package secretvalues reads the values of Secrets, and finds them in texts. Package redact removes what is found from texts for users, and
// package scrub replaces it in files.
//
// # Values
//
// [Of] returns the [Values] of a Secret: each value of data and stringData, and the texts in it that are secret on their own. People store
// files in Secrets: env and ini files, properties, connection strings, .netrc, credentials of registries, JSON and YAML. [Texts] finds the
// passwords in these, see there.
//
// # Texts
//
// A text is not searched for each way in which a value can be written. It is decoded instead, and searched in each [Reading]: as it is, without
// the escapes of Go, JSON, YAML, JavaScript, URLs and HTML, and what base64 and hexadecimal digits in it stand for, all of these up to twice.
// In a reading, upper case is lower case, and white space is one blank. So the size of what is kept of a Secret is about that of its values,
// and a text costs the same, whatever the size of the Secrets.
package secretvalues
