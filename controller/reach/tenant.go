// Package reach limits where the webhooks of controllers with an account are called, and what their authors learn of who responds.
//
// A [Tenant] is for the webhooks of one controller, and [Networks] for those of a server: at which addresses they are called. The address is
// checked when a connection is made, after its name was resolved. Package hook sends the requests.
package reach

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A Tenant limits the webhooks of controllers with an account. Their authors name any address, and the server calls it, from its own place
// in the network. So it connects only where Networks permits it, uses no proxy, sends nothing but its POST, and an error has no text of a
// server that is not the tenant's own: otherwise authors could read what internal servers respond.
type Tenant struct {
	Namespace string // of the account
	Networks  *Networks

	// Service returns the addresses of a Service in Namespace whose Pods are in it too. It must be set before the first call.
	Service func(ctx context.Context, name string) ([]netip.Addr, error)
}

// Apply sets how a transport connects.
func (t *Tenant) Apply(to *http.Transport) {
	// A proxy would resolve the name itself, so that it would not be known where the connection goes.
	to.Proxy = nil
	to.DialContext = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, ControlContext: t.control}).DialContext
}

// control is called with each address that a name was resolved to, before the connection to it is made. So a name that is resolved to other
// addresses each time is no way around it.
func (t *Tenant) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return refusedAddress(address + " is not an address")
	}
	return t.Networks.check(to.Addr())
}

// A refusedAddress is the error that a webhook is not called at an address.
type refusedAddress string

// Error implements error.
func (e refusedAddress) Error() string { return string(e) }

// A refusedRedirect is the error that a redirect is not followed.
type refusedRedirect string

// Error implements error.
func (e refusedRedirect) Error() string { return string(e) }

// Redirect returns the error that a redirect is not followed, or nil. err is the error for any controller. Only a redirect that repeats the
// POST is followed, with status 307 or 308. With the others, the author of a controller could have GET requests sent.
func (t *Tenant) Redirect(to *http.Request, err error) error {
	status := Status(to.Response)
	switch {
	case to.Method != http.MethodPost:
		return refusedRedirect(status + ": a redirect that changes the request to a GET is not followed for a controller with spec.serviceAccount: respond with 307 or 308, or set the webhook's URL to the new address")
	case err != nil:
		return refusedRedirect(status + ": it was redirected to another scheme, host or port, or too often, which is not followed: set the webhook's URL to the new address")
	}
	return nil
}

// Status returns the status of a response without the text that the server chose.
func Status(r *http.Response) string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", r.StatusCode, http.StatusText(r.StatusCode)))
}

// Conceal returns an error of a connection without what the server at its other end sent, such as the names in its certificate. What is not
// known to have nothing of it is replaced.
func Conceal(err error) error {
	var address refusedAddress
	var redirected refusedRedirect
	var verification *tls.CertificateVerificationError
	var alert tls.AlertError
	var record tls.RecordHeaderError
	var network net.Error
	switch {
	case errors.As(err, &address), errors.As(err, &redirected):
		return err
	case errors.As(err, &verification):
		return concealCertificate(verification.Err)
	case errors.As(err, &alert), errors.As(err, &record), errors.As(err, &network), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, http.ErrSchemeMismatch):
		return err
	}
	return errors.New("what responds is not an HTTP server, or its response is invalid")
}

// concealCertificate returns the error about a certificate without the names in it.
func concealCertificate(err error) error {
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	var host x509.HostnameError
	switch {
	case errors.As(err, &authority):
		return errors.New("its certificate is signed by an unknown authority: set caBundle to its certificate authority")
	case errors.As(err, &host):
		return errors.New("its certificate is not valid for the host of the URL")
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return errors.New("its certificate has expired or is not valid yet")
	}
	return errors.New("its certificate is not valid")
}

// A Body is that of a response. Its errors are concealed.
type Body struct{ io.ReadCloser }

// Read implements io.Reader.
func (b Body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = Conceal(err)
	}
	return n, err
}

// remote is the address of the server that responds.
type remote struct{ netip.Addr }

type remoteKey struct{}

// NoteRemote returns a context for a request that notes where it was sent, for Own.
func NoteRemote(ctx context.Context) context.Context {
	to := &remote{}
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) {
		if address, err := netip.ParseAddrPort(info.Conn.RemoteAddr().String()); err == nil {
			to.Addr = address.Addr().Unmap()
		}
	}}
	return httptrace.WithClientTrace(context.WithValue(ctx, remoteKey{}, to), trace)
}

// Own returns nil if a response is from a Service in the namespace of the account, so that its text may be shown. The name of the host is
// not enough: a Service can be an alias of any host, and if there is none, the name is looked for in other domains.
func (t *Tenant) Own(resp *http.Response) error {
	name, is := t.serviceOf(resp.Request.URL)
	if !is {
		return fmt.Errorf("the webhook is not a Service in the namespace %s", t.Namespace)
	}
	ctx := resp.Request.Context()
	addresses, err := t.Service(ctx, name)
	if err != nil {
		return err
	}
	if from, noted := ctx.Value(remoteKey{}).(*remote); !noted || !slices.Contains(addresses, from.Addr) {
		return fmt.Errorf("it is not from the Service %s/%s", t.Namespace, name)
	}
	return nil
}

// serviceOf returns the name of the Service in the namespace of the account that a URL names, in the forms NAME.NAMESPACE and
// NAME.NAMESPACE.svc, with or without the domain of the cluster.
func (t *Tenant) serviceOf(u *url.URL) (name string, is bool) {
	labels := strings.Split(strings.ToLower(u.Hostname()), ".")
	if len(labels) < 2 || labels[1] != t.Namespace || len(labels) > 2 && labels[2] != "svc" {
		return "", false
	}
	return labels[0], true
}
