package objectstore

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The worked examples of AWS (AmazonS3/latest/API/sig-v4-header-based-auth.html).
func TestPublishedExamples(t *testing.T) {
	s := signer{keys{id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}, "us-east-1"}
	at := time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC)
	a := address{scheme: "https", host: "examplebucket.s3.amazonaws.com"}
	for _, c := range []struct {
		method, key, sum  string
		fields            map[string]string
		signed, signature string
	}{
		{"GET", "test.txt", emptySum, map[string]string{"Range": "bytes=0-9"}, "host;range;x-amz-content-sha256;x-amz-date",
			"f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"},
		{"PUT", "test$file.text", "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
			map[string]string{"Date": "Fri, 24 May 2013 00:00:00 GMT", "X-Amz-Storage-Class": "REDUCED_REDUNDANCY"},
			"date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
			"98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"},
	} {
		r, err := http.NewRequest(c.method, a.url(c.key).String(), nil)
		require.NoError(t, err)
		for name, value := range c.fields {
			r.Header.Set(name, value)
		}
		s.sign(r, c.sum, at)
		require.Equal(t, "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,SignedHeaders="+
			c.signed+",Signature="+c.signature, r.Header.Get("Authorization"))
	}
}

// TestParse has the destinations that are accepted, with the address of an object, and those that are not.
func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"s3://runs":                              "https://runs.s3.eu-west-3.amazonaws.com/k",
		"s3://runs/":                             "https://runs.s3.eu-west-3.amazonaws.com/k",
		"s3://runs/a b/c+d":                      "https://runs.s3.eu-west-3.amazonaws.com/a%20b/c%2Bd/k",
		"s3://my.runs/a":                         "https://s3.eu-west-3.amazonaws.com/my.runs/a/k",
		"s3://Old_Bucket/a/":                     "https://s3.eu-west-3.amazonaws.com/Old_Bucket/a/k",
		"gs://runs/a":                            "https://runs.storage.googleapis.com/a/k",
		"s3://key:secret@runs/a":                 "no valid name of a bucket",
		"s3:///a":                                "no valid name of a bucket",
		"s3://runs?x=1/a":                        "no valid name of a bucket",
		"s3://runs/a/../b":                       "a part that is empty, . or ..",
		"s3://runs/a//b":                         "a part that is empty",
		"s3://runs/a\nb":                         "control characters",
		"s3://runs/a\xff":                        "invalid ones",
		"https://runs/a":                         "is not a destination: write s3://BUCKET/PATH",
		"results":                                "is not a destination",
		"s3://runs/" + strings.Repeat("x", 1025): "stores allow 1024",
	} {
		d, err := Parse(text)
		if !strings.HasPrefix(want, "https:") {
			require.ErrorContains(t, err, want, text)
			require.NotContains(t, err.Error(), "secret")
			continue
		}
		require.NoError(t, err, text)
		s, err := Open(d, environment(map[string]string{"AWS_REGION": "eu-west-3"}))
		require.NoError(t, err, text)
		require.Equal(t, want, s.at.url(strings.TrimPrefix(d.Path+"/k", "/")).String())
		require.Equal(t, strings.TrimRight(text, "/"), d.String())
	}
	require.True(t, IsURL("gs://a") && IsURL("s3://"))
	require.False(t, IsURL("s3:/a") || IsURL("results/s3") || IsURL("https://a"))
}

// environment has keys of both providers, and the given variables.
func environment(more map[string]string) Options {
	all := map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "top-secret", "GS_ACCESS_KEY_ID": "id",
		"GS_SECRET_ACCESS_KEY": "top-secret"}
	for name, value := range more {
		all[name] = value
	}
	return Options{Lookup: func(name string) (string, bool) {
		value, found := all[name]
		return value, found
	}}
}

