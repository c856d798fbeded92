package objectstore

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Forms of a time in signatures.
const (
	timeForm = "20060102T150405Z"
	dateForm = "20060102"
)

// algorithm is the name of AWS Signature Version 4.
const algorithm = "AWS4-HMAC-SHA256"

// signer signs requests without a query with AWS Signature Version 4
// (docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html). Google accepts it for HMAC keys.
type signer struct {
	keys
	region string
}

// sign adds the header fields of a signature. sum is the hexadecimal SHA-256 of the body. It signs every field that the
// request has.
func (s *signer) sign(r *http.Request, sum string, at time.Time) {
	at = at.UTC()
	r.Header.Set("X-Amz-Date", at.Format(timeForm))
	r.Header.Set("X-Amz-Content-Sha256", sum)
	if s.session != "" {
		r.Header.Set("X-Amz-Security-Token", s.session)
	}
	fields := map[string]string{"host": r.URL.Host}
	names := []string{"host"}
	for name, values := range r.Header {
		name = strings.ToLower(name)
		names = append(names, name)
		fields[name] = strings.Join(values, ",")
	}
	slices.Sort(names)
	signed := strings.Join(names, ";")
	lines := []string{r.Method, r.URL.EscapedPath(), ""}
	for _, name := range names {
		lines = append(lines, name+":"+strings.Join(strings.Fields(fields[name]), " "))
	}
	lines = append(lines, "", signed, sum)
	canonical := sha256.Sum256([]byte(strings.Join(lines, "\n")))

	scope := at.Format(dateForm) + "/" + s.region + "/s3/aws4_request"
	text := algorithm + "\n" + at.Format(timeForm) + "\n" + scope + "\n" + hex.EncodeToString(canonical[:])
	key := []byte("AWS4" + s.secret)
	for _, part := range append(strings.Split(scope, "/"), text) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	r.Header.Set("Authorization", algorithm+" Credential="+s.id+"/"+scope+",SignedHeaders="+signed+
		",Signature="+hex.EncodeToString(key))
}

// escape encodes a path as signatures require: every byte except letters, digits, "-", ".", "_", "~" and slashes.
func escape(path string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(path) {
		c := path[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteString(string([]byte{'%', digits[c>>4], digits[c&15]}))
	}
	return b.String()
}
