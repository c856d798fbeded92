// HOT PATH: request runs once a request. No lock, no allocation.

package http1

import (
	"strconv"

	"github.com/mlperf-go/mlperf-go/backends/internal/policy"
)

// sender builds and writes requests.
type sender struct {
	writer
	bodyOf func(index int) []byte
	head   []byte // of the request that is being written
	ids    policy.RequestIDs
	number uint64 // of requests with an id so far
}

// request returns the bytes of a request in two parts. The first belongs to the sender: the header, with the request's
// id in it or behind it. The second is the prepared body, which requests share, or all of it but its first byte.
func (s *sender) request(x *exchange, t *target) (head, body []byte) {
	body = s.bodyOf(x.query.Index)
	head = append(s.head[:0], t.head...)
	if x.number = 0; !t.identified {
		return append(strconv.AppendInt(head, int64(len(body)), 10), "\r\n\r\n"...), body
	}
	s.number++
	x.number = s.number
	if t.member == nil {
		head = append(s.ids.Append(head, x.number), "\r\nContent-Length: "...)
		return append(strconv.AppendInt(head, int64(len(body)), 10), "\r\n\r\n"...), body
	}
	head = append(strconv.AppendInt(head, int64(len(t.member)+policy.IDLength+len(behindMember)+len(body)-1), 10),
		"\r\n\r\n"...)
	head = s.ids.Append(append(head, t.member...), x.number)
	return append(head, behindMember...), body[1:]
}

// behindMember ends the member of a body that contains the request's id. Other members follow in every request.
const behindMember = `",`
