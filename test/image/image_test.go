// Package image tests the container image that "make image" has built, without a container engine. It is a separate Go module, because
// the image has to be built first: see "make test-image".
package image

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

const (
	repository = "../.."
	built      = repository + "/build/image"
	user       = 65532
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// index returns the index of the platforms in an OCI layout, which has nothing else.
func index(t *testing.T, dir string) (v1.ImageIndex, v1.Hash) {
	t.Helper()
	all, err := layout.ImageIndexFromPath(dir)
	check(t, err)
	manifest, err := all.IndexManifest()
	check(t, err)
	if len(manifest.Manifests) != 1 {
		t.Fatalf("%s has %d manifests, want one index", dir, len(manifest.Manifests))
	}
	found, err := all.ImageIndex(manifest.Manifests[0].Digest)
	check(t, err)
	return found, manifest.Manifests[0].Digest
}

func TestLayout(t *testing.T) {
	all, _ := index(t, built+"/oci")
	manifest, err := all.IndexManifest()
	check(t, err)
	var platforms []string
	for _, m := range manifest.Manifests {
		platforms = append(platforms, m.Platform.String())
		image, err := all.Image(m.Digest)
		check(t, err)
		file, err := image.ConfigFile()
		check(t, err)
		if got := fmt.Sprint(file.Config.User, file.Config.Entrypoint); got != fmt.Sprintf("%d:%[1]d[/ko-app/metascript]", user) {
			t.Errorf("%s: the user and the entrypoint are %s", m.Platform, got)
		}
		for _, label := range []string{"title", "description", "licenses", "version", "revision", "created"} {
			if file.Config.Labels["org.opencontainers.image."+label] == "" {
				t.Errorf("%s: no label %s", m.Platform, label)
			}
		}
	}
	if got := strings.Join(platforms, " "); got != "linux/amd64 linux/arm64" {
		t.Errorf("the platforms are %s", got)
	}
}

func TestSecondBuildHasTheSameDigest(t *testing.T) {
	dir := t.TempDir()
	again := exec.Command("make", "image", "IMAGE="+dir)
	again.Dir = repository
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	_, first := index(t, built+"/oci")
	_, second := index(t, dir+"/oci")
	if first != second {
		t.Errorf("the digests of two builds are %s and %s", first, second)
	}
}

// archive returns the image in the archive for this machine, which "docker load" and "kind load image-archive" read.
func archive(t *testing.T) v1.Image {
	t.Helper()
	found, err := filepath.Glob(built + "/metascript-*-linux-" + runtime.GOARCH + ".tar")
	check(t, err)
	if len(found) != 1 {
		t.Fatalf("%d archives for this machine in %s: run make image", len(found), built)
	}
	manifest, err := tarball.LoadManifest(func() (io.ReadCloser, error) { return os.Open(found[0]) })
	check(t, err)
	if len(manifest) != 1 || len(manifest[0].RepoTags) != 2 || !strings.HasPrefix(manifest[0].RepoTags[0], "metascript:") {
		t.Errorf("%s: the manifest is %v, want one image with a version and latest", found[0], manifest)
	}
	image, err := tarball.ImageFromPath(found[0], nil)
	check(t, err)
	return image
}

// unpack writes the files of the image below root. Nobody but their owner may write them, and there is no other place to write.
func unpack(t *testing.T, image v1.Image, root string) {
	t.Helper()
	files := mutate.Extract(image)
	defer files.Close()
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		check(t, err)
		path := filepath.Join(root, h.Name)
		check(t, os.MkdirAll(filepath.Dir(path), 0o755))
		switch h.Typeflag {
		case tar.TypeDir:
			check(t, os.MkdirAll(path, 0o755))
		case tar.TypeSymlink:
			check(t, os.Symlink(h.Linkname, path))
		default:
			file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, os.FileMode(h.Mode)&0o555)
			check(t, err)
			_, err = io.Copy(file, r)
			check(t, errors.Join(err, file.Close()))
		}
	}
}

// confined are the attributes of a process in root as the user of the image, without capabilities. A user who is not root needs a user
// namespace for that, in which the files belong to another user.
func confined(root string) *syscall.SysProcAttr {
	as := &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: user, Gid: user}, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() != 0 {
		as.Cloneflags, as.Credential = syscall.CLONE_NEWUSER, nil
		as.UidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}}
		as.GidMappings = []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}}
	}
	return as
}

