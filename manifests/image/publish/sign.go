package main

import (
	"bytes"
	"context"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"

	"github.com/sigstore/cosign/v3/pkg/cosign"
	protocommon "github.com/sigstore/protobuf-specs/gen/pb-go/common/v1"
	"github.com/sigstore/sigstore-go/pkg/sign"
	"github.com/sigstore/sigstore/pkg/cryptoutils"
	"github.com/sigstore/sigstore/pkg/signature"
	"google.golang.org/protobuf/encoding/protojson"
)

// key is a private key. It implements [sign.Keypair].
type key struct {
	signature.SignerVerifier
	details signature.AlgorithmDetails
	pub     crypto.PublicKey
	hint    []byte
}

// loadKey reads a private key of cosign; text is that of its file. It returns nil if there is none.
func loadKey(text, password string) (*key, error) {
	if text == "" {
		return nil, nil
	}
	signer, err := cosign.LoadPrivateKey([]byte(text), []byte(password), nil)
	if err != nil {
		return nil, err
	}
	pub, err := signer.PublicKey()
	if err != nil {
		return nil, err
	}
	details, err := signature.GetDefaultAlgorithmDetails(pub, *cosign.GetDefaultLoadOptions(nil)...)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(pub)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(der)
	return &key{SignerVerifier: signer, details: details, pub: pub, hint: []byte(base64.StdEncoding.EncodeToString(digest[:]))}, nil
}

// public returns the public key as PEM.
func (k *key) public() ([]byte, error) { return cryptoutils.MarshalPublicKeyToPEM(k.pub) }

// signFile returns the bundle with the signature of a file.
func (k *key) signFile(ctx context.Context, text []byte) ([]byte, error) {
	return k.bundle(ctx, &sign.PlainData{Data: text})
}

// signStatement returns the bundle with a statement in an envelope, and its signature.
func (k *key) signStatement(ctx context.Context, statement []byte) ([]byte, error) {
	return k.bundle(ctx, &sign.DSSEData{Data: statement, PayloadType: "application/vnd.in-toto+json"})
}

func (k *key) bundle(ctx context.Context, content sign.Content) ([]byte, error) {
	bundle, err := sign.Bundle(content, k, sign.BundleOptions{Context: ctx})
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	return protojson.Marshal(bundle)
}

func (k *key) GetHashAlgorithm() protocommon.HashAlgorithm { return k.details.GetProtoHashType() }

func (k *key) GetSigningAlgorithm() protocommon.PublicKeyDetails {
	return k.details.GetSignatureAlgorithm()
}

// GetHint returns the digest of the public key, as cosign does.
func (k *key) GetHint() []byte { return k.hint }

// GetKeyAlgorithm is needed only for certificates, which a key has not.
func (k *key) GetKeyAlgorithm() string { return "" }

func (k *key) GetPublicKey() crypto.PublicKey { return k.pub }

func (k *key) GetPublicKeyPem() (string, error) {
	text, err := k.public()
	return string(text), err
}

// SignData returns the signature of data and its digest.
func (k *key) SignData(_ context.Context, data []byte) ([]byte, []byte, error) {
	hash := k.details.GetHashType()
	if hash == 0 {
		signed, err := k.SignMessage(bytes.NewReader(data))
		return signed, data, err
	}
	h := hash.New()
	h.Write(data)
	signed, err := k.SignMessage(bytes.NewReader(data))
	return signed, h.Sum(nil), err
}
