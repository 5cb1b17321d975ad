package selection

import (
	"fmt"
	"slices"
	"strings"
)

// Namespaces are the namespaces that a server watches; nil is all.
type Namespaces []string

// Has reports whether the objects of a namespace are watched.
func (n Namespaces) Has(namespace string) bool { return n == nil || slices.Contains(n, namespace) }

// Requests returns the namespaces of the requests that list all objects: "" is all.
func (n Namespaces) Requests() []string {
	if n == nil {
		return []string{""}
	}
	return n
}

// String says which namespaces the server watches, for an error.
func (n Namespaces) String() string {
	return fmt.Sprintf("this server watches only objects in the namespaces of --watch-namespaces: %s", strings.Join(n, ", "))
}
