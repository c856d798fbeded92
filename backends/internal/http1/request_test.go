package http1

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// TestRequest has the three places of a request's id: none, a header, and the first member of the body; and the fields
// that follow it.
func TestRequest(t *testing.T) {
	const body = `{"prompt":"x"}`
	s := sender{bodyOf: func(int) []byte { return []byte(body) }, ids: policy.NewRequestIDs()}
	var x exchange
	bytes := func(to *target) string {
		head, rest := s.request(&x, to)
		s.head = head
		return string(head) + string(rest)
	}
	plain := &target{head: []byte("POST / HTTP/1.1\r\nContent-Length: ")}
	require.Equal(t, "POST / HTTP/1.1\r\nContent-Length: 14\r\n\r\n"+body, bytes(plain))
	require.Zero(t, x.number)
	id := string(s.ids.Append(nil, 2))
	header := &target{head: []byte("POST / HTTP/1.1\r\nX-Request-Id: "), identified: true}
	require.Equal(t, "POST / HTTP/1.1\r\nX-Request-Id: "+id+"\r\nContent-Length: 14\r\n\r\n"+body, bytes(header))
	id = string(s.ids.Append(nil, 3))
	member := &target{head: plain.head, identified: true, member: []byte(`{"rid":"`)}
	whole := `{"rid":"` + id + `","prompt":"x"}`
	require.Equal(t, "POST / HTTP/1.1\r\nContent-Length: "+strconv.Itoa(len(whole))+"\r\n\r\n"+whole, bytes(member))
	require.EqualValues(t, 3, x.number)
	s.headOf = func(int) []byte { return []byte("x-session: a-1\r\n") }
	require.Equal(t, "POST / HTTP/1.1\r\nContent-Length: 14\r\nx-session: a-1\r\n\r\n"+body, bytes(plain))
	s.traced, x.query.Seq = true, 9
	id = string(s.ids.Append(nil, 5))
	require.Equal(t, "POST / HTTP/1.1\r\nX-Request-Id: "+id+"\r\nContent-Length: 14\r\nx-session: a-1\r\n"+
		"traceparent: 00-"+id+"-8000000000000009-01\r\n\r\n"+body, bytes(header))
}
