package faulttest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"strings"
)

// Types of records and of handshake messages (RFC 8446, sections 5.1 and 4; RFC 5246, section 7.4).
const (
	RecordAlert, RecordHandshake, RecordData = 21, 22, 23
	MessageHelloRequest, MessageKeyUpdate    = 0, 24
)

// half is one direction of a session behind its handshake, with AES-128-GCM and SHA-256.
type half struct {
	version uint16
	secret  []byte // TLS 1.3: of the current keys
	aead    cipher.AEAD
	iv      []byte
	number  uint64 // of the next record
}

// half13 derives the keys of a traffic secret (RFC 8446, section 7.3).
func half13(secret []byte) half {
	h := half{version: tls.VersionTLS13, secret: secret, iv: expand13(secret, "iv", 12)}
	h.aead = gcm(expand13(secret, "key", 16))
	return h
}

// next returns the direction with the keys behind a key update (RFC 8446, section 7.2).
func (h *half) next() half { return half13(expand13(h.secret, "traffic upd", sha256.Size)) }

func expand13(secret []byte, label string, length int) []byte {
	label = "tls13 " + label
	info := append([]byte{byte(length >> 8), byte(length), byte(len(label))}, label...)
	key, err := hkdf.Expand(sha256.New, secret, string(append(info, 0)), length)
	if err != nil {
		panic(err)
	}
	return key
}

func gcm(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err)
	}
	return aead
}

// expand12 is the PRF of TLS 1.2 (RFC 5246, section 5).
func expand12(secret []byte, label string, seed []byte, length int) []byte {
	sum := func(parts ...[]byte) []byte {
		m := hmac.New(sha256.New, secret)
		for _, p := range parts {
			m.Write(p)
		}
		return m.Sum(nil)
	}
	seed = append([]byte(label), seed...)
	var out []byte
	for a := sum(seed); len(out) < length; a = sum(a) {
		out = append(out, sum(a, seed)...)
	}
	return out[:length]
}

func (h *half) nonce(explicit []byte) []byte {
	if h.version == tls.VersionTLS12 {
		return append(bytes.Clone(h.iv), explicit...)
	}
	nonce := bytes.Clone(h.iv)
	for i, b := range binary.BigEndian.AppendUint64(nil, h.number) {
		nonce[4+i] ^= b
	}
	return nonce
}

// seal returns a record.
func (h *half) seal(kind byte, text []byte) []byte {
	defer func() { h.number++ }()
	number := binary.BigEndian.AppendUint64(nil, h.number)
	if h.version == tls.VersionTLS12 {
		size := 8 + len(text) + h.aead.Overhead()
		head := []byte{kind, 3, 3, byte(size >> 8), byte(size)}
		bound := append(bytes.Clone(number), kind, 3, 3, byte(len(text)>>8), byte(len(text)))
		return h.aead.Seal(append(head, number...), h.nonce(number), text, bound)
	}
	size := len(text) + 1 + h.aead.Overhead()
	head := []byte{RecordData, 3, 3, byte(size >> 8), byte(size)}
	return h.aead.Seal(head, h.nonce(nil), append(bytes.Clone(text), kind), head)
}

// open returns what a record contains.
func (h *half) open(record []byte) (kind byte, text []byte, err error) {
	defer func() { h.number++ }()
	head, body := record[:5], record[5:]
	if h.version == tls.VersionTLS12 {
		size := len(body) - 8 - h.aead.Overhead()
		bound := append(binary.BigEndian.AppendUint64(nil, h.number), head[0], 3, 3, byte(size>>8), byte(size))
		text, err = h.aead.Open(nil, h.nonce(body[:8]), body[8:], bound)
		return head[0], text, err
	}
	if text, err = h.aead.Open(nil, h.nonce(nil), body, head); err != nil {
		return 0, nil, err
	}
	text = bytes.TrimRight(text, "\x00")
	return text[len(text)-1], text[:len(text)-1], nil
}

// oneRecord is a connection each of whose reads ends with a record at the latest. So crypto/tls does not read what
// comes behind its handshake.
type oneRecord struct {
	net.Conn
	rest  int    // of the record that is being read
	hello []byte // the first record that was written
}

func (c *oneRecord) Read(p []byte) (int, error) {
	if c.rest == 0 {
		head := make([]byte, 5)
		if _, err := io.ReadFull(c.Conn, head); err != nil {
			return 0, err
		}
		c.rest = int(head[3])<<8 | int(head[4])
		return copy(p, head), nil
	}
	n, err := c.Conn.Read(p[:min(len(p), c.rest)])
	c.rest -= n
	return n, err
}

func (c *oneRecord) Write(p []byte) (int, error) {
	if c.hello == nil {
		c.hello = bytes.Clone(p)
	}
	return c.Conn.Write(p)
}

