package release

import (
	"bytes"
	"crypto"
	"debug/buildinfo"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	provenance "github.com/in-toto/attestation/go/predicates/provenance/v1"
	intoto "github.com/in-toto/attestation/go/v1"
	"github.com/sigstore/cosign/v3/pkg/cosign"
	ociremote "github.com/sigstore/cosign/v3/pkg/oci/remote"
	"github.com/sigstore/sigstore-go/pkg/bundle"
	"github.com/sigstore/sigstore-go/pkg/verify"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"google.golang.org/protobuf/encoding/protojson"
)

const (
	source    = "https://example.com/repository"
	downloads = "https://example.com/downloads"
	builder   = "https://example.com/builder"
)

// publish returns the command that "make release" and "make release-image" run, with a private key.
func publish(key string, args ...string) *exec.Cmd {
	args = append([]string{"--version", released.Version, "--revision", released.Revision, "--source", source, "--downloads", downloads,
		"--builder", builder, "--krew", repository + "/.krew.yaml"}, args...)
	cmd := exec.Command(built+"/publish", args...)
	cmd.Env = append(os.Environ(), "COSIGN_PRIVATE_KEY="+key, "COSIGN_PASSWORD=secret")
	return cmd
}

// newKey returns a private key as "cosign generate-key-pair" writes it, and what verifies its signatures.
func newKey(t *testing.T) (string, *cosign.CheckOpts) {
	t.Helper()
	pair, err := cosign.GenerateKeyPair(func(bool) ([]byte, error) { return []byte("secret"), nil })
	check(t, err)
	return string(pair.PrivateBytes), verifier(t, pair.PublicBytes)
}

// verifier returns the options that "cosign verify" has with --key and --insecure-ignore-tlog.
func verifier(t *testing.T, public []byte) *cosign.CheckOpts {
	t.Helper()
	key, err := cryptoutils.UnmarshalPEMToPublicKey(public)
	check(t, err)
	loaded, err := signature.LoadVerifier(key, crypto.SHA256)
	check(t, err)
	return &cosign.CheckOpts{SigVerifier: loaded, IgnoreTlog: true, IgnoreSCT: true, NewBundleFormat: true, ClaimVerifier: cosign.IntotoSubjectClaimVerifier}
}

// copied returns a directory with the files of the release that are signed.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name := range sums(t, dist) {
		from, err := filepath.Abs(filepath.Join(dist, name))
		check(t, err)
		check(t, os.Symlink(from, filepath.Join(dir, name)))
	}
	check(t, os.WriteFile(filepath.Join(dir, checksums), read(t, filepath.Join(dist, checksums)), 0o644))
	return dir
}

// The provenance is a valid statement of in-toto about all files, without a key too.
func TestProvenance(t *testing.T) {
	checkProvenance(t, read(t, filepath.Join(dist, "provenance.json")), sums(t, dist))
}

// checkProvenance checks a statement of provenance. subjects are the digests by the names of the files.
func checkProvenance(t *testing.T, text []byte, subjects map[string]string) *provenance.Provenance {
	t.Helper()
	var statement intoto.Statement
	check(t, protojson.Unmarshal(text, &statement))
	check(t, statement.Validate())
	if statement.PredicateType != "https://slsa.dev/provenance/v1" {
		t.Errorf("the type of the predicate is %s", statement.PredicateType)
	}
	predicate, err := statement.Predicate.MarshalJSON()
	check(t, err)
	var slsa provenance.Provenance
	check(t, protojson.Unmarshal(predicate, &slsa))
	check(t, slsa.Validate())
	if commit := slsa.BuildDefinition.ResolvedDependencies[0].Digest["gitCommit"]; commit != released.Revision {
		t.Errorf("the commit is %q, want %s", commit, released.Revision)
	}
	if len(statement.Subject) != len(subjects) {
		t.Errorf("there are %d subjects, want %d", len(statement.Subject), len(subjects))
	}
	for _, s := range statement.Subject {
		if s.Digest["sha256"] != subjects[s.Name] {
			t.Errorf("the digest of %s is %s, want %q", s.Name, s.Digest["sha256"], subjects[s.Name])
		}
	}
	return &slsa
}

