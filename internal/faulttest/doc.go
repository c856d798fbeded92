// Package faulttest contains faulty servers and proxies for the tests of clients and of whole runs.
//
// Records changes the TLS records that a server writes. Peer is a TLS server that sends any record after its handshake.
// Proxy is an HTTP proxy that dies.
//
//	l = faulttest.OnRecords(l, config)
//	c, err := l.Accept()
//	faulttest.Below(c).Change(func(record []byte) [][]byte { return [][]byte{record[:9]} })
//
// Only tests import this package, and it imports nothing of the project.
package faulttest