// Peer is the server's side of a TLS connection, record by record, so it can send what crypto/tls never sends. It
// leaves the handshake to crypto/tls, which reveals the secrets. The first Read makes the handshake. Only one goroutine
// may use a Peer.
type Peer struct {
	net.Conn
	Messages []byte   // the client's handshake messages after the handshake
	Alerts   [][]byte // the client's alerts: level and description

	config  *tls.Config
	met     func(p *Peer) // called after the first bytes of a request; nil: not called
	in, out half
	unread  []byte
}

// open makes the handshake.
func (p *Peer) open() error {
	var keys bytes.Buffer
	config, below := p.config.Clone(), &oneRecord{Conn: p.Conn}
	config.KeyLogWriter, config.SessionTicketsDisabled = &keys, true
	config.CipherSuites = []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256}
	c := tls.Server(below, config)
	if err := c.Handshake(); err != nil {
		return err
	}
	secrets := map[string][]byte{}
	for line := range strings.Lines(keys.String()) {
		words := strings.Fields(line)
		secrets[words[0]], _ = hex.DecodeString(words[2])
		secrets[words[0]+" random"], _ = hex.DecodeString(words[1])
	}
	switch s := c.ConnectionState(); s.CipherSuite {
	case tls.TLS_AES_128_GCM_SHA256:
		p.in, p.out = half13(secrets["CLIENT_TRAFFIC_SECRET_0"]), half13(secrets["SERVER_TRAFFIC_SECRET_0"])
	case tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256:
		seed := append(bytes.Clone(below.hello[5+4+2:][:32]), secrets["CLIENT_RANDOM random"]...)
		keys := expand12(secrets["CLIENT_RANDOM"], "key expansion", seed, 16+16+4+4)
		p.in = half{version: s.Version, aead: gcm(keys[:16]), iv: keys[32:36], number: 1}
		p.out = half{version: s.Version, aead: gcm(keys[16:32]), iv: keys[36:], number: 1}
	default:
		return fmt.Errorf("the cipher suite is %s", tls.CipherSuiteName(s.CipherSuite))
	}
	return nil
}

// Read returns the client's bytes. It collects messages and alerts, and follows the client's key updates.
func (p *Peer) Read(b []byte) (int, error) {
	if p.in.aead == nil {
		if err := p.open(); err != nil {
			return 0, err
		}
	}
	for len(p.unread) == 0 {
		kind, text, err := p.record()
		switch {
		case err != nil:
			return 0, err
		case kind == RecordData:
			p.unread = text
			if p.met != nil {
				p.met(p)
				p.met = nil
			}
		case kind == RecordAlert:
			p.Alerts = append(p.Alerts, text)
		case kind == RecordHandshake:
			p.Messages = append(p.Messages, text...)
			if text[0] == MessageKeyUpdate {
				p.in = p.in.next()
			}
		}
	}
	n := copy(b, p.unread)
	p.unread = p.unread[n:]
	return n, nil
}

// record reads a record.
func (p *Peer) record() (kind byte, text []byte, err error) {
	whole := make([]byte, 5)
	if _, err := io.ReadFull(p.Conn, whole); err != nil {
		return 0, nil, err
	}
	whole = append(whole, make([]byte, int(whole[3])<<8|int(whole[4]))...)
	if _, err := io.ReadFull(p.Conn, whole[5:]); err != nil {
		return 0, nil, err
	}
	return p.in.open(whole)
}

// Write sends bytes as one record. It does not split what exceeds the 16 KB of a record.
func (p *Peer) Write(b []byte) (int, error) { return len(b), p.Send(RecordData, b) }

// Send sends one record of any type, with any content.
func (p *Peer) Send(kind byte, text []byte) error {
	_, err := p.Conn.Write(p.out.seal(kind, text))
	return err
}

// Update changes the keys of the server's direction (TLS 1.3), and may ask the client to change its own.
func (p *Peer) Update(asks bool) error {
	ask := map[bool]byte{true: 1}[asks]
	if err := p.Send(RecordHandshake, []byte{MessageKeyUpdate, 0, 0, 1, ask}); err != nil {
		return err
	}
	p.out = p.out.next()
	return nil
}

// Peers returns a listener whose connections are Peers. config has an ECDSA certificate, and allows one version of TLS.
// met is called after the first bytes of each connection's first request; nil: it is not.
func Peers(l net.Listener, config *tls.Config, met func(p *Peer)) net.Listener {
	return peerListener{l, config, met}
}

type peerListener struct {
	net.Listener
	config *tls.Config
	met    func(p *Peer)
}

func (l peerListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &Peer{Conn: c, config: l.config, met: l.met}, nil
}