func TestSignaturesOfFiles(t *testing.T) {
	dir := copied(t)
	key, ours := newKey(t)
	run(t, publish(key, "--dist", dir, "files"))
	_, other := newKey(t)

	verified := func(opts *cosign.CheckOpts, bundleName string, artifact []byte) error {
		signed, err := bundle.LoadJSONFromPath(filepath.Join(dir, bundleName))
		check(t, err)
		_, err = cosign.VerifyNewBundle(t.Context(), opts, verify.WithArtifact(bytes.NewReader(artifact)), signed)
		return err
	}
	refused := func(what string, err error) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	text := read(t, filepath.Join(dir, checksums))
	check(t, verified(ours, checksums+".sigstore.json", text))
	check(t, verified(verifier(t, read(t, filepath.Join(dir, "cosign.pub"))), checksums+".sigstore.json", text))
	refused("another key", verified(other, checksums+".sigstore.json", text))
	refused("other checksums", verified(ours, checksums+".sigstore.json", append(text, '\n')))

	const signed = "provenance.sigstore.json"
	for name := range sums(t, dir) {
		artifact := read(t, filepath.Join(dir, name))
		check(t, verified(ours, signed, artifact))
		refused(name+" with another key", verified(other, signed, artifact))
		refused(name+", changed", verified(ours, signed, append(artifact, 0)))
	}
	slsa := checkProvenance(t, read(t, filepath.Join(dir, "provenance.json")), sums(t, dir))
	if got := slsa.RunDetails.Builder.Id + " " + slsa.BuildDefinition.ResolvedDependencies[0].Uri; got != builder+" git+"+source+"@"+released.Version {
		t.Errorf("the builder and the source are %s", got)
	}
	var envelope struct{ DsseEnvelope struct{ Payload []byte } }
	check(t, json.Unmarshal(read(t, filepath.Join(dir, signed)), &envelope))
	checkProvenance(t, envelope.DsseEnvelope.Payload, sums(t, dir))
}

func TestErrorsOfSigning(t *testing.T) {
	key, _ := newKey(t)
	wrongPassword := publish(key, "--dist", copied(t), "files")
	wrongPassword.Env = append(wrongPassword.Env, "COSIGN_PASSWORD=wrong")
	for what, c := range map[string]struct {
		cmd  *exec.Cmd
		want string
	}{
		"a wrong password":            {wrongPassword, "error: COSIGN_PRIVATE_KEY: decrypt"},
		"no key":                      {publish("key", "--dist", copied(t), "files"), "error: COSIGN_PRIVATE_KEY: invalid pem block"},
		"changes not in the commit":   {publish(key, "--version", "v1.0.0-dirty", "--dist", copied(t), "files"), "error: version v1.0.0-dirty has changes that are not in the commit"},
		"archives of another version": {publish(key, "--version", "v0.0.1", "--dist", copied(t), "files"), "is not of version v0.0.1: run make release"},
		"no archives":                 {publish(key, "--dist", t.TempDir(), "files"), checksums + ": no such file"},
		"an image without a key":      {publish("", "--to", "localhost/metascript", "image"), "error: COSIGN_PRIVATE_KEY is not set"},
		"no verb":                     {publish(key), "error: want an argument"},
	} {
		out, err := c.cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), c.want) {
			t.Errorf("%s: error %v, want %q:\n%s", what, err, c.want, out)
		}
	}
}

// The image in a registry has signatures, provenance and SBOMs, for all platforms together and for each. In a registry without the
// referrers API, they are listed below a tag.
func TestImageInARegistry(t *testing.T) {
	for name, referrers := range map[string]bool{"with referrers": true, "without referrers": false} {
		t.Run(name, func(t *testing.T) { testImage(t, registry.WithReferrersSupport(referrers)) })
	}
}

