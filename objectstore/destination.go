package objectstore

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Schemes of destinations.
const (
	S3     = "s3"
	Google = "gs"
)

// Destination is a place in a bucket.
type Destination struct {
	Scheme string // S3 or Google
	Bucket string
	Path   string // without slashes at its ends; empty: the bucket's root

	// Endpoint, Region and Addressing are settings of a profile; empty: those of the environment, or the defaults.
	Endpoint   string
	Region     string
	Addressing string // auto, virtual or path
	OfProfile  bool   // whether a profile names the destination
}

// String returns the URL of the destination.
func (d Destination) String() string {
	return strings.TrimSuffix(d.Scheme+"://"+d.Bucket+"/"+d.Path, "/")
}

// IsURL reports whether a text means a destination rather than a local folder.
func IsURL(text string) bool {
	scheme, _, ok := strings.Cut(text, "://")
	return ok && (scheme == S3 || scheme == Google)
}

// longestKey is the limit of both providers for the name of an object, in bytes.
const longestKey = 1024

// bucketName matches the names of buckets of both providers, old ones included.
var bucketName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,221}$`)

// Parse parses s3://BUCKET/PATH and gs://BUCKET/PATH. The path may be empty.
func Parse(text string) (Destination, error) {
	scheme, rest, _ := strings.Cut(text, "://")
	if !IsURL(text) {
		return Destination{}, fmt.Errorf("%.100q is not a destination: write s3://BUCKET/PATH or gs://BUCKET/PATH", text)
	}
	bucket, path, _ := strings.Cut(rest, "/")
	if !bucketName.MatchString(bucket) { // it may contain a password, so the error does not quote it
		return Destination{}, fmt.Errorf("a destination in %s has no valid name of a bucket: write %s://BUCKET/PATH, "+
			"without keys, port and query", scheme, scheme)
	}
	d := Destination{Scheme: scheme, Bucket: bucket, Path: strings.Trim(path, "/")}
	if d.Path == "" {
		return d, nil
	}
	return d, checkKey(d.Path)
}

// checkKey rejects names of objects that stores or their tools cannot handle.
func checkKey(key string) error {
	if !utf8.ValidString(key) || strings.IndexFunc(key, unicode.IsControl) >= 0 {
		return fmt.Errorf("the path %.100q has control characters or invalid ones", key)
	}
	if len(key) > longestKey {
		return fmt.Errorf("the path %.100q... has %d bytes; stores allow %d", key, len(key), longestKey)
	}
	for _, part := range strings.Split(key, "/") {
		if part == "" || part == "." || part == ".." {
			return fmt.Errorf("the path %.100q has a part that is empty, . or .. and not a name", key)
		}
	}
	return nil
}

// address is where requests for a bucket go.
type address struct {
	scheme string // of the URL
	host   string // with the port, and with the bucket if that is part of it
	prefix string // path of the bucket, not escaped; empty: the host names the bucket
}

// hostBucket matches names of buckets that a host name and a wildcard certificate can contain.
var hostBucket = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$`)

// addressOf returns the address of a bucket. With an endpoint of the user's, the path has the bucket unless the
// addressing selects the host: most of these stores have no host names for buckets.
func addressOf(d Destination, endpoint, standard string) (address, error) {
	virtual := d.Addressing == "virtual" || d.Addressing != "path" && endpoint == "" && hostBucket.MatchString(d.Bucket)
	if endpoint == "" {
		endpoint = standard
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
		return address{}, errors.New("the endpoint of the store is not a URL such as https://host:9000, without keys and " +
			"query")
	}
	a := address{scheme: u.Scheme, host: u.Host, prefix: strings.Trim(u.Path, "/")}
	switch {
	case virtual && net.ParseIP(u.Hostname()) != nil:
		return address{}, fmt.Errorf("the endpoint %s is an IP address, whose buckets have no host names: "+
			"use path addressing", u.Host)
	case virtual:
		a.host = d.Bucket + "." + u.Host
	case a.prefix == "":
		a.prefix = d.Bucket
	default:
		a.prefix += "/" + d.Bucket
	}
	return a, nil
}

// url returns the URL of an object.
func (a address) url(key string) *url.URL {
	path := "/" + key
	if a.prefix != "" {
		path = "/" + a.prefix + path
	}
	return &url.URL{Scheme: a.scheme, Host: a.host, Path: path, RawPath: escape(path)}
}
