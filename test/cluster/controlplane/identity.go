package controlplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// identity has the certificates and keys of a cluster, and the token of its
// administrator. Each start creates new ones. The keys are ECDSA keys, because
// generating an RSA key takes much longer.
type identity struct {
	// PEM
	ca                    []byte
	serverCert, serverKey []byte
	serviceAccountKey     []byte

	token string
}

// newIdentity generates an identity.
func newIdentity() (*identity, error) {
	id := &identity{token: rand.Text()}
	if err := id.certify(); err != nil {
		return nil, fmt.Errorf("create the certificate of the API server: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err == nil {
		id.serviceAccountKey, err = encodeKey(key)
	}
	if err != nil {
		return nil, fmt.Errorf("create the service account key: %w", err)
	}
	return id, nil
}

// certify creates the CA certificate, and with it the certificate of the API
// server, which is valid for 127.0.0.1 and localhost and every port. So clients
// can verify the API server through a local proxy too.
func (id *identity) certify() error {
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	ca := certificate(1, "cluster-ca")
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	serverKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	server := certificate(2, "kube-apiserver")
	server.KeyUsage = x509.KeyUsageDigitalSignature
	server.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	server.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	server.DNSNames = []string{"localhost"}
	if id.ca, err = sign(ca, ca, caKey, caKey); err != nil {
		return err
	}
	if id.serverCert, err = sign(server, ca, serverKey, caKey); err != nil {
		return err
	}
	id.serverKey, err = encodeKey(serverKey)
	return err
}

// certificate returns a template of a certificate. It is valid from one hour ago
// (in case the clock is set back) for one year.
func certificate(serial int64, name string) *x509.Certificate {
	return &x509.Certificate{
		SerialNumber: big.NewInt(serial),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().AddDate(1, 0, 0),
	}
}

// sign returns cert, signed by parent, in PEM.
func sign(cert, parent *x509.Certificate, key, parentKey *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.CreateCertificate(rand.Reader, cert, parent, &key.PublicKey, parentKey)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

// encodeKey returns a private key in PEM.
func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// tokens returns the static token file of the API server. Its only user is the
// administrator.
func (id *identity) tokens() []byte {
	return fmt.Appendf(nil, "%s,admin,admin,\"system:masters\"\n", id.token)
}

// kubeconfig returns a kubeconfig for the administrator, in YAML.
func (id *identity) kubeconfig(serverURL string) []byte {
	return fmt.Appendf(nil, `apiVersion: v1
kind: Config
current-context: cluster
clusters:
- name: cluster
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: admin
  user:
    token: %s
contexts:
- name: cluster
  context:
    cluster: cluster
    user: admin
`, serverURL, base64.StdEncoding.EncodeToString(id.ca), id.token)
}