// newRegistry starts a registry, and returns the name of a repository in it.
func newRegistry(t *testing.T, option registry.Option) string {
	server := httptest.NewServer(registry.New(option, registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://") + "/team/metascript"
}

func testImage(t *testing.T, option registry.Option) {
	to := newRegistry(t, option)
	key, ours := newKey(t)
	_, other := newKey(t)
	pushed := strings.TrimSpace(run(t, publish(key, "--image", built+"/image", "--to", to+":v1", "image")))
	digest := strings.TrimSpace(string(read(t, built+"/image/digest")))
	if pushed != to+"@"+digest {
		t.Fatalf("%s was pushed, want the digest %s", pushed, digest)
	}

	tag, err := name.ParseReference(to + ":v1")
	check(t, err)
	index, err := remote.Index(tag)
	check(t, err)
	manifest, err := index.IndexManifest()
	check(t, err)
	info, err := buildinfo.ReadFile(built + "/metascript")
	check(t, err)
	modules := []string{"metascript"}
	for _, d := range info.Deps {
		modules = append(modules, d.Path+"@"+d.Version)
	}
	references, packages := []name.Reference{tag}, map[name.Reference][]string{}
	for _, m := range manifest.Manifests {
		ref := tag.Context().Digest(m.Digest.String())
		references, packages[ref] = append(references, ref), modules
		packages[tag] = append(packages[tag], m.Digest.String()+"@"+m.Platform.String())
	}
	if len(references) != 3 {
		t.Fatalf("the image has the platforms %v", manifest.Manifests)
	}
	for _, ref := range references {
		descriptor, err := remote.Head(ref)
		check(t, err)
		attestations, _, err := cosign.VerifyImageAttestations(t.Context(), ref, ours)
		check(t, err)
		types := map[string]bool{}
		for _, a := range attestations {
			envelope, err := a.Payload()
			check(t, err)
			checkAttestation(t, envelope, descriptor.Digest, tag.Context().Name(), packages[ref], types)
		}
		if len(types) != 3 {
			t.Errorf("%s has the attestations %v, want a signature, provenance and an SBOM", ref, types)
		}
		if _, _, err := cosign.VerifyImageAttestations(t.Context(), ref, other); err == nil {
			t.Errorf("%s: another key verifies it", ref)
		}
	}

	// An image that was not signed is refused, also with the signatures of another image.
	image, err := random.Image(1000, 1)
	check(t, err)
	changed, err := image.Digest()
	check(t, err)
	at := tag.Context().Digest(changed.String())
	check(t, remote.Write(at, image))
	if _, _, err := cosign.VerifyImageAttestations(t.Context(), at, ours); err == nil {
		t.Error("an image without signatures is verified")
	}
	bundles, _, err := cosign.GetBundles(t.Context(), tag, nil)
	check(t, err)
	for _, b := range bundles {
		text, err := b.MarshalJSON()
		check(t, err)
		check(t, ociremote.WriteAttestationNewBundleFormat(at, text, "https://sigstore.dev/cosign/sign/v1"))
	}
	if bundles, _, err := cosign.GetBundles(t.Context(), at, nil); err != nil || len(bundles) != 3 {
		t.Errorf("the other image has %d bundles, error %v", len(bundles), err)
	}
	if _, _, err := cosign.VerifyImageAttestations(t.Context(), at, ours); err == nil {
		t.Error("an image with the signatures of another one is verified")
	}
}

// checkAttestation checks a verified attestation of an image, and adds its type to types. packages are those that an SBOM has to have.
func checkAttestation(t *testing.T, envelope []byte, digest v1.Hash, repository string, packages []string, types map[string]bool) {
	t.Helper()
	var dsse struct{ Payload []byte }
	check(t, json.Unmarshal(envelope, &dsse))
	var statement intoto.Statement
	check(t, protojson.Unmarshal(dsse.Payload, &statement))
	types[statement.PredicateType] = true
	if subject := statement.Subject[0]; len(statement.Subject) != 1 || subject.Name != repository || subject.Digest["sha256"] != digest.Hex {
		t.Errorf("the subjects are %v, want %s@%s", statement.Subject, repository, digest)
	}
	switch statement.PredicateType {
	case "https://slsa.dev/provenance/v1":
		checkProvenance(t, dsse.Payload, map[string]string{repository: digest.Hex})
	case "https://spdx.dev/Document":
		text, err := statement.Predicate.MarshalJSON()
		check(t, err)
		var sbom struct {
			SPDXVersion, Name string
			Packages          []struct{ Name, VersionInfo string }
		}
		check(t, json.Unmarshal(text, &sbom))
		if sbom.SPDXVersion != "SPDX-2.3" || sbom.Name != "sbom-"+digest.String() {
			t.Errorf("the SBOM of %s is %s of %s", digest, sbom.SPDXVersion, sbom.Name)
		}
		found := map[string]bool{}
		for _, p := range sbom.Packages {
			found[strings.TrimSuffix(p.Name+"@"+p.VersionInfo, "@")] = true
		}
		for _, want := range packages {
			if !found[want] {
				t.Errorf("the SBOM of %s does not have %s", digest, want)
			}
		}
	}
}

// The manifest is valid for krew, and krew installs the plugin from it for each platform.
func TestKrew(t *testing.T) {
	server := httptest.NewServer(http.FileServer(http.Dir(dist)))
	defer server.Close()
	dir := copied(t)
	run(t, publish("", "--dist", dir, "--downloads", server.URL, "files"))
	manifest := filepath.Join(dir, "metascript.yaml")
	text := string(read(t, manifest))
	for _, platform := range platforms {
		name := archiveName(platform)
		if want := "uri: " + server.URL + "/" + name + "\n    sha256: " + sums(t, dist)[name] + "\n"; !strings.Contains(text, want) {
			t.Errorf("the manifest has no %q", want)
		}
	}
	// The command runs "kubectl krew".
	bin := t.TempDir()
	for name, program := range map[string]string{"kubectl": "cluster kubectl", "kubectl-krew": "krew"} {
		path, err := filepath.Abs(built)
		check(t, err)
		check(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\nexec "+path+"/"+program+` "$@"`+"\n"), 0o755))
	}
	validate := exec.Command(built+"/validate-krew-manifest", "-manifest", manifest)
	validate.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	if out := run(t, validate); !strings.Contains(out, "all 6 spec.platforms installed fine") {
		t.Errorf("validate-krew-manifest has printed:\n%s", out)
	}
}
