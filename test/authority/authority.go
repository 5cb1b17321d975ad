// Package authority makes certificates for tests: an [Authority] signs them for servers and clients.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"time"
)

// An Authority signs certificates, each for a day.
type Authority struct {
	PEM  string // its own certificate
	Pool *x509.CertPool

	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// A Pair is a certificate and its key, in PEM.
type Pair struct{ Certificate, Key string }

// New makes an authority that nobody knows yet.
func New(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	form := template(name)
	form.IsCA, form.BasicConstraintsValid, form.KeyUsage = true, true, x509.KeyUsageCertSign
	der, err := x509.CreateCertificate(rand.Reader, form, form, &key.PublicKey, key)
	if err != nil {
		return nil, err
	}
	a := &Authority{PEM: encode("CERTIFICATE", der), Pool: x509.NewCertPool(), key: key}
	a.certificate, err = x509.ParseCertificate(der)
	a.Pool.AppendCertsFromPEM([]byte(a.PEM))
	return a, err
}

// Issue makes a certificate for name, a client's or a server's at one of the addresses of this machine.
func (a *Authority) Issue(name string) (Pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, err
	}
	form := template(name)
	form.DNSNames, form.IPAddresses = []string{name, "localhost"}, []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	form.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	der, err := x509.CreateCertificate(rand.Reader, form, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		return Pair{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	return Pair{encode("CERTIFICATE", der), encode("PRIVATE KEY", keyDER)}, err
}

// TLS returns the pair as a server presents it.
func (p Pair) TLS() (tls.Certificate, error) {
	return tls.X509KeyPair([]byte(p.Certificate), []byte(p.Key))
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62)) // fails only without randomness, of which there is always some
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
}

func encode(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}
