package traces

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
)

// prefix is how the names of the variables of the exporter begin. Those with "TRACES_" after it have precedence.
const prefix = "OTEL_EXPORTER_OTLP_"

// The protocols.
const (
	grpc     = "grpc"
	protobuf = "http/protobuf"
)

// settings are what the variables say that the exporter does not tell.
type settings struct {
	endpoint, protocol string
	secrets            []string // the values of headers
}

// wanted reports whether traces are exported: an endpoint is set, and nothing turns them off.
func wanted() bool {
	_, endpoint := variable("ENDPOINT")
	return endpoint != "" && !strings.EqualFold(value("OTEL_SDK_DISABLED"), "true") && value("OTEL_TRACES_EXPORTER") != "none"
}

// value returns the value of a variable. An empty one is the same as none.
func value(name string) string { return strings.TrimSpace(os.Getenv(name)) }

// variable returns the variable of the exporter with that name that has precedence, and its value.
func variable(name string) (full, set string) {
	full = prefix + "TRACES_" + name
	if set = value(full); set == "" {
		full = prefix + name
		set = value(full)
	}
	return full, set
}

// read checks the variables, because OpenTelemetry ignores those that it cannot use. Its errors do not have values that may be secret.
func read() (settings, error) {
	var to settings
	err := errors.Join(
		exporterKnown(), to.readEndpoint(), to.readProtocol(), to.readHeaders(), checkCertificates(), checkSampler(),
		oneOf("COMPRESSION", "gzip", "none"),
		positive(prefix+"TIMEOUT"), positive(prefix+"TRACES_TIMEOUT"),
		positive("OTEL_BSP_SCHEDULE_DELAY"), positive("OTEL_BSP_EXPORT_TIMEOUT"), positive("OTEL_BSP_MAX_QUEUE_SIZE"), positive("OTEL_BSP_MAX_EXPORT_BATCH_SIZE"),
	)
	return to, err
}

// exporterKnown refuses another exporter than that of OTLP.
func exporterKnown() error {
	if name := value("OTEL_TRACES_EXPORTER"); name != "" && name != "otlp" {
		return fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not supported: it must be otlp or none", name)
	}
	return nil
}

func (s *settings) readEndpoint() error {
	name, text := variable("ENDPOINT")
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return fmt.Errorf("%s: it must be http:// or https://, a host, a port and a path, without a user and a query, such as http://collector:4318; credentials are set by %sHEADERS", name, prefix)
	}
	s.endpoint = u.String()
	return nil
}

func (s *settings) readProtocol() error {
	name, text := variable("PROTOCOL")
	if s.protocol = text; text == "" {
		s.protocol = protobuf
	}
	if s.protocol != grpc && s.protocol != protobuf {
		return fmt.Errorf("%s: %q is not supported: it must be %s or %s", name, text, protobuf, grpc)
	}
	return nil
}

// readHeaders keeps the values of the headers, as they are and decoded, to remove them from texts.
func (s *settings) readHeaders() error {
	name, text := variable("HEADERS")
	if text == "" {
		return nil
	}
	for pair := range strings.SplitSeq(text, ",") {
		key, set, found := strings.Cut(pair, "=")
		decoded, err := url.PathUnescape(set)
		if !found || strings.TrimSpace(key) == "" || err != nil {
			return fmt.Errorf("%s: it must be NAME=VALUE, separated by commas, with the special characters of the values as in a URL, such as authorization=Bearer%%20TOKEN", name)
		}
		s.secrets = append(s.secrets, strings.TrimSpace(set), strings.TrimSpace(decoded))
	}
	return nil
}

// checkCertificates reads the files of certificates and keys.
func checkCertificates() error {
	if name, path := variable("CERTIFICATE"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(text) {
			return fmt.Errorf("%s: %s contains no certificate in PEM format", name, path)
		}
	}
	name, certificate := variable("CLIENT_CERTIFICATE")
	keyName, key := variable("CLIENT_KEY")
	if certificate == "" && key == "" {
		return nil
	}
	if certificate == "" || key == "" {
		return fmt.Errorf("%s and %s: both must be set, or none", name, keyName)
	}
	if _, err := tls.LoadX509KeyPair(certificate, key); err != nil {
		return fmt.Errorf("%s and %s: %w", name, keyName, err)
	}
	return nil
}

// samplers are the samplers; those that have an argument are true.
var samplers = map[string]bool{
	"always_on": false, "always_off": false, "traceidratio": true,
	"parentbased_always_on": false, "parentbased_always_off": false, "parentbased_traceidratio": true,
}

func checkSampler() error {
	name := strings.ToLower(value("OTEL_TRACES_SAMPLER"))
	hasRatio, known := samplers[name]
	if name != "" && !known {
		return fmt.Errorf("OTEL_TRACES_SAMPLER: %q is not supported: it must be always_on, always_off, traceidratio, or one of these after parentbased_", name)
	}
	if text := value("OTEL_TRACES_SAMPLER_ARG"); hasRatio && text != "" {
		if ratio, err := strconv.ParseFloat(text, 64); err != nil || !(ratio >= 0 && ratio <= 1) {
			return fmt.Errorf("OTEL_TRACES_SAMPLER_ARG: %q must be a number from 0 to 1", text)
		}
	}
	return nil
}

// oneOf checks a variable of the exporter that must be one of some words.
func oneOf(short string, words ...string) error {
	name, text := variable(short)
	if text != "" && !slices.Contains(words, text) {
		return fmt.Errorf("%s: %q must be %s", name, text, strings.Join(words, " or "))
	}
	return nil
}

// positive checks a variable that must be a number above zero: milliseconds or a size.
func positive(name string) error {
	if text := value(name); text != "" {
		if n, err := strconv.ParseInt(text, 10, 32); err != nil || n <= 0 {
			return fmt.Errorf("%s: %q must be a number above 0; times are in milliseconds", name, text)
		}
	}
	return nil
}
