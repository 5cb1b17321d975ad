// Package roots has the root certificates of public certificate authorities, for a system that has none, such as the image.
package roots

import (
	"crypto/x509"
	"sync"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// SetFallback makes the process trust these certificates if the system has none. To parse them takes about a millisecond, so it is
// called only by processes that connect to a server. Calls after the first one do nothing.
var SetFallback = sync.OnceFunc(func() { x509.SetFallbackRoots(parse()) })

// parse returns the certificates, which are part of the program.
func parse() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			panic(err)
		}
		if root.Constraint == nil {
			pool.AddCert(certificate)
		} else {
			pool.AddCertWithConstraint(certificate, root.Constraint)
		}
	}
	return pool
}
