package eventlog

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"os"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/crash"
)

// Schema is the first word of a file.
const Schema = "mlperf-go/events/4"

// FileName is the name of the file in a run's folder.
const FileName = "events.bin"

// Kinds of records.
const (
	kindHeader   = 'H'
	kindRequests = 'R' // a block
	kindSection  = 'S' // see Joined
	kindEnd      = 'E'
)

const (
	flushEvery = 500 * time.Millisecond
	flushAt    = 256 << 10
	blockBytes = 64 << 10
	holdAtMost = 8 << 20 // a slower disk makes Add wait
)

// Writer appends records to a file. Its methods may be called from any goroutine.
type Writer struct {
	file    *os.File
	startNS int64

	mu      sync.Mutex
	changed sync.Cond // of every field below
	pending []byte    // whole records that are not written
	block   []byte    // requests that are not in pending
	last    Request   // in block
	count   int64
	closing bool
	err     error
	done    chan struct{}
	wake    chan struct{}
}

// Create starts a new file. It is an error if there is one.
func Create(path string, h Header) (*Writer, error) {
	f, err := create(path, h)
	if err != nil {
		return nil, err
	}
	w := &Writer{file: f, startNS: h.StartNS, done: make(chan struct{}), wake: make(chan struct{}, 1)}
	w.changed.L = &w.mu
	go w.run()
	return w, nil
}

// create starts a new file with its header.
func create(path string, h Header) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	h.Schema = Schema
	text, err := json.Marshal(h)
	if err == nil {
		_, err = f.Write(appendRecord(nil, kindHeader, text))
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendRecord appends kind, length, checksum and body.
func appendRecord(dst []byte, kind byte, body []byte) []byte {
	dst = binary.AppendUvarint(append(dst, kind), uint64(len(body)))
	dst = binary.LittleEndian.AppendUint32(dst, crc32.Checksum(body, castagnoli))
	return append(dst, body...)
}

// Add appends a request. It copies what it needs. A fault of the disk is returned by every later call, and by Close.
func (w *Writer) Add(r *Request) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.pending) > holdAtMost && w.err == nil {
		w.changed.Wait()
	}
	if w.err != nil {
		return w.err
	}
	w.block = appendRequest(w.block, r, &w.last, w.startNS)
	w.last.follow(r)
	w.count++
	if len(w.block) > blockBytes {
		w.seal()
	}
	if len(w.pending) > flushAt {
		w.notify()
	}
	return nil
}

// seal ends the block. Each can be read without those before it.
func (w *Writer) seal() {
	if len(w.block) > 0 {
		w.pending = appendRecord(w.pending, kindRequests, w.block)
		w.block, w.last = w.block[:0], Request{}
	}
}

func (w *Writer) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Close appends the end record and closes the file.
func (w *Writer) Close(e End) error {
	w.mu.Lock()
	e.Requests = w.count
	text, err := json.Marshal(e)
	w.seal()
	if err == nil {
		w.pending = appendRecord(w.pending, kindEnd, text)
	}
	w.closing = true
	w.mu.Unlock()
	w.notify()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = w.file.Sync()
	}
	if err := w.file.Close(); w.err == nil {
		w.err = err
	}
	return w.err
}

// run writes what is pending.
func (w *Writer) run() {
	defer crash.Catch()
	defer close(w.done)
	tick := time.NewTicker(flushEvery)
	defer tick.Stop()
	var own []byte
	for {
		select {
		case <-tick.C:
		case <-w.wake:
		}
		w.mu.Lock()
		w.seal()
		own, w.pending = w.pending, own[:0]
		closing, failed := w.closing, w.err != nil
		w.changed.Broadcast()
		w.mu.Unlock()
		if len(own) > 0 && !failed {
			if _, err := w.file.Write(own); err != nil {
				w.mu.Lock()
				w.err = err
				w.changed.Broadcast()
				w.mu.Unlock()
			}
		}
		if closing {
			return
		}
	}
}
