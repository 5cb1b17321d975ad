package hook

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
)

// An Endpoint is how a webhook's server is met: what verifies it, and what is shown to it. The zero value is one that
// the system's certificates verify and that is shown nothing.
type Endpoint struct {
	TLS
	Authorization string // the header of that name; "": none
}

// TLS is what a connection is made with.
type TLS struct {
	CA               Material // certificates that verify the server, in place of the system's
	Certificate, Key Material // shown to a server that asks
}

// A Material is something in PEM, and where it is, for errors. The zero value is none.
type Material struct{ PEM, Where string }

// Check says what of t cannot be used. It never tells a material's content.
func (t TLS) Check() error {
	_, err := t.config()
	return err
}

func (t TLS) config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CA != (Material{}) {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(t.CA.PEM)) {
			return nil, fmt.Errorf("caBundle: %s: there is no certificate in it, in PEM", t.CA.Where)
		}
	}
	if t.Certificate != (Material{}) {
		pair, err := tls.X509KeyPair([]byte(t.Certificate.PEM), []byte(t.Key.PEM))
		if err != nil {
			return nil, fmt.Errorf("clientTLS: %s and %s: %w", t.Certificate.Where, t.Key.Where, err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// explain adds to an error of a connection what there is to do about it.
func explain(err error) error {
	var unknown x509.UnknownAuthorityError
	if errors.As(err, &unknown) {
		return fmt.Errorf("%w: name its certificate authority in caBundle", err)
	}
	return err
}