// kubectl runs kubectl of the test cluster.
func kubectl(t *testing.T, config string, args ...string) string {
	t.Helper()
	out, err := exec.Command(repository+"/build/cluster", append([]string{"kubectl", "--kubeconfig=" + config}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// address returns an address that nothing listens on.
func address(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(t, err)
	check(t, l.Close())
	return l.Addr().String()
}

// inPod writes the files of a ServiceAccount, who is the administrator here, below root, and returns the environment variables of a Pod
// that name the API server.
func inPod(t *testing.T, config, root string) []string {
	t.Helper()
	view := func(path string) string {
		return kubectl(t, config, "config", "view", "--flatten", "--minify", "--raw", "--output=jsonpath={"+path+"}")
	}
	authority, err := base64.StdEncoding.DecodeString(view(".clusters[0].cluster.certificate-authority-data"))
	check(t, err)
	api, err := url.Parse(view(".clusters[0].cluster.server"))
	check(t, err)
	return writeAccount(t, root, api, authority, view(".users[0].user.token"))
}

// writeAccount writes the files of a ServiceAccount, and returns the environment variables.
func writeAccount(t *testing.T, root string, api *url.URL, authority []byte, token string) []string {
	t.Helper()
	dir := filepath.Join(root, "var/run/secrets/kubernetes.io/serviceaccount")
	check(t, os.MkdirAll(dir, 0o755))
	for name, text := range map[string]string{"ca.crt": string(authority), "token": token, "namespace": "metacontroller"} {
		check(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o444))
	}
	return []string{"KUBERNETES_SERVICE_HOST=" + api.Hostname(), "KUBERNETES_SERVICE_PORT=" + api.Port()}
}

// serve runs the server in root until the test ends, with environment variables. It returns the process ID when /readyz responds as
// expected.
func serve(t *testing.T, root string, env []string, expected func(code int, text string) bool) int {
	t.Helper()
	probes, metrics := address(t), address(t)
	var log bytes.Buffer
	server := exec.Command("/usr/bin/metacontroller", "--zap-log-level=4", "--discovery-interval=20s",
		"--health-probe-bind-address="+probes, "--metrics-address="+metrics)
	server.SysProcAttr, server.Dir, server.Env, server.Stdout, server.Stderr = confined(root), "/", append(env, "PATH=/usr/bin"), &log, &log
	server.Err = nil // the path is in root, and not on this machine
	check(t, server.Start())
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGTERM)
		if err := <-ended; err != nil || t.Failed() {
			t.Errorf("the server ended: %v\n%s", err, log.String())
		}
	})
	var last string
	for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if answer, err := http.Get("http://" + probes + "/readyz"); err == nil {
			text, _ := io.ReadAll(answer.Body) // as much as can be read
			answer.Body.Close()
			if last = string(text); expected(answer.StatusCode, last) {
				return server.Process.Pid
			}
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatal("the server ended before it was ready")
		default:
		}
	}
	t.Fatalf("after 3 minutes, /readyz responds with %q", last)
	return 0
}

// In a Pod whose ca.crt is not the certificate authority of the API server, /readyz names the file.
func TestAnotherAuthorityInAPod(t *testing.T) {
	root := filepath.Join(t.TempDir(), "root")
	check(t, os.Mkdir(root, 0o755))
	unpack(t, archive(t), root)
	api := httptest.NewTLSServer(http.NotFoundHandler())
	defer api.Close()
	api.Config.ErrorLog = stdlog.New(io.Discard, "", 0) // of handshakes that fail on purpose
	address, err := url.Parse(api.URL)
	check(t, err)

	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	other := &x509.Certificate{SerialNumber: big.NewInt(1), IsCA: true, BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, other, other, &key.PublicKey, key)
	check(t, err)
	env := writeAccount(t, root, address, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), "token")

	const want = "its certificate is not from the certificate authority in /var/run/secrets/kubernetes.io/serviceaccount/ca.crt: check that"
	serve(t, root, env, func(_ int, text string) bool { return strings.Contains(text, want) })
}

// The image runs as its manifest runs it: with the ServiceAccount of a Pod, at Metacontroller's path, with the arguments of
// Metacontroller's manifest.
func TestServerRunsAController(t *testing.T) {
	dir := t.TempDir()
	root := filepath.Join(dir, "root")
	check(t, os.Mkdir(root, 0o755))
	unpack(t, archive(t), root)

	state := filepath.Join(dir, "cluster")
	up, err := exec.Command(repository+"/build/cluster", "up", "--dir", state).Output()
	t.Cleanup(func() { _ = exec.Command(repository+"/build/cluster", "down", "--dir", state).Run() })
	check(t, err)
	config := strings.TrimPrefix(strings.TrimSpace(string(up)), "KUBECONFIG=")
	api := inPod(t, config, root)
	kubectl(t, config, "apply", "-f", repository+"/manifests/crds")

	pid := serve(t, root, api, func(code int, _ string) bool { return code == http.StatusOK })
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	check(t, err)
	if !strings.Contains(string(status), "\nCapEff:\t0000000000000000\n") {
		t.Errorf("the process has capabilities:\n%s", status)
	}

	const example = repository + "/examples/immortalcontainer/"
	kubectl(t, config, "apply", "-f", example+"crd.yaml")
	kubectl(t, config, "wait", "--for=condition=Established", "--timeout=1m", "crd", "--all")
	kubectl(t, config, "apply", "-f", example+"controller.yaml", "-f", example+"parent.yaml")
	kubectl(t, config, "wait", "--for=condition=Ready", "--timeout=2m", "compositecontrollers", "--all")
	kubectl(t, config, "wait", "--for=create", "--timeout=2m", "pods/phoenix-immortalpod")
}
