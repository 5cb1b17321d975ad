package roots

import (
	"crypto/x509"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"metascript/test/authority"
)

// trusts is the environment variable that makes the test program print whom it trusts; its value is the file with another certificate
// authority.
const trusts = "PRINT_TRUST"

func TestMain(m *testing.M) {
	if other := os.Getenv(trusts); other != "" {
		printTrust(other)
		return
	}
	os.Exit(m.Run())
}

// printTrust prints "public" if all public certificate authorities are trusted, and "private" if the one in the file is.
func printTrust(file string) {
	SetFallback()
	SetFallback()
	public := true
	for root := range bundle.Roots() {
		certificate, err := x509.ParseCertificate(root.Certificate)
		if err != nil {
			panic(err)
		}
		_, err = certificate.Verify(x509.VerifyOptions{CurrentTime: certificate.NotBefore})
		public = public && err == nil
	}
	if public {
		println("public")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		panic(err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		panic(err)
	}
	before := pool.Clone()
	if pool.AppendCertsFromPEM(text); pool.Equal(before) {
		println("private")
	}
}

// The system's certificates are read once in a process, so each case is one.
func TestPublicRootsOnlyIfTheSystemHasNone(t *testing.T) {
	private, err := authority.New("private")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(file, []byte(private.PEM), 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(dir, "nosuch")
	for _, c := range []struct{ name, file, dir, want string }{
		{"no certificates", none, none, "public"},
		{"a file", file, none, "private"},
		{"a directory", none, dir, "private"},
	} {
		command := exec.Command(os.Args[0])
		command.Env = append(os.Environ(), trusts+"="+file, "SSL_CERT_FILE="+c.file, "SSL_CERT_DIR="+c.dir)
		out, err := command.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
			t.Errorf("%s: got %q, want %q, error %v", c.name, got, c.want, err)
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		parse()
	}
}
