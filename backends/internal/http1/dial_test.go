package http1

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestLookUp(t *testing.T) {
	for host, want := range map[string]string{"127.0.0.1": "127.0.0.1:80", "::1": "[::1]:80",
		"::ffff:10.0.0.1": "10.0.0.1:80"} {
		all, err := lookUp(host, "80", time.Second)
		require.NoError(t, err)
		require.Equal(t, want, all[0].name)
	}
}

// AddRefusing adds an address that refuses connections before those of the first endpoint, which only removes.
func (c *Client) AddRefusing(only bool) {
	all := &c.targets[0].addresses
	if only {
		*all = nil
	}
	dead := address{family: unix.AF_INET, sockaddr: &unix.SockaddrInet4{Port: 1, Addr: [4]byte{127, 0, 0, 1}},
		name: "127.0.0.1:1"}
	*all = append([]address{dead}, *all...)
}
