package kube

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
)

// Unreachable returns an error that says that the API server at host cannot be reached, why, and what to check, if err is the error of
// a request that got no answer; nil otherwise.
func Unreachable(host string, err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) {
		return nil
	}
	return fmt.Errorf("the API server %s cannot be reached: %w; %s", host, failed.Err, whatToCheck(failed))
}

// whatToCheck says what to check after a request got no answer.
func whatToCheck(err error) string {
	var name *net.DNSError
	var certificate *tls.CertificateVerificationError
	var record tls.RecordHeaderError
	switch {
	case errors.As(err, &certificate):
		return "check the certificate authority of the kubeconfig, and that the certificate of the API server has this host name"
	case errors.As(err, &record):
		return "check that the address begins with http:// or https:// as the API server expects"
	case errors.As(err, &name):
		return "check the host name in the kubeconfig, and the DNS"
	}
	return "check the address in the kubeconfig, that the API server runs, and that no proxy, firewall or NetworkPolicy is in between"
}
