package pack

import (
	"bufio"
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
)

// The format of the organisers' packing script, which encrypts with `openssl enc -aes256`: the word Salted__, eight
// bytes of salt, then AES-256 in CBC mode with PKCS #7 padding. Key and initialization vector are derived from password
// and salt by one round of SHA-256, so the password must be long.
const (
	magic    = "Salted__"
	saltSize = 8
	keySize  = 32
)

// derive returns key and initialization vector like EVP_BytesToKey with SHA-256 and one round.
func derive(password string, salt []byte) (key, iv []byte) {
	var all, last []byte
	for len(all) < keySize+aes.BlockSize {
		sum := sha256.Sum256(bytes.Join([][]byte{last, []byte(password), salt}, nil))
		last = sum[:]
		all = append(all, last...)
	}
	return all[:keySize], all[keySize : keySize+aes.BlockSize]
}

// encrypt returns a writer that encrypts into w. Its Close writes the last block and does not close w.
func encrypt(w io.Writer, password string) (io.WriteCloser, error) {
	salt := make([]byte, saltSize)
	if _, err := rand.Read(salt); err != nil {
		return nil, fmt.Errorf("cannot generate random numbers: %w", err)
	}
	if _, err := w.Write(append([]byte(magic), salt...)); err != nil {
		return nil, err
	}
	key, iv := derive(password, salt)
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return &encrypter{w: w, mode: cipher.NewCBCEncrypter(block, iv)}, nil
}

type encrypter struct {
	w    io.Writer
	mode cipher.BlockMode
	rest []byte // less than a block
}

func (e *encrypter) Write(p []byte) (int, error) {
	all := append(e.rest, p...)
	whole := len(all) / aes.BlockSize * aes.BlockSize
	e.rest = bytes.Clone(all[whole:])
	e.mode.CryptBlocks(all[:whole], all[:whole])
	if _, err := e.w.Write(all[:whole]); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (e *encrypter) Close() error {
	missing := aes.BlockSize - len(e.rest)
	_, err := e.Write(bytes.Repeat([]byte{byte(missing)}, missing))
	return err
}

// errPassword is the usual result of a wrong password.
var errPassword = errors.New("cannot decrypt it: wrong password or damaged file")

// decrypt returns a reader of the decrypted content.
func decrypt(r io.Reader, password string) (io.Reader, error) {
	head := make([]byte, len(magic)+saltSize)
	if _, err := io.ReadFull(r, head); err != nil || string(head[:len(magic)]) != magic {
		return nil, errors.New("not an encrypted file")
	}
	key, iv := derive(password, head[len(magic):])
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return &decrypter{r: bufio.NewReader(r), mode: cipher.NewCBCDecrypter(block, iv)}, nil
}

type decrypter struct {
	r    *bufio.Reader
	mode cipher.BlockMode
	out  []byte
	done bool
}

func (d *decrypter) Read(p []byte) (int, error) {
	for len(d.out) == 0 {
		if d.done {
			return 0, io.EOF
		}
		if err := d.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, d.out)
	d.out = d.out[n:]
	return n, nil
}

// next decrypts some blocks, and removes the padding of the last one.
func (d *decrypter) next() error {
	buffer := make([]byte, 1024*aes.BlockSize)
	n, err := io.ReadFull(d.r, buffer)
	if err != nil && err != io.ErrUnexpectedEOF {
		if err == io.EOF {
			return errPassword
		}
		return err
	}
	if n%aes.BlockSize != 0 {
		return errPassword
	}
	d.mode.CryptBlocks(buffer[:n], buffer[:n])
	d.out = buffer[:n]
	if _, err := d.r.Peek(1); err == nil {
		return nil
	} else if err != io.EOF {
		return err
	}
	d.done = true
	padding := int(d.out[n-1])
	if padding == 0 || padding > aes.BlockSize || !bytes.HasSuffix(d.out, bytes.Repeat([]byte{byte(padding)}, padding)) {
		return errPassword
	}
	d.out = d.out[:n-padding]
	return nil
}