// TestSettings has what the environment and a profile select: the address, or the error.
func TestSettings(t *testing.T) {
	s3, google := Destination{Scheme: S3, Bucket: "runs"}, Destination{Scheme: Google, Bucket: "runs"}
	of := func(d Destination, endpoint, region, addressing string) Destination {
		d.Endpoint, d.Region, d.Addressing = endpoint, region, addressing
		return d
	}
	type vars map[string]string
	for _, c := range []struct {
		d    Destination
		env  vars
		want string
	}{
		{s3, nil, "https://runs.s3.us-east-1.amazonaws.com/"},
		{s3, vars{"AWS_DEFAULT_REGION": "cn-north-1"}, "https://runs.s3.cn-north-1.amazonaws.com.cn/"},
		{s3, vars{"AWS_REGION": "evil.example/#"}, "not the name of a region"},
		{s3, vars{"AWS_ENDPOINT_URL": "http://minio:9000"}, "http://minio:9000/runs/"},
		{s3, vars{"AWS_ENDPOINT_URL": "http://a", "AWS_ENDPOINT_URL_S3": "https://b/s3/"}, "https://b/s3/runs/"},
		{s3, vars{"AWS_ENDPOINT_URL": "http://me:hidden@minio"}, "not a URL such as"},
		{s3, vars{"AWS_ENDPOINT_URL": "minio:9000"}, "not a URL such as"},
		{of(s3, "https://store.example", "", "virtual"), vars{"AWS_ENDPOINT_URL": "http://a"},
			"https://runs.store.example/"},
		{of(s3, "https://10.0.0.1", "", "virtual"), nil, "use path addressing"},
		{of(s3, "", "eu-west-1", "path"), vars{"AWS_REGION": "us-east-2"}, "https://s3.eu-west-1.amazonaws.com/runs/"},
		{s3, vars{"AWS_SESSION_TOKEN": "hidden", "AWS_ENDPOINT_URL": "http://minio:9000"}, "has no TLS"},
		{s3, vars{"AWS_SESSION_TOKEN": "hidden", "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "http://127.0.0.1:9/runs/"},
		{s3, vars{"AWS_ACCESS_KEY_ID": ""}, "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
		{s3, vars{"AWS_SECRET_ACCESS_KEY": "hidden\n"}, "characters that no key has"},
		{s3, vars{"AWS_CA_BUNDLE": "absent.pem"}, "absent.pem"},
		{google, vars{"AWS_ENDPOINT_URL": "http://a", "AWS_REGION": "x"}, "https://runs.storage.googleapis.com/"},
		{google, vars{"STORAGE_EMULATOR_HOST": "localhost:4443"}, "http://localhost:4443/runs/"},
		{google, vars{"STORAGE_EMULATOR_HOST": "h:1", "GOOGLE_OAUTH_ACCESS_TOKEN": "hidden"}, "has no TLS"},
		{google, vars{"GS_ACCESS_KEY_ID": ""}, "set GOOGLE_OAUTH_ACCESS_TOKEN"},
	} {
		s, err := Open(c.d, environment(c.env))
		if !strings.HasPrefix(c.want, "http") {
			require.ErrorContains(t, err, c.want)
			require.NotContains(t, err.Error(), "hidden")
			continue
		}
		require.NoError(t, err, "%v", c.env)
		require.Equal(t, c.want, s.at.url("").String())
	}
}

// FuzzParse finds no text whose requests go to another host than the bucket's, and none whose path changes on the way.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"s3://runs/a", "gs://runs", "s3://a@b/c", "s3://runs/%2e%2e/x", "s3://runs/a b\u00e4"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := Parse(text)
		if err != nil {
			return
		}
		s, err := Open(d, environment(nil))
		require.NoError(t, err)
		r, err := http.NewRequest(http.MethodPut, s.at.url(d.Path+"/k").String(), nil)
		require.NoError(t, err)
		require.Equal(t, s.at.host, r.URL.Host)
		require.Regexp(t, `(s3\.us-east-1\.amazonaws\.com|storage\.googleapis\.com)$`, r.Host)
		require.Equal(t, escape(s.at.url(d.Path+"/k").Path), r.URL.EscapedPath())
	})
}
